import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';

/** However long a delivery takes, it says so at least this often; a lock that was not touched for longer is dead. */
const SILENT_MS = 60_000;
const ASK_AGAIN_MS = 100;

export type SpoolLock = {
  /** Says that we are still at it. */
  touch(): Promise<void>;
  release(): Promise<void>;
};

/**
 * One process at a time delivers from a folder, so that its pings arrive in their order. Waits up to `patienceMs` for the
 * other one; null: it is still at it. A lock whose process is gone, or silent for a minute, is taken over. Should two ever
 * hold it, pings are delivered twice, which counts once.
 */
export async function lockSpool(folder: string, patienceMs: number): Promise<SpoolLock | null> {
  const path = join(folder, 'delivering.lock');
  const own = `${path}.${randomBytes(6).toString('hex')}`;
  const until = systemClock.monotonic() + patienceMs;
  try {
    await writeFile(own, `${process.pid}\n`, { mode: 0o600 });
    while (!(await take(own, path))) {
      if (systemClock.monotonic() >= until) return null;
      await systemClock.sleep(ASK_AGAIN_MS);
    }
  } finally {
    await rm(own, { force: true });
  }
  const isOurs = async (): Promise<boolean> => (await readHolder(path))?.pid === process.pid;
  return {
    async touch() {
      if (await isOurs()) await writeFile(path, `${process.pid}\n`);
    },
    async release() {
      if (await isOurs()) await rm(path, { force: true });
    },
  };
}

async function take(own: string, path: string): Promise<boolean> {
  // A hard link fails when the name exists: of two that want it, one gets it. It has the pid from the first moment on.
  if (await link(own, path).then(isDone, isTaken)) return true;
  const holder = await readHolder(path);
  if (holder === null || isAtWork(holder)) return false;
  // Moved aside first: another process may have taken it over since we looked.
  const aside = `${own}.stale`;
  await rename(path, aside).catch(isGone);
  const moved = await readHolder(aside);
  if (moved !== null && isAtWork(moved)) await link(aside, path).catch(isTaken);
  await rm(aside, { force: true });
  return false;
}

type Holder = { readonly pid: number; readonly silentMs: number };

/** null: nobody. */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    return { pid: Number(text), silentMs: Date.now() - mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function isAtWork({ pid, silentMs }: Holder): boolean {
  return Math.abs(silentMs) < SILENT_MS && isAlive(pid);
}

/** Whether a process of this number runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const isDone = (): boolean => true;

function isTaken(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'EEXIST') return false;
  throw error;
}

function isGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
