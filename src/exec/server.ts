import type { Instant } from '../core/time.ts';
import { type HttpAnswer, isRollcalls, request, retryAfterMs } from './http.ts';
import { type Ping, pingPath, type Receipt, readReceipt } from './ping.ts';
import type { ExecSettings } from './settings.ts';

/** An occurrence in our hands. */
export type Claim = {
  readonly id: string;
  readonly key: string;
  /** As Rollcall wrote it, for the environment of the command. */
  readonly scheduledFor: string;
  /** How long after the claim the run is still worth something; null: always. */
  readonly usefulMs: number | null;
};

export type ClaimAnswer =
  | { readonly kind: 'given'; readonly claim: Claim }
  /** 409, by its word: completed, off_schedule, not_yet, in_progress, backlog, paused. */
  | {
      readonly kind: 'refused';
      readonly word: string;
      readonly detail: string;
      readonly retryAfterMs: number | null;
      /** `off_schedule`: the current occurrence, whose window is over. */
      readonly past: { readonly key: string; readonly usefulUntil: string } | null;
    }
  | NoAnswer;

/**
 * Rollcall cannot tell us what to do. `unfit`: it answers, but our settings do not fit (`isProven`: it was Rollcall, and
 * not something before it); `away`: it may later.
 */
type NoAnswer =
  | { readonly kind: 'unfit'; readonly status: number; readonly advice: string; readonly isProven: boolean }
  | { readonly kind: 'away'; readonly reason: string };

type ExtendAnswer =
  | { readonly kind: 'extended' }
  /** The lease is over: completed, replaced or lease_lost. */
  | { readonly kind: 'over'; readonly word: string; readonly detail: string }
  | NoAnswer;

type OwedAnswer = { readonly kind: 'owed'; readonly keys: readonly string[] } | NoAnswer;

/** Rollcall, as far as exec needs it. Nothing throws; every request ends within 10 s. */
export type Server = {
  claim(job: string, rid: string, signal: AbortSignal): Promise<ClaimAnswer>;
  extend(claim: Claim): Promise<ExtendAnswer>;
  release(claim: Claim): Promise<void>;
  /** Keys of what may be handed out, oldest first (the first 500). */
  owed(job: string, signal: AbortSignal): Promise<OwedAnswer>;
  ping(ping: Ping, late: boolean): Promise<Receipt>;
};

/** From the claim to its end without an extension. */
const LEASE_MS = 60_000;

export function createServer({ url, apiKey, pingKey }: ExecSettings, userAgent: string): Server {
  const headers = { authorization: `Bearer ${apiKey}`, 'user-agent': userAgent };
  const addresses = new Map<string, string>();

  const api = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, signal?: AbortSignal) =>
    request({
      method,
      url: `${url}/api/v1${path}`,
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(signal ? { signal } : {}),
    });

  /** Below our own address for Rollcall: the public one may not be reachable from here. */
  const addressOf = async (job: string): Promise<string | NoAnswer> => {
    if (pingKey !== null) return `${url}/ping/${pingKey}/${job}`;
    const known = addresses.get(job);
    if (known !== undefined) return known;
    const answer = await api('GET', `/jobs/${job}`);
    const uuid = text(answer, 'uuid');
    if (!isOk(answer) || uuid === null) return noAnswer(answer, job);
    const address = `${url}/ping/${uuid}`;
    addresses.set(job, address);
    return address;
  };

  return {
    async claim(job, rid, signal) {
      const answer = await api('POST', `/jobs/${job}/claims`, { rid }, signal);
      if (isOk(answer)) {
        const claim = readClaim(answer.json);
        if (claim) return { kind: 'given', claim };
      }
      return readRefusal(answer) ?? noAnswer(answer, job);
    },
    async extend({ id }) {
      const answer = await api('POST', `/claims/${id}/extend`);
      if (isOk(answer)) return { kind: 'extended' };
      const refusal = readRefusal(answer);
      if (refusal) return { kind: 'over', word: refusal.word, detail: refusal.detail };
      return noAnswer(answer, null);
    },
    async release({ id }) {
      await api('DELETE', `/claims/${id}`);
    },
    async owed(job, signal) {
      const answer = await api('GET', `/jobs/${job}/owed?limit=500`, undefined, signal);
      const list = isOk(answer) ? readOwed(answer.json) : null;
      return list ? { kind: 'owed', keys: list } : noAnswer(answer, job);
    },
    async ping(ping, late) {
      const address = await addressOf(ping.job);
      if (typeof address !== 'string') {
        if (address.kind === 'away') return { kind: 'again', reason: address.reason, isAway: true };
        if (!address.isProven) return { kind: 'again', reason: address.advice, isAway: true };
        return { kind: 'rejected', reason: address.advice };
      }
      const { body } = ping;
      return readReceipt(
        await request({
          method: 'POST',
          url: `${address}${pingPath(ping, late)}`,
          headers: { 'user-agent': userAgent, 'content-type': 'application/octet-stream' },
          ...(body === null ? {} : { body }),
        }),
        pingKey === null
          ? `the job ${ping.job} is gone`
          : `ROLLCALL_PING_KEY is wrong, or it is of a project without a job ${ping.job}`,
      );
    },
  };
}

