import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Tx } from '../../src/store/database.ts';
import { findWindow } from '../../src/store/maintenance.ts';
import { createMaintenanceBook } from '../../src/store/maintenance-book.ts';
import { loadZones } from '../../src/zones.ts';
import { Alerts } from '../support/alerts.ts';

const zones = loadZones();
let alerts: Alerts;
beforeEach(async () => {
  alerts = await Alerts.start('2026-03-01T00:30:00Z');
});
afterEach(async () => {
  expect(alerts.t.logged).toEqual([]);
  await alerts.drop();
});

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip', grace: '10m' };

async function job(slug: string, more: object = {}): Promise<void> {
  const { status, json } = await alerts.t.call('PUT', `/jobs/${slug}`, { ...hourly, ...more });
  expect(status, JSON.stringify(json)).toBeLessThan(202);
}

async function window(slug: string, body: object): Promise<void> {
  const { status, json } = await alerts.t.call('PUT', `/maintenance/${slug}`, body);
  expect(status, JSON.stringify(json)).toBeLessThan(202);
  expect(json.jobs_left).toBe(0);
}

const night = { from: '2026-03-01T02:00:00Z', until: '2026-03-01T04:00:00Z' };

const about = { slug: 'job', tags: [] };

/** How many statements this takes. */
async function statements(work: (tx: Tx) => Promise<unknown>): Promise<number> {
  let count = 0;
  await alerts.t.database.transaction((tx) => {
    const sql = new Proxy(tx.sql, {
      apply(target, self, args) {
        count += 1;
        return Reflect.apply(target, self, args);
      },
    });
    return work({ ...tx, sql });
  });
  return count;
}

test('takes one look at one row where nothing changed, and sees what another process changed', async () => {
  const { projectId } = alerts.t;
  const book = createMaintenanceBook(zones);
  const read = (tx: Tx) => book.read(tx, [projectId, projectId]);
  expect(await statements(read)).toBe(1);
  await window('night', night);
  expect(await statements(read)).toBe(2);
  expect(await statements(read)).toBe(1);
  const due = Date.parse(night.from);
  const ask = () => alerts.t.database.transaction(async (tx) => (await read(tx))(projectId, about)?.(due, due) ?? null);
  expect(await ask()).toMatchObject({ reason: 'maintenance' });
  await window('night', { ...night, tags: ['db'] });
  expect(await ask()).toBeNull();
});

test('says until when a job is held, over windows that meet', async () => {
  await job('job');
  await window('night', night);
  await window('more', { ...night, from: '2026-03-01T04:00:00Z', until: '2026-03-01T05:00:00Z' });
  const id = await alerts.t.database.transaction(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`select id from jobs where slug = 'job'`;
    return row?.id ?? 0;
  });
  const book = createMaintenanceBook(zones);
  const held = () => alerts.t.database.transaction((tx) => book.heldNow(tx, [id]));
  expect(await held()).toEqual(new Map());
  await alerts.t.at('2026-03-01T03:00:00Z');
  expect(await held()).toEqual(new Map([[id, { slug: 'night', until: Date.parse('2026-03-01T05:00:00Z') }]]));
});

test('asks once for all jobs that the same windows are about', async () => {
  const names = Array.from({ length: 60 }, (_, i) => `job-${i}`);
  for (const name of names) await job(name, { tags: name === 'job-0' ? ['db'] : [] });
  // Every hour of the week is a window of an hour: where that ends is far to seek.
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  const weekly = Array.from({ length: 48 }, (_, i) => ({
    days,
    start: `${String(i % 24).padStart(2, '0')}:00`,
    duration: i < 24 ? '1h' : '30m',
  }));
  await window('always', { weekly, zone: 'Europe/Berlin' });
  await window('night', { ...night, from: '2026-03-01T00:00:00Z', tags: ['db'] });
  const ids = await alerts.t.database.transaction(
    (tx) => tx.sql<{ id: number }[]>`select id from jobs order by length(slug), slug`,
  );
  const book = createMaintenanceBook(zones);
  const ask = () =>
    alerts.t.database.transaction((tx) =>
      book.heldNow(
        tx,
        ids.map(({ id }) => id),
      ),
    );
  await ask();
  const before = process.cpuUsage();
  const held = await ask();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(400);
  // The tagged one is in another window besides.
  expect([...held.values()].map(({ slug }) => slug)).toEqual(['night', ...names.slice(1).map(() => 'always')]);
});

test('compiles a window once for all who ask, as long as it is what it was', async () => {
  const { database, projectId } = alerts.t;
  const book = createMaintenanceBook(zones);
  await window('night', night);
  const stored = () =>
    database.transaction(async (tx) => {
      await book.read(tx, [projectId]);
      return findWindow(tx, projectId, 'night');
    });
  const [before, again] = [await stored(), await stored()];
  if (!before || !again) throw new Error('there is no window');
  expect(book.compiled(again)).toBe(book.compiled(before));
  await window('night', { ...night, until: '2026-03-01T05:00:00Z' });
  const after = await stored();
  if (!after) throw new Error('there is no window');
  expect(book.compiled(after).around(Date.parse('2026-03-01T04:30:00Z'))).not.toBeNull();
  // One that nobody has read so far is compiled for whoever asks.
  expect(createMaintenanceBook(zones).compiled(after).around(Date.parse(night.from))).not.toBeNull();
});
