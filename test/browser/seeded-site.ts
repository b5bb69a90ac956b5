import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { compose } from '../../src/cli/compose.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { createFirstRun } from '../../src/store/first-run.ts';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

export type SeededSite = {
  readonly t: TestApi;
  readonly url: string;
  /** A one-time link by which the owner's account is made. */
  readonly welcome: string;
  drop(): Promise<void>;
};

/**
 * The service as it is put together, at a real port, over a database that the test fills by the engine and whose clock it
 * sets: what a page shows is the same on every day. The loops that move by themselves do not run.
 */
export async function startSeededSite(at: string, fill: (t: TestApi) => Promise<void>): Promise<SeededSite> {
  const t = await startApi(at);
  await fill(t);
  let answer: (request: Request, bindings: object) => Response | Promise<Response> = () =>
    new Response(null, { status: 503 });
  const server = createServer(getRequestListener((request, bindings) => answer(request, bindings)));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = readConfig({ PUBLIC_URL: url, DATA_DIR: '/nowhere' });
  if (!config.ok) throw new Error(config.reason);
  const log = createLog('error');
  const firstRun = createFirstRun(config.value, log);
  await t.database.transaction(firstRun.seed);
  const told = firstRun.finish();
  if (told?.kind !== 'again') throw new Error('the project was there, but nobody is told how to sign in');
  const { app, startLoops } = compose({
    config: config.value,
    roles: new Set(['web'] as const),
    database: t.database,
    ingestDatabase: t.database,
    zones: loadZones(),
    clock: systemClock,
    log,
  });
  answer = app.fetch;
  const loops = startLoops();
  return {
    t,
    url,
    welcome: told.signInUrl,
    async drop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await loops.stopLoops();
      await loops.stopIngest();
      await t.drop();
    },
  };
}
