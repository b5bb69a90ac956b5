import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { Hono } from 'hono';
import type { IncomingPing, PingAnswer } from '../../src/engine/ingest.ts';
import { type AppDeps, createApp } from '../../src/web/app.ts';
import { createClientAddress } from '../../src/web/client-address.ts';
import type { Health } from '../../src/web/health.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { createMetrics } from '../../src/web/metrics.ts';
import type { PingDeps } from '../../src/web/pings.ts';
import { createRateLimit } from '../../src/web/rate-limit.ts';

export const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
export const KEY = 'a-ping-key-of-the-test';

export const ON_TIME: PingAnswer = {
  outcome: 'accepted',
  created: false,
  matchedBy: 'current',
  key: '2026-03-01T02:00+01:00',
};
export const WELL: Health = { status: 'ok', tz_version: '2026a', checks: [] };

export type TestApp = {
  readonly app: Hono;
  readonly pings: IncomingPing[];
  readonly logged: string[];
  /** Fields of what is noted as info. */
  readonly noted: object[];
};

/** The whole app over an ingest that notes what it is given and answers as told. */
export function testApp(
  options: {
    answer?: (ping: IncomingPing) => PingAnswer | Error;
    deps?: Partial<AppDeps>;
    pings?: Partial<PingDeps>;
  } = {},
): TestApp {
  const pings: IncomingPing[] = [];
  const logged: string[] = [];
  const noted: object[] = [];
  const log = {
    error: (_fields: object, message: string) => void logged.push(message),
    info: (fields: object) => void noted.push(fields),
  };
  const submit = async (ping: IncomingPing): Promise<PingAnswer> => {
    pings.push(ping);
    const answer = options.answer?.(ping) ?? ON_TIME;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const monotonic = () => performance.now();
  const app = createApp({
    pings: {
      ingest: { submit },
      isPingKey: async () => true,
      clientAddress: createClientAddress(['127.0.0.0/8']),
      unknownKeys: createRateLimit({ monotonic }),
      monotonic,
      log,
      ...options.pings,
    },
    api: new Hono().get('/jobs', (c) => c.json({})).put('/jobs/:slug', (c) => c.json({ slug: c.req.param('slug') })),
    readHealth: async () => WELL,
    metrics: createMetrics(),
    log,
    ...options.deps,
  });
  return { app, pings, logged, noted };
}

/** Runs `use` against the app on a real socket. */
export async function served<T>(app: Hono, use: (url: string, listener: Listener) => Promise<T>): Promise<T> {
  const listener = await listen(app, '127.0.0.1', 0);
  try {
    return await use(`http://127.0.0.1:${listener.port}`, listener);
  } finally {
    await listener.close(0);
  }
}

export type CurlResult = { readonly exitCode: number; readonly output: string; readonly errors: string };

/** The real curl, as in users' crontabs. */
export function curl(args: readonly string[], input: string | Buffer = ''): Promise<CurlResult> {
  return new Promise((resolve) => {
    const child = execFile('curl', ['-sS', '-m', '20', ...args], (error, output, errors) => {
      const exitCode = error === null ? 0 : Number(error.code);
      resolve({ exitCode, output, errors });
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Sends bytes as they are and reads until the server closes, or `isEnough`. */
export function raw(url: string, text: string, isEnough: (received: string) => boolean = () => false): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (isEnough(received)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}
