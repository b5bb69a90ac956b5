import type { JobDefinition } from '../core/definition.ts';
import type { IncidentKind } from '../core/message.ts';
import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { ReportedJob } from './report-numbers.ts';

// Whatever the list of jobs shows is read by a fixed number of statements, however many jobs there are.

/** A job as far as finding, sorting and counting jobs takes it. */
export type JobLine = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly createdAt: Instant;
  readonly isPaused: boolean;
  /** The first instant that has no row yet; null: none to come. */
  readonly nextUnrecorded: Instant | null;
  readonly openKinds: readonly IncidentKind[];
  /** State of the newest settled occurrence; null: nothing settled yet. */
  readonly newestSettled: State | null;
  /** An open occurrence waits for what goes first. */
  readonly isBlocked: boolean;
};

/** Every job of a project, by slug. */
export async function readJobLines(tx: Tx, projectId: number): Promise<readonly JobLine[]> {
  return tx.sql<JobLine[]>`
    select j.id, j.slug, j.definition ->> 'name' as name, j.definition -> 'tags' as tags, j.created_at as "createdAt",
      j.paused_at is not null as "isPaused", c.next_unrecorded as "nextUnrecorded",
      coalesce(i.kinds, '[]') as "openKinds", settled.state as "newestSettled",
      exists (select from occurrences b where b.job_id = j.id and b.blocked_on is not null
        and b.state in ('expected', 'running', 'overdue')) as "isBlocked"
    from jobs j
    join cursors c on c.job_id = j.id
    left join (select job_id, jsonb_agg(kind order by id) as kinds from incidents
      where resolved_at is null group by job_id) i on i.job_id = j.id
    left join lateral (
      select o.state from occurrences o
      where o.job_id = j.id and o.state not in ('expected', 'running', 'overdue')
      order by o.scheduled_for desc limit 1) settled on true
    where j.project_id = ${projectId}
    order by j.slug collate "C"`;
}

/** The jobs of a project that may owe something: what their policies want, at work or not, or what nobody has confirmed. */
export async function jobsThatMayOwe(tx: Tx, projectId: number): Promise<readonly ReportedJob[]> {
  return tx.sql<ReportedJob[]>`
    select j.id, j.slug, j.definition, j.created_at as "createdAt", j.paused_at as "pausedAt",
      c.next_unrecorded as "nextUnrecorded"
    from jobs j join cursors c on c.job_id = j.id
    where j.project_id = ${projectId} and (
      exists (select from occurrences w where w.job_id = j.id and w.wanted)
      or (j.definition ->> 'missedRuns' = 'catch_up'
        and exists (select from occurrences u where u.job_id = j.id and u.state = 'unknown' and not u.confirmed)))
    order by j.slug collate "C"`;
}

/** What one line of the list shows besides. */
export type JobDetails = {
  readonly id: number;
  readonly definition: JobDefinition;
  readonly unreviewed: boolean;
  /** When the newest completed occurrence was completed, or the instant it was due where a person said so; null: never. */
  readonly lastSuccess: Instant | null;
  /** A ping of it has come. */
  readonly isHeard: boolean;
};

export async function readJobDetails(tx: Tx, jobIds: readonly number[]): Promise<readonly JobDetails[]> {
  // An expired one counts if nothing newer ended well: no index knows the expired ones, so only rows after that are read.
  return tx.sql<JobDetails[]>`
    select j.id, j.definition, j.unreviewed, coalesce(done.completed_at, done.scheduled_for) as "lastSuccess",
      done.scheduled_for is not null
        or (select p.id from pings p where p.job_id = j.id order by p.id limit 1) is not null as "isHeard"
    from jobs j
    left join lateral (
      select o.scheduled_for, o.completed_at from occurrences o
      where o.job_id = j.id and o.state in ('on_time', 'late', 'expired') and o.scheduled_for >= coalesce((
        select w.scheduled_for from occurrences w
        where w.job_id = j.id and w.state in ('on_time', 'late')
        order by w.scheduled_for desc limit 1), '-infinity')
      order by o.scheduled_for desc limit 1) done on true
    where j.id = any(${jobIds as number[]}::bigint[])`;
}
