import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { connect, type Database } from '../../src/store/database.ts';
import { migrate, waitForDatabase } from '../../src/store/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { migrationsIn } from '../support/migrations.ts';
import { hasPgBouncer, type PgBouncer, preparePgBouncer } from '../support/pgbouncer.ts';

const log = createLog('silent');

if (!hasPgBouncer)
  console.warn(
    'did not run: the tests through PgBouncer, because pgbouncer is not on PATH (apt-get install pgbouncer)',
  );

describe.runIf(hasPgBouncer)('through PgBouncer in transaction mode (STO-005, STO-006)', () => {
  let direct: TestDatabase;
  let bouncer: PgBouncer;
  let database: Database;
  beforeAll(async () => {
    direct = await createTestDatabase({ template: 'template0' });
    bouncer = await preparePgBouncer(direct.url);
    await bouncer.start();
    database = connect(bouncer.url, { max: 6 });
  });
  afterAll(async () => {
    await database.close();
    await bouncer.close();
    await direct.drop();
  });

  test('replicas that start at once migrate once', async () => {
    const migrations = await migrationsIn('create table kept (n int primary key, word text, at timestamptz);');
    await Promise.all([1, 2, 3].map(() => migrate(bouncer.url, migrations.folder, log)));
    expect(await database.transaction((tx) => tx.sql`select count(*) as n from drizzle.__drizzle_migrations`)).toEqual([
      { n: 1 },
    ]);
    await migrations.remove();
  });

  test('many transactions share two server connections and stay apart', async () => {
    const one = (n: number) =>
      database.transaction(
        async (tx) => {
          const [limits] = await tx.sql`select current_setting('statement_timeout') as limit`;
          expect(limits?.['limit']).toBe(`${1001 + n}ms`);
          for (const word of ['a', 'b'])
            await tx.sql`insert into kept values (${n * 2 + (word === 'a' ? 0 : 1)}, ${word}, ${tx.now})`;
          if (n % 3 === 0) throw new Error('changed its mind');
        },
        { statementTimeoutMs: 1001 + n },
      );
    const outcomes = await Promise.allSettled(Array.from({ length: 90 }, (_, n) => one(n)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(60);
    const [row] = await direct.database.transaction(
      (tx) => tx.sql`select count(*) as n, count(distinct at) > 1 as many from kept`,
    );
    expect(row).toEqual({ n: 120, many: true });
  });

  test('a pooler that was restarted, and servers that were, are met again without a word', async () => {
    await bouncer.kill();
    await bouncer.start();
    expect(await database.transaction((tx) => tx.sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  test('a server connection that dies inside a transaction takes only that one with it', async () => {
    const cut = database.transaction(async (tx) => {
      const [row] = await tx.sql`insert into kept values (1000, 'cut', null) returning pg_backend_pid() as pid`;
      await direct.database.transaction((other) => other.sql`select pg_terminate_backend(${row?.['pid']}, 5000)`);
      await tx.sql`insert into kept values (1001, 'cut', null)`;
    });
    await expect(cut).rejects.toMatchObject({ name: 'DatabaseUnavailable', mayHaveCommitted: false });
    expect(await database.transaction((tx) => tx.sql`select n from kept where n >= 1000`)).toEqual([]);
  });

  test('a wrong password and an unknown database stop the start with one line', async () => {
    const wrong = new URL(bouncer.url);
    wrong.password = 'guess';
    const stop = new AbortController().signal;
    await expect(waitForDatabase(wrong.href, log, stop)).rejects.toThrow(
      /^DATABASE_URL \(rollcall@[^\n]*: [^\n]*authentication failed[^\n]*$/,
    );
    const unknown = new URL(bouncer.url);
    unknown.pathname = '/nowhere';
    await expect(waitForDatabase(unknown.href, log, stop)).rejects.toThrow(
      /^DATABASE_URL \(.*nowhere.*\): [^\n]*nowhere[^\n]*$/,
    );
    await waitForDatabase(bouncer.url, log, stop);
  });
});
