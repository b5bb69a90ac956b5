import { compose } from '../../src/cli/compose.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import type { Database } from '../../src/store/database.ts';
import { createFirstRun } from '../../src/store/first-run.ts';
import { loadZones } from '../../src/zones.ts';
import { createTestDatabase } from '../support/database.ts';

export type PeopleSite = {
  readonly database: Database;
  /** The path of the one-time link that the first start told. */
  readonly welcome: string;
  readonly apiKey: string;
  readonly pingKey: string;
  /** A browser with cookies of its own, at an address of its own. */
  browser(): Browser;
  /** The whole of HTTP, without cookies. */
  request(path: string, init?: RequestInit): Promise<Response>;
  drop(): Promise<void>;
};

export type Browser = {
  readonly address: string;
  readonly cookies: Map<string, string>;
  /** Asks for a page; follows nothing. */
  open(path: string): Promise<PageAnswer>;
  /** Sends a form as the page at our address would. */
  send(path: string, fields?: Fields, headers?: Record<string, string>): Promise<PageAnswer>;
};

type Fields = Readonly<Record<string, string | readonly string[]>>;

type PageAnswer = {
  readonly status: number;
  readonly text: string;
  readonly location: string | null;
  readonly headers: Headers;
};

export const ORIGIN = 'https://rollcall.example.org';
const zones = loadZones();

/** The service as it is put together, over a database of its own; its loops do not run. */
export async function startPeople(env: Readonly<Record<string, string>> = {}): Promise<PeopleSite> {
  const store = await createTestDatabase();
  const { database } = store;
  const log = createLog('silent');
  const config = readConfig({ PUBLIC_URL: ORIGIN, DATA_DIR: '/nowhere', ...env });
  if (!config.ok) throw new Error(config.reason);
  const firstRun = createFirstRun(config.value, log);
  await database.transaction(firstRun.seed);
  const told = firstRun.finish();
  if (told?.kind !== 'first') throw new Error('this was no first start');
  const roles = new Set(['web'] as const);
  const parts = { config: config.value, roles, database, ingestDatabase: database, zones, clock: systemClock, log };
  const { app, startLoops } = compose(parts);
  const loops = startLoops();
  const { origin } = new URL(config.value.publicUrl);
  let browsers = 0;
  return {
    database,
    welcome: new URL(told.told.sign_in_url).pathname,
    apiKey: told.told.api_key ?? '',
    pingKey: told.told.ping_key ?? '',
    request: async (path, init) => app.request(origin + path, init),
    browser() {
      browsers += 1;
      return createBrowser((request, bindings) => app.fetch(request, bindings), origin, `192.0.2.${browsers}`);
    },
    async drop() {
      await loops.stopLoops();
      await loops.stopIngest();
      await store.drop();
    },
  };
}

type Fetch = (request: Request, bindings: object) => Response | Promise<Response>;

function createBrowser(fetch: Fetch, origin: string, address: string): Browser {
  const cookies = new Map<string, string>();
  const answer = async (path: string, init: RequestInit): Promise<PageAnswer> => {
    const headers = new Headers(init.headers);
    headers.set('Accept', 'text/html');
    if (cookies.size > 0) headers.set('Cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const socket = { remoteAddress: address };
    const response = await fetch(new Request(origin + path, { ...init, headers }), { incoming: { socket } });
    for (const line of response.headers.getSetCookie()) keepCookie(cookies, line);
    const { status } = response;
    return {
      status,
      headers: response.headers,
      text: await response.text(),
      location: response.headers.get('location'),
    };
  };
  return {
    address,
    cookies,
    open: (path) => answer(path, {}),
    send(path, fields = {}, headers = {}) {
      const body = new URLSearchParams();
      for (const [name, values] of Object.entries(fields))
        for (const value of [values].flat()) body.append(name, value);
      const form = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin, ...headers };
      return answer(path, { method: 'POST', headers: form, body: body.toString() });
    },
  };
}

function keepCookie(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (value === '' || /max-age=0/i.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

export const ADA = { name: 'Ada Marsh', email: 'ada@example.org', password: 'correct horse battery' };

/** Ada makes the owner's account by the link of the first start. */
export async function welcomeAda(site: PeopleSite): Promise<Browser> {
  const browser = site.browser();
  const made = await browser.send(site.welcome, ADA);
  if (made.location !== '/') throw new Error(`not welcome: ${made.status} ${made.text}`);
  return browser;
}

/** An owner invites somebody, who makes an account and joins. */
export async function join(
  site: PeopleSite,
  owner: Browser,
  person: { readonly name: string; readonly email: string; readonly password: string; readonly role: string },
): Promise<Browser> {
  const browser = site.browser();
  const link = await inviteLink(owner, person);
  const joined = await browser.send(link, { name: person.name, password: person.password });
  if (joined.status !== 303) throw new Error(`not joined: ${joined.status} ${joined.text}`);
  return browser;
}

/** The path of the link that an owner is shown. */
export async function inviteLink(owner: Browser, { email, role }: { readonly email: string; readonly role: string }) {
  const { text } = await owner.send('/projects/default/settings/members/invite', { email, role });
  const path = /\/invitations\/[A-Za-z0-9]{24}/.exec(text)?.[0];
  if (path === undefined) throw new Error(`no invitation: ${text}`);
  return path;
}

/** The sentences of the audit log, newest first. */
export async function auditOf(site: PeopleSite): Promise<readonly string[]> {
  const response = await site.request('/api/v1/audit', { headers: { Authorization: `Bearer ${site.apiKey}` } });
  const { entries } = (await response.json()) as { entries: { text: string }[] };
  return entries.map(({ text }) => text);
}
