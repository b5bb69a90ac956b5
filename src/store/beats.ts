import type { Silence } from '../core/ledger.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { DatabaseUnavailable } from './unavailable.ts';

/** A beat is heard for this long; older ones belong to replicas that are gone. */
const HEARD_MS = 10_000;
/** No beat for longer than this: blind. From GAP_MS on: a gap, whose deadlines wait. */
export const BLIND_MS = 30_000;
const GAP_MS = 3_000;
const FORGOTTEN_MS = 86_400_000;
/** A beat may lie this far ahead: transactions read the clock when they begin, and commit later. */
const SKEW_MS = 5_000;
/** A clock that jumps further than this is not believed. */
const DOUBT_MS = 400 * 86_400_000;

/** The newest instant through which any replica has flushed; null: none ever has. */
async function lastBeat(tx: Tx): Promise<Instant | null> {
  const [row] = await tx.sql<{ through: Instant | null }[]>`select max(through) as through from beats`;
  return row?.through ?? null;
}

/**
 * The stretch up to now without a beat of any replica, if it is long enough to matter; recorded, so that nobody judges by
 * it. Whoever sees it later makes it longer.
 */
export async function noteSilence(tx: Tx): Promise<Silence | null> {
  const after = await lastBeat(tx);
  if (after !== null && after > tx.now + SKEW_MS) await takeBack(tx);
  if (after === null || tx.now - after < GAP_MS) return null;
  if (tx.now - after > DOUBT_MS) throw new DatabaseUnavailable(doubt(tx.now, after));
  const kind = tx.now - after > BLIND_MS ? 'blind' : 'gap';
  await tx.sql`
    insert into blind_windows (after, until, kind) values (${after}, ${tx.now}, ${kind})
    on conflict (after) do update set until = excluded.until, kind = excluded.kind
    where blind_windows.until < excluded.until`;
  return { kind, after, until: tx.now };
}

const doubt = (now: Instant, after: Instant): string =>
  `the database's clock says ${formatInstant(now)}, more than 400 days after the last sign of life (${formatInstant(after)}): ` +
  'set it right, or, if it is right, run "delete from beats"';

/**
 * The clock went back: beats of the time it took back say nothing any more, windows that end there are withdrawn, and what
 * waited for them is looked at again.
 */
async function takeBack(tx: Tx): Promise<void> {
  const { sql, now } = tx;
  await sql`update beats set through = ${now} where through > ${now}`;
  const withdrawn = await sql`delete from blind_windows where until > ${now} returning after`;
  if (withdrawn.length === 0) return;
  await sql`
    update occurrences set check_at = ${now} where check_at > ${now} and state in ('expected', 'running', 'overdue')`;
  await sql`update cursors set next_check_at = ${now} where next_check_at > ${now}`;
}

/** This replica has flushed everything that reached it up to `through`. */
export async function beat(tx: Tx, replica: string, through: Instant): Promise<void> {
  await tx.sql`
    insert into beats (replica, through) values (${replica}, ${through})
    on conflict (replica) do update set through = excluded.through`;
}

/**
 * `horizon`: the instant up to which the evaluator may judge, the least among the replicas heard lately; null: none is.
 * `last`: the newest sign of life of any; null: there never was one.
 */
export type Hearing = { readonly horizon: Instant | null; readonly last: Instant | null };

export async function readHearing(tx: Tx): Promise<Hearing> {
  const [row] = await tx.sql<Hearing[]>`
    select min(through) filter (where through > ${tx.now - HEARD_MS}::timestamptz) as horizon, max(through) as last
    from beats`;
  const { horizon = null, last = null } = row ?? {};
  // After the clock went back, a beat from before lies in the future.
  return { horizon: horizon === null ? null : Math.min(horizon, tx.now), last };
}

/** A replica that stops cleanly holds nobody back; of the ones that died, the newest beat stays as the last sign of life. */
export async function forgetReplicas(tx: Tx, replica: string | null): Promise<void> {
  await tx.sql`
    delete from beats where (replica = ${replica} or through < ${tx.now - FORGOTTEN_MS}::timestamptz)
      and through < (select max(through) from beats)`;
}
