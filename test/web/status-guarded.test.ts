import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createReadStatusView } from '../../src/engine/status-pages.ts';
import { findStatusPage } from '../../src/store/status-pages.ts';
import { layOutJob, layOutRow } from './api/api.ts';
import { ORIGIN, type StatusSite, startStatusSite, wordsOf } from './status-site.ts';

let t: StatusSite;
beforeAll(async () => {
  t = await startStatusSite('2026-11-30T12:00:00Z');
  await layOutJob(t, 'backup', { at: '2026-11-01T00:00:00Z', nextUnrecorded: null, name: 'Backup' });
  await put('open', page);
  await put('closed', { ...page, title: 'Board only', password: 'open sesame', indexable: true });
});
afterAll(() => t.drop());
// Nobody is still out of breath from the guesses of the test before.
beforeEach(() => t.passes(3_600_000));

const page = { title: 'Acme', zone: 'UTC', groups: [{ name: 'All', jobs: [{ job: 'backup' }] }] };

async function put(slug: string, body: object): Promise<void> {
  const answer = await t.call('PUT', `/status-pages/${slug}`, body);
  expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300);
}

const guess = (path: string, password: string) =>
  t.open(path, { method: 'POST', body: new URLSearchParams({ password }) }, true);
const cookieOf = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';

describe('a page with a password', () => {
  test('opens to whoever gives it, in this browser alone', async () => {
    const right = await guess('/status/closed', 'open sesame');
    expect(right).toMatchObject({ status: 303 });
    expect(right.headers.get('location')).toBe('/status/closed');
    expect(right.headers.get('set-cookie')).toMatch(/; Path=\/status\/closed; HttpOnly; Secure; SameSite=Lax$/);
    const Cookie = cookieOf(right.headers);
    const shown = await t.open('/status/closed', { headers: { Cookie } });
    expect(shown.status).toBe(200);
    expect(wordsOf(shown.text)).toContain('Board only');
    expect(shown.headers.get('cache-control')).toBe('private, no-cache');
    expect(shown.headers.get('vary')).toBe('Cookie');
    expect(shown.headers.get('x-robots-tag')).toBe('noindex, nofollow');
    const etag = shown.headers.get('etag') ?? '';
    expect((await t.open('/status/closed', { headers: { Cookie, 'If-None-Match': etag } })).status).toBe(304);
    expect((await t.open('/status/closed', { headers: { 'If-None-Match': etag } })).status).toBe(404);
  });

  test('is, to everybody else, like one that is not there', async () => {
    const [closed, nowhere] = [await t.open('/status/closed'), await t.open('/status/nowhere')];
    expect(closed.status).toBe(404);
    expect(closed.text.replaceAll('closed', 'nowhere')).toBe(nowhere.text);
    expect(closed.text).not.toContain('Board only');
    const headersOf = ({ headers }: { headers: Headers }) => [...headers].sort();
    expect(headersOf(closed)).toEqual(headersOf(nowhere));
    for (const file of ['embed', 'feed.atom', 'feed.json', 'calendar.ics', 'status.json', 'badge.json', 'badge.svg']) {
      const [one, other] = [await t.open(`/status/closed/${file}`), await t.open(`/status/nowhere/${file}`)];
      expect(one.status).toBe(404);
      expect(one.text.replaceAll('closed', 'nowhere')).toBe(other.text);
    }
    const [wrong, lost] = [await guess('/status/closed', 'x'), await guess('/status/nowhere', 'x')];
    expect(wrong.status).toBe(403);
    expect(wrong.text.replaceAll('closed', 'nowhere')).toBe(lost.text);
    expect(lost.status).toBe(403);
  });

  test('lets nobody in with the cookie of another page, a made-up one, or one from before the password changed', async () => {
    await put('other', { ...page, password: 'open sesame' });
    const other = cookieOf((await guess('/status/other', 'open sesame')).headers);
    const mine = cookieOf((await guess('/status/closed', 'open sesame')).headers);
    for (const Cookie of [other, 'status-page=9999999999.x', `${mine}x`, mine.replace(/=\d+/, '=9999999999')])
      expect((await t.open('/status/closed', { headers: { Cookie } })).status).toBe(404);
    await t.at('2026-12-30T11:59:00Z');
    expect((await t.open('/status/closed', { headers: { Cookie: mine } })).status).toBe(200);
    await t.at('2026-12-30T12:01:00Z');
    expect((await t.open('/status/closed', { headers: { Cookie: mine } })).status).toBe(404);
    await t.at('2026-11-30T12:00:00Z');
    await put('closed', { ...page, password: 'another word' });
    expect((await t.open('/status/closed', { headers: { Cookie: mine } })).status).toBe(404);
    await put('closed', { ...page, title: 'Board only', password: 'open sesame', indexable: true });
  });

  test('has addresses with a key for feed readers, which fill in no form', async () => {
    const Cookie = cookieOf((await guess('/status/closed', 'open sesame')).headers);
    const { text } = await t.open('/status/closed', { headers: { Cookie } });
    const feed = /href="(\/status\/closed\/feed\.atom\?key=[\w-]+)"/.exec(text)?.[1] ?? '';
    const read = await t.open(feed);
    expect(read.status).toBe(200);
    expect(read.text).toContain(`href="${ORIGIN}${feed}"`);
    expect((await t.open(`/status/other/feed.atom${feed.slice(feed.indexOf('?'))}`)).status).toBe(404);
    const key = feed.slice(feed.indexOf('?'));
    expect((await t.open(`/status/closed/embed${key}`)).status).toBe(200);
    expect((await t.open(`/status/closed${key}`)).status).toBe(404);
  });

  test('cannot be guessed: ten passwords at once, then six a minute', async () => {
    for (let i = 0; i < 10; i += 1) expect((await guess('/status/closed', `guess ${i}`)).status).toBe(403);
    const stopped = await guess('/status/closed', 'open sesame');
    expect(stopped.status).toBe(429);
    expect(stopped.headers.get('retry-after')).toBe('10');
    t.passes(10_000);
    expect((await guess('/status/closed', 'open sesame')).status).toBe(303);
  });

  test('takes no form that is too large or none at all', async () => {
    expect((await guess('/status/closed', 'x'.repeat(5000))).status).toBe(413);
    const init = { method: 'POST', body: '--x', headers: { 'Content-Type': 'multipart/form-data' } };
    expect((await t.open('/status/closed', init)).status).toBe(403);
  });
});

