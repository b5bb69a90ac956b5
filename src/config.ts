import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { parseDuration, parsed, type Result, refused, type Seconds } from './core/time.ts';
import type { LogLevel } from './log.ts';

/** Everything the environment decides, checked and complete. */
export type Config = Readonly<{
  host: string;
  /** 0: a free port is chosen. */
  port: number;
  /** Without a trailing slash. */
  publicUrl: string;
  /** Absolute. */
  dataDir: string;
  /** null: the service starts its own server in `dataDir`. */
  databaseUrl: string | null;
  smtpUrl: string | null;
  mailFrom: string | null;
  /** CIDRs. */
  outboundAllow: readonly string[];
  /** CIDRs. */
  trustedProxies: readonly string[];
  watchdogUrl: string | null;
  blindSettleSeconds: Seconds;
  logLevel: LogLevel;
  apiKey: string | null;
  pingKey: string | null;
  /** The provider people sign in with, beside their password; null: there is none. */
  oidc: OidcConfig | null;
}>;

export type OidcConfig = Readonly<{
  /** Without a trailing slash. Its configuration is at /.well-known/openid-configuration below it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call it. */
  name: string;
}>;

/** Takes the text of a variable that is set. Its refusal says what is accepted. */
type Reader<T> = (text: string) => Result<T>;

const SECRETS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'SMTP_URL',
  'WATCHDOG_URL',
  'OIDC_CLIENT_SECRET',
  'ROLLCALL_API_KEY',
  'ROLLCALL_PING_KEY',
]);
const LOG_LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads the configuration; the only reader of the environment. A variable that is unset or empty takes its default. A
 * refusal is one line that names the variable, its value (never a secret one) and what is accepted.
 */
export function readConfig(env: NodeJS.ProcessEnv): Result<Config> {
  const problems: string[] = [];
  const read = <T>(name: string, fallback: T, reader: Reader<T>): T => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return fallback;
    const result = reader(text);
    if (result.ok) return result.value;
    // A password has no place in an address of ours, but may stand there all the same.
    const shown = JSON.stringify(text.replace(/\/\/[^/@]*@/, '//…@'));
    problems.push(`${name}${SECRETS.has(name) ? '' : ` is ${shown}, but it`} must be ${result.reason}`);
    return fallback;
  };
  const oidc = {
    issuer: read('OIDC_ISSUER', null, issuerUrl),
    clientId: read('OIDC_CLIENT_ID', null, parsed),
    clientSecret: read('OIDC_CLIENT_SECRET', null, parsed),
    name: read('OIDC_NAME', 'single sign-on', shortText),
  };
  const host = read('HOST', '127.0.0.1', hostName);
  const port = read('PORT', 3000, portNumber);
  const config: Config = {
    host,
    port,
    publicUrl: read('PUBLIC_URL', `http://${host.includes(':') ? `[${host}]` : host}:${port}`, publicUrl),
    dataDir: read('DATA_DIR', resolve('data'), (text) => parsed(resolve(text))),
    databaseUrl: read('DATABASE_URL', null, databaseUrl),
    smtpUrl: read('SMTP_URL', null, urlOf(['smtp:', 'smtps:'], 'such as smtp://user:password@mail.example.com:587')),
    mailFrom: read('MAIL_FROM', null, mailAddress),
    outboundAllow: read('OUTBOUND_ALLOW', [], cidrs),
    trustedProxies: read('TRUSTED_PROXIES', [], cidrs),
    watchdogUrl: read('WATCHDOG_URL', null, urlOf(['http:', 'https:'], 'such as https://hc.example.com/ping/1234')),
    blindSettleSeconds: read('BLIND_SETTLE', 600, positiveDuration),
    logLevel: read('LOG_LEVEL', 'info', logLevel),
    apiKey: read('ROLLCALL_API_KEY', null, key),
    pingKey: read('ROLLCALL_PING_KEY', null, pingKey),
    oidc: wholeOidc(oidc, problems),
  };
  if (config.apiKey !== null && config.apiKey === config.pingKey) {
    problems.push('ROLLCALL_PING_KEY must differ from ROLLCALL_API_KEY: who may ping may not change jobs');
  }
  const [problem] = problems;
  return problem === undefined ? parsed(Object.freeze(config)) : refused(problem);
}

type GivenOidc = { readonly [name in keyof OidcConfig]: OidcConfig[name] | null };

/** All of it or nothing: half a provider would fail at the first sign-in. */
function wholeOidc({ issuer, clientId, clientSecret, name }: GivenOidc, problems: string[]): OidcConfig | null {
  if (issuer !== null && clientId !== null && clientSecret !== null && name !== null)
    return Object.freeze({ issuer, clientId, clientSecret, name });
  const given = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  const missing = Object.entries(given).filter(([, value]) => value === null);
  if (missing.length > 0 && missing.length < 3)
    problems.push(
      `${missing.map(([each]) => each).join(' and ')} must be set too: the three OIDC_ variables belong together`,
    );
  return null;
}

/** Where the commands that ask a running Rollcall find it, and the key they call with. */
export type Remote = Readonly<{
  /** Without a trailing slash. */
  url: string;
  apiKey: string;
}>;

