import { formatKey } from '../../src/core/key.ts';
import { createEvaluator } from '../../src/engine/evaluator.ts';
import { createIngest, type IncomingPing, type PingAnswer } from '../../src/engine/ingest.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { createDispatcher } from '../../src/notify/dispatcher.ts';
import { beat } from '../../src/store/beats.ts';
import { doubtOf, readLife } from '../../src/store/clock-doubt.ts';
import { readSharedHealth } from '../../src/store/health.ts';
import { createVitals } from '../../src/vitals.ts';
import { createHealth } from '../../src/web/health.ts';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';
import { channelContext } from './messages.ts';
import { createHttpReceiver } from './receivers.ts';

const zones = loadZones();
const utc = zones.get('UTC');

/** What one of the replicas of a story does. */
export type Replica = {
  readonly ingest: ReturnType<typeof createIngest>;
  readonly evaluator: ReturnType<typeof createEvaluator>;
  /** A ping that arrives here now. */
  ping(slug: string, kind: IncomingPing['kind'], more?: Partial<IncomingPing>): Promise<PingAnswer>;
};

export type ClockStory = Awaited<ReturnType<typeof startStory>>;

/** So far apart are the looks of a story; in between another replica beats. */
const STEP_MS = 20_000;
const OTHER = '00000000-0000-4000-8000-0000000000c1';

/**
 * The whole engine over a real database whose clock is moved by hand, apart from the monotonic one: `live` lets both run
 * with beats and ticks, `dead` without, `jump` moves the database's alone.
 */
export async function startStory(at: string) {
  const api: TestApi = await startApi(at);
  const { clock, database, projectId } = api;
  let monotonic = 1_000_000;
  const logged: string[] = [];
  const log = createLog('info', { destination: { write: (line) => void logged.push(line) } });
  const time = { monotonic: () => monotonic, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  const receiver = await createHttpReceiver();
  await api.call('PUT', '/channels/team', { kind: 'webhook', url: receiver.url, secret: `whsec_${'A'.repeat(32)}` });
  const dispatcher = createDispatcher({ database, context: channelContext(), log, random: () => 0.5 });

  /** `own`: the monotonic clock of its machine, if that is another one. */
  function createReplica(own = time.monotonic): Replica & { readonly vitals: ReturnType<typeof createVitals> } {
    const vitals = createVitals(own);
    const itsTime = { ...time, monotonic: own };
    const deps = {
      database,
      clock: itsTime,
      versions: createVersionCache(zones),
      zones,
      settleMs: 600_000,
      vitals,
      log,
    };
    const ingest = createIngest(deps);
    return {
      vitals,
      ingest,
      evaluator: createEvaluator(deps),
      async ping(slug, kind, more = {}) {
        const [row] = await database.transaction(
          (tx) => tx.sql<{ uuid: string }[]>`select uuid from jobs where slug = ${slug}`,
        );
        return ingest.submit({ ...PING, target: { uuid: row?.uuid ?? '' }, kind, arrivedMs: own(), ...more });
      },
    };
  }

  const replica = createReplica();
  const readHealth = createHealth({
    vitals: replica.vitals,
    clock: { ...time, sleep: () => new Promise(() => undefined) },
    tzVersion: zones.version,
    roles: new Set(['web', 'evaluator', 'notifier']),
    readShared: () => readSharedHealth(database),
  });

  const pass = (ms: number): void => {
    monotonic += ms;
    clock.advance(ms / 1000);
  };
  /** Everything that came up to now was heard, by both. */
  const hear = async (): Promise<void> => {
    await database.transaction(async (tx) => {
      const { last } = await readLife(tx);
      if ((await doubtOf(tx, last)) === null) await beat(tx, OTHER, tx.now);
    });
    await replica.ingest.flush();
  };
  const look = async (): Promise<void> => {
    await replica.ingest.flush();
    await replica.evaluator.tick();
  };
  await replica.ingest.flush();

  const rows = <T>(text: string): Promise<T[]> =>
    database.transaction(async (tx) => (await tx.sql.unsafe(text)) as unknown as T[]);

  return {
    api,
    clock,
    database,
    projectId,
    replica,
    createReplica,
    dispatcher,
    logged,
    rows,
    ping: replica.ping,

    /** Real time with everything running; `then` happens after so many seconds. */
    async live(seconds: number, then: Readonly<Record<number, () => Promise<unknown>>> = {}): Promise<void> {
      const stops = Object.keys(then).map((second) => Number(second) * 1000);
      for (let passed = 0; passed < seconds * 1000; ) {
        const stop = Math.min(seconds * 1000, passed + STEP_MS, ...stops.filter((ms) => ms > passed));
        pass(stop - passed);
        passed = stop;
        await hear();
        await replica.evaluator.tick();
        await then[passed / 1000]?.();
      }
    },
    /** Real time in which Rollcall is dead, stopped, or without its database. */
    dead: (seconds: number) => pass(seconds * 1000),
    /** The database's clock is set; the next beat sees it half a second later. */
    async jumpTo(instant: string): Promise<void> {
      clock.set(instant);
      pass(500);
      await look();
    },
    look,
    hear,
    /** Sends what is due now, and again until nothing is. */
    async send(): Promise<void> {
      for (let left = 20; left > 0 && (await dispatcher.tick()) > 0; left -= 1) pass(1100);
    },
    messages: () => receiver.requests.map(({ body }) => JSON.parse(body)),

    async put(slug: string, definition: object): Promise<number> {
      return (await api.call('PUT', `/jobs/${slug}`, { zone: 'UTC', missed_runs: 'skip', ...definition })).status;
    },
    /** `key state` of each row, oldest first. */
    async states(slug: string): Promise<string[]> {
      const found = await rows<{ at: number; state: string }>(`
        select o.scheduled_for as at, o.state from occurrences o join jobs j on j.id = o.job_id
        where j.slug = '${slug}' order by o.scheduled_for`);
      return found.map(({ at: due, state }) => `${utc.ok ? formatKey(due, utc.value) : due} ${state}`);
    },
    /** Every event that any incident has told, as `slug kind events`. */
    async incidents(): Promise<string[]> {
      const found = await rows<{ name: string }>(`
        select j.slug || ' ' || i.kind || case when i.resolved_at is null then ' open' else ' ended' end as name
        from incidents i join jobs j on j.id = i.job_id order by i.id`);
      return found.map(({ name }) => name);
    },
    async windows(): Promise<string[]> {
      const found = await rows<{ after: number; until: number; kind: string; cause: string }>(
        'select after, until, kind, cause from blind_windows order by after',
      );
      const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 19);
      return found.map(({ after, until, kind, cause }) => `${iso(after)} ${iso(until)} ${kind} ${cause}`);
    },
    /** Texts of the notices of a kind, oldest first. */
    async notices(kind: 'unknown' | 'operator'): Promise<string[]> {
      const found = await rows<{ text: string }>(`select text from notices where kind = '${kind}' order by id`);
      return found.map(({ text }) => text);
    },
    async matches(slug: string): Promise<string[]> {
      const found = await rows<{ matched: string }>(`
        select p.matched_by as matched from pings p join jobs j on j.id = p.job_id where j.slug = '${slug}' order by p.id`);
      return found.map(({ matched }) => matched);
    },
    /** /healthz: the checks that are not well, with what they say. */
    async health() {
      pass(0);
      monotonic += 1100;
      const health = await readHealth();
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { ...(await readHealth()), first: health };
    },
    async stop(): Promise<void> {
      await receiver.close();
      await api.drop();
    },
  };
}

const PING: Omit<IncomingPing, 'target' | 'kind' | 'arrivedMs'> = {
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
};
