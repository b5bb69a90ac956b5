import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** A ping as it is kept. */
export type NewPing = {
  readonly jobId: number;
  readonly kind: 'start' | 'success' | 'fail' | 'log';
  readonly exitCode: number | null;
  readonly rid: string | null;
  readonly thread: string;
  readonly fingerprint: string;
  readonly receivedAt: Instant;
  readonly at: Instant;
  readonly ownAt: Instant | null;
  readonly occ: string | null;
  readonly scheduledFor: Instant | null;
  readonly matchedBy: string;
  readonly counted: boolean;
  readonly runId: number | null;
  readonly durationMs: number | null;
  readonly source: string | null;
  readonly userAgent: string | null;
  readonly method: string;
  readonly notes: readonly string[];
  readonly body: Uint8Array;
  readonly bodyBytes: number;
  readonly truncated: boolean;
};

/** NUL and halves of characters, which PostgreSQL's text cannot hold, become U+FFFD: a ping is never lost to them. */
const clean = (text: string | null): string | null => text?.replace(/[\0\p{Cs}]/gu, '\ufffd') ?? null;
const iso = (at: Instant | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Appends pings, in their order, in one statement. */
export async function appendPings(tx: Tx, pings: readonly NewPing[]): Promise<void> {
  if (pings.length === 0) return;
  const rows = pings.map((ping, ord) => ({
    ...ping,
    ord,
    rid: clean(ping.rid),
    occ: clean(ping.occ),
    source: clean(ping.source),
    userAgent: clean(ping.userAgent),
    receivedAt: iso(ping.receivedAt),
    at: iso(ping.at),
    ownAt: iso(ping.ownAt),
    scheduledFor: iso(ping.scheduledFor),
    body: ping.body.length === 0 ? null : Buffer.from(ping.body).toString('base64'),
  }));
  await tx.sql`
    insert into pings (job_id, kind, exit_code, rid, thread, fingerprint, received_at, at, own_at, occ, scheduled_for,
      matched_by, counted, run_id, duration_ms, source, user_agent, method, notes, body, body_bytes, truncated)
    select "jobId", kind, "exitCode", rid, thread, fingerprint, "receivedAt", at, "ownAt", occ, "scheduledFor",
      "matchedBy", counted, "runId", "durationMs", source, "userAgent", method, notes, decode(body, 'base64'),
      "bodyBytes", truncated
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) n(ord int, "jobId" bigint, kind text, "exitCode" int, rid text,
      thread text, fingerprint text, "receivedAt" timestamptz, at timestamptz, "ownAt" timestamptz, occ text,
      "scheduledFor" timestamptz, "matchedBy" text, counted boolean, "runId" bigint, "durationMs" bigint, source text,
      "userAgent" text, method text, notes jsonb, body text, "bodyBytes" int, truncated boolean)
    order by ord`;
}

/** A ping that was stored while its job was far behind or could not be expanded, or the clock was in doubt. */
export type DeferredPing = Pick<
  NewPing,
  'kind' | 'exitCode' | 'rid' | 'thread' | 'fingerprint' | 'receivedAt' | 'at' | 'ownAt' | 'occ' | 'durationMs'
> & { readonly id: number; readonly tail: Uint8Array | null };

/** The oldest deferred pings of a job, in their order. */
export async function deferredPings(tx: Tx, jobId: number, limit: number): Promise<DeferredPing[]> {
  return tx.sql<DeferredPing[]>`
    select id, kind, exit_code as "exitCode", rid, thread, fingerprint, received_at as "receivedAt", at,
      own_at as "ownAt", occ, duration_ms as "durationMs",
      substring(body from greatest(1, length(body) - 8000)) as tail
    from pings where job_id = ${jobId} and matched_by = 'deferred' order by id limit ${limit}`;
}

/**
 * How a deferred ping was applied in the end. One that came while the clock was ahead gets the instants it was applied
 * with; what the clock said is noted.
 */
export async function settleDeferred(
  tx: Tx,
  id: number,
  applied: Pick<NewPing, 'receivedAt' | 'at' | 'ownAt' | 'scheduledFor' | 'matchedBy' | 'counted' | 'runId'>,
): Promise<void> {
  await tx.sql`
    update pings set scheduled_for = ${applied.scheduledFor}, matched_by = ${applied.matchedBy},
      counted = ${applied.counted}, run_id = ${applied.runId}, received_at = ${applied.receivedAt}, at = ${applied.at},
      own_at = ${applied.ownAt}, notes = case when received_at > ${applied.receivedAt}
        then notes || jsonb_build_array('arrived while the clock said ' || to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
        else notes end
    where id = ${id}`;
}

/** What a ping's target resolves to; null: nothing of that name. */
export type Target = { readonly uuid: string } | { readonly pingKeyHash: string; readonly slug: string };

export type Resolved = { readonly jobId: number | null; readonly projectId: number | null };

/** Resolves uuids and (ping key, slug) pairs, in their order. `projectId` says whether the ping key is good, as of `at`. */
export async function resolveTargets(tx: Tx, targets: readonly Target[], at: Instant = tx.now): Promise<Resolved[]> {
  if (targets.length === 0) return [];
  const rows = targets.map((target, ord) => ({
    ord,
    uuid: 'uuid' in target ? target.uuid : null,
    hash: 'uuid' in target ? null : target.pingKeyHash,
    slug: 'uuid' in target ? null : target.slug,
  }));
  return tx.sql<Resolved[]>`
    select coalesce(u.id, s.id) as "jobId", coalesce(u.project_id, k.project_id) as "projectId"
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) t(ord int, uuid uuid, hash text, slug text)
    left join jobs u on u.uuid = t.uuid
    left join keys k on k.hash = t.hash and (k.kind = 'ping' or 'ping' = any(k.scopes)) and (k.expires_at is null or k.expires_at > ${at}::timestamptz)
    left join jobs s on s.project_id = k.project_id and s.slug = t.slug
    order by t.ord`;
}

/** Pings were stored that the evaluator has to apply: the job is due since then. */
export async function noteDeferred(
  tx: Tx,
  jobId: number,
  { count, since }: { readonly count: number; readonly since: Instant },
): Promise<void> {
  await tx.sql`
    update cursors set deferred = deferred + ${count}, next_check_at = least(next_check_at, ${since}::timestamptz)
    where job_id = ${jobId}`;
}
