import type { JobDefinition } from '../core/definition.ts';
import type { IncidentKind } from '../core/message.ts';
import type { State } from '../core/occurrence.ts';
import type { ScheduleSpec } from '../core/schedule.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { TableName } from './zone-tables.ts';

/** A job and what its cursor knows. */
export type StoredJob = {
  readonly id: number;
  readonly uuid: string;
  readonly slug: string;
  readonly definition: JobDefinition;
  readonly unreviewed: boolean;
  readonly createdAt: Instant;
  readonly pausedAt: Instant | null;
  readonly nextUnrecorded: Instant | null;
  readonly constantRid: boolean;
};

/** An occurrence by what its key is made of: its instant, and the zone table of its schedule version. */
export type KeyParts = TableName & { readonly scheduledFor: Instant };

/** A job with what its page shows beside the definition. */
export type JobReading = StoredJob & {
  /** The zone table of the newest schedule version; null: there is no version. */
  readonly newestVersion: TableName | null;
  readonly openKinds: readonly IncidentKind[];
  /** State of the newest settled occurrence; null: nothing settled yet. */
  readonly newestSettled: State | null;
  /** What its open occurrences wait for: the upstream job and its occurrence. */
  readonly blockedOn: readonly { readonly job: string; readonly due: Instant }[];
  readonly lastCompleted: KeyParts | null;
  /** The newest row, if it is open: of a heartbeat, its one open occurrence. */
  readonly newestOpen: KeyParts | null;
  /** The last five ended runs by due instant, newest first; `took` in milliseconds, null: not known. */
  readonly lastRuns: readonly { readonly due: Instant; readonly took: number | null }[];
};

/** A schedule version as stored: it covers (startsAfter, endsAt]. */
export type StoredVersion = {
  readonly number: number;
  readonly zone: string;
  /** Of the tz database whose table of the zone it is read by. */
  readonly tzVersion: string;
  readonly schedules: readonly ScheduleSpec[];
  readonly startsAfter: Instant;
  readonly endsAt: Instant | null;
};

/** A stretch (after, until] in which a job was paused; the one that lasts has no end. */
export type StoredPause = { readonly after: Instant; readonly until: Instant | null };

/** How many jobs of a project have a cron schedule at this minute and hour field, in this zone. */
export type MinuteUse = {
  readonly zone: string;
  readonly minute: number;
  readonly hour: string;
  readonly jobs: number;
};

export async function findJobId(tx: Tx, projectId: number, slug: string): Promise<number | null> {
  const rows = await tx.sql<{ id: number }[]>`
    select id from jobs where project_id = ${projectId} and slug = ${slug}`;
  return rows[0]?.id ?? null;
}

/** A job by its slug; `isDue`: the clock, or a ping that waits, has something to say about it that is not written yet. */
export type FoundJob = { readonly id: number; readonly slug: string; readonly isDue: boolean };

export async function findJob(tx: Tx, projectId: number, slug: string): Promise<FoundJob | null> {
  const rows = await tx.sql<FoundJob[]>`
    ${selectFound(tx)} where j.project_id = ${projectId} and j.slug = ${slug}`;
  return rows[0] ?? null;
}

