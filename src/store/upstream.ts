import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** A job that goes before others. */
export type UpstreamJob = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly pausedAt: Instant | null;
  readonly version: number;
  readonly tzVersion: string;
};

/** Jobs by project and slug; those that are gone are left out. */
export async function readUpstreamJobs(
  tx: Tx,
  names: readonly { readonly projectId: number; readonly slug: string }[],
): Promise<readonly UpstreamJob[]> {
  return tx.sql<UpstreamJob[]>`
    select j.id, j.project_id as "projectId", j.slug, j.paused_at as "pausedAt", c.version, v.tz_version as "tzVersion"
    from jsonb_to_recordset(${JSON.stringify(names)}::jsonb) n("projectId" bigint, slug text)
    join jobs j on j.project_id = n."projectId" and j.slug = n.slug
    join cursors c on c.job_id = j.id
    join schedule_versions v on v.job_id = j.id and v.number = c.version`;
}

/** The newest recorded occurrence of `job` due at or before `at`, and when it was done (docs/ledger.md, rule 62). */
export type UpstreamRow = {
  readonly job: number;
  readonly at: Instant;
  readonly due: Instant;
  readonly doneAt: Instant | null;
};

export async function readUpstreamRows(
  tx: Tx,
  asked: readonly { readonly job: number; readonly at: Instant }[],
): Promise<readonly UpstreamRow[]> {
  const points = asked.map(({ job, at }) => ({ job, at: new Date(at).toISOString() }));
  return tx.sql<UpstreamRow[]>`
    select p.job, p.at, o.scheduled_for as due, case
        when o.state in ('on_time', 'late', 'expired') then coalesce(o.completed_at, o.settled_at)
        when o.state in ('skipped', 'unknown') then o.settled_at
        when o.state = 'coalesced' then (
          select coalesce(c.completed_at, c.settled_at) from occurrences c
          where c.job_id = o.job_id and c.scheduled_for = o.covered_by)
      end as "doneAt"
    from jsonb_to_recordset(${JSON.stringify(points)}::jsonb) p(job bigint, at timestamptz)
    cross join lateral (
      select * from occurrences l where l.job_id = p.job and l.scheduled_for <= p.at
      order by l.scheduled_for desc limit 1) o`;
}

/** The way from `slug` over `after` back to `slug`, as slugs; null: there is none. Serialises edits of one project's ways. */
export async function findCycle(
  tx: Tx,
  projectId: number,
  { slug, after }: { readonly slug: string; readonly after: readonly string[] },
): Promise<readonly string[] | null> {
  if (after.length === 0) return null;
  await tx.sql`select pg_advisory_xact_lock(hashtext('after'), ${projectId}::int)`;
  const [found] = await tx.sql<{ path: string[] }[]>`
    with recursive ways(slug, path) as (
      select s, array[${slug}, s] from unnest(${after as string[]}::text[]) s
      union all
      select next.slug, w.path || next.slug from ways w
      join jobs j on j.project_id = ${projectId} and j.slug = w.slug
      cross join lateral jsonb_array_elements_text(j.definition->'after') next(slug)
      where w.slug <> ${slug} and not next.slug = any(w.path[2:]))
    select path from ways where slug = ${slug} limit 1`;
  return found?.path ?? null;
}
