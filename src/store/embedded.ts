import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { CannotStart } from './cannot-start.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { closedFolder, findProgram, type Program, runProgram } from './postgres-program.ts';
import { type Launch, launchServer, type Server, stopLeftover } from './postgres-server.ts';

/** The service's own PostgreSQL server. */
export type EmbeddedPostgres = {
  readonly url: string;
  /** True when a killed service had left its server running here; it was stopped first, so this one is our child. */
  readonly reused: boolean;
  /** Stops the server (within 20 s at the worst) and gives the folder back. */
  stop(): Promise<void>;
};

const SUPERUSER = 'rollcall';

/** `durable: false` trades safety at a power cut for speed: for tests. */
export type EmbeddedOptions = { readonly durable?: boolean };

/**
 * Starts PostgreSQL on `dataDir`, which it creates and sets up when empty. Listens on 127.0.0.1 only, on a free port,
 * and asks everyone for the password that lies in `dataDir`, mode 600. Throws CannotStart with one line for the person
 * at the terminal. Never two on one folder. Should the server die while the service lives, it is started again.
 */
export async function startEmbedded(
  dataDir: string,
  log: Logger,
  { durable = true }: EmbeddedOptions = {},
): Promise<EmbeddedPostgres> {
  const dir = resolve(dataDir);
  await openFolder(dir);
  const lock = await takeLock(dir);
  try {
    const program = await findProgram();
    const folder = join(dir, 'postgres');
    const reused = await stopLeftover(folder, log);
    const password = (await isCluster(folder, program))
      ? ((await readPassword(dir)) ?? (await renewPassword(dir, folder, program)))
      : await createCluster(dir, folder, program, durable);
    const launch = { program, folder, log, settings: { ...SETTINGS, ...(!durable && CARELESS) } };
    const server = await launchServer(launch).catch((error: unknown) => explain(error, folder, program));
    const stop = supervise(server, launch, lock);
    return { url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${server.port}/postgres`, reused, stop };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Statements carry what jobs sent: not for a log.
  log_min_error_statement: 'panic',
  // One service and its few connections: no replicas will ever be fed from here.
  wal_level: 'minimal',
  max_wal_senders: '0',
};
const CARELESS = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' };

/** Restarts a server that died (out of memory, or a kill meant for something else), on the same port. */
function supervise(first: Server, launch: Launch, lock: FolderLock): () => Promise<void> {
  const stopping = new AbortController();
  let server = first;
  const watching = (async () => {
    for (;;) {
      await server.exited;
      if (stopping.signal.aborted) return;
      launch.log.error('the database ended unexpectedly: starting it again');
      for (let delay = 200; ; delay = Math.min(2 * delay, 30_000)) {
        const next = await launchServer({ ...launch, port: first.port }).catch((error: unknown) => error);
        if (stopping.signal.aborted) return void (isServer(next) && (await next.stop()));
        if (isServer(next)) {
          server = next;
          break;
        }
        launch.log.error({ err: next }, 'the database does not start again: trying on');
        await systemClock.sleep(delay, stopping.signal);
      }
    }
  })();
  let stopped: Promise<void> | null = null;
  return () => {
    stopped ??= (async () => {
      stopping.abort();
      await server.stop();
      await watching;
      await lock.release();
    })();
    return stopped;
  };
}

const isServer = (value: unknown): value is Server => typeof value === 'object' && value !== null && 'exited' in value;

async function openFolder(dir: string): Promise<void> {
  try {
    const created = await mkdir(dir, { recursive: true });
    // Whatever the umask says: as root, another user's server lives below.
    if (created !== undefined) await chmod(dir, 0o755);
    if (!(await stat(dir)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  } catch (error) {
    throw new CannotStart(`DATA_DIR ${dir} cannot be created: ${reasonOf(error)}`);
  }
}

async function takeLock(dir: string): Promise<FolderLock> {
  const lock = await lockFolder(dir).catch((error: unknown) => {
    throw new CannotStart(`DATA_DIR ${dir} cannot be used: ${reasonOf(error)}`);
  });
  if (lock.kind === 'held') return lock;
  throw new CannotStart(
    `another Rollcall (process ${lock.pid}) is running on DATA_DIR ${dir}: stop it first, or give this one another DATA_DIR`,
  );
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'there is a file of that name, and a folder is needed';
  if (code === 'EACCES' || code === 'EPERM') {
    return `the OS user of this process (uid ${process.getuid?.()}) may not write there: chown it, or set DATA_DIR to a folder that it owns`;
  }
  if (code === 'EROFS') return 'the file system is read-only: set DATA_DIR to a folder that can be written';
  if (code === 'ENOSPC') return 'the disk is full';
  return message;
}

const passwordPath = (dir: string): string => join(dir, 'postgres-password');

async function readPassword(dir: string): Promise<string | null> {
  const text = await readFile(passwordPath(dir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new CannotStart(`${passwordPath(dir)} cannot be read: ${reasonOf(error)}`);
  });
  return text.trim() || null;
}

async function writePassword(dir: string): Promise<string> {
  const password = randomBytes(24).toString('base64url');
  await writeFile(passwordPath(dir), `${password}\n`, { mode: 0o600 });
  return password;
}

/** True when the folder holds data that this program can run on; throws when it holds other data. */
async function isCluster(folder: string, program: Program): Promise<boolean> {
  const owner = await stat(folder).catch(() => null);
  if (!owner) return false;
  const uid = program.user?.uid ?? process.getuid?.();
  if (uid !== undefined && owner.uid !== uid) {
    throw new CannotStart(
      `${folder} belongs to uid ${owner.uid}, but the database would run as uid ${uid}: start Rollcall as the user that created it, or chown -R ${uid} ${folder}`,
    );
  }
  const version = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  if (version === program.version) return true;
  throw new CannotStart(
    `${folder} was written by PostgreSQL ${version}, and this Rollcall brings ${program.version}: move the data with pg_dump of ${version}, or set DATABASE_URL to a server of version ${version}`,
  );
}

/** Sets up a new cluster beside its place and moves it there in one step: a start that is cut off leaves nothing behind. */
async function createCluster(dir: string, folder: string, program: Program, durable: boolean): Promise<string> {
  const draft = `${folder}.new`;
  const passwordFile = join(draft, 'password');
  const data = join(draft, 'data');
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  const password = (await readPassword(dir)) ?? (await writePassword(dir));
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (program.user) for (const path of [draft, passwordFile]) await chown(path, program.user.uid, program.user.gid);
  const { code, output, error } = await runProgram(
    program.initdb,
    [
      `--pgdata=${data}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The same order of text on every machine, and no dependence on its locales.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(durable ? [] : ['--no-sync']),
    ],
    program.user,
  );
  if (code !== 0) {
    const complaint =
      error?.message ??
      output
        .split('\n')
        .filter((line) => /error|FATAL/.test(line))
        .at(-1) ??
      output;
    await explain(new CannotStart(`the database could not be set up in ${dir}: ${complaint.trim()}`), data, program);
  }
  await rename(data, folder);
  await rm(draft, { recursive: true, force: true });
  return password;
}

/** The password file was lost: whoever may write the data may set another password, while no server runs. */
async function renewPassword(dir: string, folder: string, program: Program): Promise<string> {
  const password = await writePassword(dir);
  const statement = `alter role ${SUPERUSER} password '${password}'\n`;
  const single = ['--single', '-D', folder, 'postgres'];
  const { code, output } = await runProgram(program.postgres, single, program.user, statement);
  if (code === 0) return password;
  await rm(passwordPath(dir), { force: true });
  throw new CannotStart(`the database password could not be renewed: ${output.trim().split('\n').at(-1)}`);
}

/** Says which folder is closed to the server's user, where that is why it failed. */
async function explain(error: unknown, folder: string, program: Program): Promise<never> {
  const closed = program.user && (await closedFolder(folder, program.user));
  if (!program.user || !closed) throw error;
  throw new CannotStart(
    `the OS user "${program.user.name}", which runs the database when Rollcall is started as root, cannot enter ${closed}: chmod o+x ${closed}, or set DATA_DIR to a folder elsewhere (such as /var/lib/rollcall)`,
  );
}
