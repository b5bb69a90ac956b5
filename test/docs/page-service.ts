import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose } from '../../src/cli/compose.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { beat, noteSilence } from '../../src/store/beats.ts';
import type { Database } from '../../src/store/database.ts';
import { createFirstRun } from '../../src/store/first-run.ts';
import { listen } from '../../src/web/listen.ts';
import { databaseAway } from '../../src/web/problem.ts';
import { loadZones } from '../../src/zones.ts';
import { builtMain } from '../cli/process.ts';
import { createTestDatabase, type ManualClock, manualClock } from '../support/database.ts';

export type PageService = {
  readonly url: string;
  readonly apiKey: string;
  /** From now on it is this instant, and everything up to it has been heard. Stories of other jobs may go back. */
  at(instant: string): Promise<void>;
  /** Rollcall is away for this stretch: nothing is heard in it. */
  away(after: string, until: string): Promise<void>;
  /** Runs lines of a page as their reader would, in the folder where `npm start` has been run. */
  shell(text: string): Promise<Shell>;
  stop(): Promise<void>;
};

type Shell = { readonly exitCode: number | null; readonly out: string; readonly err: string };

const REPLICA = '00000000-0000-4000-8000-000000000001';

/**
 * The whole service on a real socket, just after its first start, whose clock the test sets. Its loops do not run: the
 * answers of the API are the same without them.
 */
export async function startPageService(at: string): Promise<PageService> {
  const clock = manualClock(at);
  const { database, drop } = await createTestDatabase({ now: clock.now });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-page-'));
  const door = await openDoor();
  const { apiKey } = await firstStart({ database, folder, url: door.url }, door.serve);
  await placeCommand(folder);
  await database.transaction((tx) => beat(tx, REPLICA, tx.now));
  return {
    url: door.url,
    apiKey,
    at: (instant) => hearUpTo(database, clock, instant),
    async away(after, until) {
      await hearUpTo(database, clock, after);
      clock.set(until);
      await database.transaction(async (tx) => {
        await noteSilence(tx);
        await beat(tx, REPLICA, tx.now);
      });
    },
    shell: (text) => shell(text, folder),
    async stop() {
      await door.close();
      await drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function hearUpTo(database: Database, clock: ManualClock, instant: string): Promise<void> {
  clock.set(instant);
  await database.transaction(async (tx) => {
    // Without this a step of days would be a silence of days; and a beat never goes back.
    await tx.sql`delete from beats`;
    await beat(tx, REPLICA, tx.now);
  });
}

/** The port is known before the app is made, which tells its address in first-run.json. */
async function openDoor() {
  let fetch: Parameters<typeof listen>[0]['fetch'] = () => databaseAway();
  const listener = await listen({ fetch: (request, bindings) => fetch(request, bindings) }, '127.0.0.1', 0);
  return {
    url: `http://127.0.0.1:${listener.port}`,
    serve: (app: { readonly fetch: typeof fetch }) => {
      fetch = app.fetch;
    },
    close: () => listener.close(0),
  };
}

type Place = { readonly database: Database; readonly folder: string; readonly url: string };
type Serve = Awaited<ReturnType<typeof openDoor>>['serve'];

async function firstStart({ database, folder, url }: Place, serve: Serve): Promise<{ apiKey: string }> {
  const log = createLog('silent');
  const dataDir = join(folder, 'data');
  await mkdir(dataDir);
  const config = readConfig({ PUBLIC_URL: url, DATA_DIR: dataDir });
  if (!config.ok) throw new Error(config.reason);
  const firstRun = createFirstRun(config.value, log);
  await database.transaction(firstRun.seed);
  const finished = firstRun.finish();
  const told = finished?.kind === 'first' ? finished.told : null;
  const roles = new Set(['web', 'evaluator', 'notifier'] as const);
  serve(
    compose({
      config: config.value,
      roles,
      database,
      ingestDatabase: database,
      zones: loadZones(),
      clock: systemClock,
      log,
    }).app,
  );
  return { apiKey: told?.api_key ?? '' };
}

/** `rollcall`, as the pages call it. */
async function placeCommand(folder: string): Promise<void> {
  const script = `#!/bin/sh\nexec node '${builtMain()}' "$@"\n`;
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin', 'rollcall'), script, { mode: 0o755 });
}

function shell(text: string, folder: string): Promise<Shell> {
  const child = spawn('sh', ['-eu'], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      HOME: folder,
      ROLLCALL_SPOOL: join(folder, 'spool'),
    },
    timeout: 25_000,
  });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    printed.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    printed.err += chunk.toString();
  });
  child.stdin.end(text);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, ...printed }));
  });
}
