import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answered, type Load, startLoad } from './load.ts';
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts';
import { expectKept, query } from './promises.ts';
import { eventually, type Health, PING_KEY, type Service, startService } from './service.ts';

const CONNECTIONS = 16;
const SLUGS = Array.from({ length: 20 }, (_, i) => `beat-${i}`);
/** curl in every snippet gives up after 10 s; no answer may take longer than this, even on a busy machine. */
const PATIENCE_MS = 12_000;
/** Longer than the 3 s from which on it is a gap, and than the job that is due in it needs. */
const OUTAGE_MS = 4500;
const QUICK_ROUNDS = 3;

let folder = '';
let postgres: OwnPostgres;
let service: Service;
const acknowledged = new Map<string, Answered>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-restart-test-'));
  postgres = await startOwnPostgres();
  service = await startService({ DATABASE_URL: postgres.url, DATA_DIR: folder, BLIND_SETTLE: '2s' });
});

afterAll(async () => {
  await service?.kill();
  await postgres?.remove();
  await rm(folder, { recursive: true, force: true });
});

function load(): Load {
  const next = (count: number) => {
    const slug = SLUGS[count % SLUGS.length] ?? '';
    return { slug, path: `/ping/${PING_KEY}/${slug}?create=1` };
  };
  return startLoad({ url: service.url, connections: CONNECTIONS, next });
}

/**
 * A job that is due in `dueMs` and whose deadline is a second later; nobody will ping it. It may not come early, so that
 * what was before does not concern it.
 */
async function expectRun(slug: string, dueMs: number): Promise<void> {
  const anchor = new Date(Math.ceil((Date.now() + dueMs) / 1000) * 1000).toISOString();
  const schedules = [{ every: '1d', anchor }];
  await service.api('PUT', `/jobs/${slug}`, {
    schedules,
    zone: 'UTC',
    missed_runs: 'catch_up',
    early: '0s',
    grace: '1s',
  });
}

async function onlyOccurrence(slug: string): Promise<string> {
  const { occurrences } = await service.api('GET', `/jobs/${slug}/occurrences`);
  return (occurrences as { state: string }[]).map(({ state }) => state).join();
}

async function openIncidents(slug: string): Promise<string> {
  const { incidents } = await service.api('GET', `/incidents?state=open&job=${slug}`);
  return (incidents as { kind: string }[]).map(({ kind }) => kind).join();
}

type Outage = {
  readonly how: 'fast' | 'immediate';
  /** A job that comes to its deadline while the database is away. */
  readonly due: string;
  readonly meanwhile?: () => Promise<void>;
};

/**
 * Stops the database under load, and starts it again: some times at once, for each catches other transactions half done,
 * and then when pings were refused and the deadline of `due` has passed.
 */
async function outage({ how, due, meanwhile }: Outage): Promise<void> {
  const running = load();
  for (let round = 0; round < QUICK_ROUNDS; round += 1) {
    await acknowledgedAgain(running);
    await postgres.stop(how);
    await postgres.start();
  }
  await acknowledgedAgain(running);
  await expectRun(due, 2000);
  await postgres.stop(how);
  const stoppedAt = performance.now();
  const refused = (): readonly Answered[] => running.answered.filter(({ status }) => status === 503);
  const red = await eventually('/healthz is red', async () => isRed(await service.health()));
  expect(red.checks.find(({ name }) => name === 'ingest')?.detail).toMatch(/^pings cannot be committed: .+/);
  await eventually('pings are refused on every connection', () => refused().length >= 4 * CONNECTIONS);
  await meanwhile?.();
  await eventually('the outage has lasted', () => performance.now() - stoppedAt > OUTAGE_MS);
  await postgres.start();
  await acknowledgedAgain(running);
  await eventually('/healthz is green', async () => (await service.health()).status === 200);
  await running.stop();

  expect(service.isAlive()).toBe(true);
  expect(running.unanswered).toEqual([]);
  const others = running.answered.filter(({ status }) => ![200, 201, 503].includes(status));
  expect(others, 'neither committed nor 503').toEqual([]);
  expect(refused().filter(({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? ''))).toEqual([]);
  expect(Math.max(...running.answered.map((each) => each.ms))).toBeLessThan(PATIENCE_MS);
  for (const [rid, answer] of running.acknowledged) acknowledged.set(rid, answer);
  await expectKept(postgres.url, acknowledged);
}

async function acknowledgedAgain(running: Load): Promise<void> {
  const before = running.acknowledged.size;
  await eventually('pings are acknowledged', () => running.acknowledged.size >= before + 100);
}

const isRed = (health: Health): Health | null => (health.status === 503 ? health : null);

/** The evaluator goes on: what nobody ran since is missing at once. */
async function expectJudged(slug: string): Promise<void> {
  await expectRun(slug, 0);
  await eventually(`${slug} is missing`, async () => (await openIncidents(slug)) === 'missing');
  expect(await onlyOccurrence(slug)).toBe('overdue');
}

test('a fast stop: pings are told to come again, nothing is lost, and a deadline in the gap waits', async () => {
  await outage({ how: 'fast', due: 'due-in-the-gap' });
  const gaps = "select 1 from blind_windows where kind = 'gap' and until - after > interval '4 s'";
  expect(await query(postgres.url, gaps)).not.toEqual([]);
  await expectJudged('due-after-the-gap');
  // Whoever ran it may have had no chance to say so: it is judged 60 s after the gap.
  expect(await openIncidents('due-in-the-gap')).toBe('');
  expect(await onlyOccurrence('due-in-the-gap')).toBe('expected');
}, 90_000);

test('an immediate stop: the same, and what was due while Rollcall was blind becomes unknown', async () => {
  // 40 s of outage without waiting for them: the last sign of life is made older while nobody looks.
  const age = (url: string) =>
    query(url, "update beats set through = through - interval '40 s', at = at - interval '40 s'");
  await outage({ how: 'immediate', due: 'due-while-blind', meanwhile: () => postgres.aside(age) });
  const windows = await query(postgres.url, "select 1 from blind_windows where kind = 'blind'");
  expect(windows).toHaveLength(1);
  await eventually('it is unknown', async () => (await onlyOccurrence('due-while-blind')) === 'unknown');
  expect(await openIncidents('due-while-blind')).toBe('');
  const { checks } = await service.health();
  expect(checks.find(({ name }) => name === 'blind_windows')).toMatchObject({
    detail: expect.stringMatching(/^last: /),
  });
  await expectJudged('due-after-the-blindness');
}, 90_000);
