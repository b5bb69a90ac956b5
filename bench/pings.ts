import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What one stretch of load came to, as its sender saw it. */
type LoadFigures = {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 200 and 201. */
  readonly refused: number;
};

/** The same with what the service counted of itself meanwhile. */
type Measured = LoadFigures & {
  /** Processor time of the service's own process; that of the database is not in it. */
  readonly cpuMsEach: number;
  readonly meanBatch: number;
};

export type PingFigures = {
  readonly jobs: number;
  readonly connections: number;
  /** Making the jobs, each by its first ping. */
  readonly created: Measured;
  readonly healthz: Measured;
  readonly pings: Measured & { readonly ofHealthz: number };
  readonly oneJob: Measured & { readonly ofPings: number };
};

const CONNECTIONS = 64;
const JOBS = 1000;
const MEASURE_MS = 5000;
const WARM_UP_MS = 1500;
const PING_KEY = 'bench-ping-key-0123456789';
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Pings per second of the whole service (its own PostgreSQL, durable) over real sockets, beside /healthz of the same
 * server in the same run: on another machine compare the ratios. `progress` is told what is measured next.
 */
export async function pingBench(progress: (line: string) => void = () => undefined): Promise<PingFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  // As root the database runs as another user, who must get in.
  await chmod(folder, 0o755);
  const sender = fork(import.meta.filename, ['send'], { execArgv: ['--import', 'tsx'] });
  try {
    progress('starting the service on a new folder');
    const service = await startService(folder);
    try {
      return await measureAll(service.port, sender, progress);
    } finally {
      await service.stop();
    }
  } finally {
    sender.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureAll(port: number, sender: ChildProcess, progress: (line: string) => void): Promise<PingFigures> {
  const measured = async (order: Omit<Order, 'port' | 'connections'>): Promise<Measured> => {
    const before = await counted(port);
    const figures = await load(sender, { port, connections: CONNECTIONS, ...order });
    const after = await counted(port);
    return {
      ...figures,
      cpuMsEach: (1000 * (after.cpuSeconds - before.cpuSeconds)) / figures.requests,
      meanBatch: (after.pings - before.pings) / (after.batches - before.batches),
    };
  };
  progress(`making ${JOBS} jobs by their first ping`);
  const created = await measured({ path: 'create', jobs: JOBS, requests: JOBS });
  progress(`pings of ${JOBS} jobs, ${CONNECTIONS} connections`);
  await measured({ path: 'ping', jobs: JOBS, ms: WARM_UP_MS });
  const pings = await measured({ path: 'ping', jobs: JOBS, ms: MEASURE_MS });
  progress('the bare /healthz');
  const healthz = await measured({ path: 'healthz', jobs: JOBS, ms: MEASURE_MS });
  progress('pings of one job');
  const oneJob = await measured({ path: 'ping', jobs: 1, ms: MEASURE_MS });
  return {
    jobs: JOBS,
    connections: CONNECTIONS,
    created,
    healthz,
    pings: { ...pings, ofHealthz: pings.perSecond / healthz.perSecond },
    oneJob: { ...oneJob, ofPings: oneJob.perSecond / pings.perSecond },
  };
}

/** For people. */
export function pingLines({ jobs, connections, created, healthz, pings, oneJob }: PingFigures): readonly string[] {
  const line = (name: string, figures: Measured, rest = ''): string => {
    const perSecond = Math.round(figures.perSecond).toLocaleString('en-US').padStart(7);
    const [p50, p99] = [figures.p50Ms, figures.p99Ms].map((ms) => ms.toFixed(1).padStart(6));
    const refused = figures.refused > 0 ? `  ${figures.refused} REFUSED` : '';
    return `${name.padEnd(22)} ${perSecond}/s  p50 ${p50} ms  p99 ${p99} ms  cpu ${figures.cpuMsEach.toFixed(2)} ms${refused}${rest}`;
  };
  const batch = ({ meanBatch }: Measured): string => `  ${meanBatch.toFixed(1)} a batch`;
  return [
    `${connections} connections, keep-alive; cpu: of the service's own process, for each request`,
    line('/healthz', healthz),
    line(`pings, ${jobs} jobs`, pings, `${batch(pings)}  ${pings.ofHealthz.toFixed(3)} of /healthz`),
    line('pings, one job', oneJob, `${batch(oneJob)}  ${oneJob.ofPings.toFixed(2)} of many jobs`),
    line('first pings (create=1)', created, batch(created)),
  ];
}

type Service = { readonly port: number; stop(): Promise<void> };

async function startService(folder: string): Promise<Service> {
  // For profiles, of the service alone: BENCH_NODE_ARGS='--cpu-prof --cpu-prof-dir=/tmp/profile'
  const nodeOptions = (process.env['BENCH_NODE_ARGS'] ?? '').split(' ').filter((option) => option !== '');
  const child = spawn(process.execPath, [...nodeOptions, '--import', 'tsx', 'src/main.ts', 'serve'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DATA_DIR: folder,
      // A server of yours in place of the service's own: an empty database.
      ...(process.env['DATABASE_URL'] && { DATABASE_URL: process.env['DATABASE_URL'] }),
      PORT: '0',
      ROLLCALL_PING_KEY: PING_KEY,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let said = '';
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (said.length > 100_000) return;
      said += chunk.toString();
      const found = /"port":(\d+).*rollcall runs/.exec(said)?.[1];
      if (found) resolve(Number(found));
    });
    void ended.then(() => reject(new Error(`the service ended: ${said}`)));
  });
  return {
    port,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** What the service has counted since its start. */
async function counted(port: number) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const number = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? Number.NaN);
  // Beats alone are batches of no pings.
  const idle = number(/^rollcall_batch_pings_bucket\{le="0"\} (\d+)/m);
  return {
    pings: number(/^rollcall_batch_pings_sum (\d+)/m),
    batches: number(/^rollcall_batch_pings_count (\d+)/m) - idle,
    cpuSeconds: number(/^process_cpu_seconds_total ([\d.]+)/m),
  };
}