describe('a page at a host of its own', () => {
  const host = 'https://status.example.org';
  beforeAll(() => put('hosted', { ...page, title: 'Hosted', host: 'status.example.org', password: 'open sesame' }));

  test('is at / there, and everything of it leads to itself', async () => {
    await put('public', { ...page, title: 'Public', host: 'public.example.org' });
    const { status, text } = await t.open('https://public.example.org/');
    expect(status).toBe(200);
    const links = [...text.matchAll(/(?:href|action)="([^"]*)"/g)].map(([, link = '']) => link);
    expect(links).toContain('https://public.example.org');
    for (const link of links.filter((one) => one.startsWith('/')))
      expect((await t.open(`https://public.example.org${link}`)).status, link).toBe(200);
    expect((await t.open('/status/public')).status).toBe(200);
  });

  test('takes its password there', async () => {
    const right = await t.open(`${host}/`, { method: 'POST', body: new URLSearchParams({ password: 'open sesame' }) });
    expect(right.status).toBe(303);
    expect(right.headers.get('location')).toBe('/');
    expect(right.headers.get('set-cookie')).toContain('; Path=/;');
    const shown = await t.open(`${host}/`, { headers: { Cookie: cookieOf(right.headers) } });
    expect(wordsOf(shown.text)).toContain('Hosted');
  });

  test('has nothing else of Rollcall there', async () => {
    for (const path of [
      '/status/hosted',
      '/status/open',
      '/api/v1/openapi.json',
      '/ping/x',
      '/sign-in',
      '/healthz',
      '/x',
    ])
      expect((await t.open(host + path)).status, path).toBe(404);
    expect((await t.open('https://status.example.org./sign-in')).status).toBe(404);
    expect((await t.open('https://status.example.org./api/v1/openapi.json')).status).toBe(404);
    expect((await t.open('/api/v1/openapi.json')).status).toBe(200);
    expect((await t.open('https://unknown.example.org/api/v1/openapi.json')).status).toBe(200);
  });

  test('over real connections, whatever the case of the name and with a port', async () => {
    const server = serve({ fetch: t.site.fetch, port: 0, hostname: '127.0.0.1' });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    t.passes(60_000);
    const ask = (method: string, path: string, body = '') =>
      new Promise<{ status: number; location: string }>((resolve, reject) => {
        const headers = { Host: `Status.Example.org:${port}`, 'Content-Type': 'application/x-www-form-urlencoded' };
        request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? '' });
        })
          .on('error', reject)
          .end(body);
      });
    expect(await ask('GET', '/')).toMatchObject({ status: 404 });
    expect(await ask('POST', '/', 'password=wrong')).toMatchObject({ status: 403 });
    expect(await ask('POST', '/', 'password=open+sesame')).toEqual({ status: 303, location: '/' });
    expect(await ask('GET', '/api/v1/openapi.json')).toMatchObject({ status: 404 });
    server.close();
    await once(server, 'close');
  });

  test('goes with its definition', async () => {
    await put('hosted', { ...page, title: 'Hosted' });
    expect((await t.open(`${host}/api/v1/openapi.json`)).status).toBe(200);
  });
});

