import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compose, type Loops } from '../../src/cli/compose.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { findApiKey } from '../../src/store/api-keys.ts';
import { connect } from '../../src/store/database.ts';
import { createFirstRun } from '../../src/store/first-run.ts';
import { createPingKeys, hashKey, rotatePingKey } from '../../src/store/keys.ts';
import type { Role } from '../../src/web/health.ts';
import { loadZones } from '../../src/zones.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { curl, served } from '../web/harness.ts';

const API_KEY = 'api-key-of-this-test-0123';
const PING_KEY = 'ping-key-of-this-test-0123';
const ENV = { ROLLCALL_API_KEY: API_KEY, ROLLCALL_PING_KEY: PING_KEY, DATA_DIR: '/nowhere' };

let store: TestDatabase;
let projectId: number;
let loops: Loops;
let app: ReturnType<typeof compose>['app'];
const zones = loadZones();
const log = createLog('silent');

function composition(database: TestDatabase['database'], roles: readonly Role[]) {
  const config = readConfig(ENV);
  if (!config.ok) throw new Error(config.reason);
  return compose({
    config: config.value,
    roles: new Set(roles),
    database,
    ingestDatabase: database,
    zones,
    clock: systemClock,
    log,
  });
}

beforeAll(async () => {
  store = await createTestDatabase();
  const config = readConfig(ENV);
  if (!config.ok) throw new Error(config.reason);
  await store.database.transaction(createFirstRun(config.value, log).seed);
  projectId = (await findApiKey(store.database, API_KEY))?.projectId ?? 0;
  const whole = composition(store.database, ['web', 'evaluator', 'notifier']);
  loops = whole.startLoops();
  app = whole.app;
});

afterAll(async () => {
  await loops.stopLoops();
  await loops.stopIngest();
  await store.drop();
});

async function ping(path: string, init?: RequestInit) {
  const response = await app.request(`/ping/${PING_KEY}/${path}`, init);
  const { headers } = response;
  return [response.status, await response.text(), headers.get('rollcall-match'), headers.get('rollcall-occurrence')];
}

async function api(method: string, path: string, body?: object) {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' };
  const response = await app.request(`/api/v1${path}`, { method, headers, ...init });
  return (await response.json()) as Record<string, unknown>;
}

/** What is stored of the pings of a job, oldest first. */
function stored(slug: string) {
  return store.database.transaction(
    (tx) => tx.sql`
      select kind, exit_code, matched_by, method, rid, body, body_bytes, truncated
      from pings join jobs on jobs.id = job_id where slug = ${slug} order by pings.id`,
  );
}

const NIGHTLY = { schedules: [{ cron: '30 2 * * *' }], zone: 'Europe/Berlin', missed_runs: 'coalesce' };

