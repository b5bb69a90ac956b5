import type { JobDefinition } from '../core/definition.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { keepTables, type TableSource } from './zone-tables.ts';

export type NewJob = {
  readonly projectId: number;
  readonly uuid: string;
  readonly slug: string;
  readonly definition: JobDefinition;
  readonly unreviewed: boolean;
};

/** The id of the job of this slug, made if there was none; `created` false: somebody was first. */
export async function insertJob(tx: Tx, job: NewJob): Promise<{ readonly id: number; readonly created: boolean }> {
  const { sql, now } = tx;
  const definition = JSON.stringify(job.definition);
  const [made] = await sql<{ id: number }[]>`
    insert into jobs (project_id, uuid, slug, definition, unreviewed, created_at, settings_since)
    values (${job.projectId}, ${job.uuid}, ${job.slug}, ${definition}::jsonb, ${job.unreviewed}, ${now}, ${now})
    on conflict (project_id, slug) do nothing returning id`;
  if (made) return { id: made.id, created: true };
  // Another statement: the row that was in the way may be younger than this one's snapshot (LED-007).
  const [found] = await sql<{ id: number }[]>`
    select id from jobs where project_id = ${job.projectId} and slug = ${job.slug}`;
  if (!found) throw new Error('a job vanished while it was made');
  return { id: found.id, created: false };
}

/** A version that starts after `tx.now`, in force until the next one, and read by the tables of `zones`, which are kept. */
export async function insertVersion(
  tx: Tx,
  jobId: number,
  number: number,
  {
    definition,
    zones,
  }: { readonly definition: Pick<JobDefinition, 'zone' | 'schedules'>; readonly zones: TableSource },
): Promise<void> {
  await tx.sql`
    update schedule_versions set ends_at = ${tx.now} where job_id = ${jobId} and ends_at is null`;
  await tx.sql`
    insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
    values (${jobId}, ${number}, ${definition.zone}, ${JSON.stringify(definition.schedules)}::jsonb, ${tx.now}, ${zones.version})`;
  await keepTables(tx, zones, [definition.zone]);
}

export async function insertCursor(
  tx: Tx,
  jobId: number,
  { nextUnrecorded, nextCheckAt }: { readonly nextUnrecorded: Instant | null; readonly nextCheckAt: Instant | null },
): Promise<void> {
  await tx.sql`
    insert into cursors (job_id, version, next_unrecorded, next_check_at)
    values (${jobId}, 1, ${nextUnrecorded}, ${nextCheckAt})`;
}

export async function updateDefinition(tx: Tx, jobId: number, definition: JobDefinition): Promise<void> {
  await tx.sql`
    update jobs set definition = ${JSON.stringify(definition)}::jsonb, unreviewed = false, settings_since = ${tx.now}
    where id = ${jobId}`;
}

export async function markReviewed(tx: Tx, jobId: number): Promise<void> {
  await tx.sql`update jobs set unreviewed = false where id = ${jobId} and unreviewed`;
}

export async function deleteJob(tx: Tx, jobId: number): Promise<void> {
  await tx.sql`delete from jobs where id = ${jobId}`;
}

/** Begins or ends the pause of a job. */
export async function setPaused(tx: Tx, jobId: number, paused: boolean): Promise<void> {
  const { sql, now } = tx;
  await sql`update jobs set paused_at = ${paused ? now : null} where id = ${jobId}`;
  if (paused) await sql`insert into pauses (job_id, after) values (${jobId}, ${now}) on conflict do nothing`;
  else await sql`update pauses set until = ${now} where job_id = ${jobId} and until is null`;
}

/** Who changed what. */
export async function recordAudit(
  tx: Tx,
  entry: {
    readonly projectId: number;
    readonly actor: string;
    readonly action: string;
    readonly subject: string;
    readonly detail?: object;
  },
): Promise<void> {
  await tx.sql`
    insert into audit (project_id, at, actor, action, subject, detail)
    values (${entry.projectId}, ${tx.now}, ${entry.actor}, ${entry.action}, ${entry.subject},
      ${JSON.stringify(entry.detail ?? {})}::jsonb)`;
}

/** Versions that cannot be compiled any more: what they were is in the audit, their rows stay under the next version. */
export async function dropBrokenVersions(tx: Tx, jobId: number): Promise<void> {
  await tx.sql`update occurrences o set version = c.version + 1 from cursors c where c.job_id = o.job_id and o.job_id = ${jobId}`;
  await tx.sql`delete from schedule_versions where job_id = ${jobId}`;
}

/** The job goes on with version `version` from `nextUnrecorded`; it is looked at right away. */
export async function restartCursor(
  tx: Tx,
  jobId: number,
  version: number,
  nextUnrecorded: Instant | null,
): Promise<void> {
  await tx.sql`
    update cursors set version = ${version}, next_unrecorded = ${nextUnrecorded}, next_check_at = ${tx.now}, retry_at = null
    where job_id = ${jobId}`;
}
