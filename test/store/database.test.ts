import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import type { DatabaseUnavailable } from '../../src/store/database.ts';
import { add, keptWords, notCommitted, pidOf, signal, unavailable, until } from '../support/kept-words.ts';

const { open, words, endBackend, url, admin } = keptWords();

describe('a transaction whose connection the server ended', () => {
  test('leaks into the next one in bare postgres.js: the trap this file is about (STO-001)', async () => {
    const bare = postgres(url(), { max: 1, prepare: false, onnotice: () => undefined });
    const [ended, bBegan, aWrote] = [signal(), signal(), signal()];
    const a = bare.begin(async (sql) => {
      await sql`insert into kept values ('a1')`;
      const [row] = await sql`select pg_backend_pid() as pid`;
      await endBackend(row?.['pid']);
      ended.reach();
      await bBegan.reached;
      await sql`insert into kept values ('a2')`;
      aWrote.reach();
    });
    const b = bare.begin(async (sql) => {
      await sql`insert into kept values ('b1')`;
      bBegan.reach();
      await aWrote.reached;
      await until(async () => (await words()).includes('a2'));
      await sql`insert into kept values ('b2')`;
      throw new Error('b changes its mind');
    });
    await expect(a).rejects.toThrow('CONNECTION_CLOSED');
    await expect(b).rejects.toThrow('b changes its mind');
    // Both transactions were rejected, and yet:
    expect(await words()).toEqual(['a2', 'b1', 'b2']);
    await bare.end({ timeout: 1 });
  });

  test('is refused every later statement, and leaves no row', async () => {
    const database = open({ max: 1 });
    const [bBegan, aTried] = [signal(), signal()];
    let later: unknown;
    const a = database.transaction(async (tx) => {
      await add(tx, 'a1');
      await endBackend(await pidOf(tx));
      await bBegan.reached;
      later = await add(tx, 'a2').catch((error: unknown) => error);
      aTried.reach();
    });
    const b = database.transaction(async (tx) => {
      await add(tx, 'b1');
      bBegan.reach();
      await aTried.reached;
      await add(tx, 'b2');
      throw new Error('b changes its mind');
    });
    await expect(a).rejects.toEqual(notCommitted);
    await expect(b).rejects.toThrow('b changes its mind');
    expect(later).toEqual(unavailable);
    expect(await words()).toEqual([]);
  });

  test('does not disturb the one that follows on the same pool', async () => {
    const database = open({ max: 1 });
    const [bBegan, aTried] = [signal(), signal()];
    const a = database.transaction(async (tx) => {
      await endBackend(await pidOf(tx));
      await bBegan.reached;
      await Promise.allSettled([add(tx, 'a2'), add(tx, 'a3'), tx.db.execute('insert into kept values (4)')]);
      aTried.reach();
    });
    const b = database.transaction(async (tx) => {
      await add(tx, 'b1');
      bBegan.reach();
      await aTried.reached;
      await add(tx, 'b2');
    });
    await expect(a).rejects.toEqual(notCommitted);
    await b;
    expect(await words()).toEqual(['b1', 'b2']);
  });

  test('is rejected at once, even when its work waits for something that never comes', async () => {
    const database = open({ max: 1 });
    const a = database.transaction(async (tx) => {
      await add(tx, 'a1');
      await endBackend(await pidOf(tx));
      await new Promise(() => undefined);
    });
    await expect(a).rejects.toEqual(notCommitted);
    expect(await database.transaction(async (tx) => (await tx.sql`select word from kept`).length)).toBe(0);
  });

  test('settles statements that were queued behind the lost one', async () => {
    const database = open({ max: 1 });
    let outcomes: PromiseSettledResult<unknown>[] = [];
    const a = database.transaction(async (tx) => {
      const pid = await pidOf(tx);
      const all = Promise.allSettled([
        tx.sql`select pg_terminate_backend(${pid})`,
        ...Array.from({ length: 300 }, (_, i) => add(tx, `a${i}`)),
      ]);
      outcomes = await all;
    });
    await expect(a).rejects.toEqual(notCommitted);
    await until(() => outcomes.length === 301);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    expect(await words()).toEqual([]);
  });

  test('keeps both of its rows or none, and says which, while connections are shot at random', async () => {
    const database = open({ max: 4 });
    const outcomes = new Map<number, 'kept' | 'gone' | 'unsure'>();
    const shoot = () => admin()`select pg_terminate_backend(pid) from (
      select pid from pg_stat_activity where application_name = 'rollcall' and datname = current_database()
      order by random() limit 1) as victim`;
    const one = (i: number) =>
      database
        .transaction(async (tx) => {
          await add(tx, `${i} first`);
          await add(tx, `${i} second`);
        })
        .then(
          () => outcomes.set(i, 'kept'),
          (error: DatabaseUnavailable) => {
            expect(error).toEqual(unavailable);
            outcomes.set(i, error.mayHaveCommitted ? 'unsure' : 'gone');
          },
        );
    for (let i = 0; i < 400; i += 8) await Promise.all([shoot(), ...[0, 1, 2, 3, 4, 5, 6, 7].map((j) => one(i + j))]);
    const kept = new Set(await words());
    for (const [i, outcome] of outcomes) {
      expect([i, kept.has(`${i} first`)]).toEqual([i, kept.has(`${i} second`)]);
      if (outcome !== 'unsure') expect([i, outcome]).toEqual([i, kept.has(`${i} first`) ? 'kept' : 'gone']);
    }
    expect(new Set(outcomes.values())).toContain('gone');
    expect(new Set(outcomes.values())).toContain('kept');
  });
});