describe('the service in one process', () => {
  test('create=1 makes a job once, however many ask at the same time; without it a typo makes none', async () => {
    expect(await ping('typo-name')).toEqual([404, 'not found', null, null]);
    const answers = await Promise.all(Array.from({ length: 5 }, () => ping('made?create=1')));
    expect(answers.map(([status]) => status).sort()).toEqual([200, 200, 200, 200, 201]);
    expect((await ping('made?create=1'))[0]).toBe(200);
    expect((await ping('Made?create=1')).slice(0, 2)).toEqual([400, 'invalid url format']);
    const rows = await store.database.transaction((tx) => tx.sql`select slug from jobs where slug ilike '%ma%'`);
    expect(rows).toEqual([{ slug: 'made' }]);
  });

  test('a flawed ping of an existing job is refused and kept, unmatched', async () => {
    await ping('flawed?create=1');
    expect((await ping('flawed/256')).slice(0, 3)).toEqual([400, 'invalid url format', 'unmatched']);
    expect((await ping('flawed?rid=nonsense')).slice(0, 2)).toEqual([400, 'invalid uuid format']);
    expect((await ping('flawed?rid=%zz'))[0]).toBe(400);
    expect((await ping('flawed?occ=a%00b'))[0]).toBe(400);
    expect((await ping('flawed/-1')).slice(0, 2)).toEqual([404, 'not found']);
    const rows = await stored('flawed');
    expect(rows.slice(1).map((row) => [row['matched_by'], row['exit_code']])).toEqual([
      ['unmatched', 256],
      ['unmatched', null],
      ['unmatched', null],
      ['unmatched', null],
    ]);
  });

  test('bodies of any bytes are kept, 3 MB of log are cut, and HEAD counts once', async () => {
    await ping('bodies?create=1');
    const odd = new Uint8Array([0xff, 0xfe, 0x00, 0x41]);
    expect((await ping('bodies', { method: 'POST', body: odd }))[0]).toBe(200);
    await served(app, async (url) => {
      const target = `${url}/ping/${PING_KEY}/bodies`;
      expect((await curl(['-f', '--data-binary', '@-', target], Buffer.alloc(3_000_000, 'x'))).output).toBe('OK');
      await curl(['-I', target]);
    });
    const rows = await stored('bodies');
    expect(rows.map((row) => row['method'])).toEqual(['GET', 'POST', 'POST', 'HEAD']);
    expect([...((rows[1]?.['body'] ?? []) as Uint8Array)]).toEqual([...odd]);
    expect(rows[2]).toMatchObject({ body_bytes: 3_000_000, truncated: true });
    expect(rows[2]?.['body']).toHaveLength(100_000);
  });

  test('the + of an offset may be written as it is, in a query, encoded, or in the header', async () => {
    await api('PUT', '/jobs/nightly', { ...NIGHTLY, early: '1d' });
    const job = await api('GET', '/jobs/nightly');
    const { key } = job['next_due'] as { key: string };
    expect(key).toMatch(/T0[23]:[03]0\+0[12]:00$/);
    const matched = [200, 'OK', expect.stringMatching(/^(key|retry)$/), key];
    expect(await ping(`nightly/start?occ=${key}`)).toEqual(matched);
    expect(await ping(`nightly/0?occ=${encodeURIComponent(key)}`)).toEqual(matched);
    expect(await ping('nightly/log', { headers: { 'Rollcall-Occurrence': key } })).toEqual(matched);
    // Before the job's first occurrence there is one neighbour.
    const [status, reason] = await ping('nightly?occ=2020-01-01T12:00');
    expect([status, reason]).toEqual([422, expect.stringMatching(/; the nearest is \S+$/)]);
    expect((await ping('nightly?occ=tomorrow'))[0]).toBe(400);
  });

  test('a rotated ping key works on for its overlap', async () => {
    await ping('rotated?create=1');
    const isPingKey = createPingKeys(store.database, () => 0);
    const key = await store.database.transaction((tx) => rotatePingKey(tx, projectId, 3600));
    expect((await app.request(`/ping/${key}/rotated`)).status).toBe(200);
    expect((await ping('rotated'))[0]).toBe(200);
    expect(await isPingKey(hashKey(key))).toBe(true);
    expect(await isPingKey(hashKey(PING_KEY))).toBe(true);
    expect(await isPingKey(hashKey('another-key'))).toBe(false);
    expect(await findApiKey(store.database, PING_KEY)).toBeNull();
  });

  test('an overlap that has ended ends the key', async () => {
    const key = await store.database.transaction((tx) => rotatePingKey(tx, projectId, 3600));
    await store.database.transaction((tx) => rotatePingKey(tx, projectId, 0));
    expect((await app.request(`/ping/${key}/rotated`)).status).toBe(404);
    expect(await createPingKeys(store.database, () => 0)(hashKey(key))).toBe(false);
  });
});

/** Asks until the answer is as wanted: loops run in their own time. */
async function eventually(probe: () => Promise<boolean>): Promise<void> {
  for (const until = performance.now() + 15_000; !(await probe()); ) {
    if (performance.now() > until) throw new Error('it never came');
    await systemClock.sleep(20);
  }
}

async function health(of: { request: typeof app.request }) {
  const response = await of.request('/healthz');
  const { checks } = (await response.json()) as { checks: { name: string; ok: boolean; detail: string }[] };
  return { status: response.status, checks };
}

describe('health', () => {
  test('with all loops running it becomes and stays 200', async () => {
    await eventually(async () => (await health(app)).status === 200);
    const { checks } = await health(app);
    expect(checks.map(({ name }) => name).slice(0, 3)).toEqual(['ingest', 'evaluator', 'horizon']);
  });

  test('a web process sees the evaluator of another process', async () => {
    const database = connect(store.url);
    const web = composition(database, ['web']);
    const webLoops = web.startLoops();
    await eventually(async () => (await health(web.app)).status === 200);
    await webLoops.stopIngest();
    await database.close();
  });

  test('a database that is lost turns it red, and pings are told to come again', async () => {
    const database = connect(store.url);
    const web = composition(database, ['web', 'evaluator']);
    const webLoops = web.startLoops();
    await eventually(async () => (await health(web.app)).status === 200);
    await database.close();
    const response = await web.app.request(`/ping/${PING_KEY}/made`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    await eventually(async () => (await health(web.app)).status === 503);
    expect((await web.app.request('/api/v1/jobs', { headers: { Authorization: `Bearer ${API_KEY}` } })).status).toBe(
      503,
    );
    expect((await web.app.request('/metrics')).status).toBe(200);
    await Promise.all([webLoops.stopLoops(), webLoops.stopIngest()]);
  });
});
