import type { IncomingMessage } from 'node:http';
import type { Context, Handler } from 'hono';
import type { IncomingPing, Ingest, PingAnswer } from '../engine/ingest.ts';
import { ClockInDoubt } from '../store/clock-doubt.ts';
import { DatabaseUnavailable } from '../store/database.ts';
import type { ClientAddress } from './client-address.ts';
import {
  BODY_KEPT_BYTES,
  type BodyPatience,
  EMPTY_BODY,
  hasBody,
  type PingBody,
  readSocketBody,
  readStreamBody,
} from './ping-body.ts';
import { NOT_FOUND, readPingRequest } from './ping-request.ts';
import { RETRY_AFTER_SECONDS } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRefusedPings } from './refused-pings.ts';

export type PingDeps = {
  readonly ingest: Pick<Ingest, 'submit'>;
  /** Whether a ping key of this hash exists; asked only about keys that led nowhere. */
  readonly isPingKey: (hash: string) => Promise<boolean>;
  readonly clientAddress: ClientAddress;
  /** Pings with unknown keys, per address. */
  readonly unknownKeys: RateLimit;
  readonly monotonic: () => number;
  readonly log: {
    error(fields: object, message: string): void;
    info(fields: object, message: string): void;
  };
  /** Told the outcome of every request, for the metrics. */
  readonly observe?: (outcome: string, seconds: number) => void;
  readonly patience?: BodyPatience;
};

const PATIENCE: BodyPatience = { idleMs: 10_000, totalMs: 60_000 };
const USER_AGENT_LENGTH = 200;

/** What every answer carries: Healthchecks' headers, and a word to robots and caches. */
const HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Rollcall-Occurrence, Rollcall-Match, Ping-Body-Limit',
  'Cache-Control': 'max-age=0, no-cache, no-store, must-revalidate, private',
  Expires: '0',
  'Ping-Body-Limit': String(BODY_KEPT_BYTES),
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex, nofollow',
} as const;

type Answer = {
  readonly status: number;
  readonly text: string;
  readonly outcome: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whose key, slug or uuid led nowhere. */
  readonly unknown?: { readonly slug: string | null; readonly source: string | null };
};

/**
 * Serves /ping/…: the Healthchecks convention with Rollcall's keys. The reply goes out when the ping is committed, and
 * nothing else is waited for. Whatever names an existing job is handed to ingest, however flawed.
 */
export function pingHandler(deps: PingDeps): Handler {
  const noteRefused = createRefusedPings(deps.log, deps.monotonic);
  return async (c) => {
    const beganAt = deps.monotonic();
    const { status, text, outcome, headers, unknown } = await answerPing(c, deps);
    if (unknown) noteRefused({ ...unknown, status });
    deps.observe?.(outcome, (deps.monotonic() - beganAt) / 1000);
    return new Response(c.req.method === 'HEAD' ? null : text, { status, headers: { ...HEADERS, ...headers } });
  };
}

async function answerPing(c: Context, deps: PingDeps): Promise<Answer> {
  const { method } = c.req;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    return { status: 405, text: 'method not allowed', outcome: 'refused', headers: { Allow: 'GET, HEAD, POST' } };
  }
  const [path, query] = splitUrl(c.req.url);
  const request = readPingRequest(path, query, c.req.header('rollcall-occurrence'));
  if (!request.ok) return { status: request.status, text: request.message, outcome: 'refused' };
  if (isPrefetch(c)) return { status: 200, text: 'OK', outcome: 'prefetch' };
  const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming;
  const source = deps.clientAddress(incoming?.socket.remoteAddress, c.req.header('x-forwarded-for'));
  const { target } = request.ping;
  const unknown = { slug: 'slug' in target ? target.slug : null, source };
  try {
    if (await isLimited(target, source, deps)) return { ...tooMany(source, deps), unknown };
    const body = await readBody(c, incoming, deps.patience ?? PATIENCE);
    const answer = await deps.ingest.submit({
      ...request.ping,
      body: body.bytes,
      bodyBytes: body.total,
      truncated: body.truncated,
      source,
      userAgent: c.req.header('user-agent')?.slice(0, USER_AGENT_LENGTH) ?? null,
      method,
      arrivedMs: deps.monotonic(),
    });
    if (answer.outcome === 'not_found') await countUnknownKey(target, source, deps);
    const reply = { ...toAnswer(answer), ...(answer.outcome === 'not_found' ? { unknown } : {}) };
    return body.isCut && method !== 'POST' ? closing(reply) : reply;
  } catch (error) {
    return failed(error, deps);
  }
}

