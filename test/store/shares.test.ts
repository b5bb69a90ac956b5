import { afterAll, beforeAll, expect, test } from 'vitest';
import { readShares } from '../../src/store/shares.ts';
import { layOutJob, layOutRow, startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-31T12:00:00Z');
});
afterAll(() => t.drop());

const MARCH = { after: Date.parse('2026-03-01T00:00:00Z'), until: Date.parse('2026-04-01T00:00:00Z') };
const shares = (ids: readonly number[], window = MARCH) => t.database.transaction((tx) => readShares(tx, ids, window));

test('a share is of what counts: skipped, unknown and pending ones are left out, the first two counted beside', async () => {
  const id = await layOutJob(t, 'all-ends', { at: '2026-02-01T00:00:00Z', nextUnrecorded: '2026-04-01T00:00:00Z' });
  const states = ['on_time', 'on_time', 'late', 'expired', 'failed', 'missed', 'overdue', 'coalesced'];
  const beside = ['skipped', 'skipped', 'unknown', 'running', 'expected'];
  const hours = [...states, ...beside].map((state, hour) => ({
    at: `2026-03-10T${String(hour).padStart(2, '0')}:00:00Z`,
    state,
  }));
  for (const row of hours) await layOutRow(t, id, row);
  // The first instant after the window's beginning, that instant itself, and what is settled or begun ahead of the clock.
  await layOutRow(t, id, { at: '2026-03-01T00:00:00Z', state: 'failed' });
  await layOutRow(t, id, { at: '2026-03-01T00:00:01Z', state: 'on_time' });
  await layOutRow(t, id, { at: '2026-03-31T13:00:00Z', state: 'on_time' });
  await layOutRow(t, id, { at: '2026-03-31T14:00:00Z', state: 'running' });
  expect((await shares([id])).get(id)).toEqual({ counted: 10, onTime: 4, skipped: 2, unknown: 1 });
  // A window that ended before now is of what was due in it.
  const ended = { ...MARCH, until: Date.parse('2026-03-31T11:00:00Z') };
  expect((await shares([id], ended)).get(id)).toEqual({ counted: 9, onTime: 3, skipped: 2, unknown: 1 });
});

test('what is open and due since a pause began is skipped; a heartbeat lives on', async () => {
  const cron = await layOutJob(t, 'paused', { at: '2026-02-01T00:00:00Z', nextUnrecorded: null });
  const beat = await layOutJob(t, 'paused-beat', {
    at: '2026-02-01T00:00:00Z',
    nextUnrecorded: null,
    schedules: [{ heartbeat: 3600 }],
    missedRuns: null,
  });
  for (const id of [cron, beat]) {
    await layOutRow(t, id, { at: '2026-03-20T01:00:00Z', state: 'overdue' });
    await layOutRow(t, id, { at: '2026-03-20T03:00:00Z', state: 'overdue' });
    await layOutRow(t, id, { at: '2026-03-20T04:00:00Z', state: 'on_time' });
  }
  await t.database.transaction(
    (tx) => tx.sql`update jobs set paused_at = '2026-03-20T02:00:00Z' where id in ${tx.sql([cron, beat])}`,
  );
  const found = await shares([cron, beat]);
  expect(found.get(cron)).toEqual({ counted: 2, onTime: 1, skipped: 1, unknown: 0 });
  expect(found.get(beat)).toEqual({ counted: 3, onTime: 1, skipped: 0, unknown: 0 });
});

test('a job of which nothing is recorded in the window has none', async () => {
  const id = await layOutJob(t, 'young', { at: '2026-03-31T00:00:00Z', nextUnrecorded: '2026-03-31T13:00:00Z' });
  expect((await shares([id])).has(id)).toBe(false);
  expect((await shares([])).size).toBe(0);
});
