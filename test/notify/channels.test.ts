import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { channelKinds, redact, sendTest } from '../../src/notify/registry.ts';
import {
  type ChannelRow,
  deleteChannel,
  getChannel,
  listChannels,
  type NewChannel,
  operatorChannels,
  recordAttempt,
  upsertChannel,
} from '../../src/store/channels.ts';
import type { Tx } from '../../src/store/database.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver } from '../support/receivers.ts';

const clock = manualClock('2026-03-01T00:00:00Z');
let db: TestDatabase;
let receiver: HttpReceiver;
let projectId: number;

beforeAll(async () => {
  db = await createTestDatabase({ now: clock.now });
  receiver = await createHttpReceiver();
});
afterAll(async () => {
  await receiver.close();
  await db.drop();
});
beforeEach(async () => {
  await run((tx) => tx.sql`truncate projects cascade`);
  const [project] = await run(
    (tx) =>
      tx.sql<{ id: number }[]>`insert into projects (slug, name, created_at) values ('p', 'p', ${tx.now}) returning id`,
  );
  projectId = project?.id ?? 0;
});

const run = <T>(work: (tx: Tx) => PromiseLike<T>): Promise<T> => db.database.transaction(async (tx) => work(tx));
const put = (slug: string, changes: Partial<NewChannel> = {}) =>
  run((tx) =>
    upsertChannel(tx, {
      projectId,
      slug,
      kind: 'slack',
      settings: { url: receiver.url },
      operator: undefined,
      ...changes,
    }),
  );
const get = (slug: string): Promise<ChannelRow | null> => run((tx) => getChannel(tx, projectId, slug));
const fail = (to: ChannelRow) =>
  run((tx) =>
    recordAttempt(tx, {
      to,
      messageId: 'msg_1',
      rows: 1,
      delivery: { outcome: 'rejected', reason: 'HTTP 410', permanent: true },
    }),
  );

test('a channel is created once and then replaced, and the first of a project is the operator one', async () => {
  expect(await put('ops')).toMatchObject({ created: true, channel: { slug: 'ops', operator: true, deadSince: null } });
  expect(await put('team')).toMatchObject({ created: true, channel: { operator: false } });
  expect(await put('team', { operator: true })).toMatchObject({ created: false, channel: { operator: true } });
  expect(await put('ops')).toMatchObject({ created: false, channel: { operator: false } });
  expect((await run((tx) => listChannels(tx, projectId))).map(({ slug }) => slug)).toEqual(['ops', 'team']);
  expect(await run((tx) => listChannels(tx, projectId, { after: 'ops', limit: 1 }))).toMatchObject([{ slug: 'team' }]);
  expect(await run((tx) => operatorChannels(tx, null))).toHaveLength(1);
});

test('a channel is deleted once, and never that of another project', async () => {
  await put('ops');
  expect(await run((tx) => deleteChannel(tx, projectId + 1, 'ops'))).toBe(false);
  expect(await run((tx) => deleteChannel(tx, projectId, 'ops'))).toBe(true);
  expect(await run((tx) => deleteChannel(tx, projectId, 'ops'))).toBe(false);
  expect(await get('ops')).toBeNull();
});

test('a dead channel stays dead when it is saved unchanged, and lives again with new settings', async () => {
  const { channel } = await put('ops');
  await fail(channel);
  expect(await put('ops')).toMatchObject({ channel: { deadSince: clock.now(), lastFailure: 'HTTP 410' } });
  expect(await put('ops', { settings: { url: `${receiver.url}/new` } })).toMatchObject({
    channel: { deadSince: null, lastFailure: null },
  });
  expect(await get('ops')).toMatchObject({ deadSince: null, lastFailure: null });
});

test('a test message says how it went, is kept as an attempt, and revives a dead channel', async () => {
  const { channel } = await put('ops');
  await fail(channel);
  const deps = {
    database: db.database,
    context: channelContext(),
    report: (error: unknown) => expect.fail(String(error)),
  };
  receiver.reply({ status: 404, body: 'no_service' });
  expect(await sendTest(channel, deps)).toMatchObject({ outcome: 'rejected', reason: 'HTTP 404 no_service' });
  expect(await get('ops')).toMatchObject({ deadSince: clock.now(), lastFailure: 'HTTP 404 no_service' });
  expect(await sendTest(channel, deps)).toEqual({ outcome: 'delivered' });
  expect(receiver.requests.at(-1)?.body).toContain('This is a test of channel ops');
  expect(await get('ops')).toMatchObject({ deadSince: null, lastFailure: null });
  const outcomes = await run((tx) => tx.sql<{ outcome: string }[]>`select outcome from attempts order by id`);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['rejected', 'rejected', 'delivered']);
});

test('a bug in a kind is reported and becomes a retry, not a crash', async () => {
  const { channel } = await put('ops', { kind: 'webhook', settings: { url: receiver.url, secret: 'whsec_***' } });
  const bugs: unknown[] = [];
  const deps = { database: db.database, context: channelContext(), report: (error: unknown) => bugs.push(error) };
  expect(await sendTest(channel, deps)).toMatchObject({ outcome: 'retry', reason: 'internal error while sending' });
  expect(bugs).toHaveLength(1);
});

test('what is read back names the host and hides the rest', () => {
  const url = 'https://hooks.slack.com/services/T0/B0/secret?token=1';
  expect(redact({ kind: 'slack', settings: { url } })).toEqual({ url: 'https://hooks.slack.com/…' });
  expect(redact({ kind: 'webhook', settings: { url, secret: 'whsec_x' } })).toEqual({
    url: 'https://hooks.slack.com/…',
  });
  expect(redact({ kind: 'email', settings: { to: 'ops@example.org' } })).toEqual({ to: 'ops@example.org' });
  expect(redact({ kind: 'gone', settings: { url } })).toEqual({});
  const base = { server: 'https://events.eu.pagerduty.com' };
  expect(redact({ kind: 'pagerduty', settings: { routing_key: 'x', ...base } })).toEqual(base);
  expect(redact({ kind: 'pagerduty', settings: { routing_key: 'x' } })).toEqual({
    server: 'https://events.pagerduty.com',
  });
  expect(redact({ kind: 'slack_bot', settings: { token: 'xoxb-1', channel: 'C1' } })).toEqual({
    channel: 'C1',
    server: 'https://slack.com',
  });
  expect(redact({ kind: 'telegram', settings: { token: '1:x', chat_id: '-1' } })).toEqual({
    chat_id: '-1',
    server: 'https://api.telegram.org',
  });
  expect(redact({ kind: 'ntfy', settings: { topic: 'x', token: 'tk_1' } })).toEqual({ server: 'https://ntfy.sh' });
  expect(redact({ kind: 'apprise', settings: { server: 'http://apprise', urls: 'json://x', tag: 'ops' } })).toEqual({
    server: 'http://apprise',
    tag: 'ops',
  });
  for (const kind of ['discord', 'teams'])
    expect(redact({ kind, settings: { url } })).toEqual({ url: 'https://hooks.slack.com/…' });
  expect(channelKinds.size).toBe(10);
});
