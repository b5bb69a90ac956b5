import type { Run } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { iso, type Point, pointsOf } from './ledger-rows.ts';
import type { Wish } from './ledger-wish.ts';

export type StoredRun = Run & { readonly jobId: number };

export const runColumns = (tx: Tx) => tx.sql`
  r.id, r.job_id as "jobId", r.thread, r.rid, r.scheduled_for as "scheduledFor", r.started_at as "startedAt",
  r.superseded_at as "supersededAt", r.ended_at as "endedAt", r.verdict, r.exit_code as "exitCode",
  r.duration_ms as "durationMs", r.heard_at as "heardAt"`;

export type StoredThread = {
  readonly jobId: number;
  readonly thread: string;
  readonly fingerprint: string | null;
  readonly receivedAt: Instant | null;
  readonly scheduledFor: Instant | null;
  readonly lastRunId: number | null;
  readonly runId: number | null;
};

export async function readThreads(tx: Tx, wishes: readonly Wish[]): Promise<StoredThread[]> {
  const threads = wishes.flatMap((wish) => wish.threads.map((thread) => ({ job: wish.jobId, thread })));
  if (threads.length === 0) return [];
  return tx.sql<StoredThread[]>`
    select t.job as "jobId", t.thread, p.fingerprint, p.received_at as "receivedAt", p.scheduled_for as "scheduledFor",
      p.run_id as "lastRunId", r.id as "runId"
    from jsonb_to_recordset(${JSON.stringify(threads)}::jsonb) t(job bigint, thread text)
    left join lateral (
      select * from pings q where q.job_id = t.job and q.thread = t.thread and q.counted order by q.id desc limit 1) p on true
    left join lateral (
      select id from runs q where q.job_id = t.job and q.thread = t.thread order by q.id desc limit 1) r on true`;
}

/** Unended runs that may be in progress, and of each thread the newest run and the one of its last counted ping. */
export async function readOwnRuns(tx: Tx, wishes: readonly Wish[]): Promise<StoredRun[]> {
  const recent = wishes.map(({ jobId, runsSince }) => ({ job: jobId, since: iso(runsSince) }));
  const threads = wishes.flatMap((wish) => wish.threads.map((thread) => ({ job: wish.jobId, thread })));
  const keyed = wishes.flatMap((wish) =>
    wish.named.flatMap((at) => wish.threads.map((thread) => ({ job: wish.jobId, thread, at: iso(at) }))),
  );
  const { sql } = tx;
  const parts = [
    keyed.length > 0 &&
      sql<StoredRun[]>`
        select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(keyed)}::jsonb) t(job bigint, thread text, at timestamptz)
        cross join lateral (
          select * from runs q where q.job_id = t.job and q.scheduled_for = t.at and q.thread = t.thread
          order by q.id desc limit 1) r`,
    sql<StoredRun[]>`
      select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(recent)}::jsonb) w(job bigint, since timestamptz)
      join runs r on r.job_id = w.job and r.ended_at is null and r.started_at > w.since`,
    threads.length > 0 &&
      sql<StoredRun[]>`
        select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(threads)}::jsonb) t(job bigint, thread text)
        cross join lateral (
          (select * from runs q where q.job_id = t.job and q.thread = t.thread order by q.id desc limit 1)
          union all
          (select q.* from runs q where q.id = (
            select p.run_id from pings p where p.job_id = t.job and p.thread = t.thread and p.counted
            order by p.id desc limit 1))) r`,
  ];
  return (await Promise.all(parts.filter((part) => part !== false))).flat();
}

export const unendedRuns = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRun[]>`
  select ${runColumns(tx)} from ${pointsOf(tx, points)}
  join runs r on r.job_id = p.job and r.scheduled_for = p.at and r.ended_at is null`;

export const completingRuns = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRun[]>`
  select ${runColumns(tx)} from ${pointsOf(tx, points)}
  join occurrences o on o.job_id = p.job and o.scheduled_for = p.at join runs r on r.id = o.completed_by`;
