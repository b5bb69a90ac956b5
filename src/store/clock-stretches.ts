import type { Instant } from '../core/time.ts';

/** A stretch of database time (after, until]. */
export type Stretch = { readonly after: Instant; readonly until: Instant };

export type KnownWindow = Stretch & {
  readonly kind: 'blind' | 'gap';
  readonly cause: 'silent' | 'skipped' | 'repeated';
};

/** A service that was dead for longer than this, and whose clock then goes back, was most likely started with a wrong one. */
const LONG_MS = 86_400_000;
/** Remains shorter than this are the inaccuracy of a beat. */
const SHORT_MS = 1000;

/**
 * What becomes of the time that a clock takes back, from `until` to `now`. `lived`: it really passed, and comes again.
 * `undoneFrom`: where the first part begins that was only jumped over, or lies before the installation began, and will be
 * lived for the first time; the jump itself may have begun before `now`. null: there is none.
 */
export function takenBack(
  { now, until, begun }: { readonly now: Instant; readonly until: Instant; readonly begun: Instant | null },
  windows: readonly KnownWindow[],
): { readonly lived: readonly Stretch[]; readonly undoneFrom: Instant | null } {
  const all: readonly Stretch[] = [{ after: now, until }];
  const skipped = windows.filter(
    ({ kind, cause, after, until: end }) =>
      kind === 'blind' && (cause === 'skipped' || (cause === 'silent' && end - after > LONG_MS)),
  );
  const before = begun !== null && begun > now ? [{ after: now, until: begun }] : [];
  const repeated = windows.filter(({ cause }) => cause === 'repeated');
  const unlived = [...skipped, ...before];
  const lived = subtract(all, subtract(unlived, repeated)).filter(isLong);
  const [jumped] = subtract(all, lived).filter(isLong);
  return { lived, undoneFrom: jumped ? beginningOf(jumped, unlived, repeated) : null };
}

/** Where the jump began; not earlier than what was lived before. */
function beginningOf({ after }: Stretch, jumps: readonly Stretch[], lived: readonly Stretch[]): Instant {
  const around = jumps.filter((jump) => jump.after <= after && after < jump.until);
  const begun = Math.min(after, ...around.map((jump) => jump.after));
  return lived.some((stretch) => stretch.after < after && stretch.until > begun) ? after : begun;
}

const isLong = ({ after, until }: Stretch): boolean => until - after >= SHORT_MS;

/** What of `stretches` lies in none of `parts`. */
function subtract(stretches: readonly Stretch[], parts: readonly Stretch[]): Stretch[] {
  let left = [...stretches];
  for (const part of parts) {
    left = left.flatMap(({ after, until }) => [
      ...(after < Math.min(until, part.after) ? [{ after, until: Math.min(until, part.after) }] : []),
      ...(Math.max(after, part.until) < until ? [{ after: Math.max(after, part.until), until }] : []),
    ]);
  }
  return left.sort((a, b) => a.after - b.after);
}
