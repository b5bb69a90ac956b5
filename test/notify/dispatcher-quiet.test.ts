import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Alerts } from '../support/alerts.ts';

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up' };

let a: Alerts;
beforeAll(async () => {
  a = await Alerts.start('2026-03-02T08:30:00Z');
});
afterAll(() => a.drop());

/** Each test has a job of its own and nothing of another's: the job names its channels. */
let number = 0;
let slug = '';
beforeEach(async () => {
  await a.t.at('2026-03-02T08:30:00Z');
  number += 1;
  slug = `job-${number}`;
});
afterEach(async () => {
  await a.t.call('DELETE', `/jobs/${slug}`);
  await a.t.call('DELETE', '/maintenance/deploy');
  expect(a.t.logged.splice(0)).toEqual([]);
});

async function job(channels: readonly string[], more: object = {}): Promise<void> {
  const { status, json } = await a.t.call('PUT', `/jobs/${slug}`, { ...hourly, channels, ...more });
  expect(status, JSON.stringify(json)).toBe(201);
}
const yearly = { schedules: [{ cron: '0 9 2 3 *' }] };
const post = async (path: string, body?: object) => {
  const answer = await a.t.call('POST', path, body);
  expect(answer.status, JSON.stringify(answer.json)).toBe(200);
  return answer.json;
};

