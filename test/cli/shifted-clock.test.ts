import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Run, rollcall } from './process.ts';

const PRELOAD = fileURLToPath(new URL('../support/shifted-date.mjs', import.meta.url));
const KEY = 'shifted-clock-key-0123456789';
const YEAR_MS = 365 * 86_400_000;

let folder: string;
let database: TestDatabase;
let run: Run;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-shifted-test-'));
});
afterEach(async () => {
  run.child.kill('SIGKILL');
  await run.ended;
  await database.drop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const databaseNow = () => database.database.transaction(async ({ now }) => now);

/** Asks until the answer is as hoped, for 20 s at most. */
async function eventually<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (const end = performance.now() + 20_000; ; await sleep(100)) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    if (performance.now() > end) throw new Error(`still ${JSON.stringify(answer)}`);
  }
}

test.each([
  ['five years ahead', 5 * YEAR_MS, /157680000\.\d s ahead/],
  ['thirty years behind', -30 * YEAR_MS, /946080000\.\d s behind/],
])(
  'a node whose own clock is %s works by the database clock, and says so',
  async (_, shiftMs, told) => {
    database = await createTestDatabase();
    run = rollcall(['serve'], {
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: database.url,
      ROLLCALL_API_KEY: KEY,
      NODE_OPTIONS: `--import=${PRELOAD}`,
      SHIFT_MS: String(shiftMs),
    });
    const [, url] = await run.waitFor(/"url":"([^"]+)".*rollcall runs/);
    const call = async (path: string, init: RequestInit = {}) => {
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
      return (await fetch(`${url}/api/v1${path}`, { ...init, headers })).json() as Promise<{
        ping_url: string;
        pings: { received_at: string }[];
        occurrences: { key: string; scheduled_for: string; state: string }[];
        incidents: { kind: string; opened_at: string }[];
      }>;
    };
    const body = JSON.stringify({ zone: 'UTC', schedules: [{ every: '2s' }], missed_runs: 'coalesce', grace: '1s' });
    const job = await call('/jobs/quick', { method: 'PUT', body });
    const begun = await databaseNow();
    await fetch(job.ping_url);
    const { pings } = await call('/jobs/quick/pings');
    expect(Math.abs(Date.parse(pings[0]?.received_at ?? '') - begun)).toBeLessThan(5000);
    const { incidents } = await eventually(
      () => call('/incidents?job=quick'),
      (answer) => answer.incidents.some(({ kind }) => kind === 'missing'),
    );
    expect(Math.abs(Date.parse(incidents[0]?.opened_at ?? '') - (await databaseNow()))).toBeLessThan(20_000);
    const { occurrences } = await call('/jobs/quick/occurrences');
    for (const { scheduled_for: due } of occurrences) {
      expect(Math.abs(Date.parse(due) - begun)).toBeLessThan(60_000);
    }
    const health = await eventually(
      async () => (await fetch(`${url}/healthz`)).json() as Promise<{ status: string; checks: { detail: string }[] }>,
      ({ checks }) => checks.some(({ detail }) => told.test(detail)),
    );
    expect(health.status).toBe('ok');
  },
  60_000,
);
