import { Hono } from 'hono';
import { createVersionCache } from '../../../src/engine/working-set.ts';
import type { ChannelContext } from '../../../src/notify/channel.ts';
import { createClientAddress } from '../../../src/web/client-address.ts';
import { loadAssets } from '../../../src/web/pages/assets.ts';
import type { PageDeps } from '../../../src/web/pages/deps.ts';
import { createPages } from '../../../src/web/pages/index.ts';
import type { Role, Viewer } from '../../../src/web/pages/viewer.ts';
import { loadZones } from '../../../src/zones.ts';
import { startApi, type TestApi } from '../api/api.ts';

export type TestSite = TestApi & {
  /** Pages, pings and API under their real addresses. */
  readonly site: Hono;
  /** From here on requests come from a person of this role in project `default`; null: nobody is signed in. */
  as(role: Role | null): void;
  /** A page as a browser asks for it. */
  open(path: string, headers?: Record<string, string>): Promise<PageAnswer>;
  /** A form as a browser sends it. */
  send(
    path: string,
    fields: Record<string, string | readonly string[]>,
    headers?: Record<string, string>,
  ): Promise<PageAnswer>;
};

type PageAnswer = {
  readonly status: number;
  readonly text: string;
  readonly location: string | null;
  readonly headers: Headers;
};

const zones = loadZones();
const assets = loadAssets();
const ORIGIN = 'https://rollcall.example.org';

/** The pages over a database of their own. Who is signed in is said by the test: sign-in has tests of its own. */
export async function startSite(at: string, channels: Partial<ChannelContext> = {}): Promise<TestSite> {
  const api = await startApi(at, channels);
  let role: Role | null = 'owner';
  const pages = createPages({
    ...pageDeps(api),
    readViewer: async () => (role === null ? null : person(api.projectId, role)),
  });
  const site = new Hono().route('/', api.app).route('/', pages);
  const answer = async (path: string, init: RequestInit): Promise<PageAnswer> => {
    const response = await site.request(ORIGIN + path, init);
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  };
  return {
    ...api,
    site,
    as(given) {
      role = given;
    },
    open: (path, headers = {}) => answer(path, { headers: { Accept: 'text/html', ...headers } }),
    send(path, fields, headers = {}) {
      const body = new URLSearchParams();
      for (const [name, values] of Object.entries(fields)) {
        for (const value of [values].flat()) body.append(name, value);
      }
      const sent = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: ORIGIN, ...headers };
      return answer(path, { method: 'POST', body: body.toString(), headers: sent });
    },
  };
}

const person = (projectId: number, role: Role): Viewer => ({
  userId: 'ada',
  name: 'Ada',
  email: 'ada@example.org',
  zone: null,
  projects: [{ id: projectId, slug: 'default', name: 'Default', role }],
});

function pageDeps(api: TestApi): Omit<PageDeps, 'readViewer'> {
  return {
    database: api.database,
    zones,
    assets,
    api: api.api,
    catchUp: api.catchUp,
    readMaintenance: api.readMaintenance,
    versions: createVersionCache(zones),
    settleMs: 600_000,
    clientAddress: createClientAddress([]),
    publicUrl: ORIGIN,
    channelContext: api.channelContext,
    log: { error: (fields) => void api.logged.push(fields) },
    readHealth: async () => ({ status: 'ok', tz_version: zones.version, checks: [] }),
  };
}
