import type { Hono } from 'hono';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { CannotStart } from '../store/cannot-start.ts';
import { connect, type Database } from '../store/database.ts';
import { startEmbedded } from '../store/embedded.ts';
import { createFirstRun, type FirstRunSetup, toldText } from '../store/first-run.ts';
import { migrate, migrationsFolder, waitForDatabase } from '../store/migrate.ts';
import type { Role } from '../web/health.ts';
import { type Entrance, type Listener, listen } from '../web/listen.ts';
import { databaseAway } from '../web/problem.ts';
import { loadZones, type Zones } from '../zones.ts';
import { compose } from './compose.ts';
import type { Output } from './exit-codes.ts';
import { startWarnings } from './start-warnings.ts';

export type ServeDeps = Pick<Output, 'out'> & {
  readonly config: Config;
  readonly roles: ReadonlySet<Role>;
  readonly log: Logger;
};

/** Requests under way have this long to end; with the loops and the database after them it is less than 10 s. */
const DRAIN_MS = 4000;

/** One batch at a time, one for the moment in which another is given up, and one for /healthz. */
const INGEST_CONNECTIONS = 3;

/**
 * `rollcall serve`: runs until `stop` aborts, then drains: no new requests, those under way are answered, what they
 * brought is committed, then the loops, the database and our own server end, in this order. Throws CannotStart or
 * DatabaseUnavailable when it cannot start.
 */
export async function serve(deps: ServeDeps, stop: AbortSignal): Promise<void> {
  const { config, roles, log } = deps;
  const zones = readZones();
  // The port is taken first: a second Rollcall must find out before it touches anything, and a ping that comes during
  // the start is told to come again.
  const door = await openDoor(config, roles, log);
  try {
    const settings = withPort(config, door);
    for (const warning of startWarnings(settings, roles)) log.warn(warning);
    const embedded = config.databaseUrl === null ? await startEmbedded(config.dataDir, log) : null;
    try {
      const onNotice = (notice: string): void => log.debug({ notice }, 'the database has a notice');
      // Our own server has no pooler before it.
      const options = { onNotice, prepare: config.databaseUrl === null };
      const url = config.databaseUrl ?? embedded?.url ?? '';
      const database = connect(url, options);
      const ingestDatabase = connect(url, { ...options, max: INGEST_CONNECTIONS });
      try {
        await run({ ...deps, config: settings }, { database, ingestDatabase, zones, door }, stop);
      } finally {
        await Promise.all([database.close(), ingestDatabase.close()]);
      }
    } finally {
      await embedded?.stop();
    }
  } finally {
    await door?.listener.close(0);
  }
  log.info('rollcall has stopped');
}

type Resources = {
  readonly database: Database;
  readonly ingestDatabase: Database;
  readonly zones: Zones;
  readonly door: Door | null;
};

async function run(
  deps: ServeDeps,
  { database, ingestDatabase, zones, door }: Resources,
  stop: AbortSignal,
): Promise<void> {
  const { config, roles, log } = deps;
  const firstRun = await prepare(database, deps, stop);
  // Later links are for whoever opens pages, which a process without the web role has not.
  if (firstRun !== null && (firstRun.kind === 'first' || roles.has('web'))) deps.out(toldText(firstRun));
  if (stop.aborted) return;
  const { app, startLoops } = compose({ config, roles, log, database, ingestDatabase, zones, clock: systemClock });
  const loops = startLoops();
  door?.serve(app);
  log.info(
    {
      url: config.publicUrl,
      host: config.host,
      port: door?.listener.port ?? null,
      roles: [...roles],
      tz: zones.version,
    },
    'rollcall runs',
  );
  await aborted(stop);
  log.info('stopping: requests under way are answered first');
  const isIdle = loops.stopLoops();
  await door?.listener.close(DRAIN_MS);
  await Promise.all([isIdle, loops.stopIngest()]);
}

function readZones(): Zones {
  try {
    return loadZones();
  } catch (error) {
    throw new CannotStart((error as Error).message);
  }
}

/** Waits for a database that is starting as well, migrates it, and sets up a new installation. */
async function prepare(
  database: Database,
  { config, log }: ServeDeps,
  stop: AbortSignal,
): Promise<ReturnType<FirstRunSetup['finish']>> {
  if (config.databaseUrl !== null) await waitForDatabase(config.databaseUrl, log, stop);
  const firstRun = createFirstRun(config, log);
  await migrate(database, migrationsFolder, log, firstRun.seed);
  return firstRun.finish();
}

type Door = {
  readonly listener: Listener;
  /** From here on requests go to `app`. */
  serve(app: Hono): void;
};

/** A process without the web role answers only for its health, and does without when the port is taken. */
async function openDoor({ host, port }: Config, roles: ReadonlySet<Role>, log: Logger): Promise<Door | null> {
  let fetch: Entrance['fetch'] = () => databaseAway();
  try {
    const listener = await listen({ fetch: (request, bindings) => fetch(request, bindings) }, host, port);
    return {
      listener,
      serve: (app) => {
        fetch = app.fetch;
      },
    };
  } catch (error) {
    if (roles.has('web') || !(error instanceof CannotStart)) throw error;
    log.warn({ reason: error.message }, 'this process has no /healthz and /metrics of its own');
    return null;
  }
}

/** PORT=0 takes a free port; people must be told which. */
function withPort(config: Config, door: Door | null): Config {
  if (config.port !== 0 || door === null || !config.publicUrl.endsWith(':0')) return config;
  return { ...config, publicUrl: config.publicUrl.replace(/:0$/, `:${door.listener.port}`) };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
