import type { IncidentKind } from '../core/message.ts';
import type { Run, State } from '../core/occurrence.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** How many occurrences of a day are in one state; `day` counts from the first of the days that were asked for. */
export type DayCount = { readonly day: number; readonly state: State; readonly count: number };

/**
 * The recorded occurrences of a job by day: day i begins at `starts[i]` and ends before the next start; the last start only
 * ends the last day. Ascending; equal ones are a day that has no time. What is open and due after `pausedAt` is skipped,
 * though no row says so yet. What is settled although due later than now is of the day on which it was settled. One
 * statement, however many rows.
 */
export async function countDays(
  tx: Tx,
  jobId: number,
  { starts, pausedAt }: { readonly starts: readonly Instant[]; readonly pausedAt: Instant | null },
): Promise<readonly DayCount[]> {
  const texts = starts.map(isoText);
  return tx.sql<DayCount[]>`
    select d.day - 1 as day, o.state, o.count
    from unnest(${texts.slice(0, -1)}::text[], ${texts.slice(1)}::text[]) with ordinality d(starts_at, ends_at, day)
    cross join lateral (
      select case when r.state in ('expected', 'running', 'overdue') and r.scheduled_for > ${pausedAt}::timestamptz
          then 'skipped' else r.state end as state,
        count(*) as count
      from (
        (select b.state, b.scheduled_for from occurrences b
          where b.job_id = ${jobId} and b.scheduled_for >= d.starts_at::timestamptz
            and b.scheduled_for < d.ends_at::timestamptz and b.scheduled_for <= ${tx.now})
        union all
        (select a.state, a.scheduled_for from occurrences a
          where a.job_id = ${jobId} and a.scheduled_for > ${tx.now} and a.state not in ('expected', 'running', 'overdue')
            and a.settled_at >= d.starts_at::timestamptz and a.settled_at < d.ends_at::timestamptz)) r
      group by 1) o`;
}

const isoText = (at: Instant): string => new Date(at).toISOString();

/** A run whose length is known. */
export type TimedRun = {
  readonly scheduledFor: Instant;
  readonly endedAt: Instant;
  readonly verdict: 'success' | 'fail';
  readonly tookMs: number;
};

/** So many ended runs are looked at for those whose length is known: a job that sends no starts must not be read to its end. */
const RUNS_LOOKED_AT = 1000;

/** The newest `limit` ended runs with a known length, by due instant, oldest first. */
export async function timedRuns(tx: Tx, jobId: number, limit: number): Promise<readonly TimedRun[]> {
  const rows = await tx.sql<TimedRun[]>`
    select * from (
      select r.scheduled_for as "scheduledFor", r.ended_at as "endedAt", r.verdict,
        coalesce(r.duration_ms, (extract(epoch from r.ended_at - r.started_at) * 1000)::bigint) as "tookMs"
      from runs r where r.job_id = ${jobId} and r.scheduled_for is not null and r.ended_at is not null
      order by r.scheduled_for desc, r.id desc limit ${RUNS_LOOKED_AT}) newest
    where "tookMs" is not null order by "scheduledFor" desc, "endedAt" desc limit ${limit}`;
  return [...rows].reverse();
}

/** The runs of one occurrence, in the order in which they came. */
export async function runsOfOccurrence(tx: Tx, jobId: number, scheduledFor: Instant): Promise<readonly Run[]> {
  return tx.sql<Run[]>`
    select id, thread, rid, scheduled_for as "scheduledFor", started_at as "startedAt",
      superseded_at as "supersededAt", ended_at as "endedAt", verdict, exit_code as "exitCode",
      duration_ms as "durationMs", heard_at as "heardAt"
    from runs where job_id = ${jobId} and scheduled_for = ${scheduledFor} order by id limit 100`;
}

/** What a row says beside its state. */
export type RowFacts = {
  readonly settledAt: Instant | null;
  /** The upstream job it waits for. */
  readonly blockedOn: string | null;
  readonly blockedFor: Instant | null;
};

/** The facts of one occurrence; null: it has no row. */
export async function rowFacts(tx: Tx, jobId: number, scheduledFor: Instant): Promise<RowFacts | null> {
  const rows = await tx.sql<RowFacts[]>`
    select o.settled_at as "settledAt", j.slug as "blockedOn", o.blocked_for as "blockedFor"
    from occurrences o left join jobs j on j.id = o.blocked_on
    where o.job_id = ${jobId} and o.scheduled_for = ${scheduledFor}`;
  return rows[0] ?? null;
}

/** An incident that lists an occurrence; `hasLeft`: it moved on to another one. */
export type ListingIncident = {
  readonly id: number;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly hasLeft: boolean;
};

/** The incidents of a job that an occurrence is or was in, oldest first. */
export async function incidentsOfOccurrence(
  tx: Tx,
  jobId: number,
  scheduledFor: Instant,
): Promise<readonly ListingIncident[]> {
  return tx.sql<ListingIncident[]>`
    select i.id, i.kind, i.opened_at as "openedAt", i.resolved_at as "resolvedAt", m.moved as "hasLeft"
    from incidents i join incident_occurrences m on m.incident_id = i.id
    where i.job_id = ${jobId} and m.scheduled_for = ${scheduledFor} order by i.id limit 100`;
}

/** A mark of what a job's page shows: it differs when something of the job was written. What people do is in the audit. */
export async function readJobMark(tx: Tx, projectId: number, jobId: number): Promise<string> {
  const rows = await tx.sql<{ mark: string }[]>`
    select concat_ws('-', j.xmin::text, c.xmin::text,
      (select coalesce(max(p.id), 0) from pings p where p.job_id = j.id),
      (select coalesce(max(a.id), 0) from audit a where a.project_id = ${projectId})) as mark
    from jobs j join cursors c on c.job_id = j.id where j.id = ${jobId}`;
  return rows[0]?.mark ?? '';
}

/** Who settled this occurrence by hand, alone or with a backlog; null: the audit does not know. */
export async function settledBy(
  tx: Tx,
  projectId: number,
  {
    slug,
    scheduledFor,
    settledAt,
  }: { readonly slug: string; readonly scheduledFor: Instant; readonly settledAt: Instant },
): Promise<string | null> {
  const rows = await tx.sql<{ actor: string }[]>`
    select actor from audit
    where project_id = ${projectId} and at = ${settledAt}
      and ((action = 'occurrence.settle' and subject = ${`${slug} ${formatInstant(scheduledFor)}`})
        or (action = 'job.backlog' and subject = ${slug}))
    order by id desc limit 1`;
  return rows[0]?.actor ?? null;
}
