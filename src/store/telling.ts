import type { IncidentKind } from '../core/message.ts';
import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

export type Member = {
  readonly incidentId: number;
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly settledAt: Instant | null;
  readonly version: number;
};

/** At most this many occurrences are in a message. */
const LISTED = 100;

/** Members of incidents that did not move to another one, the oldest first, at most 100 each. */
export async function membersOf(tx: Tx, incidentIds: readonly number[]): Promise<Member[]> {
  if (incidentIds.length === 0) return [];
  return tx.sql<Member[]>`
    select i.id as "incidentId", m.scheduled_for as "scheduledFor", o.state, o.settled_at as "settledAt", o.version
    from incidents i
    cross join lateral (
      select scheduled_for from incident_occurrences x where x.incident_id = i.id and not x.moved
      order by x.scheduled_for limit ${LISTED}) m
    join occurrences o on o.job_id = i.job_id and o.scheduled_for = m.scheduled_for
    where i.id = any(${incidentIds as number[]}::bigint[]) order by i.id, m.scheduled_for`;
}

export type LastCompleted = {
  readonly jobId: number;
  readonly scheduledFor: Instant;
  readonly version: number;
  readonly state: 'on_time' | 'late';
  readonly settledAt: Instant | null;
};

/** The newest completed occurrence of each job. */
export async function lastCompletedOf(tx: Tx, jobIds: readonly number[]): Promise<LastCompleted[]> {
  if (jobIds.length === 0) return [];
  return tx.sql<LastCompleted[]>`
    select j.id as "jobId", o.scheduled_for as "scheduledFor", o.version, o.state, o.settled_at as "settledAt"
    from unnest(${jobIds as number[]}::bigint[]) j(id)
    cross join lateral (
      select scheduled_for, version, state, settled_at from occurrences w where w.job_id = j.id and w.state in ('on_time', 'late')
      order by w.scheduled_for desc limit 1) o`;
}

export type SuccessfulRun = {
  readonly jobId: number;
  readonly scheduledFor: Instant;
  readonly endedAt: Instant;
  readonly source: string | null;
};

/** The successful runs of these occurrences in the order of their ends, with the address the end came from. */
export async function successfulRuns(
  tx: Tx,
  occurrences: readonly { readonly jobId: number; readonly scheduledFor: Instant }[],
): Promise<SuccessfulRun[]> {
  if (occurrences.length === 0) return [];
  const wanted = occurrences.map(({ jobId: job, scheduledFor }) => ({ job, at: new Date(scheduledFor).toISOString() }));
  return tx.sql<SuccessfulRun[]>`
    select r.job_id as "jobId", r.scheduled_for as "scheduledFor", r.ended_at as "endedAt", p.source
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) w(job bigint, at timestamptz)
    join runs r on r.job_id = w.job and r.scheduled_for = w.at and r.verdict = 'success'
    left join lateral (
      select source from pings q where q.job_id = r.job_id and q.run_id = r.id and q.kind = 'success'
      order by q.id desc limit 1) p on true
    order by r.ended_at, r.id limit 100`;
}

/** Opens a schedule_error with its first event, unless one is open. Returns its id, or null. */
export async function openScheduleError(tx: Tx, jobId: number, detail: string): Promise<number | null> {
  const kind: IncidentKind = 'schedule_error';
  const [row] = await tx.sql<{ id: number }[]>`
    insert into incidents (job_id, kind, opened_at, events, occurrence_count, troubled_count, detail)
    values (${jobId}, ${kind}, ${tx.now}, 1, 0, 0, ${detail})
    on conflict do nothing returning id`;
  if (row) await tx.sql`update cursors set open_incidents = open_incidents + 1 where job_id = ${jobId}`;
  return row?.id ?? null;
}

/** A job whose evaluation failed is not tried again before `retryAt`. */
export async function pushBack(tx: Tx, jobId: number, failures: number, retryAt: Instant): Promise<void> {
  await tx.sql`update cursors set failures = ${failures}, retry_at = ${retryAt} where job_id = ${jobId}`;
}

/** Jobs whose clock has something to say by `horizon`, the longest waiting first; pushed-back ones are left out. */
export async function dueJobs(tx: Tx, horizon: Instant, limit: number): Promise<number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select job_id as id from cursors
    where next_check_at <= ${horizon} and (retry_at is null or retry_at <= ${tx.now})
    order by next_check_at limit ${limit}`;
  return rows.map(({ id }) => id);
}

export async function failuresOf(tx: Tx, jobId: number): Promise<number> {
  const [row] = await tx.sql<{ failures: number }[]>`select failures from cursors where job_id = ${jobId}`;
  return row?.failures ?? 0;
}
