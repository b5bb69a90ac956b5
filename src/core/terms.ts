import { isHeartbeat, nextDue, versionOf } from './instants.ts';
import type { Ledger, Row, Silence, Version } from './ledger.ts';
import { graceMs, isCompleted, type Terms, termsOf } from './occurrence.ts';
import { inPause } from './rows.ts';
import type { Instant } from './time.ts';
import { waitOf } from './upstream.ts';

/** Deadlines of the occurrence due at `due` under the settings in force; one that waits for others is timed once it has begun. */
export function termsAt(ledger: Ledger, due: Instant, version: Version, begunAt: Instant | null = null): Terms {
  const terms = termsOf(due, ledger.settings, {
    previous: () => version.timetable?.previous(due)?.at ?? null,
    next: () => nextDue(ledger, due),
  });
  if (version.periodMs !== null) return { ...terms, opensAt: due - version.periodMs };
  const from = Math.min(waitOf(ledger.upstream(due)), begunAt ?? Number.POSITIVE_INFINITY);
  // Released when it was of no use any more: nothing counts anew.
  if (Math.min(from, ledger.now) >= terms.usefulUntil) return terms;
  return from > due ? counted(terms, due, from) : terms;
}

/** Once what goes first is done, `start_within` and grace count from then. */
function counted(terms: Terms, due: Instant, from: Instant): Terms {
  const { startBy, graceEnd } = terms;
  return { ...terms, startBy: startBy === null ? null : startBy - due + from, graceEnd: graceEnd - due + from };
}

export const rowTerms = (ledger: Ledger, row: Row): Terms =>
  termsAt(ledger, row.scheduledFor, versionOf(ledger, row.version), begunAt(row));

/** When it began, as far as that is known: its first start or, of a run that was never announced, the end that settled it. */
export function begunAt({ startedAt, settledAt, state }: Row): Instant | null {
  if (settledAt === null || !(isCompleted(state) || state === 'failed')) return startedAt;
  return Math.min(startedAt ?? settledAt, settledAt);
}

/** Under coalesce, the instant at which its being over is the next one's business: that one's due + grace. */
export function coalesceInstant(ledger: Ledger, row: Row): Instant | null {
  if (ledger.settings.missedRuns !== 'coalesce') return null;
  const next = nextDue(ledger, row.scheduledFor);
  return next === null ? null : next + graceMs(ledger.settings);
}

/** Blind windows that touch an occurrence: [opens, deadline) overlaps (after, until]. */
export function touching(ledger: Ledger, opensAt: Instant, deadline: Instant): Silence[] {
  return ledger.silences.filter(({ kind, after, until }) => kind === 'blind' && after < deadline && until > opensAt);
}

const GAP_WAIT_MS = 60_000;

/** When a check instant acts: one inside a gap between beats waits until 60 s after the gap's end, which may be in another. */
export function actsAt(ledger: Ledger, check: Instant): Instant {
  const gap = ledger.silences.find(({ kind, after, until }) => kind === 'gap' && after < check && check <= until);
  return gap ? actsAt(ledger, gap.until + GAP_WAIT_MS) : check;
}

/** The first check of an occurrence without a row: its start or its completion is due, or a pause skips it. */
export function firstCheck(ledger: Ledger, due: Instant): Instant {
  if (inPause(ledger, due) && !isHeartbeat(ledger)) return due;
  const grace = graceMs(ledger.settings);
  const start = ledger.settings.startWithin === null ? grace : ledger.settings.startWithin * 1000;
  return due + Math.min(grace, start);
}
