import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { IncomingPing } from '../../src/engine/ingest.ts';
import { DatabaseUnavailable } from '../../src/store/database.ts';
import { createRateLimit } from '../../src/web/rate-limit.ts';
import { KEY, type TestApp, testApp, UUID } from './harness.ts';

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');

async function answer({ app }: TestApp, path: string, init?: RequestInit) {
  const response = await app.request(path, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The one ping that a request led to. */
async function pingOf(path: string, init?: RequestInit): Promise<IncomingPing> {
  const target = testApp();
  await answer(target, path, init);
  expect(target.pings).toHaveLength(1);
  return target.pings[0] as IncomingPing;
}

describe('addresses', () => {
  test.each([
    [`/ping/${UUID}`, 'success', null],
    [`/ping/${UUID}/`, 'success', null],
    [`/ping/${UUID}/start`, 'start', null],
    [`/ping/${UUID}/fail/`, 'fail', null],
    [`/ping/${UUID}/log`, 'log', null],
    [`/ping/${UUID}/0`, 'success', 0],
    [`/ping/${UUID}/1`, 'fail', 1],
    [`/ping/${UUID}/007`, 'fail', 7],
    [`/ping/${UUID}/255`, 'fail', 255],
    [`/ping/${UUID.toUpperCase()}`, 'success', null],
  ])('%s is a %s with exit code %s', async (path, kind, exitCode) => {
    expect(await pingOf(path)).toMatchObject({ target: { uuid: UUID }, kind, exitCode, flaw: null });
  });

  test.each([
    [`/ping/${KEY}/backup-db`, 'success', null],
    [`/ping/${KEY}/backup-db/start`, 'start', null],
    [`/ping/${KEY}/backup-db/3/`, 'fail', 3],
  ])('%s reaches the job by its slug, and the key goes no further than its hash', async (path, kind, exitCode) => {
    const ping = await pingOf(path);
    expect(ping).toMatchObject({ kind, exitCode });
    expect(ping.target).toEqual({ pingKeyHash: hash(KEY), slug: 'backup-db', create: false });
  });

  test('create=1 asks for a job, nothing else does', async () => {
    expect((await pingOf(`/ping/${KEY}/new-job?create=1`)).target).toMatchObject({ create: true });
    expect((await pingOf(`/ping/${KEY}/new-job?create=0`)).target).toMatchObject({ create: false });
    expect((await pingOf(`/ping/${KEY}/new-job?create`)).target).toMatchObject({ create: false });
  });

  test('doubled slashes lead to the same place: a ping lost by a slash pages people', async () => {
    expect(await pingOf(`http://localhost//ping/${UUID}`)).toMatchObject({ target: { uuid: UUID } });
    expect(await pingOf(`/ping//${UUID}//0`)).toMatchObject({ target: { uuid: UUID }, exitCode: 0 });
  });

  test.each([
    ['/ping', 404, 'not found'],
    ['/ping/', 404, 'not found'],
    ['/ping/not-a-uuid', 404, 'not found'],
    [`/ping/${UUID}/-1`, 404, 'not found'],
    [`/ping/${UUID}/1e2`, 404, 'not found'],
    [`/ping/${UUID}/stop`, 404, 'not found'],
    [`/ping/${UUID}/start/now`, 404, 'not found'],
    [`/ping/${KEY}/start?create=1`, 404, 'not found'],
    [`/ping/${KEY}/12?create=1`, 404, 'not found'],
    [`/ping/${KEY}/Backup-DB?create=1`, 400, 'invalid url format'],
    [`/ping/${KEY}/${'x'.repeat(300)}?create=1`, 400, 'invalid url format'],
    [`/ping/${KEY}/a.b`, 400, 'invalid url format'],
    [`/ping/a%00b/backup`, 400, 'invalid url format'],
    [`/ping/${KEY}/back%00up`, 400, 'invalid url format'],
    [`/ping/${KEY}/back%zzup`, 400, 'malformed percent-encoding in the path'],
    [`/ping/%ff%fe/backup`, 400, 'malformed percent-encoding in the path'],
  ])('%s is %i %s and no ping', async (path, status, text) => {
    const target = testApp();
    expect(await answer(target, path)).toMatchObject({ status, text });
    expect(target.pings).toEqual([]);
  });

  test('pings are served below /ping only', async () => {
    expect((await answer(testApp(), `/${UUID}`)).status).toBe(404);
  });

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is 405 with the methods that would do', async (method) => {
    const target = testApp();
    const { status, headers } = await answer(target, `/ping/${UUID}`, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    expect(target.pings).toEqual([]);
  });
});

describe('parameters', () => {
  test('they are handed over as given, the + of an offset as the space it decodes to', async () => {
    const rid = UUID.toUpperCase();
    const ping = await pingOf(`/ping/${UUID}?rid=${rid}&occ=2026-10-25T02:30+02:00&at=1772330400&dur=1500&color=red`);
    expect(ping).toMatchObject({ rid: UUID, occ: '2026-10-25T02:30 02:00', at: '1772330400', dur: '1500', flaw: null });
    expect(await pingOf(`/ping/${UUID}?occ=2026-10-25T02%3A30%2B02%3A00`)).toMatchObject({
      occ: '2026-10-25T02:30+02:00',
    });
  });

  test('the occurrence may come as a header; the query has the last word', async () => {
    const headers = { 'Rollcall-Occurrence': '2026-03-01' };
    expect(await pingOf(`/ping/${UUID}`, { headers })).toMatchObject({ occ: '2026-03-01' });
    expect(await pingOf(`/ping/${UUID}?occ=2026-03-02`, { headers })).toMatchObject({ occ: '2026-03-02' });
  });

  test.each([
    [`/ping/${UUID}/256`, 'invalid url format', 256],
    [`/ping/${UUID}/99999999999999999999`, 'invalid url format', null],
    [`/ping/${UUID}/256?rid=nonsense`, 'invalid url format', 256],
    [`/ping/${UUID}?rid=nonsense`, 'invalid uuid format', null],
    [`/ping/${UUID}?rid=`, 'invalid uuid format', null],
    [`/ping/${UUID}?rid=%zz`, 'malformed percent-encoding in the query', null],
    [`/ping/${UUID}?occ=2026%00`, 'the occurrence key contains a NUL character', null],
  ])('%s is handed to ingest with its flaw, so that nothing is lost', async (path, message, exitCode) => {
    const ping = await pingOf(path);
    expect(ping).toMatchObject({ flaw: { status: 400, message }, exitCode, rid: null });
    expect(ping.occ ?? '').not.toContain('\0');
  });

  test.each(['anything=%ff', 'msg=50%', 'at=50%', 'dur=%'])(
    'an unreadable %s that Rollcall does not need loses no ping',
    async (query) => {
      expect(await pingOf(`/ping/${UUID}?${query}`)).toMatchObject({ flaw: null, kind: 'success' });
    },
  );

  test('a flawed ping is answered as ingest says: existence comes first', async () => {
    const unknown = testApp({ answer: () => ({ outcome: 'not_found' }) });
    expect(await answer(unknown, `/ping/${UUID}/256`)).toMatchObject({ status: 404, text: 'not found' });
    const known = testApp({
      answer: ({ flaw }) => ({ outcome: 'refused', status: 400, message: flaw?.message ?? '' }),
    });
    expect(await answer(known, `/ping/${UUID}/256`)).toMatchObject({ status: 400, text: 'invalid url format' });
  });

  test('the User-Agent is cut at 200 characters', async () => {
    const ping = await pingOf(`/ping/${UUID}`, { headers: { 'User-Agent': 'x'.repeat(500) } });
    expect(ping.userAgent).toBe('x'.repeat(200));
  });
});

describe('answers', () => {
  test('an accepted ping is 200 OK with the headers of Healthchecks and our two', async () => {
    const { status, text, headers } = await answer(testApp(), `/ping/${UUID}`);
    expect([status, text]).toEqual([200, 'OK']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'access-control-allow-origin': '*',
      'ping-body-limit': '100000',
      'rollcall-occurrence': '2026-03-01T02:00+01:00',
      'rollcall-match': 'current',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(headers.get('cache-control')).toContain('no-store');
  });

  test('a job made by its ping is 201 Created', async () => {
    const target = testApp({
      answer: () => ({ outcome: 'accepted', created: true, matchedBy: 'current', key: null }),
    });
    const { status, text, headers } = await answer(target, `/ping/${KEY}/new?create=1`);
    expect([status, text, headers.has('rollcall-occurrence')]).toEqual([201, 'Created', false]);
  });

  test('a key that names no occurrence is 422 with the words of ingest', async () => {
    const message = 'no occurrence at 2026-03-01; the nearest are …';
    const target = testApp({ answer: () => ({ outcome: 'refused', status: 422, message }) });
    const { status, text, headers } = await answer(target, `/ping/${UUID}?occ=2026-03-01`);
    expect([status, text, headers.get('rollcall-match')]).toEqual([422, message, 'unmatched']);
  });

  test('without a database it is 503, and curl --retry comes again', async () => {
    const target = testApp({ answer: () => new DatabaseUnavailable('gone') });
    const { status, text, headers } = await answer(target, `/ping/${UUID}`);
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(text).toContain('database is not available');
    expect(target.logged).toEqual([]);
  });

  test('a bug is 500, is logged, and its text is not shown', async () => {
    const target = testApp({ answer: () => new Error('secret detail') });
    const { status, text } = await answer(target, `/ping/${UUID}`);
    expect(status).toBe(500);
    expect(text).not.toContain('secret');
    expect(target.logged).toEqual(['a ping failed unexpectedly']);
  });

  test.each([{ Purpose: 'prefetch' }, { 'Sec-Purpose': 'prefetch;prerender' }])(
    '%o is answered and not counted',
    async (headers) => {
      const target = testApp();
      expect(await answer(target, `/ping/${UUID}`, { headers })).toMatchObject({ status: 200, text: 'OK' });
      expect(target.pings).toEqual([]);
    },
  );
});

describe('bodies without a socket', () => {
  test('any bytes are kept as they are', async () => {
    const body = new Uint8Array([0xff, 0xfe, 0x00, 0x41]);
    const ping = await pingOf(`/ping/${UUID}`, { method: 'POST', body });
    expect([...ping.body]).toEqual([...body]);
    expect(ping).toMatchObject({ bodyBytes: 4, truncated: false, method: 'POST' });
  });

  test('bytes are counted, whatever Content-Length says', async () => {
    const headers = { 'Content-Length': 'abc' };
    const ping = await pingOf(`/ping/${UUID}`, { method: 'POST', body: 'x'.repeat(100_001), headers });
    expect(ping.body).toHaveLength(100_000);
    expect(ping).toMatchObject({ bodyBytes: 100_001, truncated: true });
  });

  test('a stream that breaks off has sent what arrived', async () => {
    const parts = ['first half'];
    const body = new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.error(new Error('broken'));
        else controller.enqueue(new TextEncoder().encode(part));
      },
    });
    const ping = await pingOf(`/ping/${UUID}`, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(Buffer.from(ping.body).toString()).toBe('first half');
    expect(ping.truncated).toBe(true);
  });
});

