import { lookup as resolveName } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, request } from 'undici';
import { type Instant, parsed, type Result, refused } from '../core/time.ts';
import { type ChannelContext, type Delivery, rejected, retry } from './channel.ts';

/** The whole of one attempt: name, connection, request and answer. */
export const ATTEMPT_MS = 10_000;
const ANSWER_BYTES = 4096;
const URL_LENGTH = 2000;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Allowed = Pick<ChannelContext, 'outboundAllow'>;

/** Public addresses that are the inside of somebody's cloud all the same: Azure's host agent. */
const INSIDE = new Set(['168.63.129.16']);

/** Whether Rollcall may connect to this address: public, or listed in OUTBOUND_ALLOW. */
export function mayReach(address: string, { outboundAllow }: Allowed): boolean {
  return isListed(address, outboundAllow) || isPublic(readAddress(address));
}

/** An IPv4 address inside an IPv6 one (::ffff:10.0.0.1) is taken out, so that it cannot pass for something else. */
function readAddress(text: string): Address | null {
  const bare = text.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null;
}

function isPublic(address: Address | null): boolean {
  if (address === null || address.range() !== 'unicast' || INSIDE.has(address.toString())) return false;
  // Outside 2000::/3 nothing is assigned to the public internet; ::7f00:1 (127.0.0.1) would pass as unicast.
  return address.kind() === 'ipv4' || address.match(ipaddr.parseCIDR('2000::/3'));
}

function isListed(text: string, cidrs: readonly string[]): boolean {
  const address = readAddress(text);
  return cidrs.some((cidr) => {
    const [network, bits] = ipaddr.parseCIDR(cidr.includes('/') ? cidr : `${cidr}/${cidr.includes(':') ? 128 : 32}`);
    return address !== null && address.kind() === network.kind() && address.match(network, bits);
  });
}

const NOT_PUBLIC = 'the address is private or not public: the operator can allow it with OUTBOUND_ALLOW';
const HTTPS_ONLY = 'write an https URL (http only for an address listed in OUTBOUND_ALLOW)';

/** The URL as Rollcall will use it, if it may be used at all. Names are not resolved here, numbers in any spelling are. */
export function readUrl(text: string, allowed: Allowed): Result<URL> {
  // The URL parser drops tabs and newlines silently and trims: what is stored would not be what was typed.
  const isPlain = text.length <= URL_LENGTH && /^[\x21-\x7e]+$/.test(text);
  const url = isPlain && URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return refused(HTTPS_ONLY);
  if (url.username || url.password) return refused('write the URL without user name and password');
  if (url.hash) return refused('write the URL without a fragment (#…)');
  if (!ipaddr.isValid(url.hostname.replace(/^\[|\]$/g, ''))) return parsed(url);
  if (!mayReach(url.hostname, allowed)) return refused(NOT_PUBLIC);
  if (url.protocol === 'http:' && !isListed(url.hostname, allowed.outboundAllow)) return refused(HTTPS_ONLY);
  return parsed(url);
}

/**
 * Checks the URL of a channel as it is saved. A name that resolves must resolve to addresses that may be reached; one
 * that does not resolve now is taken (https only), because every attempt checks again.
 */
export async function checkUrl(text: string, allowed: Allowed): Promise<Result<URL>> {
  const url = readUrl(text, allowed);
  if (!url.ok || ipaddr.isValid(url.value.hostname.replace(/^\[|\]$/g, ''))) return url;
  const addresses = await addressesOf(url.value.hostname);
  if (addresses.length === 0) return url.value.protocol === 'https:' ? url : refused(HTTPS_ONLY);
  if (addresses.some(({ address }) => !mayReach(address, allowed))) return refused(NOT_PUBLIC);
  const isPlainHttp = url.value.protocol === 'http:';
  if (isPlainHttp && addresses.some(({ address }) => !isListed(address, allowed.outboundAllow))) {
    return refused(HTTPS_ONLY);
  }
  return url;
}

/** A URL as it may be read back: path and query may be secret. */
export function hostOnly(url: string): string {
  return `${URL.canParse(url) ? new URL(url).origin : ''}/…`;
}

type Resolved = { readonly address: string; readonly family: number };

function addressesOf(host: string): Promise<readonly Resolved[]> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve([]), 5000);
    resolveName(host, { all: true }, (error, addresses) => {
      clearTimeout(late);
      resolve(error ? [] : addresses);
    });
  });
}

/** The address was looked at, and is not one to connect to. */
class NotAllowed extends Error {}

/** Resolves for one connection and hands over only addresses that were checked: what is checked is what is dialled. */
function pinnedLookup(allowed: Allowed, isPlainHttp: boolean): LookupFunction {
  return (host, options, callback) => {
    resolveName(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const good = addresses.filter(({ address }) =>
        isPlainHttp ? isListed(address, allowed.outboundAllow) : mayReach(address, allowed),
      );
      const [first] = good;
      if (!first) return callback(new NotAllowed(`${host} resolves to an address that is not allowed`), '', 0);
      if (options.all) callback(null, good);
      else callback(null, first.address, first.family);
    });
  };
}

const agents = new WeakMap<ChannelContext, Record<'http:' | 'https:', Agent>>();

