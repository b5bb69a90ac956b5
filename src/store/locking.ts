import type { JobDefinition } from '../core/definition.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** A job whose cursor this transaction holds. */
export type LockedJob = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly uuid: string;
  readonly definition: JobDefinition;
  readonly pausedAt: Instant | null;
  readonly version: number;
  /** Of the tz database by which that version is read now; null: the version is not there. */
  readonly tzVersion: string | null;
  readonly nextUnrecorded: Instant | null;
  readonly openIncidents: number;
  readonly deferred: number;
  readonly failures: number;
  readonly constantRid: boolean;
  readonly backlog: number;
  readonly decidedUntil: Instant | null;
  readonly lastHandOut: Instant | null;
};

/**
 * Locks the cursors of these jobs in id order. `wait`: for as long as it takes; otherwise a locked one is left out, so that
 * a stopped process cannot hold a fleet. The jobs are as whoever held them last has left them.
 */
export async function lockJobs(tx: Tx, jobIds: readonly number[], wait: boolean): Promise<LockedJob[]> {
  if (jobIds.length === 0) return [];
  const { sql } = tx;
  const ids = jobIds as number[];
  // Two statements, sent together: one that waits for a lock goes on with the new cursor but with what it saw of all other
  // tables before, so an edit would be judged by the definition that another edit has just replaced.
  const [held, jobs] = await Promise.all([
    sql<{ id: number }[]>`
      select job_id as id from cursors where job_id = any(${ids}::bigint[]) order by job_id
      for update ${wait ? sql`` : sql`skip locked`}`,
    readUnlocked(tx, ids),
  ]);
  const own = new Set(held.map(({ id }) => id));
  return jobs.filter(({ id }) => own.has(id));
}

function readUnlocked(tx: Tx, ids: number[]): Promise<LockedJob[]> {
  return tx.sql<LockedJob[]>`
    select j.id, j.project_id as "projectId", j.slug, j.uuid, j.definition, j.paused_at as "pausedAt", c.version,
      v.tz_version as "tzVersion", c.next_unrecorded as "nextUnrecorded", c.open_incidents as "openIncidents", c.deferred, c.failures,
      c.constant_rid as "constantRid", c.backlog, c.decided_until as "decidedUntil", c.last_hand_out as "lastHandOut"
    from cursors c join jobs j on j.id = c.job_id
    left join schedule_versions v on v.job_id = c.job_id and v.number = c.version
    where c.job_id = any(${ids}::bigint[])
    order by c.job_id`;
}
