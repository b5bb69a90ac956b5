import { expect, test } from 'vitest';
import { createClientAddress, normaliseAddress } from '../../src/web/client-address.ts';
import { testApp, UUID } from './harness.ts';

const behindProxy = createClientAddress(['10.0.0.0/8', '2001:db8:1::/48', '192.0.2.1']);

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:51234', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['[2001:db8::7]:443', '2001:db8::7'],
  ['2001:0DB8:0:0:0:0:0:7', '2001:db8::7'],
  ['fe80::1%eth0', 'fe80::1'],
  ['"203.0.113.7"', '203.0.113.7'],
  ['unknown', null],
  ['', null],
  ['0x7f.1', null],
  ['203.0.113', null],
  ['203.0.113.7; drop table', null],
])('%s is read as %s', (text, address) => {
  expect(normaliseAddress(text)).toBe(address);
});

test('a peer that is no trusted proxy is the client, whatever it claims', () => {
  expect(behindProxy('203.0.113.7', '198.51.100.1')).toBe('203.0.113.7');
});

test('behind trusted proxies the right-most entry that is not one of them is the client', () => {
  expect(behindProxy('10.0.0.1', '198.51.100.66, 203.0.113.7, 10.1.2.3')).toBe('203.0.113.7');
  expect(behindProxy('::ffff:10.0.0.1', '203.0.113.7:51234')).toBe('203.0.113.7');
  expect(behindProxy('2001:db8:1::5', '203.0.113.9')).toBe('203.0.113.9');
  expect(behindProxy('192.0.2.1', '203.0.113.9')).toBe('203.0.113.9');
});

test('without such an entry the peer is the client, and an unreadable one is nobody', () => {
  expect(behindProxy('10.0.0.1', undefined)).toBe('10.0.0.1');
  expect(behindProxy('10.0.0.1', '')).toBe('10.0.0.1');
  expect(behindProxy('10.0.0.1', '10.0.0.2')).toBe('10.0.0.1');
  expect(behindProxy('10.0.0.1', '203.0.113.7, unknown')).toBeNull();
  expect(behindProxy(undefined, '203.0.113.7')).toBeNull();
});

test.each(['203.0.113.7:51234', 'unknown', '', ',,,'])('X-Forwarded-For %j never costs the ping', async (entry) => {
  const { app, pings } = testApp();
  const response = await app.request(`/ping/${UUID}`, { headers: { 'X-Forwarded-For': entry } });
  expect(response.status).toBe(200);
  expect(pings).toHaveLength(1);
});
