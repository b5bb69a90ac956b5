import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLog } from '../../src/log.ts';
import { connect, type DatabaseUnavailable } from '../../src/store/database.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../src/store/embedded.ts';
import { isAlive, killed, serverPid, spawnService } from '../support/service-process.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const log = createLog('silent');

let base = '';
let folders = 0;
let used: Promise<string> | undefined;
const running: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'rollcall-embedded-'));
  await chmod(base, 0o755);
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
});
afterAll(() => rm(base, { recursive: true, force: true }));

/** A folder of this test's own, which does not exist yet. */
function freshFolder(): string {
  folders += 1;
  return join(base, `data-${folders}`);
}

/** A folder whose server was set up, ran and was stopped: a copy, owners included, of one for which that has happened. */
async function usedFolder(): Promise<string> {
  used ??= (async () => {
    const folder = freshFolder();
    const { url, stop } = await startEmbedded(folder, log, { durable: false });
    await query(url, 'create table notes as select 7 as n');
    await stop();
    return folder;
  })();
  const folder = freshFolder();
  await promisify(execFile)('cp', ['-a', await used, folder]);
  return folder;
}

async function start(folder: string): Promise<EmbeddedPostgres> {
  const embedded = await startEmbedded(folder, log, { durable: false });
  running.push(embedded);
  return embedded;
}

/** A service in a process of its own, ended after the test. */
async function service(folder: string, uid?: number) {
  const spawned = await spawnService(folder, base, uid);
  children.push(spawned.child);
  return spawned;
}

async function query(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const database = connect(url, { max: 1 });
  try {
    return await database.transaction((tx) => tx.sql.unsafe(statement));
  } finally {
    await database.close();
  }
}

