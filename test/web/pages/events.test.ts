import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readMarks } from '../../../src/store/dashboard-mark.ts';
import { listen } from '../../../src/web/listen.ts';
import { createChangeFeed } from '../../../src/web/pages/dashboard-feed.ts';
import { eventPages } from '../../../src/web/pages/events.ts';
import type { PageEnv, Viewer } from '../../../src/web/pages/viewer.ts';
import { startApi, type TestApi } from '../api/api.ts';

/** Longer than any test: nothing here waits for a clock. */
const NEVER = 1_000_000;

let t: TestApi;
beforeEach(async () => {
  t = await startApi('2026-03-02T00:30:00Z');
  await t.call('PUT', '/jobs/nightly', { zone: 'UTC', schedules: [{ cron: '0 1 * * *' }], missed_runs: 'skip' });
});
afterEach(() => t.drop());

const mark = async (): Promise<string> =>
  (await t.database.transaction((tx) => readMarks(tx, [t.projectId]))).get(t.projectId) ?? '';

describe('the mark of a project changes', () => {
  test('with whatever changes a job, and with what people do, and with nothing else', async () => {
    const marks = [await mark()];
    const change = async (what: Promise<unknown>): Promise<void> => {
      await what;
      marks.push(await mark());
    };
    await change(t.at('2026-03-02T01:30:00Z').then(() => t.tick()));
    await change(t.ping('nightly', 'fail'));
    const { incidents } = (await t.call('GET', '/incidents?state=open')).json;
    await change(t.call('POST', `/incidents/${incidents[0].id}/ack`));
    await change(t.call('POST', '/jobs/nightly/pause'));
    await change(t.call('PUT', '/jobs/other', { zone: 'UTC', schedules: [{ heartbeat: '1d' }] }));
    await change(t.call('DELETE', '/jobs/other'));
    expect(new Set(marks).size).toBe(marks.length);
    const still = await mark();
    await t.call('GET', '/jobs/nightly/occurrences');
    await t.tick();
    expect(await mark()).toBe(still);
  });
});

describe('a feed', () => {
  test('asks the database only while somebody looks, once for all of them', async () => {
    let asked = 0;
    const database: typeof t.database = {
      ...t.database,
      transaction: (work, options) => {
        asked += 1;
        return t.database.transaction(work, options);
      },
    };
    const feed = createChangeFeed({ database, log: { error: () => undefined } }, NEVER);
    await feed.look();
    expect(asked).toBe(0);
    const heard: string[] = [];
    const ends = [0, 1, 2].map((i) => feed.watch(t.projectId, null, () => heard.push(`watcher ${i}`)));
    await feed.look();
    expect([asked, heard]).toEqual([1, []]);
    await t.ping('nightly', 'success');
    await feed.look();
    await feed.look();
    expect([asked, heard]).toEqual([3, ['watcher 0', 'watcher 1', 'watcher 2']]);
    for (const end of ends) end();
    await feed.look();
    expect(asked).toBe(3);
  });

  test('tells at once what changed between the page and the stream', async () => {
    const feed = createChangeFeed({ database: t.database, log: { error: () => undefined } }, NEVER);
    const since = await mark();
    await t.ping('nightly', 'success');
    const heard: string[] = [];
    feed.watch(t.projectId, since, (now) => heard.push(now));
    await feed.look();
    expect(heard).toEqual([await mark()]);
  });
});

/** The stream as it is served, over HTTP. */
async function startStream(options: { readonly heartbeatMs?: number } = {}) {
  const stopping = new AbortController();
  let person: Viewer | null = {
    userId: 'ada',
    name: 'Ada',
    email: 'ada@example.org',
    zone: null,
    projects: [{ id: t.projectId, slug: 'default', name: 'Default', role: 'viewer' }],
  };
  const deps = {
    database: t.database,
    log: { error: () => undefined },
    readViewer: async () => person,
    stopping: stopping.signal,
  };
  const feed = createChangeFeed(deps, NEVER);
  const app = new Hono<PageEnv>();
  app.use(async (c, next) => {
    c.set('project', { id: t.projectId, slug: 'default', name: 'Default', role: 'viewer' });
    await next();
  });
  app.route('/', eventPages(deps, feed, options.heartbeatMs ?? NEVER));
  const listener = await listen(app, '127.0.0.1', 0);
  const url = `http://127.0.0.1:${listener.port}/events`;
  return {
    url,
    feed,
    stopping,
    listener,
    signOut: () => {
      person = null;
    },
  };
}

/** What comes next of a stream, until `part` has come or it has ended. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, part: string | null): Promise<string> {
  let text = '';
  while (part === null || !text.includes(part)) {
    const { done, value } = await reader.read();
    if (done) return `${text}(end)`;
    text += new TextDecoder().decode(value);
  }
  return text;
}

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (!response.body) throw new Error('the answer has no body');
  return response.body.getReader();
}

describe('the stream of events', () => {
  test('says that something changed, with a mark to go on from, and nothing while nothing does', async () => {
    const { url, feed, listener } = await startStream();
    const response = await fetch(`${url}?since=${await mark()}`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = readerOf(response);
    expect(await readUntil(reader, '\n\n')).toBe(':\n\n');
    await feed.look();
    await t.ping('nightly', 'success');
    await feed.look();
    const now = await mark();
    expect(await readUntil(reader, '\n\n')).toBe(`event: changed\ndata: \nid: ${now}\n\n`);
    // Who comes back with the last id hears what came in between, once.
    await reader.cancel();
    await t.ping('nightly', 'fail');
    const again = readerOf(await fetch(`${url}?since=0-0-0`, { headers: { 'Last-Event-ID': now } }));
    await readUntil(again, ':\n\n');
    await feed.look();
    expect(await readUntil(again, '\n\n')).toContain(`id: ${await mark()}\n`);
    await again.cancel();
    await listener.close(0);
  });

  test('ends when the session has', async () => {
    const { url, listener, signOut } = await startStream({ heartbeatMs: 20 });
    const reader = readerOf(await fetch(url));
    await readUntil(reader, ':\n\n:\n\n');
    signOut();
    expect(await readUntil(reader, null)).toMatch(/^(:\n\n)*event: ended\ndata: \n\n\(end\)$/);
    await listener.close(0);
  });

  test('tells nothing more to who is signed out', async () => {
    const { url, feed, listener, signOut } = await startStream();
    const reader = readerOf(await fetch(`${url}?since=${await mark()}`));
    await readUntil(reader, ':\n\n');
    signOut();
    await t.ping('nightly', 'success');
    await feed.look();
    expect(await readUntil(reader, null)).toBe('event: ended\ndata: \n\n(end)');
    await listener.close(0);
  });

  test('does not keep the process when it stops', async () => {
    const { url, stopping, listener } = await startStream();
    const reader = readerOf(await fetch(url));
    await readUntil(reader, ':\n\n');
    const closed = listener.close(NEVER);
    stopping.abort();
    expect(await readUntil(reader, null)).toBe('(end)');
    // By itself: the connections are cut after NEVER only.
    await closed;
  });

  test('is no stream for HEAD', async () => {
    const { url, listener } = await startStream();
    expect((await fetch(url, { method: 'HEAD' })).headers.get('content-type')).toBe('text/event-stream');
    await listener.close(NEVER);
  });
});
