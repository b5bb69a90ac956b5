import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { stopLeftover } from '../../src/store/postgres-server.ts';
import { type Answered, type Load, startLoad } from './load.ts';
import { expectKept, query } from './promises.ts';
import { eventually, PING_KEY, type Service, startService } from './service.ts';

const CONNECTIONS = 16;
const SCHEDULED = ['nightly', 'hourly', 'every-minute'];
const HEARTBEATS = Array.from({ length: 20 }, (_, i) => `beat-${i}`);
const SLUGS = [...SCHEDULED, ...HEARTBEATS];

let folder = '';
let service: Service;
/** Everything that was ever acknowledged, by whichever process. */
const acknowledged = new Map<string, Answered>();
/** What was under way when a process was killed: it may be stored or not. */
const unanswered = new Set<string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-kill-test-'));
  // As root the database runs as another user, who must get in.
  await chmod(folder, 0o755);
  service = await startService({ DATA_DIR: folder });
  const common = { zone: 'Europe/Berlin', missed_runs: 'catch_up', duplicates: 'record' };
  await service.api('PUT', '/jobs/nightly', { ...common, schedules: [{ cron: '30 2 * * *' }] });
  await service.api('PUT', '/jobs/hourly', { ...common, schedules: [{ cron: '@hourly' }] });
  await service.api('PUT', '/jobs/every-minute', { ...common, schedules: [{ every: '1m' }] });
});

afterAll(async () => {
  await service?.kill();
  await stopLeftover(join(folder, 'postgres'), createLog('silent'));
  await rm(folder, { recursive: true, force: true });
});

/** Successes, with a start and a failure here and there; heartbeats are made by their first ping. */
function load(url: string): Load {
  return startLoad({
    url,
    connections: CONNECTIONS,
    next(count) {
      const slug = SLUGS[count % SLUGS.length] ?? '';
      const action = ['', '', '/start', '', '/fail', '', '/0'][count % 7];
      return { slug, path: `/ping/${PING_KEY}/${slug}${action}?create=1` };
    },
  });
}

async function databaseUrl(): Promise<string> {
  const [pid, , , port] = (await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const password = (await readFile(join(folder, 'postgres-password'), 'utf8')).trim();
  expect(Number(pid)).toBeGreaterThan(0);
  return `postgres://rollcall:${password}@127.0.0.1:${port}/postgres`;
}

async function databasePid(): Promise<number> {
  return Number((await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Kills in the middle of the load, starts again on the same data, and looks whether every promise was kept. */
async function killAndStartAgain(kill: () => Promise<void>): Promise<void> {
  const running = load(service.url);
  await eventually('pings are acknowledged', () => running.acknowledged.size >= 300);
  await kill();
  await running.stop();
  expect(service.isAlive()).toBe(false);
  // It was killed under load: on every connection a ping was under way.
  expect(running.unanswered).toHaveLength(CONNECTIONS);
  expect(running.answered.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
  for (const [rid, answer] of running.acknowledged) acknowledged.set(rid, answer);

  service = await startService({ DATA_DIR: folder });
  const url = await databaseUrl();
  await expectKept(url, acknowledged);
  const rows = await query(url, 'select rid from pings');
  for (const rid of running.unanswered) unanswered.add(rid);
  const known = new Set([...acknowledged.keys(), ...unanswered]);
  expect(rows.filter(({ rid }) => !known.has(String(rid)))).toEqual([]);

  const again = load(service.url);
  await eventually('pings are acknowledged again', () => again.acknowledged.size >= 100);
  await again.stop();
  expect([again.unanswered, again.answered.filter(({ status }) => status > 201)]).toEqual([[], []]);
  for (const [rid, answer] of again.acknowledged) acknowledged.set(rid, answer);
  await eventually('/healthz is green', async () => (await service.health()).status === 200);
  await expectKept(url, acknowledged);
}

test('a service killed under load has kept every ping that it acknowledged', async () => {
  const database = await databasePid();
  await killAndStartAgain(() => service.kill());
  // Its database was left running, and was stopped before the next one began.
  expect(await databasePid()).not.toBe(database);
}, 90_000);

test('a service killed together with its database has kept every ping that it acknowledged', async () => {
  await killAndStartAgain(async () => {
    process.kill(await databasePid(), 'SIGKILL');
    await service.kill();
  });
}, 90_000);

test('the API lists what was acknowledged', async () => {
  const listed: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await service.api('GET', `/jobs/nightly/pings?limit=500${cursor}`);
    listed.push(...(page['pings'] as { rid: string }[]).map(({ rid }) => rid));
    if (page['next_cursor'] === null) break;
    cursor = `&cursor=${String(page['next_cursor'])}`;
  }
  const promised = [...acknowledged.values()].filter(({ slug }) => slug === 'nightly').map(({ rid }) => rid);
  expect(promised.filter((rid) => !listed.includes(rid))).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
});
