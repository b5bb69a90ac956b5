import { performance } from 'node:perf_hooks';
import { eq } from 'drizzle-orm';
import { bigint, customType, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConnectOptions,
  connect,
  type Database,
  type DatabaseUnavailable,
  type Tx,
} from '../../src/store/database.ts';
import { Pool } from '../../src/store/pool.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';

let testDatabase: TestDatabase;
let admin: postgres.Sql;
const opened: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = postgres(testDatabase.url, { max: 1, onnotice: () => undefined });
  await admin`create table kept (word text primary key)`;
});
beforeEach(async () => {
  await admin`truncate kept`;
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});
afterAll(async () => {
  await admin.end();
  await testDatabase.drop();
});

/** A client of this test's own; closed after it. */
function open(options: ConnectOptions = {}, url = testDatabase.url): Database {
  const database = connect(url, options);
  opened.push(database);
  return database;
}

const add = (tx: Tx, word: string) => tx.sql`insert into kept (word) values (${word})`;
const pidOf = async (tx: Tx) => (await tx.sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;
const words = async () => (await admin`select word from kept order by word`).map((row) => row['word']);

/** Ends the connection as the server does at its time limits, and waits until it is gone. */
async function endBackend(pid: number): Promise<void> {
  await admin`select pg_terminate_backend(${pid}, 5000)`;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 10_000; !(await condition()); await new Promise(setImmediate)) {
    if (performance.now() > end) throw new Error('waited 10 s in vain');
  }
}

/** A promise to be settled from elsewhere: one part of a test waits for another. */
function signal(): { readonly reached: Promise<void>; reach(): void } {
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reached, reach: () => reach() };
}

const unavailable = expect.objectContaining({ name: 'DatabaseUnavailable' });
const notCommitted = expect.objectContaining({ name: 'DatabaseUnavailable', mayHaveCommitted: false });

describe('a transaction whose connection the server ended', () => {
  test('leaks into the next one in bare postgres.js: the trap this file is about (STO-001)', async () => {
    const bare = postgres(testDatabase.url, { max: 1, prepare: false, onnotice: () => undefined });
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
    let isOver = false;
    const shooting = (async () => {
      while (!isOver) {
        await admin`select pg_terminate_backend(pid) from (
          select pid from pg_stat_activity where application_name = 'rollcall' and datname = current_database()
          order by random() limit 1) as victim`;
      }
    })();
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
    for (let i = 0; i < 400; i += 8) await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((j) => one(i + j)));
    isOver = true;
    await shooting;
    const kept = new Set(await words());
    for (const [i, outcome] of outcomes) {
      expect([i, kept.has(`${i} first`)]).toEqual([i, kept.has(`${i} second`)]);
      if (outcome !== 'unsure') expect([i, outcome]).toEqual([i, kept.has(`${i} first`) ? 'kept' : 'gone']);
    }
    expect(new Set(outcomes.values())).toContain('gone');
    expect(new Set(outcomes.values())).toContain('kept');
  });
});