/** Reads what these commands need. A refusal is one line that names the variable and what to write; never a key. */
export function readRemote(env: NodeJS.ProcessEnv): Result<Remote> {
  const url = env['ROLLCALL_URL']?.trim() ?? '';
  if (url === '')
    return refused('ROLLCALL_URL is not set: write the address of Rollcall, such as http://127.0.0.1:3000');
  const address = publicUrl(url);
  if (!address.ok) return refused(`ROLLCALL_URL must be ${address.reason}`);
  const apiKey = env['ROLLCALL_API_KEY']?.trim() ?? '';
  if (apiKey === '') return refused('ROLLCALL_API_KEY is not set: write the API key that the first start gave');
  const checked = key(apiKey);
  if (!checked.ok) return refused(`ROLLCALL_API_KEY must be ${checked.reason}`);
  return parsed(Object.freeze({ url: address.value, apiKey: checked.value }));
}

function hostName(text: string): Result<string> {
  const bare = text.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(bare) || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(bare)
    ? parsed(bare)
    : refused('an address or a host name to listen on, such as 127.0.0.1 or 0.0.0.0');
}

function portNumber(text: string): Result<number> {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535
    ? parsed(Number(text))
    : refused('a port from 0 to 65535 (0 takes a free one)');
}

function publicUrl(text: string): Result<string> {
  const url = parseUrl(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (!url || !isWeb || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return refused('the http or https address under which people reach Rollcall, such as https://rollcall.example.com');
  }
  return parsed(url.href.replace(/\/+$/, ''));
}

/** Tokens pass between us and the provider: http only on this machine. */
function issuerUrl(text: string): Result<string> {
  const url = parseUrl(text);
  const isLocal = url?.protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  return url && (url.protocol === 'https:' || isLocal) && url.search === '' && url.hash === '' && url.username === ''
    ? parsed(url.href.replace(/\/+$/, ''))
    : refused('the https address of an OpenID provider, such as https://login.example.com/realms/main');
}

function shortText(text: string): Result<string> {
  return text.length <= 60 ? parsed(text) : refused('at most 60 characters');
}

function urlOf(protocols: readonly string[], example: string): Reader<string> {
  const names = protocols.map((protocol) => protocol.slice(0, -1)).join(' or ');
  return (text) => {
    const url = parseUrl(text);
    return url && protocols.includes(url.protocol) && url.hostname !== ''
      ? parsed(text)
      : refused(`a URL with ${names}, ${example} (characters such as @ and / in a password are written %40 and %2F)`);
  };
}

/** Several hosts (`host1:5432,host2:5432`) are fine for PostgreSQL, and no URL to Node. */
function databaseUrl(text: string): Result<string> {
  const url = parseUrl(text.replace(/(:\/\/(?:[^/@?]*@)?[^/,?]*)(?:,[^/?]*)/, '$1'));
  const isPostgres = url?.protocol === 'postgres:' || url?.protocol === 'postgresql:';
  return isPostgres && isDecodable(text)
    ? parsed(text)
    : refused(
        'a URL such as postgres://user:password@db.example.com:5432/rollcall (characters such as @ and / in a password are written %40 and %2F)',
      );
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

function mailAddress(text: string): Result<string> {
  const address = /<([^<>]+)>$/.exec(text)?.[1] ?? text;
  return /^[^\s@<>]+@[^\s@<>]+$/.test(address) && !/[\r\n]/.test(text)
    ? parsed(text)
    : refused('a sender such as rollcall@example.com or "Rollcall <rollcall@example.com>"');
}

function cidrs(text: string): Result<readonly string[]> {
  const list = text.split(/[\s,]+/).filter((part) => part !== '');
  const wrong = list.find((part) => !isCidr(part));
  return wrong === undefined
    ? parsed(Object.freeze(list.map(asRange)))
    : refused(
        `address ranges or addresses separated by commas, such as 10.0.0.0/8,fd00::/8,192.0.2.7; ${JSON.stringify(wrong)} is none`,
      );
}

/** An address alone is the range of just that one. */
function asRange(text: string): string {
  if (text.includes('/')) return text;
  return `${text}/${text.includes(':') ? 128 : 32}`;
}

function isCidr(given: string): boolean {
  const text = asRange(given);
  const [address = '', length, ...rest] = text.split('/');
  // ipaddr.js also takes 10.1 and 0x7f.1, which mean something else to most readers.
  const isWhole = address.includes(':') ? ipaddr.IPv6.isValid(address) : ipaddr.IPv4.isValidFourPartDecimal(address);
  return isWhole && length !== undefined && rest.length === 0 && /^\d{1,3}$/.test(length) && ipaddr.isValidCIDR(text);
}

function positiveDuration(text: string): Result<Seconds> {
  const duration = parseDuration(text);
  if (duration.ok && duration.value > 0) return duration;
  return refused('a duration above zero, such as 90s, 10m or 1h');
}

function logLevel(text: string): Result<LogLevel> {
  const level = LOG_LEVELS.find((each) => each === text.toLowerCase());
  return level ? parsed(level) : refused(`one of ${LOG_LEVELS.join(', ')}`);
}

function key(text: string): Result<string> {
  return /^[\w-]{16,200}$/.test(text) ? parsed(text) : refused('16 to 200 characters of A-Z, a-z, 0-9, _ and -');
}

/** In a ping URL a UUID is a job: a key of that shape could never ping. */
function pingKey(text: string): Result<string> {
  const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
  return isUuid ? refused('a key that does not look like a UUID, which names a job in a ping URL') : key(text);
}

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
