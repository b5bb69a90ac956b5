import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { secondPass } from '../support/messages.ts';
import { resolved, testOutbox } from '../support/outbox.ts';
import { createHttpReceiver, type HttpReceiver } from '../support/receivers.ts';
import { appriseApi, pagerDutyApi, slackApi } from './services.ts';

const outbox = testOutbox();
let receiver: HttpReceiver;
beforeEach(async () => {
  receiver = await createHttpReceiver();
});
afterEach(() => receiver.close());

// biome-ignore lint/suspicious/noExplicitAny: JSON of requests
const sent = (): any[] => receiver.requests.map(({ body }) => JSON.parse(body));

describe('Slack bot: replies are threaded per incident', () => {
  const token = 'xoxb-0123456789';
  let slack: ReturnType<typeof slackApi>;
  const begin = async () => {
    slack = slackApi(token);
    receiver.always((request) => slack.judge(request));
    return { channelId: await outbox.channel('slack', 'slack_bot', { token, channel: 'C1', server: receiver.url }) };
  };
  const incidents = async (count: number): Promise<readonly number[]> => {
    const all: number[] = [];
    for (let i = 0; i < count; i++) all.push(await outbox.incident(await outbox.job(`job-${i}`)));
    return all;
  };

  test('two problems that end at once end each in its own thread, quietly', async () => {
    const channel = await begin();
    const [a = 0, b = 0] = await incidents(2);
    await outbox.tell([channel], a);
    await outbox.tickAfter(5);
    await outbox.tell([channel], b);
    await outbox.tickAfter(5);
    for (const one of [a, b]) await outbox.tell([channel], one, { event: 2, ...resolved });
    expect([await outbox.tickAfter(5), await outbox.tickAfter(1)]).toEqual([1, 1]);
    expect([...slack.threads.values()].map((replies) => replies.length)).toEqual([1, 1]);
    expect(sent().map((message) => 'reply_broadcast' in message)).toEqual([false, false, false, false]);
  });

  test('what was told in one message ends in one thread, by one reply', async () => {
    const channel = await begin();
    const all = await incidents(3);
    for (const one of all) await outbox.tell([channel], one);
    await outbox.tickAfter(5);
    for (const one of all) await outbox.tell([channel], one, { event: 2, ...resolved });
    await outbox.tickAfter(5);
    expect([...slack.threads.values()].map((replies) => replies.length)).toEqual([1]);
  });

  test('a new problem is not a reply to an old one, and one that grows is shown in the channel too', async () => {
    const channel = await begin();
    const [a = 0, b = 0] = await incidents(2);
    await outbox.tell([channel], a);
    await outbox.tickAfter(5);
    await outbox.tell([channel], a, { event: 2, type: 'incident.reminded' });
    await outbox.tell([channel], b);
    await outbox.tickAfter(5);
    await outbox.tickAfter(1);
    expect([...slack.threads.values()].map((replies) => replies.length)).toEqual([1, 0]);
    expect(sent()[1]).toMatchObject({ reply_broadcast: true });
    expect(sent()[2]).not.toHaveProperty('thread_ts');
  });

  test('many that end at once are one message about all, not a storm of replies', async () => {
    const channel = await begin();
    const all = await incidents(6);
    for (const one of all) {
      await outbox.tell([channel], one);
      await outbox.tickAfter(5);
    }
    for (const one of all) await outbox.tell([channel], one, { event: 2, ...resolved });
    expect([await outbox.tickAfter(5), await outbox.tickAfter(5)]).toEqual([1, 0]);
    expect(sent().at(-1)).not.toHaveProperty('thread_ts');
    expect(sent().at(-1).text).toContain('6 recovered');
  });

  test('a thread that is gone silences nothing', async () => {
    const channel = await begin();
    const [a = 0] = await incidents(1);
    await outbox.tell([channel], a);
    await outbox.tickAfter(5);
    slack.threads.clear();
    await outbox.tell([channel], a, { event: 2, ...resolved });
    expect(await outbox.tickAfter(5)).toBe(1);
    expect(sent().map(({ thread_ts: thread }) => thread !== undefined)).toEqual([false, true, false]);
  });

  test('with another channel in its settings, nothing is a reply to what stands in the old one', async () => {
    const channel = await begin();
    const [a = 0] = await incidents(1);
    await outbox.tell([channel], a);
    await outbox.tickAfter(5);
    const settings = JSON.stringify({ token, channel: 'C2', server: receiver.url });
    await outbox.run((tx) => tx.sql`update channels set settings = ${settings}::jsonb where id = ${channel.channelId}`);
    await outbox.tell([channel], a, { event: 2, ...resolved });
    await outbox.tickAfter(5);
    expect(sent().at(-1)).toMatchObject({ channel: 'C2' });
    expect(sent().at(-1)).not.toHaveProperty('thread_ts');
  });
});