describe('reminders', () => {
  test('ALR-019 a channel is told again at its interval, until the incident is acknowledged; its end is told', async () => {
    const asks = await a.hook(`asks-${number}`, { remind_every: '2h' });
    const other = await a.hook(`other-${number}`);
    await job([asks.slug, other.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    await a.at('2026-03-02T11:04:59Z');
    expect(asks.told()).toEqual([`opened ${slug} missing`]);
    await a.at('2026-03-02T11:05:05Z');
    await a.at('2026-03-02T11:06:00Z');
    await a.at('2026-03-02T13:05:15Z');
    expect(asks.told().slice(1)).toEqual([`reminded ${slug} missing`, `reminded ${slug} missing`]);

    await post(`/incidents/${await a.incident(slug)}/ack`);
    await a.at('2026-03-02T15:30:00Z');
    await a.at('2026-03-02T17:30:00Z');
    expect(asks.told()).toHaveLength(3);
    await a.t.ping(slug, 'success', { occ: '2026-03-02T09:00:00Z' });
    await a.at('2026-03-02T17:31:00Z');
    expect(asks.told().slice(3)).toEqual([`resolved ${slug} missing`]);
    expect(other.told()).toEqual([`opened ${slug} missing`, `resolved ${slug} missing`]);
  });

  test('a new miss after a success is told although the incident is acknowledged (rule 38)', async () => {
    const hook = await a.hook(`hook-${number}`, { remind_every: '1m' });
    await job([hook.slug]);
    await a.at('2026-03-02T09:05:00Z');
    await post(`/incidents/${await a.incident(slug)}/ack`);
    await a.t.at('2026-03-02T10:01:00Z');
    await a.t.ping(slug, 'success');
    await a.at('2026-03-02T10:02:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`]);
    await a.at('2026-03-02T11:05:00Z');
    await a.at('2026-03-02T11:10:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`, `reminded ${slug} missing`]);
  });

  test('a channel that never got the problem is not reminded, and one that refuses gathers no heap of reminders', async () => {
    const dead = await a.hook(`dead-${number}`, { remind_every: '1m' });
    dead.reply({ status: 200 });
    dead.always({ status: 400 });
    await job([dead.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    for (const time of ['09:06:30', '09:06:40', '09:06:50', '09:07:00']) await a.at(`2026-03-02T${time}Z`);
    expect(await a.notifications(await a.incident(slug))).toEqual([
      `${dead.slug} 1: delivered`,
      `${dead.slug} 2: rejected, HTTP 400`,
    ]);
  });

  test('two of each loop never remind twice for one interval, and no delay outlives a clock that was set back', async () => {
    const hook = await a.hook(`hook-${number}`, { remind_every: '30m' });
    await job([hook.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    for (let minute = 6; minute < 60; minute += 1) await a.at(`2026-03-02T09:${String(minute).padStart(2, '0')}:00Z`);
    await a.at('2026-03-02T10:06:00Z');
    expect(hook.told()).toHaveLength(3);
    // Back by 46 minutes: what was said later does not count; the problem was told at 09:05:05.
    await a.at('2026-03-02T09:20:00Z');
    expect(hook.told()).toHaveLength(3);
    for (const time of ['09:35:05', '09:36:00', '09:50:00', '10:05:00']) await a.at(`2026-03-02T${time}Z`);
    expect(hook.told()).toHaveLength(4);
  });
});

describe('a snoozed incident', () => {
  test('says nothing until then, and one message then if it is still open', async () => {
    const hook = await a.hook(`hook-${number}`, { remind_every: '1m' });
    const late = await a.hook(`late-${number}`);
    late.reply({ status: 503 });
    await job([hook.slug, late.slug]);
    await a.at('2026-03-02T09:05:00Z');
    const id = await a.incident(slug);
    expect((await post(`/incidents/${id}/snooze`, { until: '2026-03-04T12:00:00Z' })).snoozed_until).toBe(
      '2026-03-04T12:00:00Z',
    );
    await a.at('2026-03-02T09:06:00Z');
    await a.t.at('2026-03-02T10:01:00Z');
    await a.t.ping(slug, 'success');
    await a.at('2026-03-02T11:05:00Z');
    await a.at('2026-03-04T11:59:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`]);
    expect(await a.notifications(id)).toEqual([
      `${hook.slug} 1: delivered`,
      `${late.slug} 1: withheld, snoozed until 2026-03-04T12:00:00Z`,
      `${hook.slug} 2: withheld, snoozed until 2026-03-04T12:00:00Z`,
      `${late.slug} 2: withheld, snoozed until 2026-03-04T12:00:00Z`,
    ]);
    expect(late.requests).toHaveLength(1);

    await a.at('2026-03-04T12:00:00Z');
    await a.at('2026-03-04T12:00:40Z');
    expect(hook.requests).toHaveLength(2);
    expect(hook.told().slice(1)).toEqual([`reminded ${slug} missing`, `reminded ${slug} missing`]);
    expect(late.requests).toHaveLength(2);
    expect((await a.t.call('GET', `/incidents/${id}`)).json.snoozed_until).toBeNull();
  });

  test('that ends meanwhile is only recorded', async () => {
    const hook = await a.hook(`hook-${number}`);
    await job([hook.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    const id = await a.incident(slug);
    await post(`/incidents/${id}/snooze`, { until: '4h' });
    await a.t.ping(slug, 'success', { occ: '2026-03-02T09:00:00Z' });
    await a.at('2026-03-02T09:06:00Z');
    await a.at('2026-03-02T13:06:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`]);
    expect(await a.notifications(id)).toEqual([
      `${hook.slug} 1: delivered`,
      `${hook.slug} 2: withheld, snoozed until 2026-03-02T13:05:05Z; the incident ended before`,
    ]);
  });

  test('goes on at once when the snooze is taken back', async () => {
    const hook = await a.hook(`hook-${number}`);
    hook.reply({ status: 503 });
    await job([hook.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    const id = await a.incident(slug);
    await post(`/incidents/${id}/snooze`, { until: '2d' });
    await a.at('2026-03-02T10:00:00Z');
    expect(hook.requests).toHaveLength(1);
    expect((await post(`/incidents/${id}/snooze`, { until: null })).snoozed_until).toBeNull();
    await a.at('2026-03-02T10:01:00Z');
    expect(hook.requests).toHaveLength(2);
    expect(await a.notifications(id)).toEqual([`${hook.slug} 1: delivered`]);
  });

  test('closes its alert where the receiver keeps one for each incident', async () => {
    const pager = await a.hook(`pager-${number}`);
    const body = { kind: 'pagerduty', routing_key: 'k'.repeat(32), server: pager.url };
    pager.always({ status: 202, body: '{"status": "success"}' });
    expect((await a.t.call('PUT', `/channels/${pager.slug}`, body)).status).toBe(200);
    await job([pager.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    await post(`/incidents/${await a.incident(slug)}/snooze`, { until: '4h' });
    await a.t.ping(slug, 'success', { occ: '2026-03-02T09:00:00Z' });
    await a.at('2026-03-02T09:06:00Z');
    expect(pager.requests.map((request) => JSON.parse(request.body).event_action)).toEqual(['trigger', 'resolve']);
  });
});

describe('in maintenance', () => {
  test('ALR-017 what was told before the window is not told again at its end', async () => {
    const hook = await a.hook(`hook-${number}`, { remind_every: '1h' });
    const once = await a.hook(`once-${number}`);
    await job([hook.slug, once.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    await a.maintain(slug, '2h');
    await a.at('2026-03-02T11:05:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`]);
    await a.at('2026-03-02T11:05:10Z');
    // The reminder that was due in the window comes after it; the problem itself does not come again.
    expect(hook.told()).toEqual([`opened ${slug} missing`, `reminded ${slug} missing`]);
    expect(once.told()).toEqual([`opened ${slug} missing`]);
  });

  test('a problem waits for the end of the window, however far that is, and goes out if it is still open', async () => {
    const hook = await a.hook(`hook-${number}`);
    await job([hook.slug], yearly);
    await a.t.at('2026-03-02T09:01:00Z');
    await a.maintain(slug, '48h');
    await a.at('2026-03-02T09:05:00Z');
    await a.at('2026-03-04T09:00:30Z');
    const id = await a.incident(slug);
    expect(hook.told()).toEqual([]);
    expect(await a.notifications(id)).toEqual([
      `${hook.slug} 1: withheld, maintenance deploy until 2026-03-04T09:01:00Z`,
    ]);
    hook.reply({ status: 503 });
    await a.at('2026-03-04T09:01:00Z');
    // It is worth as much as what is new: a failure does not end it.
    await a.at('2026-03-05T08:00:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`, `opened ${slug} missing`]);
    expect(await a.notifications(id)).toEqual([`${hook.slug} 1: delivered`]);
  });

  test('a window that is taken away lets go at once', async () => {
    const hook = await a.hook(`hook-${number}`);
    await job([hook.slug], yearly);
    await a.t.at('2026-03-02T09:01:00Z');
    await a.maintain(slug, '48h');
    await a.at('2026-03-02T09:05:00Z');
    expect(hook.told()).toEqual([]);
    await a.t.call('DELETE', '/maintenance/deploy');
    await a.at('2026-03-02T09:06:00Z');
    expect(hook.told()).toEqual([`opened ${slug} missing`]);
  });

  test('a problem that ends in the window is recorded; a recovery goes where the problem went, after the window', async () => {
    const early = await a.hook(`early-${number}`);
    const down = await a.hook(`down-${number}`);
    down.reply({ status: 503 });
    await job([early.slug, down.slug], yearly);
    await a.at('2026-03-02T09:05:00Z');
    const id = await a.incident(slug);
    await a.maintain(slug, '2h');
    await a.at('2026-03-02T09:06:00Z');
    await a.t.ping(slug, 'success', { occ: '2026-03-02T09:00:00Z' });
    await a.at('2026-03-02T09:07:00Z');
    expect([early.requests.length, down.requests.length]).toEqual([1, 1]);
    await a.at('2026-03-02T11:05:05Z');
    expect(early.told()).toEqual([`opened ${slug} missing`, `resolved ${slug} missing`]);
    expect(await a.notifications(id)).toEqual([
      `${early.slug} 1: delivered`,
      `${down.slug} 1: withheld, maintenance deploy until 2026-03-02T11:05:05Z; the incident ended before`,
      `${early.slug} 2: delivered`,
      `${down.slug} 2: withheld, the problem itself was not delivered to this channel`,
    ]);
  });
});