/** Jobs of a project by slug, after `after`. */
export async function pageOfJobs(
  tx: Tx,
  projectId: number,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly FoundJob[]> {
  return tx.sql<FoundJob[]>`
    ${selectFound(tx)} where j.project_id = ${projectId} and j.slug collate "C" > ${after ?? ''}
    order by j.slug collate "C" limit ${limit}`;
}

/** Jobs of a project that are due, the longest waiting first. */
export async function dueJobs(tx: Tx, projectId: number, limit: number): Promise<readonly FoundJob[]> {
  return tx.sql<FoundJob[]>`
    ${selectFound(tx)} where c.next_check_at <= ${tx.now} and j.project_id = ${projectId}
    order by c.next_check_at limit ${limit}`;
}

function selectFound(tx: Tx) {
  return tx.sql`
    select j.id, j.slug, coalesce(c.next_check_at <= ${tx.now}, false) or c.deferred > 0 as "isDue"
    from jobs j join cursors c on c.job_id = j.id`;
}

/** One job with its cursor. */
export async function readJob(tx: Tx, jobId: number): Promise<StoredJob | null> {
  const rows = await tx.sql<StoredJob[]>`
    select ${jobColumns(tx)} from jobs j join cursors c on c.job_id = j.id where j.id = ${jobId}`;
  return rows[0] ?? null;
}

/** Jobs as their pages show them, by slug, in one statement however many they are. */
export async function readJobs(tx: Tx, jobIds: readonly number[]): Promise<readonly JobReading[]> {
  if (jobIds.length === 0) return [];
  const rows = await tx.sql<JobReadingRow[]>`
    select ${jobColumns(tx)}, settled.state as "newestSettled",
      (select jsonb_agg(distinct jsonb_build_object('job', u.slug, 'due', (extract(epoch from b.blocked_for) * 1000)::bigint))
        from occurrences b join jobs u on u.id = b.blocked_on
        where b.job_id = j.id and b.blocked_on is not null and b.state in ('expected', 'running', 'overdue')) as "blockedOn",
      (select jsonb_agg(i.kind) from incidents i where i.job_id = j.id and i.resolved_at is null) as "openKinds",
      case when v.number is not null then jsonb_build_object(${tableName(tx)}) end as "newestVersion",
      done.scheduled_for as "doneAt", done.read_by as "doneBy",
      newest.scheduled_for as "openAt", newest.read_by as "openBy",
      (select jsonb_agg(r) from (${lastRuns(tx)}) r) as "lastRuns"
    from jobs j
    join cursors c on c.job_id = j.id
    left join schedule_versions v on v.job_id = j.id and v.number = c.version
    left join lateral (
      select o.state from occurrences o
      where o.job_id = j.id and o.state not in ('expected', 'running', 'overdue')
      order by o.scheduled_for desc limit 1) settled on true
    left join lateral (${lastCompleted(tx)}) done on true
    left join lateral (
      select o.scheduled_for, o.state, jsonb_build_object(${tableName(tx)}) as read_by from occurrences o
      join schedule_versions v on v.job_id = o.job_id and v.number = o.version
      where o.job_id = j.id order by o.scheduled_for desc limit 1) newest
      on newest.state in ('expected', 'running', 'overdue')
    where j.id in ${tx.sql(jobIds)}
    order by j.slug collate "C"`;
  return rows.map(({ doneAt, doneBy, openAt, openBy, openKinds, blockedOn, lastRuns: runs, ...job }) => ({
    ...job,
    blockedOn: blockedOn ?? [],
    openKinds: openKinds ?? [],
    lastRuns: runs ?? [],
    lastCompleted: doneAt === null || doneBy === null ? null : { scheduledFor: doneAt, ...doneBy },
    newestOpen: openAt === null || openBy === null ? null : { scheduledFor: openAt, ...openBy },
  }));
}

type JobReadingRow = StoredJob & {
  readonly newestVersion: TableName | null;
  readonly newestSettled: State | null;
  readonly openKinds: readonly IncidentKind[] | null;
  readonly blockedOn: JobReading['blockedOn'] | null;
  readonly doneAt: Instant | null;
  readonly doneBy: TableName | null;
  readonly openAt: Instant | null;
  readonly openBy: TableName | null;
  readonly lastRuns: JobReading['lastRuns'] | null;
};

/** By which table the version `v` is read, for a jsonb object. */
function tableName(tx: Tx) {
  return tx.sql`'tzVersion', v.tz_version, 'zone', v.zone`;
}

function jobColumns(tx: Tx) {
  return tx.sql`j.id, j.uuid, j.slug, j.definition, j.unreviewed, j.created_at as "createdAt", j.paused_at as "pausedAt",
    c.next_unrecorded as "nextUnrecorded", c.constant_rid as "constantRid"`;
}

/**
 * The newest completed occurrence. An expired one counts if nothing newer ended well: only rows after that are looked at,
 * because no index knows the expired ones.
 */
function lastCompleted(tx: Tx) {
  return tx.sql`
    select o.scheduled_for, jsonb_build_object(${tableName(tx)}) as read_by from occurrences o
    join schedule_versions v on v.job_id = o.job_id and v.number = o.version
    where o.job_id = j.id and o.state in ('on_time', 'late', 'expired') and o.scheduled_for >= coalesce((
      select w.scheduled_for from occurrences w
      where w.job_id = j.id and w.state in ('on_time', 'late')
      order by w.scheduled_for desc limit 1), '-infinity')
    order by o.scheduled_for desc limit 1`;
}

function lastRuns(tx: Tx) {
  return tx.sql`
    select (extract(epoch from r.scheduled_for) * 1000)::bigint as due, coalesce(r.duration_ms, (extract(epoch from r.ended_at - r.started_at) * 1000)::bigint) as took
    from runs r where r.job_id = j.id and r.scheduled_for is not null and r.ended_at is not null
    order by r.scheduled_for desc, r.id desc limit 5`;
}

/** All schedule versions of a job, oldest first. */
export async function readVersions(tx: Tx, jobId: number): Promise<readonly StoredVersion[]> {
  return tx.sql<StoredVersion[]>`
    select number, zone, tz_version as "tzVersion", schedules, starts_after as "startsAfter", ends_at as "endsAt"
    from schedule_versions where job_id = ${jobId} order by number`;
}

/** Pauses that may hold instants from `from` on, oldest first. */
export async function readPauses(tx: Tx, jobId: number, from: Instant): Promise<readonly StoredPause[]> {
  return tx.sql<StoredPause[]>`
    select after, until from pauses
    where job_id = ${jobId} and (until is null or until >= ${from}) order by after`;
}

/** How the jobs of a project share the minutes of their cron schedules; only minutes that are one plain number. */
export async function readMinuteUse(tx: Tx, projectId: number): Promise<readonly MinuteUse[]> {
  return tx.sql<MinuteUse[]>`
    select j.definition->>'zone' as zone, f.fields[1]::int as minute, f.fields[2] as hour, count(distinct j.id) as jobs
    from jobs j
    cross join lateral jsonb_array_elements(j.definition->'schedules') s
    cross join lateral (select regexp_split_to_array(btrim(s->>'cron', E' \t'), '[ \t]+') as fields) f
    where j.project_id = ${projectId} and f.fields[1] ~ '^[0-9]{1,2}$' and cardinality(f.fields) = 5
    group by 1, 2, 3`;
}

/** Slugs of the jobs of a project. */
export async function readJobSlugs(tx: Tx, projectId: number): Promise<ReadonlySet<string>> {
  const rows = await tx.sql<{ slug: string }[]>`select slug from jobs where project_id = ${projectId}`;
  return new Set(rows.map(({ slug }) => slug));
}

/** Slugs of the channels of a project. */
export async function readChannelSlugs(tx: Tx, projectId: number): Promise<ReadonlySet<string>> {
  const rows = await tx.sql<{ slug: string }[]>`select slug from channels where project_id = ${projectId}`;
  return new Set(rows.map(({ slug }) => slug));
}
