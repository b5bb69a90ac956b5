import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { migrate, migrationsFolder, waitForDatabase } from '../../src/store/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type MigrationsFolder, migrationsIn } from '../support/migrations.ts';
import { startProxy } from '../support/proxy.ts';

const log = createLog('silent');
const FIRST = 'create table one (n int);\n--> statement-breakpoint\ninsert into one values (1);';
const SECOND = 'alter table one add column word text;';

let db: TestDatabase;
let migrations: MigrationsFolder;
beforeAll(async () => {
  db = await createTestDatabase({ template: 'template0' });
  migrations = await migrationsIn();
});
beforeEach(async () => {
  await db.database.transaction((tx) =>
    tx.sql.unsafe('drop schema if exists drizzle cascade; drop table if exists one'),
  );
});
afterAll(async () => {
  await migrations.remove();
  await db.drop();
});

const applied = async (): Promise<number> => {
  const [row] = await db.database.transaction((tx) => tx.sql`select count(*) as n from drizzle.__drizzle_migrations`);
  return row?.['n'];
};
const exists = async (name: string): Promise<boolean> => {
  const [row] = await db.database.transaction((tx) => tx.sql`select to_regclass(${name}) is not null as found`);
  return row?.['found'];
};

describe('migrating', () => {
  test('applies what is new, in order, and nothing twice', async () => {
    await migrations.set(FIRST);
    await migrate(db.database, migrations.folder, log);
    await migrations.set(FIRST, SECOND);
    await migrate(db.url, migrations.folder, log);
    await migrate(db.url, migrations.folder, log);
    expect(await applied()).toBe(2);
    expect(await db.database.transaction((tx) => tx.sql`select n, word from one`)).toEqual([{ n: 1, word: null }]);
  });

  test('is done once when replicas start together (STO-006), and seeds under the same lock', async () => {
    await migrations.set(FIRST, SECOND);
    const seed = (n: number) =>
      migrate(db.url, migrations.folder, log, async (tx) => {
        await tx.sql`insert into one (n) select ${n}::int where not exists (select from one where n >= 100)`;
      });
    await Promise.all([100, 101, 102, 103].map(seed));
    expect(await applied()).toBe(2);
    expect(await db.database.transaction((tx) => tx.sql`select n from one where n >= 100`)).toHaveLength(1);
  });

  test('changes nothing at all when one statement fails, and names the migration', async () => {
    await migrations.set(FIRST, 'alter table nowhere add column word text;');
    await expect(migrate(db.url, migrations.folder, log)).rejects.toThrow(
      'migration 0001_step failed and nothing was changed: relation "nowhere" does not exist',
    );
    expect([await exists('one'), await exists('drizzle.__drizzle_migrations')]).toEqual([false, false]);
  });

  test('refuses a database that a newer version has migrated', async () => {
    await migrations.set(FIRST, SECOND);
    await migrate(db.url, migrations.folder, log);
    await migrations.set(FIRST);
    await expect(migrate(db.url, migrations.folder, log)).rejects.toMatchObject({
      name: 'CannotStart',
      message: expect.stringMatching(/^the database was migrated by a newer Rollcall .*0000_step[^\n]*$/),
    });
  });

  test('a role that may not create is told in one line what it lacks and what helps', async () => {
    await migrations.set(FIRST);
    const { pathname } = new URL(db.url);
    const role = `poor_${pathname.slice(-8)}`;
    const url = new URL(db.url);
    Object.assign(url, { username: role, password: 'poor' });
    const asOwner = (...statements: string[]): Promise<unknown> =>
      db.database.transaction((tx) => tx.sql.unsafe(statements.join('; ')));
    const line = () => migrate(url.href, migrations.folder, log).then(() => 'done', String);
    await asOwner(`create role ${role} login password 'poor'`);
    try {
      const grants = `GRANT CREATE ON DATABASE ${pathname.slice(1)} TO ${role}; GRANT CREATE ON SCHEMA public TO ${role};`;
      const first = await line();
      expect(first).toMatch(/^CannotStart: role "poor_\w+" may not set up database "test_\w+" [^\n]+$/);
      expect(first).toContain(`(permission denied for database ${pathname.slice(1)})`);
      expect(first).toContain(grants);
      await asOwner(`grant create on database ${pathname.slice(1)} to ${role}`);
      const second = await line();
      expect(second).toContain('(permission denied for schema public)');
      expect(second).toContain(grants);
      await asOwner(grants.slice(0, -1));
      expect(await line()).toBe('done');
      await asOwner('alter table one owner to current_user');
      await migrations.set(FIRST, SECOND);
      const third = await line();
      expect(third).toMatch(/^CannotStart: .*must be owner of table one.*REASSIGN OWNED BY that_role TO poor_\w+;"$/);
    } finally {
      await asOwner(`drop owned by ${role} cascade`, `drop role ${role}`);
    }
  });

  test('refuses a folder without a journal', async () => {
    await expect(migrate(db.url, join(migrations.folder, 'nowhere'), log)).rejects.toThrow(/^no migrations in [^\n]*$/);
  });

  test.runIf(existsSync(join(migrationsFolder, 'meta', '_journal.json')))(
    'the real ones apply to an empty database',
    async () => {
      const fresh = await createTestDatabase({ template: 'template0' });
      await migrate(fresh.url, migrationsFolder, log);
      await fresh.drop();
    },
  );
});

describe('waiting for the database', () => {
  const never = new AbortController().signal;
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(db.url);
    change(url);
    return url.href;
  };

  test('ends when it answers', async () => {
    await waitForDatabase(db.url, log, never);
  });

  test('goes on while it is away, and says so', async () => {
    const proxy = await startProxy(db.url);
    await proxy.close();
    const said: string[] = [];
    const listening = createLog('info', { destination: { write: (line) => void said.push(line) } });
    const waiting = waitForDatabase(proxy.url, listening, never);
    while (said.length === 0) await new Promise(setImmediate);
    expect(said[0]).toContain(`waiting for the database at rollcall@127.0.0.1:${new URL(proxy.url).port}/`);
    expect(said[0]).toContain('ECONNREFUSED');
    const back = await startProxy(db.url, Number(new URL(proxy.url).port));
    await waiting;
    await back.close();
  });

  test('ends when it is told to stop', async () => {
    const stop = new AbortController();
    const said: string[] = [];
    const listening = createLog('info', { destination: { write: (line) => void said.push(line) } });
    const waiting = waitForDatabase('postgres://a:b@127.0.0.1:1/x', listening, stop.signal);
    while (said.length === 0) await new Promise(setImmediate);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });

  test.each([
    [
      'a wrong password',
      (url: URL) => void Object.assign(url, { password: 'guess' }),
      'password authentication failed for user "rollcall"',
    ],
    [
      'an unknown user',
      (url: URL) => void Object.assign(url, { username: 'stranger' }),
      'password authentication failed for user "stranger"',
    ],
    [
      'an unknown database',
      (url: URL) => void Object.assign(url, { pathname: '/nowhere' }),
      'database "nowhere" does not exist',
    ],
  ])('stops with one line at %s, without the password', async (_, change, reason) => {
    const url = changed(change);
    const line = await waitForDatabase(url, log, never).then(String, String);
    expect(line).toMatch(/^CannotStart: DATABASE_URL \([^\n]+\): [^\n]+$/);
    expect(line).toContain(reason);
    expect(line).not.toContain(new URL(url).password);
  });
});
