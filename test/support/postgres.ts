import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { createLog } from '../../src/log.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../src/store/embedded.ts';
import { lockFolder } from '../../src/store/folder-lock.ts';
import { migrate, migrationsFolder } from '../../src/store/migrate.ts';
import { stopLeftover } from '../../src/store/postgres-server.ts';
import { buildProgram } from './program.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The superuser's URL of the run's PostgreSQL server. */
    postgresUrl: string;
  }
}

const PREFIX = 'rollcall-test-run-';
export const TEMPLATE = 'rollcall_template';

/** For the whole run: one PostgreSQL server, with a migrated template database that test files clone, and the built program. */
export default async function startTestServer(project: TestProject): Promise<() => Promise<void>> {
  const log = createLog('silent');
  await removeLeftovers();
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  // As root the server runs as another user, who must get in.
  await chmod(folder, 0o755);
  const server = await startEmbedded(folder, log, { durable: false });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all([createTemplate(server), buildProgram(join(folder, 'program'))]);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  project.provide('program', join(folder, 'program'));
  return stop;
}

async function createTemplate({ url }: EmbeddedPostgres): Promise<void> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  await admin.unsafe(`create database ${TEMPLATE}`);
  await admin.end();
  const template = new URL(url);
  template.pathname = `/${TEMPLATE}`;
  // Until the schema has its first migration, the template is empty.
  if (!existsSync(join(migrationsFolder, 'meta', '_journal.json'))) return;
  await migrate(template.href, migrationsFolder, createLog('silent'));
}

/** A run that was killed leaves its server behind: whoever comes next clears up, and only where nobody lives. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    // A younger one may belong to a run that is just starting.
    const made = await stat(folder).catch(() => null);
    if (!made || Date.now() - made.mtimeMs < 60_000) continue;
    const lock = await lockFolder(folder).catch(() => null);
    if (lock?.kind !== 'held') continue;
    await stopLeftover(join(folder, 'postgres'), createLog('silent')).catch(() => false);
    await rm(folder, { recursive: true, force: true });
    await lock.release();
  }
}
