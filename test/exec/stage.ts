import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Listener, listen } from '../../src/web/listen.ts';
import { KEY, startApi, type TestApi } from '../web/api/api.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export type ExecRun = {
  readonly pid: number;
  readonly printed: { out: string; err: string };
  /** The exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  send(signal: NodeJS.Signals): void;
};

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

/** Rollcall on a socket, with a clock that stands still, and hosts that run the single file of `rollcall exec`. */
export type Stage = {
  readonly api: TestApi;
  readonly url: string;
  /** For files of the test: new and empty. */
  readonly folder: string;
  readonly spool: string;
  /** Makes a job as of `at`, and sets the clock to `now`. */
  job(slug: string, definition: object, times: { readonly at: string; readonly now: string }): Promise<void>;
  start(words: readonly string[], env?: Readonly<Record<string, string>>): ExecRun;
  exec(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Takes Rollcall off the network, and puts it back at the same address. */
  unplug(): Promise<void>;
  plug(): Promise<void>;
  /** `key: state`, oldest first. */
  states(slug: string): Promise<readonly string[]>;
  /** Pings of a job, oldest first. */
  pings(slug: string): Promise<readonly Pinged[]>;
  /** Names of files that wait. */
  waiting(): Promise<readonly string[]>;
  rejected(): Promise<readonly string[]>;
  close(): Promise<void>;
};

type Pinged = {
  readonly id: number;
  readonly kind: string;
  readonly exit_code: number | null;
  readonly rid: string;
  readonly key: string | null;
  readonly matched_by: string;
  readonly at: string | null;
  readonly received_at: string;
};

export async function openStage(at: string): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-exec-'));
  const spool = join(folder, 'spool');
  const file = join(folder, 'rollcall-exec.cjs');
  await buildSingleFile(file);
  const api = await startApi(at);
  let listener: Listener | null = await listen(api.app, '127.0.0.1', 0);
  const { port } = listener;
  const url = `http://127.0.0.1:${port}`;
  const environment = { ROLLCALL_URL: url, ROLLCALL_API_KEY: KEY, ROLLCALL_SPOOL: spool };
  const start: Stage['start'] = (words, env = {}) => startExec(file, words, { ...environment, ...env });
  const list = async (path: string, name: string) => (await api.call('GET', path)).json[name].reverse();
  return {
    api,
    url,
    folder,
    spool,
    start,
    exec: async (words, env) => outcome(start(words, env)),
    async job(slug, definition, times) {
      await api.at(times.at);
      const { status, json } = await api.call('PUT', `/jobs/${slug}`, definition);
      if (status !== 201) throw new Error(JSON.stringify(json));
      await api.at(times.now);
    },
    async unplug() {
      await listener?.close(0);
      listener = null;
    },
    async plug() {
      listener = await listen(api.app, '127.0.0.1', port);
    },
    states: async (slug) =>
      (await list(`/jobs/${slug}/occurrences`, 'occurrences')).map(
        ({ key, state }: { key: string; state: string }) => `${key}: ${state}`,
      ),
    pings: async (slug) =>
      (await list(`/jobs/${slug}/pings`, 'pings')).sort((one: Pinged, other: Pinged) => one.id - other.id),
    waiting: async () => (await readdir(spool).catch(() => [])).filter((name) => name.endsWith('.ping')).sort(),
    rejected: async () => (await readdir(join(spool, 'rejected')).catch(() => [])).sort(),
    async close() {
      endAll();
      await listener?.close(0);
      await api.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As `npm run build:exec` does. */
export async function buildSingleFile(outfile: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, 'src/cli/exec-standalone.ts')],
    bundle: true,
    platform: 'node',
    target: 'node20',
    outfile,
    define: { ROLLCALL_VERSION: '"0.0.0"' },
    metafile: true,
  });
  return Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
}

/** Processes that this test file has started and that have not ended. */
const alive = new Set<number>();
process.once('exit', endAll);

/** Ends what a test that failed half-way has left: each with its command, for it leads a group of its own. */
export function endAll(): void {
  for (const pid of alive) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
  alive.clear();
}

/** A process of its own, in a session of its own: like cron's, without a terminal. */
export function startExec(file: string, words: readonly string[], env: Readonly<Record<string, string>>): ExecRun {
  const child = spawn(process.execPath, [file, ...words], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid = 0 } = child;
  if (pid > 0) alive.add(pid);
  child.once('exit', () => alive.delete(pid));
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    printed.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    printed.err += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { pid, printed, ended, send: (signal) => void child.kill(signal) };
}

export async function outcome({ ended, printed }: ExecRun): Promise<Ended> {
  return { code: await ended, ...printed };
}

/** For the shell: waits for a file, a minute at most, so that it outlives no test that was stopped. */
export function waitFor(file: string): string {
  return `i=0; until test -e "${file}" || test $((i+=1)) -gt 1200; do sleep 0.05; done`;
}

/** The lines of a file that a command has written; none when it is not there. */
export async function linesOf(path: string): Promise<readonly string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
