import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request, retryAfterMs } from '../../src/exec/http.ts';

let server: Server;
let url = '';
let written = 0;
beforeAll(async () => {
  server = createServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      written += 65_536;
      if (!answer.destroyed) answer.write(Buffer.alloc(65_536, 32), () => setImmediate(more));
    };
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('an answer that does not end is read to a limit, and then hung up on', async () => {
  const began = performance.now();
  const answer = await request({ method: 'GET', url, headers: {} });
  expect(answer).toMatchObject({ kind: 'answer', status: 200, json: null });
  expect(performance.now() - began).toBeLessThan(5000);
  expect(written).toBeLessThan(32 * 1024 * 1024);
});

test('an answer that does not come is waited for as long as was said', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const asked = { method: 'GET', url: `http://127.0.0.1:${port}`, headers: {}, timeoutMs: 50 } as const;
  expect(await request(asked)).toEqual({ kind: 'away', reason: 'no answer within 0.05 s' });
  silent.closeAllConnections();
  silent.close();
});

test.each([
  ['5', 5000],
  ['2592000', 2_592_000_000],
  ['', null],
  ['-1', null],
  ['Wed, 21 Oct 2026 07:28:00 GMT', null],
])('Retry-After: %j', (text, ms) => {
  expect(retryAfterMs(new Headers(text === '' ? {} : { 'retry-after': text }))).toBe(ms);
});