/** Path and query as sent: Hono's own decoding passes over malformed percent-encoding. */
function splitUrl(url: string): readonly [path: string, query: string] {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const mark = url.indexOf('?', start);
  return mark === -1 ? [url.slice(start), ''] : [url.slice(start, mark), url.slice(mark + 1)];
}

/** A browser that fetches ahead of its user has run no job. */
function isPrefetch(c: Context): boolean {
  return /\bprefetch\b/i.test(`${c.req.header('purpose') ?? ''} ${c.req.header('sec-purpose') ?? ''}`);
}

function readBody(c: Context, incoming: IncomingMessage | undefined, patience: BodyPatience): Promise<PingBody> {
  if (incoming) return hasBody(incoming) ? readSocketBody(incoming, patience) : Promise.resolve(EMPTY_BODY);
  return c.req.raw.body ? readStreamBody(c.req.raw.body) : Promise.resolve(EMPTY_BODY);
}

/** A known key is never limited, so whoever has used up an allowance is asked about first. */
async function isLimited(target: IncomingPing['target'], source: string | null, deps: PingDeps): Promise<boolean> {
  if (!('pingKeyHash' in target) || !deps.unknownKeys.isExhausted(source)) return false;
  return !(await deps.isPingKey(target.pingKeyHash));
}

async function countUnknownKey(target: IncomingPing['target'], source: string | null, deps: PingDeps): Promise<void> {
  if ('pingKeyHash' in target && !(await deps.isPingKey(target.pingKeyHash))) deps.unknownKeys.count(source);
}

function tooMany(source: string | null, { unknownKeys }: PingDeps): Answer {
  const headers = { 'Retry-After': String(unknownKeys.retryAfterSeconds(source)) };
  return { status: 429, text: 'too many requests with unknown ping keys', outcome: 'limited', headers };
}

function toAnswer(answer: PingAnswer): Answer {
  if (answer.outcome === 'not_found') return { status: 404, text: NOT_FOUND, outcome: 'not_found' };
  if (answer.outcome === 'refused') {
    const headers = { 'Rollcall-Match': 'unmatched' };
    return { status: answer.status, text: answer.message, outcome: 'unmatched', headers };
  }
  const headers = {
    'Rollcall-Match': answer.matchedBy,
    ...(answer.key === null ? {} : { 'Rollcall-Occurrence': answer.key }),
  };
  if (answer.created) return { status: 201, text: 'Created', outcome: answer.matchedBy, headers };
  return { status: 200, text: 'OK', outcome: answer.matchedBy, headers };
}

/**
 * After a cut POST the adapter reads on for half a second, so that the reply is not lost to a reset, and then hangs up.
 * It does not for other methods, and what is left of their bodies must not wait for ever.
 */
function closing(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, Connection: 'close' } };
}

function failed(error: unknown, { log }: PingDeps): Answer {
  const headers = { 'Retry-After': String(RETRY_AFTER_SECONDS) };
  if (error instanceof ClockInDoubt) {
    return { status: 503, text: `no job can be made now: ${error.message}`, outcome: 'unavailable', headers };
  }
  if (error instanceof DatabaseUnavailable) {
    const text = 'the database is not available: this ping may not have been stored, please send it again';
    return { status: 503, text, outcome: 'unavailable', headers };
  }
  log.error({ error }, 'a ping failed unexpectedly');
  return { status: 500, text: 'internal error: please send this ping again', outcome: 'error', headers };
}
