import { expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { SharedHealth } from '../../src/store/health.ts';
import { createVitals, type Vitals } from '../../src/vitals.ts';
import { createHealth, type Role } from '../../src/web/health.ts';
import { createMetrics } from '../../src/web/metrics.ts';
import { testApp } from './harness.ts';

const NOW = Date.parse('2026-03-01T02:00:00Z');
const SHARED: SharedHealth = {
  now: NOW,
  evaluatorTickAt: NOW - 1000,
  horizon: NOW - 600,
  deadChannels: 0,
  outboxWaiting: 0,
  lastBlind: null,
  clockDoubt: null,
  clockEvent: null,
};

/** A process with these roles, whose time moves by hand. */
function installation(roles: readonly Role[], readShared: () => Promise<SharedHealth> = async () => SHARED) {
  let time = 1_000_000;
  const clock: Clock = { monotonic: () => time, sleep: () => new Promise(() => undefined) };
  const vitals = createVitals(clock.monotonic);
  const readHealth = createHealth({ vitals, clock, tzVersion: '2026a', roles: new Set(roles), readShared });
  return {
    vitals,
    pass: (ms: number) => {
      time += ms;
    },
    async look() {
      const response = await testApp({ deps: { readHealth } }).app.request('/healthz');
      const body = (await response.json()) as Awaited<ReturnType<typeof readHealth>>;
      const failing = body.checks.filter(({ ok }) => !ok).map(({ name }) => name);
      return { code: response.status, body, failing };
    },
  };
}

const ALL: readonly Role[] = ['web', 'evaluator', 'notifier'];

function isWell(vitals: Vitals): void {
  vitals.beat({ pings: 0, ms: 2 });
  vitals.tick({ horizonLagMs: 600, ms: 5 });
}

test('while pings are committed and the evaluator ticks it is 200, says so and which tz database is in use', async () => {
  const { vitals, look } = installation(ALL);
  isWell(vitals);
  const { code, body } = await look();
  expect(code).toBe(200);
  expect(body).toMatchObject({ status: 'ok', tz_version: '2026a' });
  expect(body.checks.slice(0, 3).map(({ name }) => name)).toEqual(['ingest', 'evaluator', 'horizon']);
});

test('it is 503 from the start until the first beat and tick', async () => {
  const { look } = installation(ALL);
  expect(await look()).toMatchObject({ code: 503, failing: ['ingest', 'evaluator', 'horizon'] });
});

test('a database that is away turns it red at once, and the next commit green', async () => {
  const { vitals, look } = installation(ALL);
  isWell(vitals);
  vitals.beatFailed('connection refused');
  const { code, body, failing } = await look();
  expect([code, body.status, failing]).toEqual([503, 'failing', ['ingest']]);
  expect(body.checks[0]?.detail).toContain('connection refused');
  vitals.beat({ pings: 1, ms: 2 });
  expect((await look()).code).toBe(200);
});

test('an evaluator that has not ticked for 10 s turns it red (EVL-018)', async () => {
  const { vitals, pass, look } = installation(ALL);
  isWell(vitals);
  pass(10_000);
  vitals.beat({ pings: 0, ms: 2 });
  expect((await look()).code).toBe(200);
  pass(1);
  expect(await look()).toMatchObject({ code: 503, failing: ['evaluator'] });
});

test('a horizon that lags 30 s turns it red', async () => {
  const { vitals, look } = installation(ALL);
  isWell(vitals);
  vitals.tick({ horizonLagMs: 29_999, ms: 5 });
  expect((await look()).code).toBe(200);
  vitals.tick({ horizonLagMs: 30_000, ms: 5 });
  expect(await look()).toMatchObject({ code: 503, failing: ['horizon'] });
});

test('dead channels, blind windows and a wrong clock are told and turn nothing red', async () => {
  const lastBlind = { after: NOW - 60_000, until: NOW - 1000, cause: 'silent' } as const;
  const { vitals, look } = installation(ALL, async () => ({ ...SHARED, deadChannels: 2, lastBlind }));
  isWell(vitals);
  vitals.clockOffset(-90_000);
  await look();
  const { code, body, failing } = await look();
  expect([code, failing]).toEqual([200, ['clock', 'blind_windows', 'channels']]);
  expect(body.checks.map(({ detail }) => detail).join('\n')).toMatch(/90.0 s behind[\s\S]*01:59:00Z to[\s\S]*2 dead/);
});

test('a clock in doubt, and what it did in the last day, are told; the horizon alone turns it red', async () => {
  const clockEvent = { at: NOW - 60_000, what: 'the clock went back by 3600 s' };
  const jumped = installation(ALL, async () => ({ ...SHARED, clockEvent }));
  isWell(jumped.vitals);
  await jumped.look();
  const seen = await jumped.look();
  expect([seen.code, seen.failing]).toEqual([200, ['database_clock']]);
  expect(JSON.stringify(seen.body)).toContain('2026-03-01T01:59:00Z: the clock went back by 3600 s');

  const doubted = installation(ALL, async () => ({ ...SHARED, clockDoubt: 'the clock says 2098' }));
  doubted.vitals.beat({ pings: 0, ms: 2 });
  doubted.vitals.tick({ horizonLagMs: Number.POSITIVE_INFINITY, ms: 5 });
  await doubted.look();
  expect(await doubted.look()).toMatchObject({ code: 503, failing: ['horizon', 'database_clock'] });
});

test('tz data of an earlier year is told from May on', async () => {
  const at = (now: string) => async () => ({ ...SHARED, now: Date.parse(now) });
  for (const [now, failing] of [
    ['2027-04-30T00:00:00Z', []],
    ['2027-05-01T00:00:00Z', ['tz']],
  ] as const) {
    const { vitals, look } = installation(ALL, at(now));
    isWell(vitals);
    await look();
    expect(await look()).toMatchObject({ code: 200, failing });
  }
});

test('a process without the evaluator asks the database about it, once a second at most', async () => {
  let asked = 0;
  const { vitals, pass, look } = installation(['web'], async () => {
    asked += 1;
    return SHARED;
  });
  vitals.beat({ pings: 0, ms: 2 });
  for (let i = 0; i < 5; i++) expect((await look()).code).toBe(200);
  expect(asked).toBe(1);
  pass(1000);
  await look();
  expect(asked).toBe(2);
});

test('without an answer of the database what was known grows old and turns red', async () => {
  let isAway = false;
  const { vitals, pass, look } = installation(['web'], async () => {
    if (isAway) throw new Error('gone');
    return SHARED;
  });
  vitals.beat({ pings: 0, ms: 2 });
  await look();
  isAway = true;
  pass(9500);
  vitals.beat({ pings: 0, ms: 2 });
  expect(await look()).toMatchObject({ code: 503, failing: ['evaluator'] });
});

test('an evaluator alone does not answer for ingest', async () => {
  const { vitals, look } = installation(['evaluator']);
  vitals.tick({ horizonLagMs: 600, ms: 5 });
  const { code, body } = await look();
  expect(code).toBe(200);
  expect(body.checks.map(({ name }) => name)).not.toContain('ingest');
});

test('/metrics counts pings by outcome and shows the lags', async () => {
  const metrics = createMetrics();
  const vitals = createVitals(() => 5000, metrics.observer);
  metrics.watch(
    vitals,
    () => 6500,
    async () => 3,
  );
  isWell(vitals);
  const { app } = testApp({ deps: { metrics } });
  await app.request('/ping/3f2504e0-4f89-41d3-9a0c-0305e82c3301');
  await app.request('/api/v1/jobs');
  const response = await app.request('/metrics');
  expect(response.headers.get('content-type')).toContain('text/plain');
  const text = await response.text();
  for (const line of [
    'rollcall_pings_total{outcome="current"} 1',
    'rollcall_batch_pings_count 1',
    'rollcall_ingest_lag_seconds 1.5',
    'rollcall_evaluator_lag_seconds 1.5',
    'rollcall_horizon_lag_seconds 0.6',
    'rollcall_outbox_waiting 3',
    'rollcall_http_request_seconds_count{route="api",method="GET",status="200"} 1',
    'process_cpu_seconds_total',
  ]) {
    expect(text).toContain(line);
  }
});