describe('a transaction', () => {
  test('whose statement failed is not committed, although its work carried on', async () => {
    const database = open();
    await database.transaction((tx) => add(tx, 'taken'));
    const careless = database.transaction(async (tx) => {
      await add(tx, 'first');
      await add(tx, 'taken').catch(() => undefined);
      return 'all is well';
    });
    await expect(careless).rejects.toMatchObject({ code: '23505' });
    expect(await words()).toEqual(['taken']);
  });

  test('whose statement nobody awaited is committed only if that statement worked', async () => {
    const database = open();
    await database.transaction(async (tx) => {
      void add(tx, 'forgotten').execute();
    });
    const broken = database.transaction(async (tx) => {
      await add(tx, 'again');
      void add(tx, 'forgotten').execute();
    });
    await expect(broken).rejects.toMatchObject({ code: '23505' });
    expect(await words()).toEqual(['forgotten']);
  });

  test('that has ended refuses the statements of whoever kept it', async () => {
    const database = open({ max: 1 });
    const kept = await database.transaction(async (tx) => tx);
    const next = database.transaction(async (tx) => {
      await expect(kept.sql`insert into kept values ('late')`).rejects.toEqual(unavailable);
      await expect(kept.sql.unsafe(`insert into kept values ('late')`)).rejects.toEqual(unavailable);
      await expect(kept.db.execute(`insert into kept values ('late')`)).rejects.toMatchObject({ cause: unavailable });
      await add(tx, 'in time');
    });
    await next;
    expect(await words()).toEqual(['in time']);
  });

  test('passes on what its work throws, rolls back, and runs its work only once', async () => {
    const database = open();
    let runs = 0;
    const failing = database.transaction(async (tx) => {
      runs += 1;
      await add(tx, 'never');
      throw new TypeError('a bug');
    });
    await expect(failing).rejects.toThrow(new TypeError('a bug'));
    expect([runs, await words()]).toEqual([1, []]);
  });

  test('undoes a savepoint alone', async () => {
    const database = open();
    await database.transaction(async (tx) => {
      await add(tx, 'one');
      await expect(
        tx.savepoint(async () => {
          await add(tx, 'two');
          await add(tx, 'one');
        }),
      ).rejects.toMatchObject({ code: '23505' });
      await tx.savepoint(() => add(tx, 'three'));
    });
    expect(await words()).toEqual(['one', 'three']);
  });

  test('runs in UTC with its own limits, whatever the database is set to, and leaves the session alone', async () => {
    const name = new URL(testDatabase.url).pathname.slice(1);
    await admin.unsafe(`alter database ${name} set timezone = 'America/New_York'`);
    await admin.unsafe(`alter database ${name} set datestyle = 'German'`);
    const database = open({ max: 1 });
    const settings = (tx: Tx) => tx.sql`
      select current_setting('TimeZone') as zone, current_setting('statement_timeout') as statement,
             current_setting('idle_in_transaction_session_timeout') as idle,
             '2026-03-08T07:00:00Z'::timestamptz as at, '2026-03-07T12:00:00-05:00'::timestamptz + interval '1 day' as tomorrow`;
    expect((await database.transaction(settings, { statementTimeoutMs: 1234 }))[0]).toEqual({
      zone: 'UTC',
      statement: '1234ms',
      idle: '10s',
      at: Date.parse('2026-03-08T07:00:00Z'),
      tomorrow: Date.parse('2026-03-08T13:00:00-04:00'),
    });
    await admin.unsafe(`alter database ${name} reset all`);
  });

  test('takes its instant from the database once, or from the manual clock', async () => {
    const before = Number((await admin`select floor(extract(epoch from clock_timestamp()) * 1000) as at`)[0]?.['at']);
    const now = await open().transaction(async (tx) => {
      await tx.sql`select pg_sleep(0.01)`;
      return tx.now;
    });
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThan(before + 5000);
    const clock = manualClock('2026-03-29T00:59:59Z');
    const manual = open({ now: clock.now });
    expect(await manual.transaction(async (tx) => tx.now)).toBe(Date.parse('2026-03-29T00:59:59Z'));
    clock.advance(1);
    expect(await manual.transaction(async (tx) => tx.now)).toBe(Date.parse('2026-03-29T01:00:00Z'));
  });
});

