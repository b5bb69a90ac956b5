import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { parsed, type Result, refused } from '../core/time.ts';

/** Which Rollcall, as whom, and where pings wait. */
export type ExecSettings = {
  /** Without a trailing slash. */
  readonly url: string;
  /** '' where none is set: Rollcall will not know us, and the command runs all the same. */
  readonly apiKey: string;
  readonly pingKey: string | null;
  /** Absolute, unless this process is in a folder that was deleted. */
  readonly spool: string;
  /**
   * Names the Rollcall and the project that waiting pings are for, without telling the key: two projects on one host may
   * have jobs of the same name.
   */
  readonly account: string;
};

type Host = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
};

/** Reads what the environment says to `rollcall exec`. A refusal is one line that says what to set. */
export function readSettings({ env, isRoot }: Host, spoolOption: string | null): Result<ExecSettings> {
  const value = (name: string): string => env[name]?.trim() ?? '';
  const url = readUrl(value('ROLLCALL_URL'));
  if (!url.ok) return url;
  const apiKey = value('ROLLCALL_API_KEY');
  const pingKey = value('ROLLCALL_PING_KEY');
  // A key goes into a header and an address: anything else than these would be refused there, or read as something else.
  for (const [name, key] of [
    ['ROLLCALL_API_KEY', apiKey],
    ['ROLLCALL_PING_KEY', pingKey],
  ] as const) {
    if (!/^[\w-]{0,200}$/.test(key)) return refused(`${name} is no key of Rollcall: A-Z, a-z, 0-9, _ and -`);
  }
  const spool = spoolOption ?? (value('ROLLCALL_SPOOL') || defaultSpool(value, isRoot));
  const account = createHash('sha256')
    .update(`${url.value}\n${apiKey || pingKey}`)
    .digest('hex');
  return parsed({
    url: url.value,
    apiKey,
    pingKey: pingKey === '' ? null : pingKey,
    spool: absolute(spool),
    account: account.slice(0, 12),
  });
}

function absolute(folder: string): string {
  try {
    return resolve(folder);
  } catch {
    // We are in a folder that was deleted: a relative one cannot be made either, and that is said when it is tried.
    return folder;
  }
}

function defaultSpool(value: (name: string) => string, isRoot: boolean): string {
  if (isRoot) return '/var/spool/rollcall';
  const state = value('XDG_STATE_HOME') || join(value('HOME') || '/', '.local', 'state');
  return join(state, 'rollcall');
}

function readUrl(text: string): Result<string> {
  const example = 'such as ROLLCALL_URL=https://rollcall.example.com';
  if (text === '') return refused(`ROLLCALL_URL is not set: the address of your Rollcall, ${example}`);
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (!url || !isWeb || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return refused(`ROLLCALL_URL must be an http or https address without user, query or fragment, ${example}`);
  }
  // Some copy it from an example of the API.
  return parsed(url.href.replace(/\/+$/, '').replace(/\/api\/v1$/, ''));
}