const refusal = (folder: string): Promise<string> =>
  start(folder).then(
    () => 'it started',
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe('the embedded server', () => {
  test('sets itself up, keeps its data, and lets nobody in without the password', async () => {
    const folder = freshFolder();
    const first = await start(folder);
    await query(first.url, 'create table notes as select 7 as n');
    const [settings] = await query(
      first.url,
      `select current_setting('listen_addresses') as host, current_setting('unix_socket_directories') as sockets,
              current_setting('server_encoding') as encoding, current_setting('TimeZone') as zone,
              (select string_agg(distinct auth_method, ' ') from pg_hba_file_rules) as auth`,
    );
    expect(settings).toEqual({ host: '127.0.0.1', sockets: '', encoding: 'UTF8', zone: 'UTC', auth: 'scram-sha-256' });
    const stranger = first.url.replace(/:[^:@]+@/, ':guess@');
    await expect(query(stranger, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    expect((await stat(join(folder, 'postgres-password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'postgres'))).mode & 0o077).toBe(0);
    await first.stop();
    await first.stop();
    const second = await start(folder);
    expect(second.reused).toBe(false);
    expect(await query(second.url, 'select n from notes')).toEqual([{ n: 7 }]);
  });

  test('serves one service per folder: the second is told who has it, and changes nothing', async () => {
    const folder = freshFolder();
    const first = await start(folder);
    expect(await refusal(folder)).toBe(
      `CannotStart: another Rollcall (process ${process.pid}) is running on DATA_DIR ${folder}: stop it first, or give this one another DATA_DIR`,
    );
    expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await first.stop();
    await start(folder);
  });

  test('lets exactly one of several win that start at once on a new folder', async () => {
    const folder = freshFolder();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => refusal(folder)));
    expect(outcomes.filter((outcome) => outcome === 'it started')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.includes('another Rollcall'))).toHaveLength(3);
  });

  test('outlives a killed service, and is taken over by the next', async () => {
    const folder = await usedFolder();
    const { child, said } = await service(folder);
    await query(said.url, 'update notes set n = 8');
    const pid = await serverPid(folder);
    await killed(child);
    expect(await isAlive(pid)).toBe(true);
    const next = await start(folder);
    expect([next.reused, await isAlive(pid)]).toEqual([true, false]);
    expect(await query(next.url, 'select n from notes')).toEqual([{ n: 8 }]);
  });

  test('comes back with every committed row after both were killed', async () => {
    const folder = await usedFolder();
    const { child, said } = await service(folder);
    await query(said.url, 'update notes set n = 8');
    const pid = await serverPid(folder);
    await killed(child);
    process.kill(pid, 'SIGKILL');
    const next = await start(folder);
    expect(next.reused).toBe(false);
    expect(await query(next.url, 'select n from notes')).toEqual([{ n: 8 }]);
  });

  test('is found even when the service was killed while it started the server again', async () => {
    const folder = await usedFolder();
    const { child, said } = await service(folder);
    await query(said.url, 'update notes set n = 8');
    process.kill(await serverPid(folder), 'SIGKILL');
    await killed(child);
    expect(await query((await start(folder)).url, 'select n from notes')).toEqual([{ n: 8 }]);
  });

  test('is not kept from starting by the number of a dead server that another process has now', async () => {
    const folder = await usedFolder();
    const first = await start(folder);
    const file = join(folder, 'postgres', 'postmaster.pid');
    const left = await readFile(file, 'utf8');
    await first.stop();
    // A process of the server's own user, so that PostgreSQL by itself would take it for a server.
    const owner = (await stat(join(folder, 'postgres'))).uid;
    const other = spawn('sleep', ['600'], isRoot ? { uid: owner, cwd: '/' } : { cwd: '/' });
    await writeFile(file, left.replace(/^\d+/, String(other.pid)));
    if (isRoot) await chown(file, owner, owner);
    expect((await start(folder)).reused).toBe(false);
    expect(await isAlive(other.pid)).toBe(true);
    other.kill('SIGKILL');
  });

  test('is started again when it dies under a living service, which never notices more than a pause (STO-014)', async () => {
    const folder = await usedFolder();
    const { url } = await start(folder);
    const database = connect(url, { max: 4 });
    await database.transaction((tx) => tx.sql`delete from notes`);
    let kept = 0;
    let refused = 0;
    const add = (): Promise<void> =>
      database
        .transaction((tx) => tx.sql`insert into notes values (1)`)
        .then(
          () => {
            kept += 1;
          },
          (error: DatabaseUnavailable) => {
            expect(error).toMatchObject({ name: 'DatabaseUnavailable' });
            refused += 1;
          },
        );
    for (let round = 0; round < 20; round += 1) await Promise.all([add(), add(), add(), add()]);
    const before = kept;
    process.kill(await serverPid(folder), 'SIGKILL');
    while (refused === 0 || kept < before + 20) await Promise.all([add(), add(), add(), add()]);
    const [row] = await database.transaction((tx) => tx.sql`select count(*) as n from notes`);
    expect(row?.['n']).toBeGreaterThanOrEqual(kept);
    await database.close();
  });

  test('gets a new password when the old one was lost', async () => {
    const folder = await usedFolder();
    const first = await start(folder);
    await first.stop();
    await rm(join(folder, 'postgres-password'));
    const second = await start(folder);
    expect(second.url).not.toBe(first.url);
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('starts over when setting up was cut off', async () => {
    const folder = freshFolder();
    await mkdir(join(folder, 'postgres.new', 'data'), { recursive: true });
    await writeFile(join(folder, 'postgres.new', 'data', 'PG_VERSION'), '18\n');
    await start(folder);
  });

  test('works in a folder whose path is longer than a socket may have', async () => {
    await start(join(base, 'a'.repeat(120), 'b'.repeat(60)));
  });
});

describe('a start that cannot work stops with one line', () => {
  const oneLine = (text: string): void => expect(text).toMatch(/^CannotStart: [^\n]+$/);

  test('when DATA_DIR is a file, or below one', async () => {
    const file = freshFolder();
    await writeFile(file, '');
    for (const folder of [file, join(file, 'below')]) {
      const line = await refusal(folder);
      oneLine(line);
      expect(line).toContain(
        `DATA_DIR ${folder} cannot be created: there is a file of that name, and a folder is needed`,
      );
    }
  });

  test('when the data are of another version of PostgreSQL', async () => {
    const folder = await usedFolder();
    await writeFile(join(folder, 'postgres', 'PG_VERSION'), '16\n');
    const line = await refusal(folder);
    oneLine(line);
    expect(line).toContain(`${join(folder, 'postgres')} was written by PostgreSQL 16, and this Rollcall brings 18`);
  });

  test.each([
    ['foreign', async (postgres: string) => writeFile(join(postgres, 'notes.txt'), '')],
    ['half-made', async (postgres: string) => writeFile(join(postgres, 'PG_VERSION'), '')],
  ])('when the data are %s', async (_, fill) => {
    const folder = freshFolder();
    const postgres = join(folder, 'postgres');
    await mkdir(postgres, { recursive: true });
    await fill(postgres);
    if (isRoot) {
      const { uid, gid } = await stat(join(await usedFolder(), 'postgres'));
      await chown(postgres, uid, gid);
    }
    const line = await refusal(folder);
    oneLine(line);
    expect(line).toContain(`${postgres} is there, but is no PostgreSQL data`);
  });

  test('when PostgreSQL does not like its data, and passes on why', async () => {
    const folder = await usedFolder();
    await rm(join(folder, 'postgres', 'global', 'pg_control'));
    const line = await refusal(folder);
    oneLine(line);
    expect(line).toMatch(/PostgreSQL did not start: .*pg_control/);
    // The folder is free again for the next attempt.
    expect(await refusal(folder)).toBe(line);
  });

  test.runIf(isRoot)('as root, when the server user may not enter a parent of DATA_DIR', async () => {
    const closed = freshFolder();
    await mkdir(closed, { mode: 0o700 });
    const line = await refusal(join(closed, 'data'));
    oneLine(line);
    expect(line).toContain(
      `the OS user "postgres", which runs the database when Rollcall is started as root, cannot enter ${closed}:`,
    );
    expect(line).toContain(`chmod o+x ${closed}`);
    await chmod(closed, 0o711);
    const embedded = await start(join(closed, 'data'));
    await embedded.stop();
    await chmod(closed, 0o700);
    expect(await refusal(join(closed, 'data'))).toContain(`cannot enter ${closed}:`);
    const inner = join(closed, 'inner');
    await mkdir(inner, { mode: 0o700 });
    expect(await refusal(join(inner, 'data'))).toContain(
      `cannot enter ${closed}, ${inner}: chmod o+x ${closed} ${inner},`,
    );
  });

  test('as a normal user, when the folder may not be written', async () => {
    const folder = freshFolder();
    await mkdir(folder, { mode: 0o555 });
    const line = isRoot ? (await service(folder, NOBODY)).said.error : await refusal(folder);
    expect(line).toMatch(
      new RegExp(
        `^CannotStart: DATA_DIR ${folder} cannot be used: the OS user of this process \\(uid \\d+\\) may not write`,
      ),
    );
  });

  test.runIf(isRoot)('when the data belong to another OS user', async () => {
    const folder = await usedFolder();
    await chown(folder, NOBODY, NOBODY);
    const { said } = await service(folder, NOBODY);
    expect(said.error).toMatch(
      /CannotStart: .*postgres belongs to uid \d+, but the database would run as uid 65534: start/,
    );
  });
});

test.runIf(isRoot)('a normal user runs the server as that user', async () => {
  const folder = freshFolder();
  await mkdir(folder, { mode: 0o700 });
  await chown(folder, NOBODY, NOBODY);
  const { said } = await service(folder, NOBODY);
  expect(said.error).toBeUndefined();
  expect((await stat(join(folder, 'postgres'))).uid).toBe(NOBODY);
  expect(await query(said.url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test.runIf(!isRoot)('the tests that need root', () => {
  console.info(
    'did not run: a closed parent folder, data of another user, and root itself. Run the tests as root too.',
  );
});
