import { type Context, Hono } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { type ChangeFeed, createChangeFeed } from './dashboard-feed.ts';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

export type EventDeps = Pick<PageDeps, 'database' | 'log' | 'readViewer' | 'stopping'>;

/** So often something is sent although nothing changed: proxies cut what is silent, and a session may have ended. */
const HEARTBEAT_MS = 20_000;
const MARK = /^[\d-]{1,80}$/;

/**
 * `GET /projects/{project}/events`: a server-sent event `changed` whenever something of the project has changed since the
 * mark the page was made with (`since`, or the id of the last event heard). It ends with the session or the membership of
 * the person, by an event `ended`, and with the process.
 */
export function eventPages(
  deps: EventDeps,
  feed: ChangeFeed = createChangeFeed(deps),
  heartbeatMs = HEARTBEAT_MS,
): Hono<PageEnv> {
  return new Hono<PageEnv>().get('/events', (c) => {
    // A router runs GET handlers for HEAD: nobody would ever read that stream.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    c.header('X-Accel-Buffering', 'no');
    return streamSSE(c, (stream) => follow(stream, c, { deps, feed, heartbeatMs }));
  });
}

type Surroundings = { readonly deps: EventDeps; readonly feed: ChangeFeed; readonly heartbeatMs: number };

async function follow(
  stream: SSEStreamingApi,
  c: Context<PageEnv>,
  { deps, feed, heartbeatMs }: Surroundings,
): Promise<void> {
  const { project } = c.var;
  const given = c.req.header('Last-Event-ID') ?? c.req.query('since') ?? '';
  const isMember = async (): Promise<boolean> =>
    (await deps.readViewer(c))?.projects.some(({ id }) => id === project.id) === true;
  await new Promise<void>((resolve) => {
    const say = async (write: () => Promise<unknown>): Promise<void> => {
      if (await isMember()) await write();
      else {
        await stream.writeSSE({ event: 'ended', data: '' });
        end();
      }
    };
    // While the database is away nobody knows whose session it is: the stream goes on, and says nothing.
    const sayOrNot = (write: () => Promise<unknown>): void => void say(write).catch(() => undefined);
    const unwatch = feed.watch(project.id, MARK.test(given) ? given : null, (mark) =>
      sayOrNot(() => stream.writeSSE({ event: 'changed', id: mark, data: '' })),
    );
    const heartbeat = setInterval(() => sayOrNot(() => stream.write(':\n\n')), heartbeatMs);
    const end = (): void => {
      unwatch();
      clearInterval(heartbeat);
      deps.stopping?.removeEventListener('abort', end);
      resolve();
    };
    stream.onAbort(end);
    deps.stopping?.addEventListener('abort', end, { once: true });
    if (deps.stopping?.aborted || stream.aborted) end();
    // The headers and a first comment: the browser knows that it is heard.
    else void stream.write(':\n\n');
  });
}
