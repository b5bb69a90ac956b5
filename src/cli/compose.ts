import type { Hono } from 'hono';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { createCatchUp } from '../engine/catch-up.ts';
import { createChanges } from '../engine/changes.ts';
import { createClaims } from '../engine/claims.ts';
import { createEvaluator } from '../engine/evaluator.ts';
import { createIngest, type Ingest } from '../engine/ingest.ts';
import { createMaintenance } from '../engine/maintenance.ts';
import { createMaintenanceRound } from '../engine/maintenance-round.ts';
import { createReminders } from '../engine/reminders.ts';
import { createReports } from '../engine/reports.ts';
import { createTzChange } from '../engine/tz-change.ts';
import { createVersionCache, type VersionCache } from '../engine/working-set.ts';
import type { Logger } from '../log.ts';
import { createFetchText } from '../notify/calendar-feed.ts';
import type { ChannelContext } from '../notify/channel.ts';
import { createDispatcher, runDispatcher } from '../notify/dispatcher.ts';
import { closeChannels } from '../notify/registry.ts';
import type { Database } from '../store/database.ts';
import { readSharedHealth, type SharedHealth } from '../store/health.ts';
import { createPingKeys } from '../store/keys.ts';
import { createVitals, type Vitals } from '../vitals.ts';
import { ackPages } from '../web/ack.tsx';
import { createApi } from '../web/api/index.ts';
import { createApp, createProbes, type ProbeDeps } from '../web/app.ts';
import { createAuth } from '../web/auth.ts';
import { createClientAddress } from '../web/client-address.ts';
import { createHealth, type Role } from '../web/health.ts';
import { createMetrics } from '../web/metrics.ts';
import { loadAssets } from '../web/pages/assets.ts';
import { createPages } from '../web/pages/index.ts';
import { notePage } from '../web/pages/note.tsx';
import { createRateLimit } from '../web/rate-limit.ts';
import { withStatusHosts } from '../web/status/own-hosts.ts';
import { unsubscribePages } from '../web/unsubscribe.tsx';
import type { Zones } from '../zones.ts';
import { runWatchdog } from './watchdog.ts';

export type Parts = {
  readonly config: Config;
  readonly roles: ReadonlySet<Role>;
  readonly database: Database;
  /** Connections for ingest and /healthz alone: however many wait for the locks of a job, pings are committed. */
  readonly ingestDatabase: Database;
  readonly zones: Zones;
  readonly clock: Clock;
  readonly log: Logger;
};

export type Composition = {
  readonly app: Hono;
  /** Starts the loops of the roles. None ends by itself. */
  startLoops(): Loops;
};

export type Loops = {
  /** Ends evaluator, dispatcher and watchdog; resolves when they are at rest. */
  stopLoops(): Promise<void>;
  /** Ends ingest, when no request can reach it any more; what it holds is committed first. */
  stopIngest(): Promise<void>;
};

/** Puts the process together from its parts: the one place that knows them all. */
export function compose(parts: Parts): Composition {
  const { config, roles, database, ingestDatabase, zones, clock, log } = parts;
  const metrics = createMetrics();
  const vitals = createVitals(clock.monotonic, metrics.observer);
  const readShared = sharedHealth(roles.has('web') ? ingestDatabase : database, vitals);
  metrics.watch(vitals, clock.monotonic, async () => (await readShared()).outboxWaiting);
  const readHealth = createHealth({ vitals, clock, tzVersion: zones.version, roles, readShared });
  const probes: ProbeDeps = { readHealth, metrics, log };
  const { publicUrl, outboundAllow, smtpUrl, mailFrom } = config;
  const context: ChannelContext = { publicUrl, outboundAllow, smtpUrl, mailFrom, zones };
  const settleMs = config.blindSettleSeconds * 1000;
  const versions = createVersionCache(zones);
  const { book } = versions;
  const engine: EngineDeps = { database, clock, versions, book, zones, settleMs, vitals, log };
  const ingest = roles.has('web') ? createIngest({ ...engine, database: ingestDatabase }) : null;
  const loopsEnd = new AbortController();
  const stopping = loopsEnd.signal;
  return {
    app: ingest === null ? createProbes(probes) : createWebApp(parts, { ingest, context, probes, engine, stopping }),
    startLoops: () => startLoops(parts, { ingest, context, engine, loopsEnd }),
  };
}