/** `create` and `ping` go round the jobs; it ends after `requests`, or after `ms`. */
type Order = {
  readonly port: number;
  readonly connections: number;
  readonly path: 'healthz' | 'ping' | 'create';
  readonly jobs: number;
  readonly ms?: number;
  readonly requests?: number;
};

async function load(sender: ChildProcess, order: Order): Promise<LoadFigures> {
  sender.send(order);
  const [answer] = (await once(sender, 'message')) as [LoadFigures | { readonly error: string }];
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}

/** The sender is a process of its own, with a client so simple that the server's half is what is measured. */
async function send({
  port,
  connections,
  path,
  jobs,
  ms = 60_000,
  requests: limit = Infinity,
}: Order): Promise<LoadFigures> {
  let sent = 0;
  let refused = 0;
  const took: number[] = [];
  const nextPath = (): string => {
    if (path === 'healthz') return '/healthz';
    const slug = `job-${sent % jobs}`;
    return `/ping/${PING_KEY}/${slug}?rid=${randomUUID()}${path === 'create' ? '&create=1' : ''}`;
  };
  const began = performance.now();
  const one = async (): Promise<void> => {
    const line = await openLine(port);
    while (performance.now() - began < ms && sent < limit) {
      const url = nextPath();
      sent += 1;
      const asked = performance.now();
      const status = await line.get(url);
      took.push(performance.now() - asked);
      if (status !== 200 && status !== 201) refused += 1;
    }
    line.close();
  };
  await Promise.all(Array.from({ length: connections }, one));
  const seconds = (performance.now() - began) / 1000;
  took.sort((a, b) => a - b);
  const quantile = (q: number): number => took[Math.min(took.length - 1, Math.floor(q * took.length))] ?? Number.NaN;
  const requests = took.length;
  return { requests, perSecond: requests / seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99), refused };
}

type Line = { get(path: string): Promise<number>; close(): void };

/** One keep-alive connection, one request at a time; answers have a Content-Length. */
async function openLine(port: number): Promise<Line> {
  const socket: Socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true).setEncoding('latin1');
  await once(socket, 'connect');
  let heard = '';
  let settle: { resolve(status: number): void; reject(error: Error): void } | null = null;
  socket.on('data', (chunk: string) => {
    heard += chunk;
    const head = heard.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(heard)?.[1];
    if (length === undefined) return settle?.reject(new Error(`no Content-Length: ${heard}`));
    if (heard.length < head + 4 + Number(length)) return;
    const status = Number(heard.slice(9, 12));
    heard = '';
    settle?.resolve(status);
  });
  socket.on('error', (error) => settle?.reject(error));
  socket.on('close', () => settle?.reject(new Error('the connection was closed')));
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n\r\n`);
      }),
    close: () => {
      settle = null;
      socket.destroy();
    },
  };
}

if (import.meta.filename === process.argv[1]) {
  if (process.argv[2] === 'send') {
    process.on('message', (order: Order) => {
      void send(order).then(
        (figures) => process.send?.(figures),
        (error: unknown) => process.send?.({ error: String(error) }),
      );
    });
  } else {
    for (const line of pingLines(await pingBench(console.error))) console.log(line);
  }
}
