import type { State } from '../core/occurrence.ts';
import type { ScheduleSpec } from '../core/schedule.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { StoredPause, StoredVersion } from './jobs.ts';
import type { TableName } from './zone-tables.ts';

/** What of a job its roll is made by, beside its rows. */
export type RollJob = {
  readonly id: number;
  readonly schedules: readonly ScheduleSpec[];
  readonly createdAt: Instant;
  readonly pausedAt: Instant | null;
  readonly nextUnrecorded: Instant | null;
};

/** A recorded occurrence as a roll shows it, with the zone table by which its key is written. */
export type RollRow = TableName & {
  readonly jobId: number;
  readonly scheduledFor: Instant;
  readonly state: State;
  /** It was completed more often than it stands for. */
  readonly twice: boolean;
};

export type RollParts = {
  readonly jobs: readonly RollJob[];
  /** Only those that may hold what has no row yet, oldest first. */
  readonly versions: readonly (StoredVersion & { readonly jobId: number })[];
  readonly pauses: readonly (StoredPause & { readonly jobId: number })[];
  readonly rows: readonly RollRow[];
};

/**
 * What the rolls of these jobs are made of, by four statements however many they are: of each job the newest `past` + 1 rows
 * due by now and the first `ahead` due later; of a heartbeat, which is done long before it is due, the newest of all. What
 * has no row is read first: a row written in between then counts as a row.
 */
export async function readRollParts(
  tx: Tx,
  jobIds: readonly number[],
  { past, ahead }: { readonly past: number; readonly ahead: number },
): Promise<RollParts> {
  const ids = jobIds as number[];
  const jobs = await tx.sql<RollJob[]>`
    select j.id, j.definition -> 'schedules' as schedules, j.created_at as "createdAt", j.paused_at as "pausedAt",
      c.next_unrecorded as "nextUnrecorded"
    from jobs j join cursors c on c.job_id = j.id where j.id = any(${ids}::bigint[])`;
  const versions = await tx.sql<RollParts['versions'][number][]>`
    select v.job_id as "jobId", v.number, v.zone, v.tz_version as "tzVersion", v.schedules,
      v.starts_after as "startsAfter", v.ends_at as "endsAt"
    from schedule_versions v join cursors c on c.job_id = v.job_id
    where v.job_id = any(${ids}::bigint[]) and (v.ends_at is null or v.ends_at >= c.next_unrecorded)
    order by v.job_id, v.number`;
  const pauses = await tx.sql<RollParts['pauses'][number][]>`
    select p.job_id as "jobId", p.after, p.until from pauses p join cursors c on c.job_id = p.job_id
    where p.job_id = any(${ids}::bigint[]) and (p.until is null or p.until >= c.next_unrecorded)
    order by p.job_id, p.after`;
  const rows = await tx.sql<RollRow[]>`
    select o.job_id as "jobId", o.scheduled_for as "scheduledFor", o.state, o.completions > o.stands_for as twice,
      v.zone, v.tz_version as "tzVersion"
    from jobs j
    cross join lateral (
      (select p.* from occurrences p
        where p.job_id = j.id and p.scheduled_for > j.created_at
          and p.scheduled_for <= case when j.definition -> 'schedules' -> 0 ? 'heartbeat' then 'infinity' else ${tx.now}::timestamptz end
        order by p.scheduled_for desc limit ${past + 1})
      union all
      (select a.* from occurrences a
        where a.job_id = j.id and a.scheduled_for > ${tx.now} and not j.definition -> 'schedules' -> 0 ? 'heartbeat'
        order by a.scheduled_for limit ${ahead})) o
    join schedule_versions v on v.job_id = o.job_id and v.number = o.version
    where j.id = any(${ids}::bigint[])`;
  return { jobs, versions, pauses, rows };
}
