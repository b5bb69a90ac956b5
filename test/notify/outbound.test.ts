import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkUrl, mayReach, postJson, readRetryAfter, readUrl } from '../../src/notify/outbound.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver } from '../support/receivers.ts';

const closed = channelContext({ outboundAllow: [] });
const open = channelContext();
const never = new AbortController().signal;

describe('SEC-002 where a channel may lead', () => {
  test.each([
    'https://169.254.169.254/latest/meta-data',
    'https://127.0.0.1:5432/',
    'https://[::1]/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://100.100.100.200/',
    'https://168.63.129.16/',
    'https://0.0.0.0/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::7f00:1]/',
    'https://[64:ff9b::a00:1]/',
    'https://[2002:a00:1::]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://[ff02::1]/',
    'https://[::]/',
  ])('%s is refused', (url) => {
    expect(readUrl(url, closed)).toMatchObject({ ok: false });
  });

  test.each([
    'http://example.org.invalid/',
    'ftp://example.org/',
    'https://user:password@example.org/',
    'https://example.org/#part',
    'https://example.org/a\nb',
    ' https://example.org/',
    'https://',
    'example.org',
    `https://example.org/${'a'.repeat(2000)}`,
  ])('%j is refused', async (url) => {
    expect(await checkUrl(url, open)).toMatchObject({ ok: false });
  });

  test('public addresses are fine, and private ones that the operator allows', () => {
    expect(mayReach('93.184.215.14', closed)).toBe(true);
    expect(mayReach('2606:4700::1111', closed)).toBe(true);
    expect(mayReach('10.1.2.3', channelContext({ outboundAllow: ['10.1.0.0/16'] }))).toBe(true);
    expect(mayReach('10.2.2.3', channelContext({ outboundAllow: ['10.1.0.0/16'] }))).toBe(false);
    expect(mayReach('::ffff:10.1.2.3', channelContext({ outboundAllow: ['10.1.0.0/16'] }))).toBe(true);
  });

  test('plain http only to an address in OUTBOUND_ALLOW', async () => {
    expect(await checkUrl('http://127.0.0.1/x', open)).toMatchObject({ ok: true });
    expect(readUrl('http://93.184.215.14/x', open)).toMatchObject({ ok: false });
  });

  test('a name that resolves to a private address is refused at save', async () => {
    expect(await checkUrl('https://localhost/x', closed)).toMatchObject({ ok: false });
  });

  test('a name that does not resolve now is taken for https: every attempt checks again', async () => {
    expect(await checkUrl('https://hooks.rollcall.invalid/x', closed)).toMatchObject({ ok: true });
  });
});

describe('posting', () => {
  let receiver: HttpReceiver;
  beforeAll(async () => {
    receiver = await createHttpReceiver();
  });
  afterAll(() => receiver.close());

  const post = (url: string, context = open, signal = never) =>
    postJson({ url, body: '{}', sentAt: 0 }, context, signal);

  test('a name that has come to mean a private address is refused at connect time, and nothing is sent', async () => {
    const before = receiver.requests.length;
    const url = receiver.url.replace('http://127.0.0.1', 'https://localhost');
    // A resolver that lies for an hour loses no alert.
    expect(await post(url, closed)).toMatchObject({
      failure: { outcome: 'retry', reason: expect.stringMatching(/private/) },
    });
    expect(receiver.requests).toHaveLength(before);
  });

  test('the checked address is the one connected to', async () => {
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    // ::1 is not allowed here: of the addresses of localhost only the allowed one may be dialled.
    expect(await post(url)).toMatchObject({ answer: { status: 200 } });
  });

  test('a redirect is not followed', async () => {
    receiver.reply({ status: 302, headers: { location: `${receiver.url}/inside` } });
    const before = receiver.requests.length;
    expect(await post(receiver.url)).toMatchObject({ answer: { status: 302 } });
    expect(receiver.requests).toHaveLength(before + 1);
  });

  test('a broken connection may have delivered, a refused one has not', async () => {
    receiver.reply('reset');
    expect(await post(receiver.url)).toMatchObject({ failure: { outcome: 'retry', uncertain: true } });
    const gone = await createHttpReceiver();
    await gone.close();
    expect(await post(gone.url)).toMatchObject({ failure: { outcome: 'retry', uncertain: false } });
  });

  test('a failed handshake has delivered nothing: more may join the message', async () => {
    const url = receiver.url.replace('http:', 'https:');
    const before = receiver.requests.length;
    expect(await post(url)).toMatchObject({
      failure: { outcome: 'retry', reason: expect.stringContaining('SSL'), uncertain: false },
    });
    expect(receiver.requests).toHaveLength(before);
  });

  test('an address that is not allowed any more keeps what waits, until the operator allows it again', async () => {
    expect(await post(receiver.url, closed)).toMatchObject({ failure: { outcome: 'retry' } });
  });

  test('an answer that does not come is given up', async () => {
    receiver.reply('hang');
    const giveUp = new AbortController();
    const before = receiver.requests.length;
    const posting = post(receiver.url, open, giveUp.signal);
    await receiver.arrived(before + 1);
    giveUp.abort();
    expect(await posting).toMatchObject({ failure: { outcome: 'retry', uncertain: true } });
    receiver.release();
  });

  test('a huge answer is read to 4 kB only', async () => {
    receiver.reply({ status: 400, body: 'x'.repeat(1_000_000) });
    const reply = await post(receiver.url);
    expect('answer' in reply && reply.answer.text.length).toBe(4096);
  });
});

describe('Retry-After (RFC 9110, 10.2.3)', () => {
  const sentAt = Date.parse('2026-03-01T00:00:00Z');
  test.each([
    ['30', undefined, 30_000],
    ['0', undefined, 0],
    ['Sun, 01 Mar 2026 00:02:00 GMT', undefined, 120_000],
    ['Sun, 01 Mar 2026 00:02:00 GMT', 'Sun, 01 Mar 2026 00:01:00 GMT', 60_000],
    ['Sat, 28 Feb 2026 00:00:00 GMT', undefined, 0],
    ['soon', undefined, null],
    ['-5', undefined, null],
    ['1.5', undefined, null],
    [undefined, undefined, null],
  ])('%j with Date %j is %j ms', (value, date, expected) => {
    expect(readRetryAfter(value, date, sentAt)).toBe(expected);
  });
});
