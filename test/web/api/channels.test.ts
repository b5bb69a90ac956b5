import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type TestApi } from './api.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let t: TestApi;
let server: Server;
let url: string;
const received: string[] = [];
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      received.push(body);
      response.writeHead(request.url === '/gone' ? 410 : 200).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await t.drop();
});

test('a channel is created, read back without its secrets, replaced, listed and deleted', async () => {
  const body = { kind: 'webhook', url: `${url}/hook?token=s3cret`, secret: SECRET };
  const created = await t.call('PUT', '/channels/ops', body);
  expect(created.status, JSON.stringify(created.json)).toBe(201);
  expect(created.json).toMatchObject({ slug: 'ops', kind: 'webhook', operator: true, dead_since: null });
  const read = await t.call('GET', '/channels/ops');
  expect(read.json).toEqual(created.json);
  expect(JSON.stringify(read.json)).not.toMatch(/s3cret|whsec/);
  expect((await t.call('PUT', '/channels/ops', { ...body, operator: false })).status).toBe(200);
  await t.call('PUT', '/channels/mail', body);
  const first = await t.call('GET', '/channels?limit=1');
  expect(first.json.channels.map(({ slug }: { slug: string }) => slug)).toEqual(['mail']);
  const second = await t.call('GET', `/channels?limit=1&cursor=${first.json.next_cursor}`);
  expect(second.json).toMatchObject({ channels: [{ slug: 'ops', operator: false }], next_cursor: null });
  expect((await t.call('DELETE', '/channels/mail')).status).toBe(204);
  expect((await t.call('DELETE', '/channels/mail')).status).toBe(404);
  expect((await t.call('GET', '/channels/mail')).status).toBe(404);
});

test('a test message is sent at once, and its fate is told', async () => {
  await t.call('PUT', '/channels/well', { kind: 'webhook', url, secret: SECRET });
  expect((await t.call('POST', '/channels/well/test')).json).toEqual({ outcome: 'delivered', reason: null });
  expect(received.at(-1)).toContain('test of channel well');
  await t.call('PUT', '/channels/gone', { kind: 'webhook', url: `${url}/gone`, secret: SECRET });
  // A status that `curl -f` takes for a failure, and words that nobody reads as a success.
  expect(await t.call('POST', '/channels/gone/test')).toMatchObject({
    status: 424,
    type: 'application/problem+json',
    json: {
      type: '/problems/not_delivered',
      title: 'Not delivered',
      detail: 'the test message to gone was not delivered: HTTP 410',
      outcome: 'rejected',
      reason: 'HTTP 410',
    },
  });
});

test.each([
  [{}, ['kind']],
  [{ kind: 'pigeon' }, ['kind']],
  [{ kind: 'slack' }, ['url']],
  [{ kind: 'slack', url: 'http://169.254.169.254/' }, ['url']],
  [{ kind: 'webhook', url: 'http://10.0.0.1/', secret: 'short' }, ['url', 'secret']],
  [{ kind: 'email', to: 'a@example.org, b@example.org' }, ['to']],
  [{ kind: 'email', to: 'ops@example.org\r\nRCPT TO:<evil@example.org>' }, ['to']],
  [{ kind: 'email', to: 'a@example.org', remind_every: 'often', cc: 'x' }, ['cc', 'remind_every']],
  [{ kind: 'email', to: ['a@example.org'], operator: 'yes' }, ['operator', 'to']],
])('%j is refused (SEC-002, SEC-005)', async (body, paths) => {
  const { status, json } = await t.call('PUT', '/channels/x', body);
  expect(status).toBe(400);
  expect(json.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
  expect((await t.call('PUT', '/channels/NOT%20A%20SLUG', body)).json.errors[0].path).toBe('slug');
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
