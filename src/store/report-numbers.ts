import type { JobDefinition } from '../core/definition.ts';
import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { StoredPause, StoredVersion } from './jobs.ts';
import type { TableName } from './zone-tables.ts';

// Whatever a report is about is read by a fixed number of statements, however many jobs it has.

/** A job as a report counts it. */
export type ReportedJob = {
  readonly id: number;
  readonly slug: string;
  readonly definition: JobDefinition;
  readonly createdAt: Instant;
  readonly pausedAt: Instant | null;
  readonly nextUnrecorded: Instant | null;
};

/** The jobs of a project, of which one of `tags` is asked for only those, by slug. */
export async function reportedJobs(
  tx: Tx,
  projectId: number,
  tags: readonly string[] | null,
): Promise<readonly ReportedJob[]> {
  return tx.sql<ReportedJob[]>`
    select j.id, j.slug, j.definition, j.created_at as "createdAt", j.paused_at as "pausedAt",
      c.next_unrecorded as "nextUnrecorded"
    from jobs j join cursors c on c.job_id = j.id
    where j.project_id = ${projectId}
      and (${tags as string[] | null}::text[] is null or j.definition -> 'tags' ?| ${tags as string[] | null}::text[])
    order by j.slug collate "C"`;
}

export async function readProject(
  tx: Tx,
  projectId: number,
): Promise<{ readonly slug: string; readonly name: string }> {
  const [row] = await tx.sql<{ slug: string; name: string }[]>`
    select slug, name from projects where id = ${projectId}`;
  return row ?? { slug: '', name: '' };
}

/** Due in (after, until]; what is due by `split` is of the period before. */
export type SplitWindow = { readonly after: Instant; readonly split: Instant; readonly until: Instant };

export type StateCount = {
  readonly jobId: number;
  readonly isBefore: boolean;
  readonly state: State;
  /** Due since the pause began that the job is in. */
  readonly isInPause: boolean;
  readonly count: number;
};

/** How many recorded occurrences of each job are in each state. */
export async function countStates(
  tx: Tx,
  jobIds: readonly number[],
  { after, split, until }: SplitWindow,
): Promise<readonly StateCount[]> {
  return tx.sql<StateCount[]>`
    select o.job_id as "jobId", o.scheduled_for <= ${split} as "isBefore", o.state,
      coalesce(o.scheduled_for > j.paused_at and o.scheduled_for <= ${tx.now}, false) as "isInPause", count(*) as count
    from jobs j join occurrences o on o.job_id = j.id
    where j.id = any(${jobIds as number[]}::bigint[]) and o.scheduled_for > ${after} and o.scheduled_for <= ${until}
    group by 1, 2, 3, 4`;
}

/** What only the clock knows of these jobs is told by these; `recorded`: rows beyond what is recorded throughout. */
export type ClockParts = {
  readonly versions: readonly (StoredVersion & { readonly jobId: number })[];
  readonly pauses: readonly (StoredPause & { readonly jobId: number })[];
  readonly recorded: readonly { readonly jobId: number; readonly at: Instant }[];
};

export async function readClockParts(
  tx: Tx,
  jobIds: readonly number[],
  { after, until }: Pick<SplitWindow, 'after' | 'until'>,
): Promise<ClockParts> {
  if (jobIds.length === 0) return { versions: [], pauses: [], recorded: [] };
  const ids = jobIds as number[];
  const versions = await tx.sql<ClockParts['versions'][number][]>`
    select job_id as "jobId", number, zone, tz_version as "tzVersion", schedules, starts_after as "startsAfter",
      ends_at as "endsAt"
    from schedule_versions where job_id = any(${ids}::bigint[]) and (ends_at is null or ends_at > ${after})
    order by job_id, number`;
  const pauses = await tx.sql<ClockParts['pauses'][number][]>`
    select job_id as "jobId", after, until from pauses
    where job_id = any(${ids}::bigint[]) and (until is null or until > ${after}) order by job_id, after`;
  const recorded = await tx.sql<ClockParts['recorded'][number][]>`
    select o.job_id as "jobId", o.scheduled_for as at
    from cursors c join occurrences o on o.job_id = c.job_id and o.scheduled_for >= c.next_unrecorded
    where c.job_id = any(${ids}::bigint[]) and o.scheduled_for > ${after} and o.scheduled_for <= ${until}`;
  return { versions, pauses, recorded };
}

/** What the policy of a job wants, or may want, now; still useful. */
export type WantedJob = {
  readonly jobId: number;
  readonly wanted: number;
  readonly unconfirmed: number;
  /** Of the wanted ones, the oldest 20. */
  readonly oldest: readonly (TableName & { readonly at: Instant })[];
};

export async function wantedOf(tx: Tx, jobIds: readonly number[]): Promise<readonly WantedJob[]> {
  return tx.sql<WantedJob[]>`
    with found as (
      select job_id, scheduled_for, version, true as wanted from occurrences
      where wanted and job_id = any(${jobIds as number[]}::bigint[])
      union all
      select o.job_id, o.scheduled_for, o.version, false from occurrences o join jobs j on j.id = o.job_id
      where o.state = 'unknown' and not o.confirmed and not o.wanted and o.job_id = any(${jobIds as number[]}::bigint[])
        and j.definition ->> 'missedRuns' = 'catch_up'),
    useful as (
      select f.*, v.zone, v.tz_version from found f
      join jobs j on j.id = f.job_id
      join schedule_versions v on v.job_id = f.job_id and v.number = f.version
      where f.scheduled_for > coalesce(
        ${tx.now}::timestamptz - make_interval(secs => (j.definition ->> 'usefulFor')::int), '-infinity'))
    select job_id as "jobId", count(*) filter (where wanted) as wanted, count(*) filter (where not wanted) as unconfirmed,
      coalesce(to_jsonb((array_agg(
        jsonb_build_object('at', (extract(epoch from scheduled_for) * 1000)::bigint, 'zone', zone, 'tzVersion', tz_version)
        order by scheduled_for) filter (where wanted))[1:20]), '[]') as oldest
    from useful group by job_id`;
}

/** A run without an end of a wanted occurrence, with the claim it was given for, if any. */
export type RunAtWork = {
  readonly jobId: number;
  readonly at: Instant;
  readonly startedAt: Instant | null;
  readonly supersededAt: Instant | null;
  readonly claim: { readonly leaseUntil: Instant; readonly isOver: boolean } | null;
};

export async function runsAtWork(tx: Tx, jobIds: readonly number[]): Promise<readonly RunAtWork[]> {
  return tx.sql<RunAtWork[]>`
    select r.job_id as "jobId", r.scheduled_for as at, r.started_at as "startedAt", r.superseded_at as "supersededAt",
      case when c.id is not null then jsonb_build_object('isOver', c.ended_at is not null,
        'leaseUntil', (extract(epoch from c.lease_until) * 1000)::bigint) end as claim
    from occurrences o
    join runs r on r.job_id = o.job_id and r.scheduled_for = o.scheduled_for and r.ended_at is null
    left join claims c on c.run_id = r.id
    where o.wanted and o.job_id = any(${jobIds as number[]}::bigint[])`;
}

/** Of these jobs, those that wait for a person's run or skip. */
export async function jobsInBacklog(tx: Tx, jobIds: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await tx.sql<{ jobId: number }[]>`
    select job_id as "jobId" from incidents
    where kind = 'backlog' and resolved_at is null and job_id = any(${jobIds as number[]}::bigint[])`;
  return new Set(rows.map(({ jobId }) => jobId));
}
