import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../../src/web/app.ts';
import { KEY, layOutJob, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
  await layOutJob(t, 'nightly', { at: '2026-03-01T08:10:00Z', nextUnrecorded: '2026-03-01T09:00:00Z' });
});
afterAll(() => t.drop());

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic dGVzdDp0ZXN0',
  KEY,
  `Bearer ${KEY}x`,
  `Bearer ${KEY} ${KEY}`,
  'Bearer \u00ff\u00fe\u0080',
  `Bearer ${'a'.repeat(5000)}`,
  "Bearer ' or 1=1 --",
])('the header %j is no key: 401 and how to send one (SEC-013)', async (header) => {
  const response = await t.api.request('/jobs', header === undefined ? {} : { headers: { Authorization: header } });
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Rollcall"');
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toMatchObject({
    type: '/problems/unauthorized',
    status: 401,
    detail: expect.any(String),
  });
});

test('the scheme is read in any case', async () => {
  expect((await t.call('GET', '/jobs', undefined, { Authorization: `bearer ${KEY}` })).status).toBe(200);
});

test('a wrong method on a known path is 405 with what is possible; an unknown path is 404', async () => {
  for (const [method, path, allow] of [
    ['POST', '/jobs', 'GET, HEAD'],
    ['PATCH', '/jobs/nightly', 'GET, HEAD, PUT, DELETE'],
    ['GET', '/jobs/nightly/pause', 'POST'],
    ['OPTIONS', '/jobs/nightly/occurrences/2026-03-01', 'GET, HEAD, PATCH'],
    ['DELETE', '/openapi.json', 'GET, HEAD'],
  ] as const) {
    const { status, type, headers, json } = await t.call(method, path);
    expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow]);
    expect(type).toBe('application/problem+json');
    expect(json.detail).toContain(allow);
  }
  const unknown = await t.call('GET', '/job');
  expect([unknown.status, unknown.type]).toEqual([404, 'application/problem+json']);
});

test('HEAD answers as GET does, without a body', async () => {
  const { status, json } = await t.call('HEAD', '/jobs/nightly');
  expect([status, json]).toEqual([200, '']);
});

test.each([
  ['42', 'must be a JSON object'],
  ['[]', 'must be a JSON object'],
  ['null', 'must be a JSON object'],
  ['"x"', 'must be a JSON object'],
  ['{', 'not valid JSON'],
  ['{"a":1}}', 'not valid JSON'],
  ['{"zone": NaN}', 'not valid JSON'],
  ['', 'is required'],
  ['{"schedule":{"a":1}}', 'unknown field'],
])('the body %s is 400 and says why (SEC-013)', async (body, why) => {
  const { status, type, json } = await t.call('PUT', '/jobs/x', body);
  expect([status, type]).toEqual([400, 'application/problem+json']);
  expect(json.detail).toContain(why);
});

const problemOf = (response: Response) => response.json() as Promise<{ type: string; detail: string }>;

test('a body of another type, of broken UTF-8, or too large is refused', async () => {
  const put = (body: string | Uint8Array<ArrayBuffer>, type?: string): Promise<Response> =>
    Promise.resolve(
      t.api.request('/jobs/x', {
        method: 'PUT',
        body,
        headers: { Authorization: `Bearer ${KEY}`, ...(type === undefined ? {} : { 'Content-Type': type }) },
      }),
    );
  const form = await put('{"zone": "UTC"}', 'application/x-www-form-urlencoded');
  expect([form.status, (await problemOf(form)).detail]).toEqual([
    400,
    expect.stringContaining('Content-Type: application/json'),
  ]);
  const broken = await put(Uint8Array.from([0x7b, 0xff, 0x7d]), 'application/json');
  expect([broken.status, (await problemOf(broken)).detail]).toEqual([400, 'the body is not valid UTF-8']);
  const large = await put(JSON.stringify({ name: 'x'.repeat(1_000_000) }), 'application/json');
  expect([large.status, (await problemOf(large)).type]).toEqual([413, '/problems/too_large']);
  const deep = await put('['.repeat(100_000), 'application/json; charset=utf-8');
  expect(deep.status).toBe(400);
});

test('slugs and ids that cannot be are not found, whatever they contain', async () => {
  for (const slug of ['nobody', 'a%00b', '%ff', 'Nightly', '..%2f..', 'x'.repeat(3000), "'--", '%F0%9F%98%80']) {
    for (const [method, path] of [
      ['GET', `/jobs/${slug}`],
      ['DELETE', `/jobs/${slug}`],
      ['POST', `/jobs/${slug}/pause`],
      ['GET', `/jobs/${slug}/occurrences`],
      ['GET', `/jobs/${slug}/occurrences/2026-03-01`],
      ['GET', `/jobs/${slug}/pings`],
      ['GET', `/channels/${slug}`],
      ['DELETE', `/channels/${slug}`],
      ['POST', `/channels/${slug}/test`],
    ] as const) {
      const possible = /^[a-z0-9_-]{1,100}$/.test(slug);
      if (possible && method !== 'GET' && path.startsWith('/jobs')) continue;
      const { status, json } = await t.call(method, path);
      expect([path, status, typeof json.detail]).toEqual([path, 404, 'string']);
    }
  }
  for (const id of ['0', '99999999999999999999', 'x', '%00', '-1', '1.5']) {
    expect((await t.call('GET', `/incidents/${id}`)).status).toBe(404);
    expect((await t.call('GET', `/jobs/nightly/pings/${id}/body`)).status).toBe(404);
  }
  expect((await t.call('GET', '/jobs/nightly/occurrences/%00')).status).toBe(400);
});

test('mounted at /api/v1 it answers the same', async () => {
  const metrics = { ping: () => undefined, measure: () => (_c: unknown, next: () => Promise<void>) => next() };
  const app = createApp({
    pings: { log: { error: () => undefined } },
    api: t.api,
    readHealth: async () => ({ status: 'ok', checks: [] }),
    metrics: { ...metrics, page: () => t.api },
    log: { error: () => undefined },
  } as never);
  const headers = { Authorization: `Bearer ${KEY}` };
  const get = (path: string, method = 'GET'): Promise<Response> =>
    Promise.resolve(app.request(path, { method, headers }));
  expect((await get('/api/v1/jobs/nightly')).status).toBe(200);
  expect((await get('/api/v1/jobs/nightly/')).status).toBe(200);
  expect((await get('/api/v1/jobs/nightly/occurrences/2026-03-01T10:00%2B00:00')).status).toBe(200);
  const wrong = await get('/api/v1/jobs', 'PUT');
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect((await get('/api/v1/nothing')).status).toBe(404);
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
