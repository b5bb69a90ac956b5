import type { Silence } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';
import { type TakenBack, takeBack } from './clock-back.ts';
import { type ClockInDoubt, doubtOf, readLife } from './clock-doubt.ts';
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
/** Two replicas beat within this: where another one did since, it was hearing. */
const BEAT_MS = 1_000;

/** A stretch without a beat; `skipped`: it did not pass, the clock jumped over it. */
export type SeenSilence = Silence & { readonly cause: 'silent' | 'skipped' };

/** What is out of the ordinary with the database's clock or with what was heard; null: nothing is. */
export type ClockNews =
  | { readonly type: 'doubt'; readonly doubt: ClockInDoubt }
  | { readonly type: 'back'; readonly back: TakenBack }
  | { readonly type: 'silence'; readonly silence: SeenSilence }
  | null;

/**
 * Looks at the clock before anything is judged by it. `jumpedFrom`: the instant of this replica's last commit, if since then
 * the clock ran ahead of the monotonic one. A stretch without a beat that is long enough to matter is recorded (whoever sees
 * it later makes it longer), and what a clock took back is taken back here.
 */
export async function lookAtClock(
  tx: Tx,
  jumpedFrom: Instant | null,
): Promise<{ readonly news: ClockNews; readonly wasDoubted: boolean }> {
  const { last, wasDoubted } = await readLife(tx);
  const doubt = await doubtOf(tx, last);
  if (doubt) return { news: { type: 'doubt', doubt }, wasDoubted };
  if (last !== null && last > tx.now + SKEW_MS) {
    const back = await takeBack(tx, SKEW_MS);
    return { news: back && { type: 'back', back }, wasDoubted };
  }
  const silence = last === null ? null : await noteStretch(tx, last, jumpedFrom);
  return { news: silence && { type: 'silence', silence }, wasDoubted };
}

/**
 * For whoever is about to judge a job and hears no pings himself: the stretch without a beat is recorded. Throws
 * ClockInDoubt while the clock is, and DatabaseUnavailable in the moment between a step back and the next beat.
 */
export async function noteSilence(tx: Tx): Promise<void> {
  const { last } = await readLife(tx);
  const doubt = await doubtOf(tx, last);
  if (doubt) throw doubt;
  if (last === null) return;
  if (last > tx.now + SKEW_MS) throw new DatabaseUnavailable("the database's clock went back just now: try again");
  await noteStretch(tx, last, null);
}

async function noteStretch(tx: Tx, after: Instant, jumpedFrom: Instant | null): Promise<SeenSilence | null> {
  const isSkipped = jumpedFrom !== null && after <= jumpedFrom + BEAT_MS;
  if (tx.now - after < GAP_MS && !isSkipped) return null;
  const kind = isSkipped || tx.now - after > BLIND_MS ? 'blind' : 'gap';
  const cause = isSkipped ? 'skipped' : 'silent';
  await tx.sql`
    insert into blind_windows (after, until, kind, cause) values (${after}, ${tx.now}, ${kind}, ${cause})
    on conflict (after) do update set until = greatest(blind_windows.until, excluded.until),
      kind = least(blind_windows.kind, excluded.kind),
      cause = case when excluded.cause = 'skipped' then 'skipped' else blind_windows.cause end`;
  return { kind, after, until: tx.now, cause };
}

/** This replica has flushed everything that reached it up to `through`. */
export async function beat(tx: Tx, replica: string, through: Instant): Promise<void> {
  await tx.sql`
    insert into beats (replica, through, at) values (${replica}, ${through}, ${tx.now})
    on conflict (replica) do update set through = excluded.through, at = excluded.at`;
}

/**
 * `horizon`: the instant up to which the evaluator may judge, the least among the replicas heard lately; null: none is.
 * `last`: the newest sign of life of any; null: there never was one. `doubt`: why the clock is not believed.
 */
export type Hearing = {
  readonly horizon: Instant | null;
  readonly last: Instant | null;
  readonly doubt: ClockInDoubt | null;
};

export async function readHearing(tx: Tx): Promise<Hearing> {
  const { now } = tx;
  const [row] = await tx.sql<Pick<Hearing, 'horizon' | 'last'>[]>`
    select min(through) filter (where through > ${now - HEARD_MS}::timestamptz) as horizon, max(through) as last
    from beats`;
  const { horizon = null, last = null } = row ?? {};
  const doubt = await doubtOf(tx, last);
  // A clock that went back: nothing is judged before ingest has seen it and beaten anew.
  const isBack = last !== null && last > now + SKEW_MS;
  return { horizon: horizon === null || doubt || isBack ? null : Math.min(horizon, now), last, doubt };
}

/** A replica that stops cleanly holds nobody back; of the ones that died, the newest beat stays as the last sign of life. */
export async function forgetReplicas(tx: Tx, replica: string | null): Promise<void> {
  await tx.sql`
    delete from beats where (replica = ${replica} or through < ${tx.now - FORGOTTEN_MS}::timestamptz)
      and through < (select max(through) from beats)`;
}
