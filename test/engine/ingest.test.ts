import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIngest, type IncomingPing } from '../../src/engine/ingest.ts';
import { insertJob, pingedDefinition } from '../../src/engine/job-creation.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { readHearing } from '../../src/store/beats.ts';
import type { Tx } from '../../src/store/database.ts';
import { addKey, hashKey } from '../../src/store/keys.ts';
import { createVitals } from '../../src/vitals.ts';
import { loadZones } from '../../src/zones.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';

const zones = loadZones();
const clock = manualClock(0);
const KEY = 'ping-key-of-ingest-01';
let monotonic = 0;
/** A stop of the process just after the database has told its time. */
let stopMs = 0;
let store: TestDatabase;
let projectId = 0;

beforeEach(async () => {
  clock.set('2026-03-02T12:59:30Z');
  store = await createTestDatabase({ now: tellTime });
  projectId = await store.database.transaction(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`
      insert into projects (slug, name, created_at) values ('default', 'default', ${tx.now}) returning id`;
    await addKey(tx, row?.id ?? 0, 'ping', KEY);
    return row?.id ?? 0;
  });
});
afterEach(() => store.drop());

function tellTime(): number {
  const told = clock.now();
  pass(stopMs);
  stopMs = 0;
  return told;
}

function pass(ms: number): void {
  clock.advance(ms / 1000);
  monotonic += ms;
}

function startIngest(deadlineMs = 5000) {
  const time = { monotonic: () => monotonic, sleep: () => new Promise<void>((resolve) => setTimeout(resolve, 5)) };
  const versions = createVersionCache(zones);
  const [log, vitals] = [createLog('silent'), createVitals(time.monotonic)];
  return createIngest({
    ...{ database: store.database, clock: time, versions, zones, settleMs: 600_000, vitals, log, deadlineMs },
  });
}

const hourly = (slug: string) =>
  store.database.transaction((tx) => {
    const definition = { ...pingedDefinition(slug), schedules: [{ cron: '0 * * * *' }], grace: 120, early: 0 };
    return insertJob(tx, { zones }, projectId, slug, { ...definition, missedRuns: 'skip' }, false);
  });

const ping = (slug: string, more: Partial<IncomingPing> = {}): IncomingPing => ({
  ...{ target: { pingKeyHash: hashKey(KEY), slug, create: true }, kind: 'success', exitCode: null, rid: null },
  ...{ occ: null, at: null, dur: null, flaw: null, body: new Uint8Array(), bodyBytes: 0, truncated: false },
  ...{ source: '192.0.2.1', userAgent: 'test', method: 'GET', arrivedMs: monotonic, ...more },
});

const rows = (text: string) => store.database.transaction((tx) => tx.sql.unsafe(text));

/** Runs `while held` while another transaction, of a process that may be stopped, holds what `hold` locks. */
async function holding(hold: (tx: Tx) => Promise<unknown>, whileHeld: () => Promise<void>): Promise<void> {
  await store.database.transaction(async (tx) => {
    await hold(tx);
    await whileHeld();
  });
}

const lockJob = (slug: string) => (tx: Tx) =>
  tx.sql`select from cursors c join jobs j on j.id = c.job_id where j.slug = ${slug} for update of c`;

test('one job that is locked makes nobody blind: the beats go on, and the horizon waits for its ping', async () => {
  await hourly('locked');
  await hourly('free');
  const ingest = startIngest();
  await ingest.flush();
  const arrivedAt = clock.now();
  let answer: Promise<unknown> | null = null;
  await holding(lockJob('locked'), async () => {
    answer = ingest.submit(ping('locked'));
    for (let second = 0; second < 11; second += 1) {
      pass(1000);
      void ingest.flush();
      expect(await ingest.submit(ping('free', { kind: 'log', arrivedMs: monotonic }))).toMatchObject({
        outcome: 'accepted',
      });
    }
    const { horizon, last } = await store.database.transaction(readHearing);
    expect([horizon, last]).toEqual([arrivedAt - 1, clock.now()]);
  });
  expect(await answer).toMatchObject({ outcome: 'accepted' });
  await ingest.flush();
  expect(await store.database.transaction(readHearing)).toMatchObject({ horizon: clock.now() });
  expect(await rows('select from blind_windows')).toHaveLength(0);
  expect(await rows(`select from pings where received_at = to_timestamp(${arrivedAt / 1000})`)).toHaveLength(1);
});

