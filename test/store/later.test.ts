import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../src/store/database.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** In a transaction of its own: what it sees of the sessions stays the same throughout one. */
const someoneWaits = () =>
  db.database.transaction(async ({ sql }) => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });

test('a transaction that waited for a lock can go on at an instant after that of whoever held it', async () => {
  await db.database.transaction(({ sql }) => sql`insert into facts (name, value) values ('held', 'before')`);
  let waiting: Promise<void> = Promise.resolve();
  const holder = await db.database.transaction(async (tx) => {
    await tx.sql`select from facts where name = 'held' for update`;
    waiting = db.database.transaction(async (begun) => {
      await begun.sql`select from facts where name = 'held' for update`;
      const then = await begun.later();
      expect(then.now).toBeGreaterThan(begun.now);
      await then.sql`update facts set value = ${String(then.now)} where name = 'held'`;
    });
    await expect.poll(someoneWaits, { timeout: 8000 }).toBe(true);
    return (await tx.later()).now;
  });
  await waiting;
  const [row] = await db.database.transaction(({ sql }) => sql`select value from facts where name = 'held'`);
  expect(Number(row?.['value'])).toBeGreaterThanOrEqual(holder);
});

test('the manual clock is asked again as well', async () => {
  const clock = manualClock('2026-03-29T00:59:59Z');
  const manual = connect(db.url, { now: clock.now });
  await manual.transaction(async (tx) => {
    clock.advance(3);
    expect((await tx.later()).now).toBe(Date.parse('2026-03-29T01:00:02Z'));
    expect(tx.now).toBe(Date.parse('2026-03-29T00:59:59Z'));
  });
  await manual.close();
});
