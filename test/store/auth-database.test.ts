import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimCode, countWrongPassword, readAuthSecret, waitForAccount } from '../../src/store/auth-database.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';

const clock = manualClock('2026-03-01T12:00:00Z');
let store: TestDatabase;
beforeAll(async () => {
  store = await createTestDatabase({ now: clock.now });
});
afterAll(() => store.drop());

/** As better-auth sweeps: with rules of a minute, what was last asked for a minute ago goes. */
const sweep = () =>
  store.database.transaction((tx) => tx.sql`delete from rate_limits where last_request < ${tx.now - 60_000}::bigint`);
const claim = (user: string, code: string) => store.database.transaction((tx) => claimCode(tx, user, code));

test('a code is used up for as long as it would be right, and every person has their own', async () => {
  expect(await claim('ada', '123456')).toBe(true);
  expect(await claim('bob', '123456')).toBe(true);
  clock.advance(95);
  await sweep();
  expect(await claim('ada', '123456')).toBe(false);
  // Some day the same six digits come again.
  clock.advance(3600);
  expect(await claim('ada', '123456')).toBe(true);
});

test('of many who claim a code at once one has it', async () => {
  const claims = await Promise.all(Array.from({ length: 6 }, () => claim('ada', '654321')));
  expect(claims.filter(Boolean)).toHaveLength(1);
});

test('the hundredth wrong password within an hour makes an address wait until that hour is over', async () => {
  const wait = () => store.database.transaction((tx) => waitForAccount(tx, 'Ada@example.org'));
  const count = () => store.database.transaction((tx) => countWrongPassword(tx, 'ada@example.org'));
  for (let n = 0; n < 99; n += 1) await count();
  expect(await wait()).toBeNull();
  clock.advance(1800);
  await sweep();
  await count();
  expect(await wait()).toBe(1800);
  clock.advance(1800);
  expect(await wait()).toBeNull();
  await count();
  expect(await wait()).toBeNull();
});

test('two processes that begin together have one secret', async () => {
  const secrets = await Promise.all([1, 2, 3].map(() => store.database.transaction(readAuthSecret)));
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]).toMatch(/^[\w-]{43}$/);
});
