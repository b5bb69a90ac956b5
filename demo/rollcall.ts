import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { stopLeftover } from '../src/store/postgres-server.ts';
import { eventually } from './pace.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const API_KEY = 'demo-api-key-0123456789';
const SETTLE = '15s';

/** A Rollcall of the demo's own, in a folder and on a port that nobody else uses; it may be killed and started again. */
export type Rollcall = {
  /** Starts it, and returns when it takes pings. */
  start(signal: AbortSignal): Promise<void>;
  /** As a power cut would: no goodbye. */
  kill(): Promise<void>;
  /** Ends it, however it stands, and the database that a killed one leaves behind. */
  stop(): Promise<void>;
  /** One call of the API; throws on anything but 2xx. */
  api(method: string, path: string, body?: object): Promise<Answer>;
  /** `rollcall ARGUMENTS` against it, in a process group of its own. */
  command(args: readonly string[]): ChildProcess;
};

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, in the shapes of its documentation
type Answer = any;

/** Installs it in `folder`, without starting it. */
export async function installRollcall(folder: string): Promise<Rollcall> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const dataDir = join(folder, 'data');
  const logFile = join(folder, 'rollcall.log');
  let child: ChildProcess | null = null;

  const run = (args: readonly string[], env: Readonly<Record<string, string>>, output: number | 'pipe') =>
    spawn(process.execPath, ['--import', import.meta.resolve('tsx'), join(ROOT, 'src/main.ts'), ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ROLLCALL_API_KEY: API_KEY, ...env },
      // A group of its own: Ctrl-C reaches the demo alone, which then stops everything in order.
      detached: true,
      stdio: ['ignore', output, output],
    });

  return {
    async start(signal) {
      const log = openSync(logFile, 'a');
      const started = run(['serve'], { PORT: String(port), DATA_DIR: dataDir, BLIND_SETTLE: SETTLE }, log);
      closeSync(log);
      child = started;
      await eventually('Rollcall takes pings', signal, async () => {
        if (hasEnded(started)) throw new Error('Rollcall did not start');
        return (await fetch(`${url}/healthz`).catch(() => null))?.ok;
      });
    },
    async kill() {
      if (child) await end(child, 'SIGKILL');
    },
    async stop() {
      if (child) await end(child, 'SIGTERM');
      await stopLeftover(join(dataDir, 'postgres'), createLog('silent'));
    },
    async api(method, path, body) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    command: (args) => run(args, { ROLLCALL_URL: url, ROLLCALL_SPOOL: join(folder, 'unsent') }, 'pipe'),
  };
}

/** Sends the signal, unless it has ended already, and waits for the end. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.kill(signal);
  await ended;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Chosen once: after its restart Rollcall must be where its jobs look for it. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
