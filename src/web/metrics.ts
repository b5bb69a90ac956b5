import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Vitals, VitalsObserver } from '../vitals.ts';

export type Metrics = {
  /** Told by the vitals of each batch and tick. */
  readonly observer: VitalsObserver;
  ping(outcome: string, seconds: number): void;
  /** Middleware that measures requests under one name, for a path in a label would be without end. */
  measure(route: string): MiddlewareHandler;
  /** Adds what is only read when somebody asks. `outboxWaiting` may fail: then the sample is left out. */
  watch(vitals: Pick<Vitals, 'read'>, monotonic: () => number, outboxWaiting: () => Promise<number>): void;
  /** GET /metrics, in the format of Prometheus. */
  page(): Hono;
};

/** From a millisecond to the longest anybody waits. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Every metric of this process, in a registry of its own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name, help, buckets, registers });
  const pings = new Counter({
    name: 'rollcall_pings_total',
    help: 'Requests to the ping endpoint by outcome: what the ping was matched by, or why it was not.',
    labelNames: ['outcome'],
    registers,
  });
  const pingSeconds = histogram('rollcall_ping_seconds', 'From request to reply, which follows the commit.', SECONDS);
  const batch = histogram(
    'rollcall_batch_pings',
    'Pings committed in one transaction.',
    [0, 1, 2, 5, 10, 50, 100, 500],
  );
  const batchSeconds = histogram('rollcall_batch_seconds', 'Duration of the transaction of one batch.', SECONDS);
  const tickSeconds = histogram('rollcall_evaluator_tick_seconds', 'Duration of one tick of the evaluator.', SECONDS);
  const requests = new Histogram({
    name: 'rollcall_http_request_seconds',
    help: 'Duration of requests other than pings.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers,
  });
  return {
    observer: {
      batch(size, ms) {
        batch.observe(size);
        batchSeconds.observe(ms / 1000);
      },
      tick: (ms) => tickSeconds.observe(ms / 1000),
    },
    ping(outcome, seconds) {
      pings.inc({ outcome });
      pingSeconds.observe(seconds);
    },
    measure: (route) => measure(requests, route),
    watch: (vitals, monotonic, outboxWaiting) => {
      addLags(registers, vitals, monotonic);
      addOutbox(registers, outboxWaiting);
    },
    page: () =>
      new Hono().get('/metrics', async (c: Context) =>
        c.body(await registry.metrics(), 200, { 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' }),
      ),
  };
}

function measure(requests: Histogram<'route' | 'method' | 'status'>, route: string): MiddlewareHandler {
  return async (c, next) => {
    const stop = requests.startTimer({ route, method: knownMethod(c.req.method) });
    await next();
    stop({ status: c.res.status });
  };
}

/** A method is the client's word, and a label per word would be without end. */
function knownMethod(method: string): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other';
}

function addLags(registers: Registry[], vitals: Pick<Vitals, 'read'>, monotonic: () => number): void {
  const since = (at: number | null): number | null => (at === null ? null : (monotonic() - at) / 1000);
  const gauge = (name: string, help: string, read: () => number | null): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = read();
        if (value !== null) this.set(value);
      },
    });
  };
  gauge('rollcall_ingest_lag_seconds', 'Since the last commit of ingest; it beats twice a second.', () =>
    since(vitals.read().lastBeatAt),
  );
  gauge('rollcall_evaluator_lag_seconds', 'Since the last tick of this evaluator.', () =>
    since(vitals.read().lastTickAt),
  );
  gauge('rollcall_horizon_lag_seconds', 'Database time less horizon at the last tick.', () => {
    const { horizonLagMs } = vitals.read();
    return horizonLagMs === null ? null : horizonLagMs / 1000;
  });
  gauge(
    'rollcall_clock_offset_seconds',
    'The clock of this machine less that of the database; used for nothing.',
    () => {
      const { clockOffsetMs } = vitals.read();
      return clockOffsetMs === null ? null : clockOffsetMs / 1000;
    },
  );
}

function addOutbox(registers: Registry[], outboxWaiting: () => Promise<number>): void {
  new Gauge({
    name: 'rollcall_outbox_waiting',
    help: 'Notifications not sent yet, counted to 10,000.',
    registers,
    async collect() {
      const waiting = await outboxWaiting().catch(() => Number.NaN);
      this.set(waiting);
    },
  });
}
