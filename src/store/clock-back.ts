import type { Instant } from '../core/time.ts';
import { lifeBegan } from './clock-doubt.ts';
import { type KnownWindow, type Stretch, takenBack } from './clock-stretches.ts';
import { markAt, undoFuture } from './clock-undo.ts';
import type { Tx } from './database.ts';

/** `from` to `to`: what the clock said last, and says now. `lived`: what comes again; nobody trusts it. */
export type TakenBack = { readonly from: Instant; readonly to: Instant; readonly lived: readonly Stretch[] };

/** Two replicas that see the clock go back take it back once. */
const LOCK = 7_304_118;

/**
 * The clock went back from `last` to now (docs/ledger.md, rules 48 to 53). In one transaction: beats of the time taken back
 * say nothing any more, what was lived there becomes a blind window, and nothing that was made there waits for it to come.
 * null: another replica was first.
 */
export async function takeBack(begun: Tx, skewMs: number): Promise<TakenBack | null> {
  const { sql } = begun;
  await sql`select pg_advisory_xact_lock(${LOCK})`;
  const [beat] = await sql<{ last: Instant | null }[]>`select max(at) as last from beats`;
  // After the beat was read: whoever was held up in between must not take his own delay for a step back.
  const tx = await begun.later();
  const { now } = tx;
  const from = beat?.last ?? null;
  if (from === null || from <= now + skewMs) return null;
  await sql`update beats set through = least(through, ${now}), at = least(at, ${now}) where greatest(through, at) > ${now}`;
  const stretches = takenBack({ now, until: from, begun: await lifeBegan(tx) }, await windowsUntil(tx, from));
  await redrawWindows(tx, from, stretches.lived);
  // Every job, in the order of all others who lock several: nobody works on one meanwhile.
  await sql`select from cursors order by job_id for update`;
  const { undoneFrom } = stretches;
  if (undoneFrom !== null) await undoFuture(tx, { after: undoneFrom, backMs: from - now });
  await beginNow(tx);
  await lookAgain(tx);
  return { from, to: now, lived: stretches.lived };
}

/** What was made in a time that did not come to pass begins, or ends, now. */
export async function beginNow(tx: Tx): Promise<void> {
  await beginVersionsNow(tx);
  await beginPausesNow(tx);
  await beginPlansNow(tx);
  await anchorBeatsNow(tx);
  await makeNobodyWait(tx);
}

async function windowsUntil({ sql, now }: Tx, from: Instant): Promise<KnownWindow[]> {
  return sql<KnownWindow[]>`
    select after, until, kind, cause from blind_windows where until > ${now} and after < ${from}`;
}

/** Of the windows that end in the time taken back, what has come to pass stays. */
async function redrawWindows({ sql, now }: Tx, from: Instant, lived: readonly Stretch[]): Promise<void> {
  await sql`delete from blind_windows where after >= ${now} and after < ${from}`;
  await sql`update blind_windows set until = ${now} where until > ${now} and after < ${now}`;
  for (const { after, until } of lived) {
    await sql`
      insert into blind_windows (after, until, kind, cause) values (${after}, ${until}, 'blind', 'repeated')
      on conflict (after) do update set until = excluded.until, kind = 'blind', cause = 'repeated'`;
  }
}

/**
 * Versions of the future are emptied; the newest begins anew under the next number, for what is cached of a job is known by
 * that. The cursor gets a mark: engine/clock-repair.ts finds the first instant after it.
 */
