import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { CannotStart, fileReason } from './cannot-start.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { openCluster, SUPERUSER, whyClosed } from './postgres-cluster.ts';
import { findProgram } from './postgres-program.ts';
import { type Launch, launchServer, type Server, stopLeftover } from './postgres-server.ts';

/** The service's own PostgreSQL server. */
export type EmbeddedPostgres = {
  readonly url: string;
  /** True when a killed service had left its server running here; it was stopped first, so this one is our child. */
  readonly reused: boolean;
  /** Stops the server (within 20 s at the worst) and gives the folder back. */
  stop(): Promise<void>;
};

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
    const folder = join(dir, 'postgres');
    const program = await findProgram(folder);
    const reused = await stopLeftover(folder, log);
    const password = await openCluster({ dir, folder, program, durable });
    const launch = { program, folder, log, settings: { ...SETTINGS, ...(!durable && CARELESS) } };
    const server = await launchServer(launch).catch(async (error: unknown) => {
      throw (await whyClosed(folder, program)) ?? error;
    });
    const stop = supervise(server, launch, lock);
    return { url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${server.port}/postgres`, reused, stop };
  } catch (error) {
    await lock.release();
    // What the file system refuses is one line as well.
    const isRefusal = error instanceof Error && 'syscall' in error;
    throw isRefusal ? new CannotStart(`DATA_DIR ${dir} cannot be used: ${fileReason(error)}`) : error;
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

/** Restarts a server that died (out of memory, or a kill meant for something else), until the answer is called. */
function supervise(first: Server, launch: Launch, lock: FolderLock): () => Promise<void> {
  const stopping = new AbortController();
  let server = first;
  const watching = (async () => {
    for (;;) {
      await server.exited;
      if (stopping.signal.aborted) return;
      launch.log.error('the database ended unexpectedly: starting it again');
      server = (await restart({ ...launch, port: first.port }, stopping.signal)) ?? server;
      if (stopping.signal.aborted) return server.stop();
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

/** Tries until the server runs again; null when told to stop before. The port stays, and with it the URL. */
async function restart(launch: Launch, signal: AbortSignal): Promise<Server | null> {
  for (let delay = 200; !signal.aborted; delay = Math.min(2 * delay, 30_000)) {
    try {
      return await launchServer(launch);
    } catch (error) {
      launch.log.error({ error }, 'the database does not start again: trying on');
      await systemClock.sleep(delay, signal);
    }
  }
  return null;
}

async function openFolder(dir: string): Promise<void> {
  try {
    await makeFolder(dir);
    if (!(await stat(dir)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  } catch (error) {
    throw new CannotStart(`DATA_DIR ${dir} cannot be created: ${fileReason(error)}`);
  }
}

/** As mkdir with `recursive`, which on some file systems (/proc) never returns, and on read-only ones hides why. */
async function makeFolder(dir: string): Promise<void> {
  const outcome = await mkdir(dir).catch((error: NodeJS.ErrnoException) => error);
  if (outcome instanceof Error) {
    if (outcome.code === 'EEXIST') return;
    if (outcome.code !== 'ENOENT' || (await stat(dirname(dir)).catch(() => null))) throw outcome;
    await makeFolder(dirname(dir));
    await mkdir(dir);
  }
  // Whatever the umask says: started as root, another user's server lives below.
  if (process.getuid?.() === 0) await chmod(dir, 0o755);
}

async function takeLock(dir: string): Promise<FolderLock> {
  const lock = await lockFolder(dir).catch((error: unknown) => {
    throw new CannotStart(`DATA_DIR ${dir} cannot be used: ${fileReason(error)}`);
  });
  if (lock.kind === 'held') return lock;
  throw new CannotStart(
    `another Rollcall (process ${lock.pid}) is running on DATA_DIR ${dir}: stop it first, or give this one another DATA_DIR`,
  );
}
