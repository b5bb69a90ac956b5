import type { IncidentKind } from '../core/message.ts';
import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { FoundJob } from './jobs.ts';

// What a status page shows is read by a fixed number of statements, however many jobs are on it.

/** A job as a status page reads it: nothing here is shown but the name, and that only where the page gives it no other. */
export type StatusJob = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly isPaused: boolean;
  readonly openKinds: readonly IncidentKind[];
  readonly newestSettled: State | null;
  readonly isBlocked: boolean;
  /** The newest run that completed an occurrence ended then; null: none ever did. */
  readonly lastSuccess: Instant | null;
};

/** Jobs of a project named by slug or tag, whether they are due to be judged, by slug; at most `limit`. */
export async function findStatusJobs(
  tx: Tx,
  projectId: number,
  {
    slugs,
    tags,
    limit,
  }: { readonly slugs: readonly string[]; readonly tags: readonly string[]; readonly limit: number },
): Promise<readonly FoundJob[]> {
  return tx.sql<FoundJob[]>`
    select j.id, j.slug, coalesce(c.next_check_at <= ${tx.now}, false) or c.deferred > 0 as "isDue"
    from jobs j join cursors c on c.job_id = j.id
    where j.project_id = ${projectId} and (j.slug = any(${slugs as string[]}::text[])
      or (${tags.length > 0} and j.definition -> 'tags' ?| ${tags as string[]}::text[]))
    order by j.slug = any(${slugs as string[]}::text[]) desc, j.slug collate "C" limit ${limit}`;
}

/** These jobs as they stand. */
export async function readStatusJobs(tx: Tx, jobIds: readonly number[]): Promise<readonly StatusJob[]> {
  return tx.sql<StatusJob[]>`
    select j.id, j.slug, j.definition ->> 'name' as name, j.definition -> 'tags' as tags,
      j.paused_at is not null as "isPaused",
      coalesce((select jsonb_agg(i.kind) from incidents i where i.job_id = j.id and i.resolved_at is null), '[]') as "openKinds",
      (select o.state from occurrences o
        where o.job_id = j.id and o.state not in ('expected', 'running', 'overdue')
        order by o.scheduled_for desc limit 1) as "newestSettled",
      exists (select from occurrences b where b.job_id = j.id and b.blocked_on is not null
        and b.state in ('expected', 'running', 'overdue')) as "isBlocked",
      (select coalesce(o.completed_at, o.scheduled_for) from occurrences o
        where o.job_id = j.id and o.state in ('on_time', 'late')
        order by o.scheduled_for desc limit 1) as "lastSuccess"
    from jobs j where j.id = any(${jobIds as number[]}::bigint[])
    order by j.slug collate "C"`;
}

/** An incident as a status page tells it: no reason, nobody's name. */
export type StatusIncident = {
  readonly id: number;
  readonly jobId: number;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly occurrences: number;
};

/**
 * The incidents of these jobs that are open or ended after `since`, the newest first. One that only became another, because
 * all it was about moved there, is left out, and so is one that was never told to anybody and is over.
 */
export async function readStatusIncidents(
  tx: Tx,
  jobIds: readonly number[],
  { since, limit }: { readonly since: Instant; readonly limit: number },
): Promise<readonly StatusIncident[]> {
  return tx.sql<StatusIncident[]>`
    select i.id, i.job_id as "jobId", i.kind, i.opened_at as "openedAt", i.resolved_at as "resolvedAt",
      i.occurrence_count as occurrences
    from incidents i
    where i.job_id = any(${jobIds as number[]}::bigint[]) and (i.resolved_at is null or i.resolved_at > ${since})
      and (i.resolved_at is null or i.events > 0)
      and not (i.silent and exists (select from incident_occurrences m where m.incident_id = i.id)
        and not exists (select from incident_occurrences m where m.incident_id = i.id and not m.moved))
    order by i.opened_at desc, i.id desc limit ${limit}`;
}
