import { eq } from 'drizzle-orm';
import { bigint, customType, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/store/database.ts';
import { manualClock } from '../support/database.ts';
import { add, keptWords, unavailable } from '../support/kept-words.ts';

const { open, words, url, admin } = keptWords();

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
    const name = new URL(url()).pathname.slice(1);
    await admin().unsafe(`alter database ${name} set timezone = 'America/New_York'`);
    await admin().unsafe(`alter database ${name} set datestyle = 'German'`);
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
    await admin().unsafe(`alter database ${name} reset all`);
  });

  test('takes its instant from the database once, or from the manual clock', async () => {
    const before = Number((await admin()`select floor(extract(epoch from clock_timestamp()) * 1000) as at`)[0]?.['at']);
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
    await admin()`create table samples (id bigint primary key, at timestamptz not null, data jsonb, name text)`;
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
