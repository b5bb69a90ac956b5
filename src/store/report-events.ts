import type { JobDefinition } from '../core/definition.ts';
import type { IncidentKind } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { MOVED } from './zone-tables.ts';

/** A period by its ends: the first instant inside, and the first one after it. */
type Ends = { readonly startsAt: Instant; readonly endsAt: Instant };

/** What of a definition says when a job is due. */
type Scheduling = Pick<JobDefinition, 'zone' | 'schedules'>;

/** A change of when a job is due: by a person, or by new data about its time zone. */
export type ScheduleEdit = { readonly slug: string; readonly at: Instant; readonly actor: string } & (
  | { readonly kind: 'edit'; readonly from: Scheduling; readonly to: Scheduling }
  | { readonly kind: 'tz'; readonly tzVersion: string; readonly was: string | null; readonly is: string | null }
);

type AuditRow = { readonly slug: string; readonly at: Instant; readonly actor: string; readonly total: number } & {
  readonly action: string;
  // biome-ignore lint/suspicious/noExplicitAny: as changes.ts and tz-change.ts wrote it
  readonly detail: any;
};

/** The schedule edits of these jobs, oldest first, at most `limit` of `total`. */
export async function scheduleEdits(
  tx: Tx,
  projectId: number,
  jobIds: readonly number[],
  { startsAt, endsAt, limit }: Ends & { readonly limit: number },
): Promise<{ readonly edits: readonly ScheduleEdit[]; readonly total: number }> {
  // A job that was deleted and made again under its slug begins with its own creation.
  const rows = await tx.sql<AuditRow[]>`
    select a.subject as slug, a.at, a.actor, a.action, a.detail, count(*) over () as total
    from audit a join jobs j on j.project_id = a.project_id and j.slug = a.subject and j.created_at <= a.at
    where a.project_id = ${projectId} and j.id = any(${jobIds as number[]}::bigint[])
      and a.at >= ${startsAt} and a.at < ${endsAt}
      and (a.action = ${MOVED} or (a.action = 'job.edit' and (
        a.detail -> 'from' -> 'schedules' is distinct from a.detail -> 'to' -> 'schedules'
        or a.detail -> 'from' -> 'zone' is distinct from a.detail -> 'to' -> 'zone')))
    order by a.id limit ${limit}`;
  return { edits: rows.map(editOf), total: rows[0]?.total ?? 0 };
}

function editOf({ slug, at, actor, action, detail }: AuditRow): ScheduleEdit {
  const { from, to } = detail;
  if (action !== MOVED) return { slug, at, actor, kind: 'edit', from, to };
  return { slug, at, actor, kind: 'tz', tzVersion: to, was: detail.was, is: detail.is };
}

export type IncidentCount = {
  readonly kind: IncidentKind;
  /** Opened in the period. */
  readonly opened: number;
  readonly stillOpen: number;
};

/** Incidents that were open at some time in the period and were told, by kind. */
export async function countIncidents(
  tx: Tx,
  jobIds: readonly number[],
  { startsAt, endsAt }: Ends,
): Promise<readonly IncidentCount[]> {
  return tx.sql<IncidentCount[]>`
    select kind, count(*) filter (where opened_at >= ${startsAt}) as opened,
      count(*) filter (where resolved_at is null) as "stillOpen"
    from incidents
    where job_id = any(${jobIds as number[]}::bigint[]) and events > 0 and opened_at < ${endsAt}
      and (resolved_at is null or resolved_at >= ${startsAt})
    group by kind`;
}

export type LongestIncident = {
  readonly id: number;
  readonly job: string;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly resolvedAt: Instant | null;
};

/** The one of them that lasted longest, up to now where it is still open. */
export async function longestIncident(
  tx: Tx,
  jobIds: readonly number[],
  { startsAt, endsAt }: Ends,
): Promise<LongestIncident | null> {
  const [row] = await tx.sql<LongestIncident[]>`
    select i.id, j.slug as job, i.kind, i.opened_at as "openedAt", i.resolved_at as "resolvedAt"
    from incidents i join jobs j on j.id = i.job_id
    where i.job_id = any(${jobIds as number[]}::bigint[]) and i.events > 0 and i.opened_at < ${endsAt}
      and (i.resolved_at is null or i.resolved_at >= ${startsAt})
    order by coalesce(i.resolved_at, ${tx.now}::timestamptz) - i.opened_at desc, i.id limit 1`;
  return row ?? null;
}
