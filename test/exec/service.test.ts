import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API_KEY, eventually, PING_KEY, type Service, startService } from '../proof/service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { buildSingleFile, endAll, outcome, startExec, waitFor } from './stage.ts';

let database: TestDatabase;
let service: Service;
let folder = '';
let file = '';
const settings = () => ({ DATABASE_URL: database.url, LOG_LEVEL: 'info' });

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService(settings());
  folder = await mkdtemp(join(tmpdir(), 'rollcall-service-'));
  file = join(folder, 'rollcall-exec.cjs');
  await buildSingleFile(file);
});
afterAll(async () => {
  endAll();
  await service.kill();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  ROLLCALL_URL: service.url,
  ROLLCALL_API_KEY: API_KEY,
  ROLLCALL_SPOOL: join(folder, 'spool'),
  ...more,
});

/** Due in a minute, and open already. */
async function create(slug: string, more: object = {}): Promise<string> {
  const anchor = new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000).toISOString();
  const job = { schedules: [{ every: '1h', anchor }], zone: 'UTC', missed_runs: 'catch_up', ...more };
  await service.api('PUT', `/jobs/${slug}`, job);
  return anchor.slice(0, 16);
}

type Listed = { readonly id: number; readonly kind: string; readonly key: string; readonly rid: string };
const pings = async (slug: string) =>
  ((await service.api('GET', `/jobs/${slug}/pings`))['pings'] as Listed[]).sort((one, other) => one.id - other.id);

test.each([
  ['its ping key', { ROLLCALL_PING_KEY: PING_KEY }],
  ['the API key alone', {}],
])('Rollcall is killed during the run: %s delivers the end later, and the run ends well', async (_, keys) => {
  const slug = `killed-${Object.keys(keys).length}`;
  const key = await create(slug);
  const go = join(folder, `${slug}-go`);
  const command = ['--', '/bin/sh', '-c', `${waitFor(go)}; echo worked`];
  const run = startExec(file, [slug, ...command], environment(keys));
  await eventually('its start is heard', async () => (await pings(slug)).length === 1);
  const { port } = new URL(service.url);
  await service.kill();
  await writeFile(go, '');
  const { code, out, err } = await outcome(run);
  expect([code, out]).toEqual([0, 'worked\n']);
  expect(err).toMatch(
    /^rollcall: killed-\d: Rollcall has not heard of this run \(connect ECONNREFUSED .*\); it is told the next time\n$/,
  );
  service = await startService({ ...settings(), PORT: port });
  const next = await outcome(startExec(file, [slug, '--', 'echo', 'again'], environment(keys)));
  expect(next).toMatchObject({ code: 0, out: '', err: expect.stringContaining('already completed') });
  const [start, end, ...more] = await pings(slug);
  expect([start?.kind, end?.kind, more]).toEqual(['start', 'success', []]);
  expect(end?.rid).toBe(start?.rid);
  expect(end?.key.startsWith(key.slice(0, 16))).toBe(true);
});
