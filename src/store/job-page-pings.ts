import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { StoredPing } from './reading.ts';

/** A ping with all that is kept of it. */
export type WholePing = StoredPing & {
  /** As it was given. */
  readonly occ: string | null;
  readonly method: string;
  readonly durationMs: number | null;
  /** What of it was ignored, and why. */
  readonly notes: readonly string[];
};

/** One ping of a job; null: there is none of this id. */
export async function readPing(tx: Tx, jobId: number, id: number): Promise<WholePing | null> {
  const rows = await tx.sql<WholePing[]>`${selectPings(tx)} where p.job_id = ${jobId} and p.id = ${id}`;
  return rows[0] ?? null;
}

/** Pings of a job with an id below `before`, newest first. */
export async function wholePings(
  tx: Tx,
  jobId: number,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<readonly WholePing[]> {
  const older = before === null ? tx.sql`` : tx.sql`and p.id < ${before}`;
  return tx.sql<WholePing[]>`${selectPings(tx)} where p.job_id = ${jobId} ${older} order by p.id desc limit ${limit}`;
}

/** Pings about one occurrence, newest first. */
export async function pingsOfOccurrence(
  tx: Tx,
  jobId: number,
  { scheduledFor, limit }: { readonly scheduledFor: Instant; readonly limit: number },
): Promise<readonly WholePing[]> {
  return tx.sql<WholePing[]>`
    ${selectPings(tx)} where p.job_id = ${jobId} and p.scheduled_for = ${scheduledFor} order by p.id desc limit ${limit}`;
}

function selectPings(tx: Tx) {
  return tx.sql`
    select p.id, p.kind, p.exit_code as "exitCode", p.rid, p.received_at as "receivedAt", p.at, p.occ,
      p.scheduled_for as "scheduledFor", v.zone, v.tz_version as "tzVersion", p.matched_by as "matchedBy", p.source,
      p.user_agent as "userAgent", p.method, p.duration_ms as "durationMs", p.notes, p.body_bytes as "bodyBytes",
      p.truncated
    from pings p
    left join occurrences o on o.job_id = p.job_id and o.scheduled_for = p.scheduled_for
    left join schedule_versions v on v.job_id = o.job_id and v.number = o.version`;
}
