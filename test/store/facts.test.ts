import { afterAll, beforeAll, expect, test } from 'vitest';
import { refreshFact, setFact } from '../../src/store/facts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const fact = (name: string) =>
  db.database.transaction(async ({ sql }) => (await sql`select value from facts where name = ${name}`)[0]?.['value']);

test('a fact is made when it is refreshed first, and changed afterwards', async () => {
  await db.database.transaction((tx) => refreshFact(tx, 'tick', 'one'));
  expect(await fact('tick')).toBe('one');
  await db.database.transaction((tx) => refreshFact(tx, 'tick', 'two'));
  expect(await fact('tick')).toBe('two');
});

test('a process that stops while it refreshes a fact holds nobody else who does', async () => {
  await db.database.transaction((tx) => setFact(tx, 'tick', 'before'));
  await db.database.transaction(async (stopped) => {
    await refreshFact(stopped, 'tick', 'stopped');
    // A second is far less than the time after which the database would end the first one.
    await db.database.transaction((other) => refreshFact(other, 'tick', 'other'), { statementTimeoutMs: 1000 });
    expect(await fact('tick')).toBe('before');
  });
  expect(await fact('tick')).toBe('stopped');
});
