import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import {
  type Answer,
  checkUrl,
  jsonOf,
  judgeStatus,
  mayReach,
  postJson,
  readRetryAfter,
  readUrl,
  waitingAtLeast,
} from '../../src/notify/outbound.ts';
import { channelContext } from '../support/messages.ts';

const allowing = (...outboundAllow: readonly string[]) => channelContext({ outboundAllow });
const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const answered = (status: number, retryAfterMs: number | null = null, text = ''): Answer => ({
  status,
  retryAfterMs,
  text,
});

test('a URL is taken by its protocol, its length and its bare host, before any name is asked for', () => {
  const name = allowing(...LOOPBACK);
  expect(readUrl('ftp://example.org/', name).ok).toBe(false);
  expect(readUrl('https://user@example.org/', name).ok).toBe(false);
  expect(readUrl('https://:password@example.org/', name).ok).toBe(false);
  const long = `https://example.org/${'a'.repeat(1980)}`;
  expect([readUrl(long, name).ok, readUrl(`${long}a`, name).ok]).toEqual([true, false]);
});

test('what is listed for one kind of address says nothing of the other', () => {
  expect(mayReach('::1', allowing('127.0.0.0/8'))).toBe(false);
  expect(mayReach('127.0.0.1', allowing('::1/128'))).toBe(false);
  expect(mayReach('::1', allowing('127.0.0.0/8', '::1'))).toBe(true);
  expect(mayReach('not an address', allowing('127.0.0.0/8'))).toBe(false);
  expect(readUrl('https://1.1.1.1/', allowing()).ok).toBe(true);
  expect(readUrl('http://1.1.1.1/', allowing()).ok).toBe(false);
});

test('a name is taken by what it resolves to: plain http only where all of that is listed', async () => {
  expect((await checkUrl('https://localhost/', allowing())).ok).toBe(false);
  expect((await checkUrl('https://localhost/', allowing(...LOOPBACK))).ok).toBe(true);
  expect((await checkUrl('http://localhost/', allowing(...LOOPBACK))).ok).toBe(true);
  expect((await checkUrl('http://localhost/', allowing('10.0.0.0/8'))).ok).toBe(false);
});

test('a status is judged to its bounds', () => {
  const outcome = (status: number) => judgeStatus(answered(status)).outcome;
  expect([199, 200, 299, 300, 399, 400, 499].map(outcome)).toEqual([
    'rejected',
    'delivered',
    'delivered',
    'rejected',
    'rejected',
    'rejected',
    'rejected',
  ]);
  expect([408, 425, 429, 500, 502, 503, 504].map(outcome)).toEqual(Array(7).fill('retry'));
  expect(judgeStatus(answered(300))).toMatchObject({ reason: expect.stringContaining('redirects are not followed') });
  expect(judgeStatus(answered(400))).toMatchObject({ reason: 'HTTP 400' });
  expect(judgeStatus(answered(199))).toMatchObject({ reason: 'HTTP 199' });
});

test('a gateway may have delivered; who says how long to wait is heard', () => {
  expect([500, 502, 503, 504].map((status) => judgeStatus(answered(status)))).toMatchObject([
    { uncertain: false },
    { uncertain: true },
    { uncertain: false },
    { uncertain: true },
  ]);
  expect(judgeStatus(answered(503, 0))).toMatchObject({ outcome: 'retry', retryAfterMs: 0 });
  expect(judgeStatus(answered(503))).not.toHaveProperty('retryAfterMs');
});

test('Retry-After is read with blanks and in every form of a date, else not at all', () => {
  const noon = Date.parse('2026-03-01T12:00:00Z');
  expect(readRetryAfter(' 7 ', undefined, noon)).toBe(7000);
  expect(readRetryAfter('Sunday, 01-Mar-26 12:00:09 GMT', undefined, noon)).toBe(9000);
  expect(readRetryAfter('Sun Mar  1 12:00:09 2026 GMT', undefined, noon)).toBe(9000);
  expect(readRetryAfter('soon: Sun, 01 Mar 2026 12:00:09 GMT', undefined, noon)).toBeNull();
  expect(readRetryAfter('Sun, 99 Mar 2026 12:00:09 GMT', undefined, noon)).toBeNull();
  expect(readRetryAfter('Sun, 01 Mar 2026 12:00:09 GMT', 'never', noon)).toBe(9000);
});

test('an answer is JSON only where it is an object', () => {
  for (const text of ['[1]', 'null', '"ok"', '7', 'true', '{']) expect(jsonOf(answered(200, null, text))).toEqual({});
  expect(jsonOf(answered(200, null, '{"ok":false}'))).toEqual({ ok: false });
});

test('seconds to wait count only as a number that is none below zero, and the longer time wins', () => {
  for (const seconds of ['5', null, -1, Number.NaN])
    expect(waitingAtLeast(answered(429), seconds).retryAfterMs).toBeNull();
  expect(waitingAtLeast(answered(429), 0).retryAfterMs).toBe(0);
  expect(waitingAtLeast(answered(429, 2000), 1.2345).retryAfterMs).toBe(2000);
  expect(waitingAtLeast(answered(429, 1000), 1.2345).retryAfterMs).toBe(1235);
});

test('an answer without an end is left when enough of it is read', async () => {
  const server = createServer((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(1000)));
    };
    response.on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const posted = await postJson({ url, body: '{}', sentAt: 0 }, allowing('127.0.0.0/8'), AbortSignal.timeout(10_000));
  server.closeAllConnections();
  server.close();
  expect(posted).toMatchObject({ answer: { status: 200, text: 'x'.repeat(4096) } });
});
