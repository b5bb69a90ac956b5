import { createHash } from 'node:crypto';
import { type KeySpelling, parseKey } from '../core/key.ts';
import type { Ping } from '../core/ping.ts';
import { type Instant, parseInstant } from '../core/time.ts';
import type { NewPing } from '../store/pings.ts';
import type { IncomingPing } from './ingest.ts';

/** A ping's own instant may lie this long before its arrival. */
const OWN_AT_MS = 30 * 86_400_000;
const MAX_DURATION_MS = 366 * 86_400_000;

/** A request, read: what the ledger needs, and what is kept. */
export type PingInput = {
  readonly ping: Ping;
  readonly record: Omit<NewPing, 'jobId' | 'scheduledFor' | 'matchedBy' | 'counted' | 'runId'>;
  /** 400: its key cannot be read, or the door already found a flaw. */
  readonly flaw: string | null;
};

/** Reads `occ`, `at` and `dur`; what cannot be used is noted, never refused, but for an unreadable key. */
export function readPing(
  incoming: IncomingPing,
  arrival: Instant,
  // Nobody knows when it arrived: whether its own instant can be is asked when it is applied.
  { isDoubted = false }: { readonly isDoubted?: boolean } = {},
): PingInput {
  const notes: string[] = [];
  const ownAt = readOwnAt(incoming.at, isDoubted ? null : arrival, notes);
  const durationMs = readDuration(incoming.dur, notes);
  const key = incoming.occ === null || incoming.flaw ? null : parseKey(incoming.occ);
  const flaw = incoming.flaw?.message ?? (key && !key.ok ? key.reason : null);
  const spelling: KeySpelling | null = key?.ok ? key.value : null;
  const thread = threadOf(incoming);
  const ping: Ping = {
    kind: incoming.kind,
    exitCode: incoming.exitCode,
    arrival,
    at: ownAt ?? arrival,
    ownAt,
    rid: incoming.rid,
    thread,
    key: spelling,
    fingerprint: fingerprintOf(incoming, ownAt),
    durationMs,
  };
  const { kind, exitCode, rid, occ, source, userAgent, method, body, bodyBytes, truncated } = incoming;
  const { at, fingerprint } = ping;
  const record = { kind, exitCode, rid, thread, fingerprint, receivedAt: arrival, at, ownAt, occ, durationMs };
  return { ping, record: { ...record, source, userAgent, method, notes, body, bodyBytes, truncated }, flaw };
}

const hash = (parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

function threadOf({ rid, source, userAgent }: IncomingPing): string {
  return rid === null ? `src:${hash([source, userAgent]).slice(0, 22)}` : `rid:${rid}`;
}

/** Equal fingerprints in one thread may be a retry (DESIGN section 3); without a run id the body counts too. */
function fingerprintOf(incoming: IncomingPing, ownAt: Instant | null): string {
  const { kind, exitCode, occ, rid, body, bodyBytes } = incoming;
  const text = rid === null ? [createHash('sha256').update(body).digest('base64url'), bodyBytes] : [];
  return hash([kind, exitCode, occ, ownAt, ...text]);
}

function readOwnAt(text: string | null, arrival: Instant | null, notes: string[]): Instant | null {
  if (text === null) return null;
  const at = parseOwnAt(text);
  if (at === null)
    notes.push(`at=${text.slice(0, 60)} ignored: not RFC 3339 with offset, Unix seconds or milliseconds`);
  else if (arrival !== null && !isOwnAt(at, arrival))
    notes.push(`at=${text} ignored: not within 30 days before arrival`);
  else return at;
  return null;
}

/** Whether a ping that arrived then may say that it is of this instant. */
export const isOwnAt = (at: Instant, arrival: Instant): boolean => at <= arrival && at > arrival - OWN_AT_MS;

function parseOwnAt(text: string): Instant | null {
  if (/^\d{13}$/.test(text)) return Number(text);
  if (/^\d{10}(\.\d+)?$/.test(text)) return Math.floor(Number(text) * 1000);
  const instant = parseInstant(text.trim().replace(/ (\d\d:?\d\d)$/, '+$1'));
  return instant.ok ? instant.value : null;
}

function readDuration(text: string | null, notes: string[]): number | null {
  if (text === null) return null;
  if (/^\d{1,13}$/.test(text) && Number(text) <= MAX_DURATION_MS) return Number(text);
  notes.push(`dur=${text.slice(0, 40)} ignored: whole milliseconds are expected`);
  return null;
}
