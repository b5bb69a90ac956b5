import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { lockJobs } from '../../src/store/locking.ts';
import { layOutJob, startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
});
afterAll(() => t.drop());

const created = { at: '2026-03-01T12:00:00Z', nextUnrecorded: '2026-03-01T13:00:00Z' };

/** Resolves when a statement of this database waits for a lock. */
async function someoneWaits(database: Database): Promise<void> {
  for (let i = 0; i < 2000; i += 1) {
    const [row] = await database.transaction(
      (tx) => tx.sql<{ waits: boolean }[]>`
        select exists (select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock') as waits`,
    );
    if (row?.waits) return;
  }
  throw new Error('nobody waits for a lock');
}

test('who waited for the lock of a cursor sees the job as the one before has left it', async () => {
  const id = await layOutJob(t, 'edited', created);
  const second = await t.database.transaction(async (tx) => {
    await lockJobs(tx, [id], true);
    const waiting = t.database.transaction((other) => lockJobs(other, [id], true));
    await someoneWaits(t.database);
    await tx.sql`update jobs set paused_at = ${tx.now}, definition = definition || '{"name": "new"}' where id = ${id}`;
    await tx.sql`
      insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
      values (${id}, 2, 'UTC', '[{"every": 60, "anchor": 0}]', ${tx.now}, '2026z')`;
    await tx.sql`update cursors set version = 2 where job_id = ${id}`;
    // In an object: an async function would wait for it, and it waits for this transaction.
    return { waiting };
  });
  expect(await second.waiting).toMatchObject([
    { version: 2, tzVersion: '2026z', pausedAt: t.clock.now(), definition: { name: 'new' } },
  ]);
});

test('one that somebody holds is left out where nobody waits, and the others come in the order of their ids', async () => {
  const [first, held, last] = [
    await layOutJob(t, 'first', created),
    await layOutJob(t, 'held', created),
    await layOutJob(t, 'last', created),
  ];
  await t.database.transaction(async (tx) => {
    await lockJobs(tx, [held], true);
    const others = await t.database.transaction((other) => lockJobs(other, [last, held, first], false));
    expect(others.map(({ id }) => id)).toEqual([first, last]);
  });
});

test('a job whose version is gone can be locked all the same', async () => {
  const id = await layOutJob(t, 'gone', created);
  await t.database.transaction((tx) => tx.sql`delete from schedule_versions where job_id = ${id}`);
  expect(await t.database.transaction((tx) => lockJobs(tx, [id], true))).toMatchObject([{ id, tzVersion: null }]);
});