describe('unknown ping keys', () => {
  const limited = (now: () => number, known: readonly string[] = []) =>
    testApp({
      answer: () => ({ outcome: 'not_found' }),
      pings: {
        isPingKey: async (hashed) => known.map(hash).includes(hashed),
        unknownKeys: createRateLimit({ burst: 3, perMinute: 6, monotonic: now }),
      },
    });

  test('are limited per address, and after a while answered again', async () => {
    let now = 0;
    const target = limited(() => now);
    for (let i = 0; i < 3; i++) expect((await answer(target, '/ping/wrong-key/job')).status).toBe(404);
    const { status, headers } = await answer(target, '/ping/wrong-key/job');
    expect([status, headers.get('retry-after')]).toEqual([429, '10']);
    now += 10_000;
    expect((await answer(target, '/ping/wrong-key/job')).status).toBe(404);
  });

  test('a known key is never limited, not even from an address that is, nor by its own unknown slugs', async () => {
    const target = limited(() => 0, [KEY]);
    for (let i = 0; i < 5; i++) expect((await answer(target, `/ping/${KEY}/typo`)).status).toBe(404);
    for (let i = 0; i < 3; i++) await answer(target, '/ping/wrong-key/job');
    expect((await answer(target, '/ping/wrong-key/job')).status).toBe(429);
    expect((await answer(target, `/ping/${KEY}/typo`)).status).toBe(404);
    expect((await answer(target, `/ping/${UUID}`)).status).toBe(404);
  });

  test('the limiter forgets the oldest address before it grows without end', () => {
    const limit = createRateLimit({ burst: 1, addresses: 2, monotonic: () => 0 });
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) limit.count(address);
    expect(limit.isExhausted('192.0.2.1')).toBe(false);
    expect(limit.isExhausted('192.0.2.3')).toBe(true);
    limit.count('2001:db8::1');
    expect(limit.isExhausted('2001:db8:0:0:ffff::2')).toBe(true);
  });
});
