import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CannotStart, fileReason } from './cannot-start.ts';
import { lockFolder } from './folder-lock.ts';
import { SUPERUSER } from './postgres-cluster.ts';

/**
 * The URL of the database that a running service keeps in `dataDir`, for a command on the same machine; null: none runs
 * there. Whoever may read the folder may do this. Throws CannotStart when they may not.
 */
export async function runningDatabase(dataDir: string): Promise<string | null> {
  const dir = resolve(dataDir);
  if (!(await isTaken(dir))) return null;
  const password = await readLine(join(dir, 'postgres-password'), 0);
  // PostgreSQL writes its port on line 4.
  const port = await readLine(join(dir, 'postgres', 'postmaster.pid'), 3);
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

async function isTaken(dir: string): Promise<boolean> {
  const lock = await lockFolder(dir).catch((error: unknown) => {
    throw new CannotStart(`DATA_DIR ${dir} cannot be used: ${fileReason(error)}`);
  });
  if (lock.kind === 'taken') return true;
  await lock.release();
  return false;
}

async function readLine(path: string, number: number): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CannotStart(`${path} cannot be read: ${fileReason(error)}`);
  });
  return text.split('\n')[number]?.trim() ?? '';
}