describe('values', () => {
  const instant = customType<{ data: number; driverData: string | number }>({
    dataType: () => 'timestamp with time zone',
    toDriver: (at) => new Date(at).toISOString(),
    fromDriver: (value) => (typeof value === 'number' ? value : Date.parse(value)),
  });
  const samples = pgTable('samples', {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    at: instant('at').notNull(),
    data: jsonb('data'),
    name: text('name'),
  });
  beforeAll(async () => {
    await admin`create table samples (id bigint primary key, at timestamptz not null, data jsonb, name text)`;
  });

  test.each(['UTC', 'America/New_York', 'Asia/Kolkata'])('mean the same instant on a machine in %s', async (zone) => {
    const home = process.env['TZ'];
    process.env['TZ'] = zone;
    const at = Date.parse('2026-03-08T07:00:00Z');
    try {
      await open().transaction(async (tx) => {
        await tx.sql`delete from samples`;
        await tx.sql`insert into samples (id, at) values (1, ${at})`;
        await tx.db.insert(samples).values({ id: 2, at, data: { list: [1] }, name: 'x' });
        expect(await tx.sql`select at from samples where at <= ${at} order by id`).toEqual([{ at }, { at }]);
        expect(await tx.db.select().from(samples).where(eq(samples.id, 2))).toEqual([
          { id: 2, at, data: { list: [1] }, name: 'x' },
        ]);
        expect(await tx.db.select({ id: samples.id }).from(samples).where(eq(samples.at, at))).toHaveLength(2);
        expect(await tx.sql`select at::text, data ->> 'list' as list from samples where id = 2`).toEqual([
          { at: '2026-03-08 07:00:00+00', list: '[1]' },
        ]);
      });
    } finally {
      if (home === undefined) delete process.env['TZ'];
      else process.env['TZ'] = home;
    }
  });

  test('come and go as instants, numbers, arrays, JSON and text', async () => {
    await open().transaction(async (tx) => {
      const at = Date.parse('2026-10-25T00:30:00.123Z');
      const rows = [{ a: 1 }, { a: 2 }];
      const [row] = await tx.sql`
        select ${at}::timestamptz as at, ${[at, at + 1]}::timestamptz[] as list, ${['x', 'y"z\\', '']}::text[] as texts,
               ${[1, 2]}::int8[] as ids, array[null, 'NULL', '', '{,}', 'a\\"b'] as odd, '{{1,2},{3,4}}'::int4[] as nested,
               ${tx.sql.array([true, false], 16)} as flags, array['{"a":"}"}'::jsonb] as documents, count(*) as count, 9007199254740991::int8 as large, ${null}::timestamptz as nothing,
               '1969-12-31 23:59:59.9999Z'::timestamptz as old, 'infinity'::timestamptz as never, date '2026-03-29' as day,
               timestamp '2026-03-29 02:30' as local, ${tx.sql.json(rows)}::jsonb as json, '\\x4100ff'::bytea as bytes, ${Buffer.from([65, 0])}::bytea as more`;
      expect(row).toEqual({
        at,
        list: [at, at + 1],
        texts: ['x', 'y"z\\', ''],
        ids: [1, 2],
        odd: [null, 'NULL', '', '{,}', 'a\\"b'],
        nested: [
          [1, 2],
          [3, 4],
        ],
        flags: [true, false],
        documents: [{ a: '}' }],
        count: 1,
        large: 9007199254740991,
        nothing: null,
        old: -1,
        never: Number.POSITIVE_INFINITY,
        day: '2026-03-29',
        local: '2026-03-29 02:30:00',
        json: rows,
        bytes: Buffer.from([65, 0, 255]),
        more: Buffer.from([65, 0]),
      });
    });
  });

  test('can be written in bulk, with fragments', async () => {
    await open().transaction(async (tx) => {
      await tx.sql`delete from samples`;
      const rows = [1, 2, 3].map((id) => ({ id, at: id * 1000, name: `n${id}` }));
      await tx.sql`insert into samples ${tx.sql(rows, 'id', 'at', 'name')}`;
      await tx.sql`insert into samples (id, at) select * from unnest(${[4, 5]}::int8[], ${[4000, 5000]}::timestamptz[])`;
      const recent = tx.sql`at > ${2000}::timestamptz`;
      expect(await tx.sql`select id from samples where ${recent} and id in ${tx.sql([3, 4])}`).toHaveLength(2);
    });
  });

  test('that are no instants are refused', async () => {
    const database = open();
    const given = (value: number | Date) => database.transaction((tx) => tx.sql`select ${value}::timestamptz as at`);
    await expect(given(new Date(0))).rejects.toThrow('not an Instant');
    await expect(given(Number.NaN)).rejects.toThrow('not an Instant');
    await expect(database.transaction((tx) => tx.sql`select 9007199254740993::int8`)).rejects.toThrow('too large');
  });
});

describe('a database that is away', () => {
  test('is told apart from a wrong statement', async () => {
    const refused = open({}, 'postgres://nobody:secret@127.0.0.1:1/none');
    const failure = await refused.transaction(async () => 1).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'DatabaseUnavailable', code: 'ECONNREFUSED', mayHaveCommitted: false });
    expect(String(failure)).not.toContain('secret');
    await expect(open().transaction((tx) => tx.sql`select nonsense`)).rejects.toMatchObject({ code: '42703' });
    const slow = open().transaction((tx) => tx.sql`select pg_sleep(60)`, { statementTimeoutMs: 20 });
    await expect(slow).rejects.toMatchObject({ name: 'DatabaseUnavailable', code: '57014' });
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
    const proxy = await startProxy(testDatabase.url);
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
    const proxy = await startProxy(testDatabase.url);
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
    const proxy = await startProxy(testDatabase.url);
    const database = open({ max: 3 }, proxy.url);
    await Promise.all([1, 2, 3].map(() => database.transaction(pidOf)));
    proxy.goSilent();
    await expect(database.transaction(pidOf, { deadlineMs: 100 })).rejects.toEqual(notCommitted);
    await database.transaction(pidOf, { deadlineMs: 5000 });
    await proxy.close();
  });

  test('during the commit leaves the outcome open, and says so', async () => {
    const proxy = await startProxy(testDatabase.url);
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
    const database = connect(testDatabase.url);
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
    const proxy = await startProxy(testDatabase.url);
    const pool = new Pool(proxy.url, 2, () => undefined);
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
