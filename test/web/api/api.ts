import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import type { JobDefinition } from '../../../src/core/definition.ts';
import { type CatchUp, createCatchUp } from '../../../src/engine/catch-up.ts';
import { createChanges } from '../../../src/engine/changes.ts';
import { createClaims } from '../../../src/engine/claims.ts';
import { createEvaluator } from '../../../src/engine/evaluator.ts';
import { createIngest, type IncomingPing } from '../../../src/engine/ingest.ts';
import { createMaintenance } from '../../../src/engine/maintenance.ts';
import { createMaintenanceRound } from '../../../src/engine/maintenance-round.ts';
import { createVersionCache } from '../../../src/engine/working-set.ts';
import { createLog } from '../../../src/log.ts';
import { createFetchText } from '../../../src/notify/calendar-feed.ts';
import type { ChannelContext } from '../../../src/notify/channel.ts';
import { beat } from '../../../src/store/beats.ts';
import type { Database } from '../../../src/store/database.ts';
import { addKey } from '../../../src/store/keys.ts';
import type { ReadMaintenance } from '../../../src/store/withholding.ts';
import { createVitals } from '../../../src/vitals.ts';
import { createApi } from '../../../src/web/api/index.ts';
import { createClientAddress } from '../../../src/web/client-address.ts';
import { pingHandler } from '../../../src/web/pings.ts';
import { createRateLimit } from '../../../src/web/rate-limit.ts';
import { loadZones } from '../../../src/zones.ts';
import { createTestDatabase, type ManualClock, manualClock } from '../../support/database.ts';

export type Answer = {
  readonly status: number;
  readonly type: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
  readonly json: any;
};

export type TestApi = {
  readonly api: Hono;
  /** Pings and API under their real addresses. */
  readonly app: Hono;
  readonly database: Database;
  readonly clock: ManualClock;
  readonly projectId: number;
  readonly channelContext: ChannelContext;
  readonly catchUp: CatchUp;
  readonly readMaintenance: ReadMaintenance;
  /** What the API wrote to its log: empty unless something is wrong. */
  readonly logged: object[];
  /** Sets the clock, with a beat: ingest has heard everything up to then. */
  at(instant: string): Promise<void>;
  /** A ping of the job, arriving now. */
  ping(slug: string, kind: IncomingPing['kind'], more?: Partial<IncomingPing>): Promise<void>;
  /** One round of the evaluator. */
  tick(): Promise<void>;
  /** One round of the loop behind windows. */
  round(): Promise<void>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  drop(): Promise<void>;
};

export const KEY = 'test-api-key-0123456789';
export const OTHER_KEY = 'other-api-key-0123456789';
const REPLICA = '00000000-0000-4000-8000-000000000001';
const zones = loadZones();

