import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/store/database.ts';
import { Pool } from '../../src/store/pool.ts';
import { add, keptWords, notCommitted, pidOf, signal, unavailable, until } from '../support/kept-words.ts';
import { startProxy } from '../support/proxy.ts';

const { open, words, endBackend, url } = keptWords();

describe('a database that is away', () => {
  test('is told apart from a wrong statement', async () => {
    const refused = open({}, 'postgres://nobody:secret@127.0.0.1:1/none');
    const failure = await refused.transaction(async () => 1).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'DatabaseUnavailable',
      code: 'ECONNREFUSED',
      trouble: 'away',
      mayHaveCommitted: false,
    });
    expect(String(failure)).not.toContain('secret');
    await expect(open().transaction((tx) => tx.sql`select nonsense`)).rejects.toMatchObject({ code: '42703' });
    const slow = open().transaction((tx) => tx.sql`select pg_sleep(60)`, { statementTimeoutMs: 20 });
    await expect(slow).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: '57014', trouble: 'slow' });
    const wrapped = open().transaction((tx) => tx.db.execute('select pg_sleep(60)'), { statementTimeoutMs: 20 });
    await expect(wrapped).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: '57014' });
  });

  test('and came back is used again without a word: idle connections were closed meanwhile (EVL-018)', async () => {
    const database = open({ max: 3 });
    const pids = await Promise.all([1, 2, 3].map(() => database.transaction(pidOf)));
    for (const pid of pids) await endBackend(pid);
    const runs = await Promise.all([1, 2, 3].map(() => database.transaction(async (tx) => pidOf(tx))));
    expect(new Set([...pids, ...runs]).size).toBe(6);
  });

  test('just as a transaction begins on an idle connection is passed over: nothing had been done yet', async () => {
    const proxy = await startProxy(url());
    const database = open({ max: 1 }, proxy.url);
    await database.transaction(pidOf);
    proxy.cutOnceAt('begin isolation');
    let runs = 0;
    await database.transaction(async (tx) => {
      runs += 1;
      await add(tx, 'once');
    });
    expect([runs, proxy.connections(), await words()]).toEqual([1, 2, ['once']]);
    await database.close();
    await proxy.close();
  });

  test('without saying so does not hold a transaction beyond its deadline (STO-002)', async () => {
    const proxy = await startProxy(url());
    const database = open({ max: 1 }, proxy.url);
    let hanging: unknown;
    let later: unknown;
    const start = performance.now();
    const hung = database.transaction(
      async (tx) => {
        await add(tx, 'one');
        proxy.goSilent();
        await add(tx, 'two').catch(async (error: unknown) => {
          hanging = error;
          later = await add(tx, 'three').catch((error: unknown) => error);
        });
      },
      { deadlineMs: 250 },
    );
    await expect(hung).rejects.toEqual(notCommitted);
    expect(performance.now() - start).toBeLessThan(2000);
    // The next one gets a new connection, and the late statement went nowhere.
    await database.transaction((tx) => add(tx, 'four'));
    expect(proxy.connections()).toBe(2);
    await until(() => later !== undefined);
    expect([hanging, later]).toEqual([unavailable, unavailable]);
    await proxy.close();
    await until(async () => (await words()).length === 1);
    expect(await words()).toEqual(['four']);
  });

  test('while a transaction begins on an idle connection costs that one its deadline, and no other', async () => {
    const proxy = await startProxy(url());
    const database = open({ max: 3 }, proxy.url);
    await Promise.all([1, 2, 3].map(() => database.transaction(pidOf)));
    proxy.goSilent();
    await expect(database.transaction(pidOf, { deadlineMs: 100 })).rejects.toEqual(notCommitted);
    await database.transaction(pidOf, { deadlineMs: 5000 });
    await proxy.close();
  });

  test('during the commit leaves the outcome open, and says so', async () => {
    const proxy = await startProxy(url());
    const database = open({ max: 1 }, proxy.url);
    proxy.cutOnceAt('commit\0');
    const cut = database.transaction((tx) => add(tx, 'maybe'));
    await expect(cut).rejects.toMatchObject({ name: 'DatabaseUnavailable', mayHaveCommitted: true });
    await proxy.close();
  });
});

describe('the pool', () => {
  test('serves many with few connections, in turn', async () => {
    const database = open({ max: 3 });
    const pids = await Promise.all(Array.from({ length: 60 }, () => database.transaction(pidOf)));
    expect(new Set(pids).size).toBe(3);
  });

  test('that is exhausted refuses the one that waited too long, and disturbs nobody else', async () => {
    const database = open({ max: 1 });
    const isFree = signal();
    const holder = database.transaction(async (tx) => {
      await isFree.reached;
      await add(tx, 'holder');
    });
    const waiting = database.transaction((tx) => add(tx, 'waiting'), { deadlineMs: 50 });
    await expect(waiting).rejects.toEqual(notCommitted);
    isFree.reach();
    await holder;
    expect(await words()).toEqual(['holder']);
  });

  test('lets running transactions end when it closes, and refuses new ones', async () => {
    const database = connect(url());
    const [began, isFree] = [signal(), signal()];
    const running = database.transaction(async (tx) => {
      began.reach();
      await isFree.reached;
      await add(tx, 'last');
    });
    await began.reached;
    const closing = database.close();
    await expect(database.transaction(async () => 1)).rejects.toEqual(notCommitted);
    isFree.reach();
    await Promise.all([running, closing]);
    expect(await words()).toEqual(['last']);
    await database.close();
  });

  test('closes in time even when a connection never answers (STO-004)', async () => {
    const proxy = await startProxy(url());
    const pool = new Pool(proxy.url, 2, { onNotice: () => undefined, prepare: false });
    const [busy, idle] = await Promise.all([1, 2].map(() => pool.borrow(new AbortController().signal)));
    if (!busy || !idle) throw new Error('two connections were asked for');
    for (const { sql } of [busy, idle]) await sql`select 1`;
    pool.giveBack(idle);
    proxy.goSilent();
    const outcome = busy.sql`select 1`.catch((error: unknown) => error);
    const start = performance.now();
    await pool.close(100);
    expect(performance.now() - start).toBeLessThan(1500);
    expect(await outcome).toBeInstanceOf(Error);
    await proxy.close();
  });
});
