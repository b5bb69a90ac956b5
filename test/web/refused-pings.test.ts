import { expect, test } from 'vitest';
import type { PingAnswer } from '../../src/engine/ingest.ts';
import { createRateLimit } from '../../src/web/rate-limit.ts';
import { createRefusedPings } from '../../src/web/refused-pings.ts';
import { KEY, ON_TIME, testApp, UUID } from './harness.ts';

const NOT_FOUND: PingAnswer = { outcome: 'not_found' };
/** Everything from one proxy, which names the clients. */
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

test('a ping with an unknown key or slug is noted once a minute for each address and slug, without its key', async () => {
  let now = 0;
  const monotonic = () => now;
  const { app, noted } = testApp({
    answer: () => NOT_FOUND,
    pings: {
      monotonic,
      clientAddress: (_peer, forwardedFor) => forwardedFor ?? null,
      unknownKeys: createRateLimit({ burst: 1, monotonic }),
      isPingKey: async () => false,
    },
  });
  const ping = (slug: string, address: string) => app.request(`/ping/${KEY}/${slug}`, from(address));
  await ping('typo', '192.0.2.1');
  now = 59_999;
  await ping('typo', '192.0.2.1');
  await ping('typo', '192.0.2.2');
  await ping('other', '192.0.2.2');
  now = 60_000;
  await ping('typo', '192.0.2.1');
  await app.request(`/ping/${UUID}`, from('192.0.2.3'));
  await ping(UUID, '192.0.2.3');
  expect(noted).toEqual([
    { slug: 'typo', source: '192.0.2.1', status: 404 },
    { slug: 'typo', source: '192.0.2.2', status: 404 },
    { slug: 'other', source: '192.0.2.2', status: 429 },
    { slug: 'typo', source: '192.0.2.1', status: 429 },
    { slug: null, source: '192.0.2.3', status: 404 },
    { slug: '…', source: '192.0.2.3', status: 404 },
  ]);
  expect(JSON.stringify(noted)).not.toContain(KEY);
});

test('a good ping and one that is no ping at all are not noted', async () => {
  const { app, noted } = testApp({ answer: () => ON_TIME });
  for (const path of [`/ping/${KEY}/job`, `/ping/${KEY}`, `/ping/${KEY}/BAD`]) await app.request(path);
  expect(noted).toEqual([]);
});

test('whoever tries one slug after another writes no more than a hundred lines a minute', () => {
  let now = 0;
  const lines: string[] = [];
  const note = createRefusedPings({ info: (_fields, message) => void lines.push(message) }, () => now);
  for (let i = 0; i < 5000; i++) {
    now += 1;
    note({ slug: `job-${i}`, source: '192.0.2.1', status: 404 });
  }
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toContain('than are noted');
});