/** The API over a database of its own, with two projects that have a key each. */
export async function startApi(at: string, channels: Partial<ChannelContext> = {}): Promise<TestApi> {
  const clock = manualClock(at);
  const { database, drop } = await createTestDatabase({ now: clock.now });
  const logged: object[] = [];
  const log = { error: (fields: object) => void logged.push(fields) };
  const projectId = await addProject(database, 'default', KEY);
  await addProject(database, 'other', OTHER_KEY);
  const publicUrl = 'https://rollcall.example.org';
  await database.transaction((tx) => beat(tx, REPLICA, tx.now));
  const channelContext: ChannelContext = {
    publicUrl,
    outboundAllow: ['127.0.0.0/8'],
    smtpUrl: 'smtp://127.0.0.1:2525',
    mailFrom: 'rollcall@example.org',
    zones,
    ...channels,
  };
  const engine = engineOver(database, channelContext);
  const { ingest, evaluator, round, ...verbs } = engine;
  const api = createApi({ database, zones, ...verbs, publicUrl, channelContext, log });
  const monotonic = () => 0;
  const pings = {
    ingest,
    isPingKey: async () => false,
    clientAddress: createClientAddress([]),
    unknownKeys: createRateLimit({ monotonic }),
    monotonic,
    log: { ...log, info: () => undefined },
  };
  return {
    api,
    app: new Hono().all('/ping/*', pingHandler(pings)).route('/api/v1', api),
    database,
    clock,
    projectId,
    channelContext,
    catchUp: verbs.catchUp,
    readMaintenance: verbs.readMaintenance,
    logged,
    drop,
    async at(instant) {
      clock.set(instant);
      await database.transaction(async (tx) => {
        // Stories of one file may go back in time; a beat never does.
        await tx.sql`delete from beats`;
        await beat(tx, REPLICA, tx.now);
      });
    },
    async ping(slug, kind, more = {}) {
      const uuid = await uuidOf(database, slug);
      const answer = await ingest.submit({ ...PING, target: { uuid }, kind, ...more });
      if (answer.outcome !== 'accepted') throw new Error(JSON.stringify(answer));
    },
    async tick() {
      await evaluator.tick();
    },
    async round() {
      await round.tick();
    },
    async call(method, path, body, headers = {}) {
      const response = await api.request(path, {
        method,
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const type = response.headers.get('content-type') ?? '';
      const text = await response.text();
      const json = type.includes('json') && text !== '' ? JSON.parse(text) : text;
      return { status: response.status, type, headers: response.headers, json };
    },
  };
}

/** The engine as it runs, but for time: nothing waits, and the only clock is that of the test. */
function engineOver(database: Database, channelContext: ChannelContext) {
  const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
  const log = createLog('silent');
  const deps = {
    database,
    zones,
    clock,
    log,
    versions: createVersionCache(zones),
    settleMs: 600_000,
    vitals: createVitals(clock.monotonic),
  };
  const catchUp = createCatchUp(deps);
  const maintenanceDeps = { ...deps, catchUp, fetchText: createFetchText(channelContext) };
  return {
    readMaintenance: deps.versions.book.heldNow,
    maintenance: createMaintenance(maintenanceDeps),
    round: createMaintenanceRound(maintenanceDeps),
    changes: createChanges(deps),
    claims: createClaims(deps),
    catchUp,
    evaluator: createEvaluator(deps),
    ingest: createIngest(deps),
  };
}

const PING: Omit<IncomingPing, 'target' | 'kind'> = {
  exitCode: null,
  rid: null,
  occ: null,
  at: null,
  dur: null,
  flaw: null,
  body: new Uint8Array(),
  bodyBytes: 0,
  truncated: false,
  source: '192.0.2.1',
  userAgent: 'test',
  method: 'GET',
  arrivedMs: 0,
};

async function uuidOf(database: Database, slug: string): Promise<string> {
  const rows = await database.transaction(
    (tx) => tx.sql<{ uuid: string }[]>`select uuid from jobs where slug = ${slug}`,
  );
  return rows[0]?.uuid ?? '';
}

async function addProject(database: Database, slug: string, key: string): Promise<number> {
  return database.transaction(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`
      insert into projects (slug, name, created_at) values (${slug}, ${slug}, ${tx.now}) returning id`;
    const id = row?.id ?? 0;
    await addKey(tx, id, 'api', key);
    return id;
  });
}

const DEFINITION: JobDefinition = {
  name: 'job',
  description: '',
  tags: [],
  zone: 'UTC',
  schedules: [{ cron: '0 * * * *' }],
  missedRuns: 'coalesce',
  missedRunsReason: '',
  early: null,
  startWithin: null,
  grace: null,
  usefulFor: null,
  maxRuntime: null,
  maxCatchUp: null,
  throttle: null,
  overlap: 'forbid',
  alertAfter: {},
  after: [],
  duplicates: 'alert',
  unscheduled: 'record',
  channels: null,
};

/** Writes a job as the engine would have, so that a test can lay out any ledger: created at `at`, nothing recorded yet. */
export async function layOutJob(
  { database, projectId }: Pick<TestApi, 'database' | 'projectId'>,
  slug: string,
  { at, nextUnrecorded, ...definition }: Partial<JobDefinition> & { at: string; nextUnrecorded: string | null },
): Promise<number> {
  const whole = { ...DEFINITION, name: slug, ...definition };
  return database.transaction(async (tx) => {
    const [job] = await tx.sql<{ id: number }[]>`
      insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
      values (${projectId}, ${randomUUID()}, ${slug}, ${JSON.stringify(whole)}::jsonb, ${at}, ${at}) returning id`;
    const id = job?.id ?? 0;
    await tx.sql`
      insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
      values (${id}, 1, ${whole.zone}, ${JSON.stringify(whole.schedules)}::jsonb, ${at}, 'test')`;
    await tx.sql`
      insert into cursors (job_id, version, next_unrecorded) values (${id}, 1, ${nextUnrecorded})`;
    return id;
  });
}

/** Writes one row of the ledger. */
export async function layOutRow(
  { database }: Pick<TestApi, 'database'>,
  jobId: number,
  row: { at: string; state: string; version?: number; wanted?: boolean; coveredBy?: string; completions?: number },
): Promise<void> {
  await database.transaction(
    (tx) => tx.sql`
      insert into occurrences (job_id, scheduled_for, version, state, wanted, covered_by, completions)
      values (${jobId}, ${row.at}, ${row.version ?? 1}, ${row.state}, ${row.wanted ?? false},
        ${row.coveredBy ?? null}, ${row.completions ?? 0})`,
  );
}