describe('what it costs', () => {
  test('a crowd costs one reading every five seconds', async () => {
    let transactions = 0;
    const counting = await startStatusSite('2026-11-30T12:00:00Z', (database) => ({
      ...database,
      transaction(work, options) {
        transactions += 1;
        return database.transaction(work, options);
      },
    }));
    await layOutJob(counting, 'backup', { at: '2026-11-01T00:00:00Z', nextUnrecorded: null });
    await counting.call('PUT', '/status-pages/acme', page);
    await counting.open('/status/acme');
    transactions = 0;
    counting.passes(6000);
    const crowd = Array.from({ length: 50 }, (_, i) =>
      counting.open(`/status/acme${i % 2 ? '' : '/status.json'}`, {}, true),
    );
    expect((await Promise.all(crowd)).map(({ status }) => status)).toEqual(crowd.map(() => 200));
    // The page itself, which of its jobs are due, and what it shows.
    expect(transactions).toBe(3);
    counting.passes(4000);
    await counting.open('/status/acme', {}, true);
    expect(transactions).toBe(3);
    counting.passes(2000);
    await counting.open('/status/acme', {}, true);
    expect(transactions).toBe(6);
    // However its address is written, and whatever it is asked besides.
    await counting.open('/status/acme/calendar.ics', {}, true);
    transactions = 0;
    for (const spelt of ['acme/calendar.ics?job=1', 'acme/calendar.ics?group=2&x', '%61cme/calendar.ics'])
      expect((await counting.open(`/status/${spelt}`, {}, true)).status).toBe(200);
    expect(transactions).toBe(0);
    await counting.drop();
  });

  test('50 jobs with full rolls, gaps in them and incidents are less than 60 kB', async () => {
    const states = ['on_time', 'on_time', 'late', 'failed', 'on_time', 'missed', 'skipped', 'unknown', 'on_time'];
    const tags = ['weight'];
    for (let i = 0; i < 50; i += 1) {
      const slug = `weight-${i}`;
      const name = `Nightly export of the warehouse ${i}`;
      const id = await layOutJob(t, slug, {
        at: '2026-10-01T00:00:00Z',
        nextUnrecorded: '2026-11-30T13:00:00Z',
        name,
        tags,
      });
      for (let day = 1; day <= 30; day += 1) {
        const at = `2026-11-${String(day).padStart(2, '0')}T02:00:00Z`;
        await layOutRow(t, id, { at, state: states[(day + i) % states.length] ?? 'on_time' });
      }
      await t.database.transaction(
        (tx) => tx.sql`
          insert into incidents (job_id, kind, opened_at, resolved_at, events, occurrence_count, troubled_count)
          select ${id}, 'failed', ${tx.now - i * 43_000_000}::timestamptz, ${tx.now - i * 43_000_000 + 3_600_000}::timestamptz, 2, 1, 0`,
      );
    }
    await put('heavy', { ...page, groups: [{ name: 'Everything', tag: 'weight' }] });
    const { text } = await t.open('/status/heavy');
    expect(text.match(/<svg class="roll"/g)).toHaveLength(50);
    const bytes = Buffer.byteLength(text);
    expect(bytes).toBeLessThan(60_000);
    expect(bytes).toBeGreaterThan(30_000);
  });

  test('the number of statements does not grow with the jobs', async () => {
    const statements = async (slug: string) => {
      let count = 0;
      const counting = createReadStatusView({
        ...t.deps,
        database: {
          ...t.deps.database,
          transaction: (work, options) =>
            t.deps.database.transaction((tx) => {
              const sql = new Proxy(tx.sql, {
                apply(target, self, [first, ...rest]: unknown[]) {
                  // Only whole statements are asked for by a template that begins with white space or select.
                  if (Array.isArray(first) && 'raw' in first && /^\s*(?:select|with)\b/.test(String(first[0])))
                    count += 1;
                  return Reflect.apply(target as never, self, [first, ...rest]);
                },
              });
              return work({ ...tx, sql });
            }, options),
        },
      });
      const stored = await t.database.transaction((tx) => findStatusPage(tx, slug));
      if (!stored) throw new Error(`no page ${slug}`);
      await counting(stored);
      return count;
    };
    await put('light', { ...page, groups: [{ name: 'One', jobs: [{ job: 'weight-0' }] }] });
    const light = await statements('light');
    expect(light).toBeGreaterThan(8);
    expect(await statements('heavy')).toBe(light);
  });
});

test('while the database is away, the page says so and shows how it stood; then it is not known', async () => {
  const away = await startStatusSite('2026-11-30T12:00:00Z');
  await layOutJob(away, 'backup', { at: '2026-11-01T00:00:00Z', nextUnrecorded: null });
  await away.call('PUT', '/status-pages/acme', page);
  await away.open('/status/acme');
  await away.drop();
  const stale = await away.open('/status/acme');
  expect(stale.status).toBe(200);
  expect(wordsOf(stale.text)).toContain('Rollcall cannot reach its database right now: this is how it stood then.');
  expect(JSON.parse((await away.open('/status/acme/badge.json')).text)).toMatchObject({ message: 'not known' });
  away.passes(600_000);
  expect((await away.open('/status/acme')).status).toBe(503);
  expect((await away.open('/status/acme/feed.atom')).status).toBe(503);
});
