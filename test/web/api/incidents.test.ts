import { afterAll, beforeAll, expect, test } from 'vitest';
import { Alerts } from '../../support/alerts.ts';
import { OTHER_KEY } from './api.ts';

const yearly = { schedules: [{ cron: '0 9 2 3 *' }], zone: 'Europe/Berlin', missed_runs: 'catch_up' };

let a: Alerts;
beforeAll(async () => {
  a = await Alerts.start('2026-03-02T07:30:00Z');
  await a.hook('ops');
  for (const slug of ['billing', 'backup']) await a.t.call('PUT', `/jobs/${slug}`, yearly);
  await a.at('2026-03-02T08:05:00Z');
});
afterAll(() => a.drop());

const audit = () =>
  a.t.database.transaction(
    (tx) => tx.sql<{ actor: string; action: string; subject: string; detail: object }[]>`
      select actor, action, subject, detail from audit where action like 'incident.%' order by id`,
  );

test('an acknowledgement is kept with who gave it, and once is enough', async () => {
  const id = await a.incident('billing');
  const { status, json } = await a.t.call('POST', `/incidents/${id}/ack`);
  expect([status, json.state, json.acked_at]).toEqual([200, 'open', '2026-03-02T08:05:05Z']);
  expect(json.acked_by).toMatch(/^api key test…$/);
  await a.t.at('2026-03-02T08:06:00Z');
  expect((await a.t.call('POST', `/incidents/${id}/ack`)).json).toEqual(json);
  expect((await a.t.call('GET', `/incidents/${id}`)).json).toEqual(json);
  expect(await audit()).toEqual([
    { actor: json.acked_by, action: 'incident.ack', subject: 'billing', detail: { incident: id, kind: 'missing' } },
  ]);
});

test.each([
  [{ until: '2026-03-02T10:00:00+01:00' }, '2026-03-02T09:00:00Z'],
  [{ until: '4h' }, '2026-03-02T12:06:00Z'],
  [{ until: 'P1D' }, '2026-03-03T08:06:00Z'],
  [{ until: '366d' }, '2027-03-03T08:06:00Z'],
  [{ until: null }, null],
])('snooze %j', async (body, until) => {
  await a.t.at('2026-03-02T08:06:00Z');
  const id = await a.incident('backup');
  const { status, json } = await a.t.call('POST', `/incidents/${id}/snooze`, body);
  expect([status, json.snoozed_until, json.snoozed_by === null]).toEqual([200, until, until === null]);
});

test.each([
  [{}, 'until: is required: write an RFC 3339 instant'],
  [{ until: '2026-03-02T08:06:00Z' }, 'must lie in the future'],
  [{ until: '0s' }, 'must lie in the future'],
  [{ until: '2027-03-03T08:06:01Z' }, 'must be at most 366d away'],
  [{ until: '400d' }, 'must be at most 366d away'],
  [{ until: '2026-03-02 09:00' }, 'not an instant'],
  [{ until: 'tomorrow' }, 'write an RFC 3339 instant'],
  [{ until: 3600 }, 'write an RFC 3339 instant'],
  [{ until: '4h', why: 'lunch' }, 'unknown field'],
])('snooze %j is refused', async (body, message) => {
  await a.t.at('until' in body && body.until === '0s' ? '2026-03-02T08:06:00.250Z' : '2026-03-02T08:06:00Z');
  const { status, json } = await a.t.call('POST', `/incidents/${await a.incident('backup')}/snooze`, body);
  expect(status).toBe(400);
  expect(json.detail).toContain(message);
});

test("what is not there, or another project's, is 404", async () => {
  const id = await a.incident('billing');
  const paths = ['ack', 'snooze', 'notifications'].map((what) => [what === 'notifications' ? 'GET' : 'POST', what]);
  for (const [method = '', what] of paths) {
    const body = what === 'snooze' ? { until: '1h' } : undefined;
    for (const unknown of ['0', '99999', 'x', '1e3']) {
      expect((await a.t.call(method, `/incidents/${unknown}/${what}`, body)).status).toBe(404);
    }
    const other = { Authorization: `Bearer ${OTHER_KEY}` };
    expect((await a.t.call(method, `/incidents/${id}/${what}`, body, other)).status).toBe(404);
  }
  expect((await a.t.call('GET', '/channels/nobody/attempts')).status).toBe(404);
});

