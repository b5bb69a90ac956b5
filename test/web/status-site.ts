import { Hono } from 'hono';
import type { Database } from '../../src/store/database.ts';
import { createClientAddress } from '../../src/web/client-address.ts';
import { loadAssets } from '../../src/web/pages/assets.ts';
import { withStatusHosts } from '../../src/web/status/own-hosts.ts';
import { type StatusDeps, statusPages } from '../../src/web/status/status-pages.tsx';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from './api/api.ts';

export const ORIGIN = 'https://rollcall.example.org';

type StatusAnswer = { readonly status: number; readonly text: string; readonly headers: Headers };

export type StatusSite = TestApi & {
  readonly deps: StatusDeps;
  readonly site: Hono;
  /** GET of a path at Rollcall's address, or of a whole URL; what was read before is forgotten, unless `keeps`. */
  open(path: string, init?: RequestInit, keeps?: boolean): Promise<StatusAnswer>;
  /** Monotonic milliseconds of the site. */
  passes(ms: number): void;
};

const assets = loadAssets();
const zones = loadZones();

/** The public pages as they are served, in front of an API and pings over a database of their own. */
export async function startStatusSite(
  at: string,
  wrapped: (database: Database) => Database = (database) => database,
): Promise<StatusSite> {
  const api = await startApi(at);
  let elapsed = 0;
  const monotonic = () => elapsed;
  const { catchUp } = api;
  const database = wrapped(api.database);
  const log = { error: (fields: object) => void api.logged.push(fields) };
  const deps: StatusDeps = {
    database,
    catchUp,
    zones,
    assets,
    log,
    publicUrl: ORIGIN,
    clientAddress: createClientAddress([]),
    monotonic,
  };
  const inner = new Hono().route('/', api.app).route('/', assets.routes).route('/', statusPages(deps));
  const site = withStatusHosts(inner, { database, publicUrl: ORIGIN, monotonic });
  return {
    ...api,
    deps,
    site,
    passes: (ms) => {
      elapsed += ms;
    },
    async open(path, init = {}, keeps = false) {
      if (!keeps) elapsed += 60_000;
      const response = await site.request(path.startsWith('/') ? ORIGIN + path : path, init);
      const { status, headers } = response;
      return { status, headers, text: await response.text() };
    },
  };
}

/** The words of a page, as somebody reads them. */
export const wordsOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(' ,', ',');
