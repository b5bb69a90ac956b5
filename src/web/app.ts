import { type Context, Hono } from 'hono';
import { healthPage, type ReadHealth } from './health.ts';
import type { Metrics } from './metrics.ts';
import { type PingDeps, pingHandler } from './pings.ts';
import { onError, onNotFound } from './problem.ts';

export type ProbeDeps = {
  readonly readHealth: ReadHealth;
  readonly metrics: Metrics;
  readonly log: { error(fields: object, message: string): void };
};

export type AppDeps = ProbeDeps & {
  readonly pings: PingDeps;
  /** Mounted at /api/v1. */
  readonly api: Hono;
  /** Pages with addresses of their own. */
  readonly pages?: readonly Hono[];
  /** What a browser sees where there is nothing; left out, and for programs: a problem. */
  readonly nothingHere?: (c: Context) => Response | Promise<Response>;
};

/** The whole of HTTP: pings, API, pages, probes. It never listens and never reads the environment. */
export function createApp({ pings, api, pages = [], nothingHere, ...probes }: AppDeps): Hono {
  const app = createProbes(probes);
  const { metrics } = probes;
  // One handler alone, without middleware: this is the path that must be fast.
  app.all('/ping/*', pingHandler({ ...pings, observe: metrics.ping }));
  app.use('/api/*', metrics.measure('api'), async (c, next) => {
    await next();
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('X-Robots-Tag', 'noindex, nofollow');
  });
  app.route('/api/v1', api);
  app.use('/', metrics.measure('home'));
  for (const page of pages) app.route('/', page);
  if (nothingHere) {
    const problem = onNotFound(app);
    app.notFound((c) => (isForPerson(c) ? nothingHere(c) : problem(c)));
  }
  return app;
}

/** A browser that opens an address; what the API lacks is a problem for it too. */
function isForPerson({ req }: Context): boolean {
  return req.method === 'GET' && !req.path.startsWith('/api/') && (req.header('accept') ?? '').includes('text/html');
}

/** Only /healthz and /metrics: what a process without the web role serves. */
export function createProbes({ readHealth, metrics, log }: ProbeDeps): Hono {
  const app = new Hono({ getPath });
  app.onError(onError(log));
  app.notFound(onNotFound(app));
  app.use('/healthz', metrics.measure('healthz'));
  app.route('/', healthPage(readHealth));
  app.route('/', metrics.page());
  return app;
}

/** The path for routing: a trailing or doubled slash leads to the same place, because a ping lost by one pages people. */
function getPath({ url }: Request): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const end = url.slice(start).search(/[?#]/);
  const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
  return path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
}