async function beginVersionsNow({ sql, now }: Tx): Promise<void> {
  await sql`update projects set created_at = ${now} where created_at > ${now}`;
  await sql`
    update jobs set created_at = least(created_at, ${now}), settings_since = least(settings_since, ${now})
    where created_at > ${now} or settings_since > ${now}`;
  const moved = await sql<{ jobId: number }[]>`
    select distinct job_id as "jobId" from schedule_versions where starts_after > ${now}`;
  if (moved.length === 0) return;
  const jobIds = moved.map(({ jobId }) => jobId);
  await sql`
    update schedule_versions set starts_after = least(starts_after, ${now}), ends_at = least(ends_at, ${now})
    where job_id = any(${jobIds}::bigint[]) and (ends_at is null or ends_at > ${now} or starts_after > ${now})`;
  await sql`
    insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
    select distinct on (job_id) job_id, number + 1, zone, schedules, ${now}::timestamptz, tz_version
    from schedule_versions where job_id = any(${jobIds}::bigint[]) order by job_id, number desc`;
  await sql`
    update cursors set version = version + 1, next_check_at = ${now},
      next_unrecorded = case when next_unrecorded > ${now} then ${markAt(now)} else next_unrecorded end
    where job_id = any(${jobIds}::bigint[])`;
}

async function beginPausesNow({ sql, now }: Tx): Promise<void> {
  await sql`delete from pauses where after > ${now} and until is not null`;
  await sql`update pauses set until = ${now} where until > ${now}`;
  await sql`update pauses set after = ${now} where after > ${now}`;
  await sql`update jobs set paused_at = ${now} where paused_at > ${now}`;
}

/** Maintenance windows as they are known, and reports. */
async function beginPlansNow({ sql, now }: Tx): Promise<void> {
  await sql`
    update maintenance_windows set known_from = least(known_from, ${now}),
      known_until = case when known_until > ${now} then ${now} else known_until end
    where known_from > ${now} or known_until > ${now}`;
  await sql`update reports set sent_until = ${now} where sent_until > ${now}`;
}

/** A heartbeat anchored in the future, or left open by one, is awaited one period from the next second: after the window. */
async function anchorBeatsNow({ sql, now }: Tx): Promise<void> {
  await sql`
    update cursors c set next_unrecorded = ${markAt(now + 1000)}, next_check_at = ${now}
    from jobs j
    cross join lateral (select j.definition -> 'schedules' -> 0 ->> 'heartbeat' as period) h
    cross join lateral (
      -- A stored period that is none is that job's schedule_error.
      select ${now}::timestamptz + make_interval(secs => case when h.period ~ '^[0-9]{1,9}$' then h.period::float8 end)
        as latest) p
    where j.id = c.job_id and j.paused_at is null and h.period is not null
      and (c.next_unrecorded > p.latest or (c.next_unrecorded is null and not exists (
        select from occurrences o where o.job_id = c.job_id and o.state in ('expected', 'running', 'overdue')
          and o.scheduled_for <= p.latest)))`;
}

/** A delay whose rest exceeds its length is void: of jobs that failed, decisions, hand-outs and messages. */
async function makeNobodyWait({ sql, now }: Tx): Promise<void> {
  await sql`
    update cursors set retry_at = case when retry_at > ${now} then null else retry_at end,
      decided_until = least(decided_until, ${now}), last_hand_out = least(last_hand_out, ${now})
    where retry_at > ${now} or decided_until > ${now} or last_hand_out > ${now}`;
  await sql`
    update outbox set created_at = least(created_at, ${now}), not_before = least(not_before, ${now + GROUPING_MS}),
      lease_until = least(lease_until, ${now}::timestamptz + case when lease is null then interval '0' else ${`${LEASE_MS} ms`}::interval end)
    where state = 'waiting' and greatest(created_at, not_before, lease_until) > ${now}`;
}

/** As in store/outbox.ts. */
const GROUPING_MS = 5000;
const LEASE_MS = 30_000;

/**
 * What was held for an instant of the time taken back is looked at now: its blind window may be gone. Not what is overdue:
 * as of now it would not be yet, and its incident would end.
 */
async function lookAgain({ sql, now }: Tx): Promise<void> {
  await sql`
    with held as (
      update occurrences set check_at = ${now} where check_at > ${now} and state = 'expected' returning job_id)
    update cursors set next_check_at = ${now} where next_check_at > ${now} and job_id in (select job_id from held)`;
}