test('an incident that has ended stays as it is', async () => {
  await a.t.at('2026-03-02T08:07:00Z');
  await a.t.ping('backup', 'success', { occ: '2026-03-02T08:00:00Z' });
  const id = await a.incident('backup');
  for (const [what, body] of [
    ['ack', undefined],
    ['snooze', { until: '1h' }],
  ] as const) {
    const { status, json } = await a.t.call('POST', `/incidents/${id}/${what}`, body);
    expect([status, json.state, json.acked_at, json.snoozed_until]).toEqual([200, 'resolved', null, null]);
  }
});

test('the attempts of a channel: newest first, what each was about, and tests too', async () => {
  await a.at('2026-03-02T08:08:00Z');
  await a.t.call('POST', '/channels/ops/test');
  const [billing, backup] = [await a.incident('billing'), await a.incident('backup')];
  const { json } = await a.t.call('GET', '/channels/ops/attempts');
  expect(json.attempts.map(({ message_id: _, ...rest }: { message_id: string }) => rest)).toEqual([
    { at: '2026-03-02T08:08:05Z', outcome: 'delivered', reason: null, incidents: [], notices: [] },
    {
      at: '2026-03-02T08:08:00Z',
      outcome: 'delivered',
      reason: null,
      incidents: [{ id: backup, kind: 'missing', job: 'backup' }],
      notices: [],
    },
    {
      at: '2026-03-02T08:05:05Z',
      outcome: 'delivered',
      reason: null,
      incidents: [
        { id: Math.min(billing, backup), kind: 'missing', job: billing < backup ? 'billing' : 'backup' },
        { id: Math.max(billing, backup), kind: 'missing', job: billing < backup ? 'backup' : 'billing' },
      ],
      notices: [],
    },
  ]);
  const first = await a.t.call('GET', '/channels/ops/attempts?limit=2');
  const rest = await a.t.call('GET', `/channels/ops/attempts?limit=2&cursor=${first.json.next_cursor}`);
  expect([...first.json.attempts, ...rest.json.attempts]).toEqual(json.attempts);
  expect(rest.json.next_cursor).toBeNull();
});

test('the notifications of an incident name the message that each went out in', async () => {
  const id = await a.incident('backup');
  const { json } = await a.t.call('GET', `/incidents/${id}/notifications`);
  const attempts = (await a.t.call('GET', '/channels/ops/attempts')).json.attempts;
  expect(json).toEqual({
    notifications: [
      {
        channel: 'ops',
        event: 1,
        type: 'incident.opened',
        reminded_by: null,
        state: 'delivered',
        reason: null,
        attempts: 1,
        message_id: attempts[2].message_id,
        not_before: null,
        delivered_at: '2026-03-02T08:05:05Z',
      },
      {
        channel: 'ops',
        event: 2,
        type: 'incident.resolved',
        reminded_by: null,
        state: 'delivered',
        reason: null,
        attempts: 1,
        message_id: attempts[1].message_id,
        not_before: null,
        delivered_at: '2026-03-02T08:08:00Z',
      },
    ],
    next_cursor: null,
  });
  const first = await a.t.call('GET', `/incidents/${id}/notifications?limit=1`);
  const rest = await a.t.call('GET', `/incidents/${id}/notifications?limit=1&cursor=${first.json.next_cursor}`);
  expect([...first.json.notifications, ...rest.json.notifications]).toEqual(json.notifications);
});

test('a channel that is dead says since when and why, and the operator channel is told, not the dead one', async () => {
  await a.t.at('2026-03-02T08:30:00Z');
  const dead = await a.hook('dead');
  dead.always({ status: 410 });
  await a.t.call('PUT', '/jobs/late', { ...yearly, schedules: [{ cron: '40 9 2 3 *' }], channels: ['dead'] });
  await a.at('2026-03-02T08:45:00Z');
  await a.at('2026-03-02T08:45:10Z');
  const { json } = await a.t.call('GET', '/channels/dead');
  expect([json.dead_since, json.last_failure]).toEqual(['2026-03-02T08:45:05Z', 'HTTP 410']);
  expect(a.hooks.get('ops')?.told().at(-1)).toMatch(/^notice Channel dead \(webhook\) is dead/);
  expect(dead.requests).toHaveLength(1);
  expect(await a.notifications(await a.incident('late'))).toEqual(['dead 1: rejected, HTTP 410']);
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(a.t.logged).toEqual([]);
});