type Answered = Extract<HttpAnswer, { kind: 'answer' }>;

function isOk(answer: HttpAnswer): answer is Answered {
  return answer.kind === 'answer' && answer.status >= 200 && answer.status < 300;
}

function noAnswer(answer: HttpAnswer, job: string | null): NoAnswer {
  if (answer.kind === 'away') return answer;
  const { status, headers } = answer;
  const isProven = isRollcalls(headers);
  const detail = text(answer, 'detail');
  if ((status === 401 || status === 403) && isProven) {
    return {
      kind: 'unfit',
      status,
      isProven,
      advice: `Rollcall does not take ROLLCALL_API_KEY (${status}): set a key of the job's project`,
    };
  }
  if (status === 404 && isProven) {
    return {
      kind: 'unfit',
      status,
      isProven,
      advice: `Rollcall knows no job ${job ?? ''} (404): make it, or correct the name or the key`,
    };
  }
  if (status >= 300 && status < 400) {
    const target = headers.get('location') ?? 'somewhere else';
    return {
      kind: 'unfit',
      status,
      isProven,
      advice: `ROLLCALL_URL leads on to ${target} (${status}): set ROLLCALL_URL to where Rollcall is`,
    };
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    const said = detail === null ? '' : `: ${detail}`;
    return {
      kind: 'unfit',
      status,
      isProven,
      advice: `the answer is ${status}${said}: is ROLLCALL_URL the address of your Rollcall?`,
    };
  }
  const reason = status < 300 ? 'the answer cannot be read: is ROLLCALL_URL your Rollcall?' : `answer ${status}`;
  return { kind: 'away', reason };
}

function readRefusal(answer: HttpAnswer): Extract<ClaimAnswer, { kind: 'refused' }> | null {
  if (answer.kind === 'away' || answer.status !== 409) return null;
  const word = /\/problems\/(\w+)$/.exec(text(answer, 'type') ?? '')?.[1];
  if (word === undefined) return null;
  const past = member(answer.json, 'past');
  const key = member(past, 'key');
  const usefulUntil = member(past, 'useful_until');
  return {
    kind: 'refused',
    word,
    // What is said after the last semicolon is for programs that ask by themselves.
    detail: text(answer, 'detail')?.replace(/; [^;]*$/, '') ?? word,
    retryAfterMs: retryAfterMs(answer.headers),
    past: typeof key === 'string' ? { key, usefulUntil: String(usefulUntil) } : null,
  };
}

function readClaim(json: unknown): Claim | null {
  const id = member(json, 'id');
  const key = member(json, 'key');
  const scheduledFor = member(json, 'scheduled_for');
  const leaseUntil = instant(member(json, 'lease_until'));
  if ((typeof id !== 'string' && typeof id !== 'number') || typeof key !== 'string' || leaseUntil === null) return null;
  if (typeof scheduledFor !== 'string') return null;
  const usefulUntil = instant(member(json, 'useful_until'));
  // Both instants are of Rollcall's clock: their distance needs none of ours.
  const usefulMs = usefulUntil === null ? null : usefulUntil - (leaseUntil - LEASE_MS);
  return { id: encodeURIComponent(id), key, scheduledFor, usefulMs };
}

function readOwed(json: unknown): readonly string[] | null {
  const list = member(json, 'owed');
  if (!Array.isArray(list)) return null;
  return list.filter((each) => member(each, 'unconfirmed') !== true).map((each) => String(member(each, 'key')));
}

function instant(value: unknown): Instant | null {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

function text(answer: HttpAnswer, name: string): string | null {
  const value = answer.kind === 'answer' ? member(answer.json, name) : null;
  return typeof value === 'string' ? value : null;
}

function member(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>)[name] : undefined;
}
