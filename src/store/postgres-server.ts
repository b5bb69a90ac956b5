import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { CannotStart } from './cannot-start.ts';
import { complaintIn, type Program, runProgram, spawnOptions } from './postgres-program.ts';

/** A PostgreSQL server that runs as our child. */
export type Server = {
  readonly pid: number;
  readonly port: number;
  /** Resolves when the process has ended, however it came to that. */
  readonly exited: Promise<void>;
  /** Fast shutdown; after 10 s an immediate one; after 15 s the process is killed. */
  stop(): Promise<void>;
};

export type Launch = {
  readonly program: Program;
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly log: Logger;
  /** A port to insist on; a free one is found where there is none. */
  readonly port?: number;
};

/** How long a crashed server's last processes may take to let go of its memory. */
const LEFTOVER_MS = 10_000;
const POLL_MS = 20;

/** Starts the server on a folder that nothing else uses, and waits until it takes connections. */
export async function launchServer(launch: Launch): Promise<Server> {
  const until = systemClock.monotonic() + LEFTOVER_MS;
  for (;;) {
    const port = launch.port ?? (await freePort());
    const outcome = await launchOnce(launch, port);
    if (typeof outcome !== 'string') return outcome;
    // Another process may take the port between the look and the start; a server killed a moment ago still has
    // processes that notice it only now; and one that its service started just before it was killed appears only now.
    const passes =
      /Address already in use|could not create any TCP|shared memory block .* still in use|postmaster.pid" already exists/;
    if (!passes.test(outcome) || systemClock.monotonic() > until) {
      throw new CannotStart(`PostgreSQL did not start: ${outcome}`);
    }
    await stopLeftover(launch.folder, launch.log);
    await systemClock.sleep(10 * POLL_MS);
  }
}

/** Answers the server once it is ready, or its last words. */
async function launchOnce({ program, folder, settings, log }: Launch, port: number): Promise<Server | string> {
  const flags = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = spawn(program.postgres, ['-D', folder, ...flags], {
    ...spawnOptions(program.user),
    // A group of its own: Ctrl-C in a terminal must reach the service alone, which then stops the server last.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const words = listenTo(child, log);
  let hasExited = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  }).then(() => {
    hasExited = true;
  });
  const started = systemClock.monotonic();
  for (let seconds = 5; !hasExited; await Promise.race([exited, systemClock.sleep(POLL_MS)])) {
    const { pid, status } = await readPidFile(folder);
    if (pid === child.pid && status === 'ready') {
      return { pid, port, exited, stop: () => stopProcess(pid, async () => !hasExited) };
    }
    if (systemClock.monotonic() - started < seconds * 1000) continue;
    log.info(`the database is still starting after ${seconds} s (after a crash it repairs itself first)`);
    seconds += 5;
  }
  return words();
}

/** Passes the server's own log on, and keeps its last words, in one line, for when it does not start. */
function listenTo(child: ChildProcess, log: Logger): () => Promise<string> {
  const said: string[] = [];
  const heardAll = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      said.push(error.message);
      resolve();
    });
  });
  if (child.stderr) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (said.length > 20) said.shift();
      log[line.includes('PANIC:') ? 'error' : 'debug']({ postgres: line }, 'the database reports');
    });
  }
  return async () => {
    // Processes left over from it may keep the stream open.
    await Promise.race([heardAll, systemClock.sleep(500)]);
    return complaintIn(said);
  };
}

/** Stops the server that a killed service left running on the folder, if there is one. */
export async function stopLeftover(folder: string, log: Logger): Promise<boolean> {
  const { pid } = await readPidFile(folder);
  if (pid === null) return false;
  if (!(await isServerOf(pid, folder))) {
    // The number of a dead server belongs to another process by now: PostgreSQL itself would refuse to start.
    if (kill(pid, 0) && (await readPidFile(folder)).pid === pid)
      await rm(join(folder, 'postmaster.pid'), { force: true });
    return false;
  }
  log.info({ server_pid: pid }, 'a database of an earlier service is still running: stopping it');
  await stopProcess(pid, () => isServerOf(pid, folder));
  return true;
}

async function stopProcess(pid: number, isRunning: () => Promise<boolean>): Promise<void> {
  for (const [signal, seconds] of [
    ['SIGINT', 10],
    ['SIGQUIT', 5],
    ['SIGKILL', 5],
  ] as const) {
    const until = systemClock.monotonic() + seconds * 1000;
    if (await isRunning()) kill(pid, signal);
    while (await isRunning()) {
      if (systemClock.monotonic() > until) break;
      await systemClock.sleep(POLL_MS);
    }
    if (!(await isRunning())) return;
  }
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** True when the process is a PostgreSQL server that works in this folder: a server's current folder is its data. */
async function isServerOf(pid: number, folder: string): Promise<boolean> {
  if (!kill(pid, 0)) return false;
  const path = await realpath(folder);
  if (process.platform === 'linux') {
    return (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === path;
  }
  const { output } = await runProgram('ps', ['-o', 'command=', '-p', String(pid)], null);
  return output.includes('postgres') && (output.includes(folder) || output.includes(path));
}

/** What a server writes about itself: its process id on line 1, its status on line 8. */
async function readPidFile(folder: string): Promise<{ pid: number | null; status: string | null }> {
  const lines = (await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number.parseInt(lines[0] ?? '', 10);
  return { pid: Number.isSafeInteger(pid) && pid > 0 ? pid : null, status: lines[7]?.trim() ?? null };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await promisify(probe.close.bind(probe))();
  if (address === null || typeof address === 'string') throw new Error('the probe has no port');
  return address.port;
}