test('what waited when Rollcall died was lost with it: the silence begins where the horizon stood', async () => {
  await hourly('locked');
  const ingest = startIngest();
  await ingest.flush();
  const arrivedAt = clock.now();
  await holding(lockJob('locked'), async () => {
    void ingest.submit(ping('locked')).catch(() => undefined);
    pass(2000);
    await ingest.submit(ping('new', { kind: 'log' }));
    void ingest.flush();
    await expect.poll(() => rows(`select from beats where at > through`)).toHaveLength(1);
    pass(4000);
    const next = startIngest();
    await next.flush();
    const [window] = await rows('select after, until, kind from blind_windows');
    expect(window).toEqual({ after: arrivedAt - 1, until: clock.now(), kind: 'gap' });
  });
});

test('after a silence a batch that is held up holds up no other replica', async () => {
  const [first, second] = [startIngest(), startIngest()];
  await first.flush();
  await second.flush();
  pass(20_000);
  let made: Promise<unknown> | null = null;
  const makeJob = (tx: Tx) => insertJob(tx, { zones }, projectId, 'held', pingedDefinition('held'), true);
  await holding(makeJob, async () => {
    // It waits for whoever makes a job of the same name.
    made = first.submit(ping('held'));
    await expect.poll(() => rows("select from pg_stat_activity where wait_event_type = 'Lock'")).toHaveLength(1);
    expect(await second.submit(ping('other'))).toMatchObject({ outcome: 'accepted', created: true });
    expect(await rows('select from blind_windows')).toHaveLength(1);
  });
  expect(await made).toMatchObject({ outcome: 'accepted' });
});

test('one ping that cannot be committed in time takes its batch with it once, and not the next one', async () => {
  const ingest = startIngest(400);
  await ingest.flush();
  const makeJob = (tx: Tx) => insertJob(tx, { zones }, projectId, 'held', pingedDefinition('held'), true);
  await holding(makeJob, async () => {
    const batch = [ingest.submit(ping('a')), ingest.submit(ping('held')), ingest.submit(ping('b'))];
    const outcomes = await Promise.allSettled(batch);
    // The first one went by itself, at once.
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await ingest.submit(ping('b'))).toMatchObject({ outcome: 'accepted' });
  });
});

test('a stop after the database has told its time makes no ping too early', async () => {
  await hourly('job');
  const ingest = startIngest();
  await ingest.flush();
  pass(30_000);
  await ingest.flush();
  // 13:00:00.050, named by its key, which opens at 13:00 sharp.
  pass(50);
  stopMs = 8000;
  const named = ingest.submit(ping('job', { occ: '2026-03-02T13:00Z' }));
  expect(await named).toMatchObject({ outcome: 'accepted', key: '2026-03-02T13:00Z' });
  const [row] = await rows('select received_at from pings');
  expect(row).toEqual({ received_at: Date.parse('2026-03-02T13:00:00.050Z') });
});

test('a ping that came in time is not late because of a stop, and the beats of others meanwhile are no step back', async () => {
  await hourly('job');
  const [ingest, other] = [startIngest(), startIngest()];
  await ingest.flush();
  pass(30_000 + 118_000);
  await ingest.flush();
  const submitted = ingest.submit(ping('job'));
  stopMs = 9000;
  expect(await submitted).toMatchObject({ outcome: 'accepted', key: '2026-03-02T13:00Z' });
  const [row] = await rows("select state from occurrences where scheduled_for = '2026-03-02T13:00Z'");
  expect(row).toEqual({ state: 'on_time' });
  await other.flush();
  // Its transaction begins, the process is stopped, and the other one goes on.
  stopMs = 7000;
  await other.flush();
  await ingest.flush();
  expect(await rows("select from blind_windows where cause = 'repeated'")).toHaveLength(0);
});
