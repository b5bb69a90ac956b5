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
  | { readonly type: 'back' }
  | { readonly type: 'silence'; readonly silence: SeenSilence }
  | null;

/**
 * Looks at the clock before anything is judged by it, and writes nothing. `jumpedFrom`: the instant of this replica's last
 * commit, if since then the clock ran ahead of the monotonic one.
 */
export async function lookAtClock(
  tx: Tx,
  jumpedFrom: Instant | null,
): Promise<{ readonly news: ClockNews; readonly wasDoubted: boolean }> {
  const { last, wasDoubted } = await readLife(tx);
  const doubt = await doubtOf(tx, last);
  if (doubt) return { news: { type: 'doubt', doubt }, wasDoubted };
  if (last === null) return { news: null, wasDoubted };
  if (await isBack(tx, last)) return { news: { type: 'back' }, wasDoubted };
  const silence = await silenceSince(tx, last, jumpedFrom);
  return { news: silence && { type: 'silence', silence }, wasDoubted };
}

/** Takes back what a clock that went back took back; null: it did not, or another replica was first. */
export const takeBackClock = (tx: Tx): Promise<TakenBack | null> => takeBack(tx, SKEW_MS);

/**
 * For whoever is about to judge a job and hears no pings himself; a silence that goes on is seen by readSilences, and
 * recorded by whoever ends it. Throws ClockInDoubt while the clock is, and DatabaseUnavailable in the moment between a
 * step back and the next beat.
 */
export async function refuseWrongClock(tx: Tx): Promise<Instant | null> {
  const { last } = await readLife(tx);
  const doubt = await doubtOf(tx, last);
  if (doubt) throw doubt;
  if (last !== null && (await isBack(tx, last)))
    throw new DatabaseUnavailable("the database's clock went back just now: try again");
  return last;
}

/** Records the stretch without a beat that goes on. Its row stays locked until the end of the transaction. */
export async function noteSilence(tx: Tx): Promise<void> {
  const last = await refuseWrongClock(tx);
  const silence = last === null ? null : await silenceSince(tx, last, null);
  if (silence) await noteStretch(tx, silence);
}

/** A transaction that was held up has an old `now`, and the others have beaten since: the clock is asked once more. */
async function isBack(tx: Tx, last: Instant): Promise<boolean> {
  return last > tx.now + SKEW_MS && last > (await tx.later()).now + SKEW_MS;
}

/**
 * The stretch without a beat that is long enough to matter. It begins where the horizon stood at the last sign of life: what
 * had reached a replica by then and waited for a locked job was lost with it.
 */
async function silenceSince(tx: Tx, last: Instant, jumpedFrom: Instant | null): Promise<SeenSilence | null> {
  const { sql, now } = tx;
  if (jumpedFrom !== null && last <= jumpedFrom + BEAT_MS)
    return { kind: 'blind', after: last, until: now, cause: 'skipped' };
  if (now - last < GAP_MS) return null;
  const [row] = await sql<{ after: Instant | null }[]>`
    select min(through) as after from beats where at > ${last - HEARD_MS}::timestamptz`;
  const after = Math.min(last, row?.after ?? last);
  return { kind: now - last > BLIND_MS ? 'blind' : 'gap', after, until: now, cause: 'silent' };
}

/** Whoever sees a stretch later makes it longer. */
export async function noteStretch({ sql }: Tx, { kind, after, until, cause }: SeenSilence): Promise<void> {
  await sql`
    insert into blind_windows (after, until, kind, cause) values (${after}, ${until}, ${kind}, ${cause})
    on conflict (after) do update set until = greatest(blind_windows.until, excluded.until),
      kind = least(blind_windows.kind, excluded.kind),
      cause = case when excluded.cause = 'skipped' then 'skipped' else blind_windows.cause end`;
}

/** The silences that end after `since`, oldest first; with the one that goes on, recorded or not. */
export async function readSilences({ sql, now }: Tx, since: Instant): Promise<Silence[]> {
  return sql<Silence[]>`
    with life as (select max(at) as last from beats)
    select kind, after, until, cause = 'repeated' as repeated from blind_windows where until > ${since}::timestamptz
    union all
    select case when last < ${now - BLIND_MS}::timestamptz then 'blind' else 'gap' end,
      least(last, (select min(through) from beats where at > last - ${`${HEARD_MS} ms`}::interval)),
      ${now}::timestamptz, false
    from life where last <= ${now - GAP_MS}::timestamptz
    order by after, until desc`;
}

/** At this instant the replica lives, and has flushed everything that reached it up to `through`. */
export async function beat(tx: Tx, replica: string, through: Instant): Promise<void> {
  await tx.sql`
    insert into beats (replica, through, at) values (${replica}, ${through}, ${tx.now})
    on conflict (replica) do update set through = excluded.through, at = excluded.at`;
}

/**
 * `horizon`: the instant up to which the evaluator may judge, the least that any replica heard lately has flushed; null: none
 * is heard.
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
    select min(through) filter (where at > ${now - HEARD_MS}::timestamptz) as horizon, max(at) as last
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
    delete from beats where (replica = ${replica} or at < ${tx.now - FORGOTTEN_MS}::timestamptz)
      and at < (select max(at) from beats)`;
}