describe('PagerDuty: an alert for each incident', () => {
  const key = 'k'.repeat(32);
  let pager: ReturnType<typeof pagerDutyApi>;
  const begin = async () => {
    pager = pagerDutyApi(key);
    receiver.always((request) => pager.judge(request));
    const settings = { routing_key: key, server: receiver.url };
    return { channelId: await outbox.channel('pager', 'pagerduty', settings) };
  };

  test('what opened an alert resolves it, and nothing else', async () => {
    const channel = await begin();
    const jobId = await outbox.job('job');
    const [a, b] = [await outbox.incident(jobId), await outbox.incident(jobId, 'failed')];
    await outbox.tell([channel], a);
    await outbox.tell([channel], b, { kind: 'failed' });
    expect([await outbox.tickAfter(5), await outbox.tickAfter(0.5), await outbox.tickAfter(0.5)]).toEqual([1, 0, 1]);
    expect(pager.open.size).toBe(2);
    await outbox.tell([channel], a, { event: 2, ...resolved });
    await outbox.tickAfter(5);
    expect([...pager.open.values()]).toEqual(['Nightly billing failed: due 2026-10-25 02:30 +01:00']);
    expect(new Set(pager.seen.map((one) => one.split(' ')[1])).size).toBe(2);
  });

  test('a reminder adds to the alert that is open', async () => {
    const channel = await begin();
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    await outbox.tickAfter(5);
    const occurrences = [{ ...secondPass, key: '2026-10-26T02:30+01:00', scheduledFor: secondPass.scheduledFor + 1 }];
    await outbox.tell([channel], incidentId, { event: 2, type: 'incident.reminded', occurrences });
    await outbox.tickAfter(5);
    expect([...pager.open.values()]).toEqual([expect.stringContaining('missed another run: due 2026-10-26')]);
  });

  test('a problem that was over before PagerDuty took it wakes nobody, and leaves no alert behind', async () => {
    const channel = await begin();
    receiver.reply('reset', { status: 500 });
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    await outbox.tickAfter(5);
    await outbox.tickAfter(5);
    await outbox.tell([channel], incidentId, { event: 2, ...resolved });
    await outbox.tickAfter(10);
    expect(pager.seen).toEqual([expect.stringMatching(/^resolve /)]);
    expect(await outbox.statesOf(channel)).toEqual(['delivered', 'delivered']);
  });

  test('a storm goes out one event a second, and is slowed down when PagerDuty says so', async () => {
    const channel = await begin();
    for (let i = 0; i < 5; i++) await outbox.tell([channel], await outbox.incident(await outbox.job(`job-${i}`)));
    receiver.reply({ status: 202 }, { status: 429 });
    expect([await outbox.tickAfter(5), await outbox.tickAfter(1), await outbox.tickAfter(60)]).toEqual([1, 0, 0]);
    expect(receiver.requests).toHaveLength(2);
    for (const seconds of [60, 1, 1, 1]) expect(await outbox.tickAfter(seconds)).toBe(1);
    expect(await outbox.tickAfter(60)).toBe(0);
    expect(new Set(await outbox.statesOf(channel))).toEqual(new Set(['delivered']));
  });

  test('a channel that becomes PagerDuty sends what waits as alerts of their own', async () => {
    const { channelId } = await outbox.hook('a').then((hook) => {
      hook.always({ status: 500 });
      return hook;
    });
    for (let i = 0; i < 3; i++) await outbox.tell([{ channelId }], await outbox.incident(await outbox.job(`job-${i}`)));
    await outbox.tickAfter(5);
    pager = pagerDutyApi(key);
    receiver.always((request) => pager.judge(request));
    const settings = JSON.stringify({ routing_key: key, server: receiver.url });
    await outbox.run(
      (tx) => tx.sql`update channels set kind = 'pagerduty', settings = ${settings}::jsonb where id = ${channelId}`,
    );
    for (const seconds of [5, 1, 1]) expect(await outbox.tickAfter(seconds)).toBe(1);
    expect(pager.open.size).toBe(3);
  });
});

test('Apprise: what only some of the services took is sent three times, not for a day', async () => {
  const apprise = appriseApi('key');
  receiver.always({ status: 424 });
  const channelId = await outbox.channel('apprise', 'apprise', { server: receiver.url, key: 'key' });
  await outbox.tell([{ channelId }], await outbox.incident(await outbox.job('job')));
  for (const seconds of [5, 5, 10, 20, 3600]) await outbox.tickAfter(seconds);
  expect(receiver.requests).toHaveLength(3);
  expect(await outbox.rowsOf({ channelId })).toMatchObject([
    { state: 'rejected', reason: expect.stringContaining('HTTP 424') },
  ]);
  receiver.always((request) => apprise.judge(request));
  await outbox.tell([{ channelId }], await outbox.incident(await outbox.job('other')));
  expect(await outbox.tickAfter(5)).toBe(1);
});