/** No keep-alive (pipelining 0): every message resolves, checks and connects anew. An explicit agent knows no proxy. */
export function agentFor(context: ChannelContext, isPlainHttp: boolean): Agent {
  const create = (isHttp: boolean): Agent =>
    new Agent({
      connect: { lookup: pinnedLookup(context, isHttp), timeout: ATTEMPT_MS },
      pipelining: 0,
      headersTimeout: ATTEMPT_MS,
      bodyTimeout: ATTEMPT_MS,
    });
  const pair = agents.get(context) ?? { 'http:': create(true), 'https:': create(false) };
  agents.set(context, pair);
  return pair[isPlainHttp ? 'http:' : 'https:'];
}

/** What a receiver answered. `text` is its beginning: for deciding, never for showing. */
export type Answer = {
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly text: string;
};

export type Posting = {
  readonly url: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sentAt: Instant;
  /** So much of the answer is read (4 kB). */
  readonly answerBytes?: number;
};

/** Posts JSON once. Redirects are not followed. What prevented an answer comes back as a Delivery. */
export async function postJson(
  { url: text, body, headers, sentAt, answerBytes = ANSWER_BYTES }: Posting,
  context: ChannelContext,
  signal: AbortSignal,
): Promise<{ readonly answer: Answer } | { readonly failure: Delivery }> {
  const url = readUrl(text, context);
  // It was good when it was saved: allowed again, the installation can send what waits.
  if (!url.ok) return { failure: retry(url.reason) };
  try {
    const response = await request(url.value, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Rollcall', ...headers },
      body,
      signal,
      dispatcher: agentFor(context, url.value.protocol === 'http:'),
    });
    const { 'retry-after': retryAfter, date } = response.headers;
    const retryAfterMs = readRetryAfter(one(retryAfter), one(date), sentAt);
    return {
      answer: { status: response.statusCode, retryAfterMs, text: await firstBytes(response.body, answerBytes) },
    };
  } catch (error) {
    return { failure: troubleOf(error, signal) };
  }
}

export type Sending = { readonly context: ChannelContext; readonly signal: AbortSignal };

/** Posts JSON once, and lets `judge` say what the answer means. */
export async function postAndJudge(
  posting: Posting,
  judge: (answer: Answer) => Delivery,
  { context, signal }: Sending,
): Promise<Delivery> {
  const reply = await postJson(posting, context, signal);
  return 'failure' in reply ? reply.failure : judge(reply.answer);
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** The status has decided already: a body that breaks off changes nothing. */
async function firstBytes(body: AsyncIterable<Uint8Array> & { destroy(): unknown }, most: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= most) break;
    }
  } catch {
    return '';
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks).subarray(0, most).toString('utf8');
}

/**
 * Milliseconds to wait by a Retry-After header: seconds or an HTTP-date (RFC 9110, 10.2.3). A date is measured against
 * the answer's own Date header, because it was written by that clock; without one against the database's.
 */
export function readRetryAfter(value: string | undefined, date: string | undefined, sentAt: Instant): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const until = Date.parse(text);
  if (Number.isNaN(until)) return null;
  const written = date === undefined ? Number.NaN : Date.parse(date);
  return Math.max(0, until - (Number.isNaN(written) ? sentAt : written));
}

/** Errors of a connection that never stood: the receiver has seen nothing. */
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|ERR_SSL|EPROTO|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

/** What prevented an answer, in words that give nothing of the other side away. */
export function troubleOf(error: unknown, signal: AbortSignal): Delivery {
  if (signal.aborted) return retry(`no answer within ${ATTEMPT_MS / 1000} s`, { uncertain: true });
  const causes = [error, error instanceof Error ? error.cause : null];
  if (causes.some((cause) => cause instanceof NotAllowed)) {
    return retry('the name resolves to an address that is private or not public, and not in OUTBOUND_ALLOW');
  }
  const code = causes.map((cause) => (cause as { code?: unknown } | null)?.code).find((it) => typeof it === 'string');
  const word = typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown error';
  return retry(`connection failed: ${word}`, { uncertain: !NOTHING_SENT.test(word) });
}

/** Statuses of services that know their channels by a key: the key is no longer good, or what it opened is gone. */
export const KEY_IS_GONE: readonly number[] = [401, 403, 404];

/**
 * What a status means for every receiver over HTTP, unless the kind knows better. `word`: what may be shown of the
 * answer; `gone`: statuses after which no later message gets through either, besides 410.
 */
export function judgeStatus(
  { status, retryAfterMs }: Answer,
  { word = null, gone = [] }: { readonly word?: string | null; readonly gone?: readonly number[] } = {},
): Delivery {
  const reason = `HTTP ${status}${word ? ` ${word}` : ''}`;
  if (status >= 200 && status < 300) return { outcome: 'delivered' };
  if (status >= 300 && status < 400) return rejected(`${reason}: redirects are not followed`);
  if (status === 410 || gone.includes(status)) return rejected(reason, { permanent: true });
  if (status >= 500 || status === 429 || status === 408 || status === 425) {
    // A gateway speaks for a receiver that may have understood.
    const uncertain = status === 502 || status === 504;
    return retry(reason, retryAfterMs === null ? { uncertain } : { retryAfterMs, uncertain });
  }
  return rejected(reason);
}

/** An answer's JSON where it is an object, else {}. */
export function jsonOf({ text }: Answer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** For services that say in their JSON how long they want to be left alone: the longer of that and the header. */
export function waitingAtLeast(answer: Answer, seconds: unknown): Answer {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return answer;
  return { ...answer, retryAfterMs: Math.max(answer.retryAfterMs ?? 0, Math.ceil(seconds * 1000)) };
}