type EngineDeps = Omit<Parts, 'config' | 'roles' | 'ingestDatabase'> & {
  readonly versions: VersionCache;
  readonly book: VersionCache['book'];
  readonly settleMs: number;
  readonly vitals: Vitals;
};

/** The clock of this machine is read for this one number, which is shown and used for nothing. */
function sharedHealth(database: Database, vitals: Vitals): () => Promise<SharedHealth> {
  return async () => {
    const asked = Date.now();
    const shared = await readSharedHealth(database);
    vitals.clockOffset(Math.round((asked + Date.now()) / 2) - shared.now);
    return shared;
  };
}

type WebParts = {
  readonly ingest: Ingest;
  readonly stopping: AbortSignal;
  readonly context: ChannelContext;
  readonly probes: ProbeDeps;
  readonly engine: EngineDeps;
};

function createWebApp(
  { config, database, zones, clock, log }: Parts,
  { ingest, context, probes, engine, stopping }: WebParts,
): Hono {
  const { publicUrl } = config;
  const catchUp = createCatchUp(engine);
  const readMaintenance = engine.book.heldNow;
  const shared = { database, zones, catchUp, publicUrl, channelContext: context, readMaintenance, log };
  const api = createApi({
    ...shared,
    changes: createChanges(engine),
    claims: createClaims(engine),
    maintenance: createMaintenance(maintenanceDeps(engine, context)),
  });
  const clientAddress = createClientAddress(config.trustedProxies);
  const auth = createAuth({ database, publicUrl, clientAddress, oidc: config.oidc, log });
  const { readHealth } = probes;
  const { versions, settleMs } = engine;
  const pageDeps = {
    ...shared,
    versions,
    settleMs,
    stopping,
    clientAddress,
    assets: loadAssets(),
    api,
    readViewer: auth.readViewer,
    readHealth,
  };
  const app = createApp({
    ...probes,
    pings: {
      ingest,
      isPingKey: createPingKeys(database, clock.monotonic),
      clientAddress,
      unknownKeys: createRateLimit({ monotonic: clock.monotonic }),
      monotonic: clock.monotonic,
      log,
    },
    api,
    pages: [ackPages({ database, zones }), unsubscribePages({ database }), createPages(pageDeps, auth)],
    nothingHere: (c) => notePage(pageDeps, c, 404, 'Nothing here', 'There is nothing at this address.'),
  });
  return withStatusHosts(app, { database, publicUrl, monotonic: clock.monotonic });
}

const maintenanceDeps = (engine: EngineDeps, context: ChannelContext) => ({
  ...engine,
  catchUp: createCatchUp(engine),
  fetchText: createFetchText(context),
});

type LoopParts = {
  readonly ingest: Ingest | null;
  readonly context: ChannelContext;
  readonly engine: EngineDeps;
  readonly loopsEnd: AbortController;
};

function startLoops(
  { config, roles, database, clock, log }: Parts,
  { ingest, context, engine, loopsEnd }: LoopParts,
): Loops {
  const ingestEnd = new AbortController();
  const loops: Promise<void>[] = [];
  if (roles.has('evaluator')) {
    loops.push(createEvaluator(engine).run(loopsEnd.signal));
    loops.push(createTzChange(engine).run(loopsEnd.signal));
    loops.push(createReports({ ...engine, catchUp: createCatchUp(engine) }).run(loopsEnd.signal));
    loops.push(createReminders(engine).run(loopsEnd.signal));
    loops.push(createMaintenanceRound(maintenanceDeps(engine, context)).run(loopsEnd.signal));
    const url = config.watchdogUrl;
    if (url !== null) loops.push(runWatchdog({ url, clock, vitals: engine.vitals, log }, loopsEnd.signal));
  }
  if (roles.has('notifier')) {
    const dispatcher = createDispatcher({ database, context, readMaintenance: engine.book.heldNow, log });
    loops.push(runDispatcher({ dispatcher, clock, log }, loopsEnd.signal));
  }
  const ingesting = ingest?.run(ingestEnd.signal);
  return {
    async stopLoops() {
      loopsEnd.abort();
      await Promise.all(loops);
      await closeChannels(context);
    },
    async stopIngest() {
      ingestEnd.abort();
      await ingesting;
    },
  };
}
