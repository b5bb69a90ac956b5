import type { Row } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { Wish } from './ledger-wish.ts';

export type StoredRow = Row & { readonly jobId: number };

export const rowColumns = (tx: Tx) => tx.sql`
  o.job_id as "jobId", o.scheduled_for as "scheduledFor", o.version, o.stands_for as "standsFor", o.state, o.reason,
  o.settled_at as "settledAt", o.completions, o.started_at as "startedAt", o.completed_at as "completedAt",
  o.duration_ms as "durationMs", o.completed_by as "completedBy", o.covered_by as "coveredBy", o.matched_by as "matchedBy",
  o.wanted, o.incident_id as "incidentId", o.doubled, o.confirmed,
  o.counted, o.blocked_on as "blockedOn", o.blocked_for as "blockedFor", o.check_at as "checkAt", o.note`;

export const iso = (at: Instant): string => new Date(at).toISOString();

export async function rowsAhead(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const from = wishes.flatMap(({ jobId: job, aheadFrom, aheadLimit }) =>
    aheadFrom === null ? [] : [{ job, at: iso(aheadFrom), limit: aheadLimit + 1 }],
  );
  if (from.length === 0) return [];
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)}
    from jsonb_to_recordset(${JSON.stringify(from)}::jsonb) w(job bigint, at timestamptz, "limit" int)
    cross join lateral (
      select * from occurrences a where a.job_id = w.job and a.scheduled_for >= w.at
      order by a.scheduled_for limit w."limit") o
    order by o.job_id, o.scheduled_for`;
}

/** Rows with a check instant loaded at once; more wait for the next transaction. */
export const PENDING_LIMIT = 1000;

export async function pendingRows(tx: Tx, jobIds: readonly number[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from unnest(${jobIds as number[]}::bigint[]) j(id)
    cross join lateral (
      select * from occurrences p where p.job_id = j.id and p.check_at is not null
      order by p.check_at, p.scheduled_for limit ${PENDING_LIMIT + 1}) o
    order by o.job_id, o.check_at, o.scheduled_for`;
}

export async function wishedRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const points = wishes.flatMap((wish) => wish.around.map((at) => ({ job: wish.jobId, at: iso(at) })));
  const named = wishes.flatMap((wish) => wish.named.map((at) => ({ job: wish.jobId, at: iso(at) })));
  const days = wishes.flatMap(({ jobId, days: spans }) =>
    spans.map(({ after, until }) => ({ job: jobId, after: iso(after), until: iso(until) })),
  );
  const all = wishes.filter((wish) => wish.all).map(({ jobId }) => jobId);
  const open = wishes.filter((wish) => wish.open && !wish.all).map(({ jobId }) => jobId);
  const completed = wishes.filter((wish) => wish.completed).map(({ jobId }) => jobId);
  const { sql } = tx;
  const parts = [
    points.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(points)}::jsonb) p(job bigint, at timestamptz)
        cross join lateral (
          (select * from occurrences b where b.job_id = p.job and b.scheduled_for <= p.at order by b.scheduled_for desc limit 1)
          union all
          (select * from occurrences a where a.job_id = p.job and a.scheduled_for > p.at order by a.scheduled_for limit 1)) o`,
    named.length > 0 && rowsAt(tx, named),
    days.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)}
        from jsonb_to_recordset(${JSON.stringify(days)}::jsonb) p(job bigint, after timestamptz, until timestamptz)
        cross join lateral (
          select * from occurrences d where d.job_id = p.job and d.scheduled_for > p.after and d.scheduled_for <= p.until
          order by d.scheduled_for limit 2) o`,
    all.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from occurrences o
        where o.job_id = any(${all}::bigint[])
          and (o.state in ('expected', 'running', 'overdue') or o.wanted)`,
    open.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from occurrences o
        where o.job_id = any(${open}::bigint[]) and o.state in ('expected', 'running', 'overdue')`,
    completed.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from unnest(${completed}::bigint[]) j(id)
        cross join lateral (
          select * from occurrences d where d.job_id = j.id and d.state in ('on_time', 'late', 'expired')
            and d.scheduled_for > (
              select min(w.scheduled_for) from occurrences w where w.job_id = j.id
                and (w.state in ('expected', 'running', 'overdue') or w.wanted
                  or (w.covered_by is null and w.state in ('coalesced', 'failed', 'missed', 'unknown'))))
          order by d.scheduled_for limit 1000) o`,
  ];
  return (await Promise.all(parts.filter((part) => part !== false))).flat();
}

/** The newest ones; where many may be skipped at once, also the newest that no decision and no window is about. */
export async function verdictRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const jobs = wishes.map(({ jobId: job, undecided, all, named }) => ({
    job,
    deep: undecided !== null || all || named.length > 1,
    named: named.map(iso),
  }));
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(jobs)}::jsonb) j(job bigint, deep boolean, named jsonb)
    cross join lateral (
      (select * from occurrences v where v.job_id = j.job
        and v.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced')
      order by v.scheduled_for desc limit 2)
      union
      (select * from occurrences u where j.deep and u.job_id = j.job
        and u.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced') and not u.wanted
      order by u.scheduled_for desc limit 1)
      union
      (select * from occurrences n where j.deep and n.job_id = j.job
        and n.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced') and not n.wanted
        and not exists (select from jsonb_array_elements_text(j.named) x where x::timestamptz = n.scheduled_for)
      order by n.scheduled_for desc limit 1)) o`;
}

export async function recentRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const asked = wishes.flatMap(({ jobId: job, recent }) => recent.map(({ bit, of }) => ({ job, bit, of })));
  if (asked.length === 0) return [];
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) w(job bigint, bit int, "of" int)
    cross join lateral (
      (select * from occurrences a where a.job_id = w.job and a.counted <> 0 and (a.counted & w.bit) <> 0
        and a.state not in ('skipped', 'unknown')
        order by a.scheduled_for desc limit w."of")
      union
      (select * from occurrences b where b.job_id = w.job and b.state in ('on_time', 'late')
        order by b.scheduled_for desc limit w."of")) o`;
}

export const rowsAt = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRow[]>`
  select ${rowColumns(tx)} from ${pointsOf(tx, points)} join occurrences o on o.job_id = p.job and o.scheduled_for = p.at`;

export const nextCompleted = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRow[]>`
  select ${rowColumns(tx)} from ${pointsOf(tx, points)}
  cross join lateral (
    select * from occurrences c where c.job_id = p.job and c.scheduled_for > p.at
      and c.state in ('on_time', 'late', 'expired') order by c.scheduled_for limit 1) o`;

export type Point = { readonly job: number; readonly at: string };

export const pointsOf = (tx: Tx, points: readonly Point[]) =>
  tx.sql`jsonb_to_recordset(${JSON.stringify(points)}::jsonb) p(job bigint, at timestamptz)`;
