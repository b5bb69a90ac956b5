import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDispatcher } from '../../src/notify/dispatcher.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver } from '../support/receivers.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
let pager: HttpReceiver;
let chat: HttpReceiver;
let tickAt: (at: string) => Promise<number>;
beforeEach(async () => {
  t = await startApi('2026-03-01T10:30:00Z');
  [pager, chat] = [await createHttpReceiver(), await createHttpReceiver()];
  pager.always({ status: 202 });
  await t.call('PUT', '/channels/pager', { kind: 'pagerduty', routing_key: 'k'.repeat(32), server: pager.url });
  await t.call('PUT', '/channels/chat', { kind: 'slack', url: chat.url });
  const schedules = [{ cron: '0 * * * *' }];
  await t.call('PUT', '/jobs/backup', { schedules, zone: 'UTC', missed_runs: 'catch_up' });
  const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void t.logged.push(fields) };
  const dispatcher = createDispatcher({ database: t.database, context: channelContext(), log });
  tickAt = async (at) => {
    await t.at(`2026-03-01T${at}Z`);
    await t.tick();
    return dispatcher.tick();
  };
  await tickAt('11:05:00');
  expect(await tickAt('11:05:05')).toBe(2);
});
afterEach(async () => {
  expect(t.logged).toEqual([]);
  for (const one of [pager, chat]) await one.close();
  await t.drop();
});

/** `trigger missing`, as PagerDuty was told. */
const alerts = (): readonly string[] =>
  pager.requests.map(({ body }) => {
    const { event_action: action, dedup_key: key } = JSON.parse(body);
    return `${action} ${key.split('/')[2]}`;
  });

test('a problem that moves on to another kind leaves no alert behind that nobody closes', async () => {
  await t.ping('backup', 'fail');
  for (const at of ['11:06:00', '11:06:05', '11:06:10']) await tickAt(at);
  expect([...alerts()].sort()).toEqual(['resolve missing', 'trigger failed', 'trigger missing']);
  // People are told once, of what it has become.
  expect(chat.requests).toHaveLength(2);
  const { json } = await t.call('GET', '/incidents/1/notifications');
  expect(json.notifications.slice(2)).toMatchObject([
    { channel: 'pager', type: 'incident.resolved', state: 'delivered' },
    { channel: 'chat', type: 'incident.resolved', state: 'withheld', reason: expect.stringContaining('silently') },
  ]);
});

test('nor does a pause', async () => {
  await t.call('POST', '/jobs/backup/pause');
  for (const at of ['11:06:00', '11:06:05']) await tickAt(at);
  expect(alerts()).toEqual(['trigger missing', 'resolve missing']);
  expect(chat.requests).toHaveLength(1);
});
