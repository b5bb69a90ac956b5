import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Batch } from '../../src/notify/channel.ts';
import { channelKinds, parseChannel } from '../../src/notify/registry.ts';
import { webhookBody } from '../../src/notify/webhook.ts';
import { batchOf, billing, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver, type HttpReply } from '../support/receivers.ts';

const context = channelContext();
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await createHttpReceiver();
});
afterAll(() => receiver.close());

async function send(batch: Batch, ...replies: HttpReply[]) {
  receiver.reply(...replies);
  const opened = channelKinds.get('webhook')?.open({ url: receiver.url, secret }, context);
  if (!opened?.ok) throw new Error('webhook does not open');
  return opened.value.send(batch, new AbortController().signal);
}

test('the body is the one of the design, and knows no more of a job than slug, name and tags', () => {
  const end = incidentEvent({ type: 'incident.resolved', id: 7, occurrences: [{ ...secondPass, state: 'late' }] });
  const notice = {
    type: 'notice',
    notice: { id: 3, kind: 'unknown', text: 'blind', at: 0 },
    occurrences: [{ job: billing, ...secondPass, state: 'unknown' }],
    occurrenceCount: 1,
  } as const;
  const job = { slug: 'nightly-billing', name: 'Nightly billing', tags: ['billing', 'prod'] };
  const occurrence = { key: '2026-10-25T02:30+01:00', scheduled_for: '2026-10-25T01:30:00Z' };
  expect(webhookBody({ ...batchOf(end, notice), project: 'shop' }, context)).toEqual({
    id: 'msg_0123456789abcdef',
    sent_at: '2026-10-25T01:35:06Z',
    events: [
      {
        type: 'incident.resolved',
        incident: {
          id: 7,
          kind: 'missing',
          state: 'resolved',
          opened_at: '2026-10-25T01:35:00Z',
          resolved_at: '2026-10-25T03:10:00Z',
          occurrence_count: 1,
          url: 'https://rollcall.example.org/projects/shop/incidents/7',
        },
        job,
        occurrences: [{ ...occurrence, state: 'late' }],
      },
      {
        type: 'notice',
        notice: { id: 3, kind: 'unknown', text: 'blind', at: '1970-01-01T00:00:00Z' },
        occurrences: [{ job, ...occurrence, state: 'unknown' }],
      },
    ],
  });
});

test('an occurrence that came from another incident says from which kind; others say nothing', () => {
  const moved = incidentEvent({ kind: 'failed', facts: { before: 'missing' } });
  const { events } = webhookBody(batchOf(moved, incidentEvent()), context) as { events: object[] };
  expect(events[0]).toMatchObject({ incident: { kind: 'failed' }, before: 'missing' });
  expect(events[1]).not.toHaveProperty('before');
});

test('a reminder says whether something new is wrong or only time has passed; other events say nothing', () => {
  const again = (more: object) => ({ ...incidentEvent({ type: 'incident.reminded' }), ...more });
  const end = incidentEvent({ type: 'incident.resolved' });
  const batch = batchOf(incidentEvent(), again({}), again({ again: 'interval' }), again({ again: 'snooze_over' }), end);
  const { events } = webhookBody(batch, context) as { events: { type: string; reminded_by?: string }[] };
  expect(events.map(({ type, reminded_by }) => [type, reminded_by])).toEqual([
    ['incident.opened', undefined],
    ['incident.reminded', 'occurrence'],
    ['incident.reminded', 'interval'],
    ['incident.reminded', 'snooze_over'],
    ['incident.resolved', undefined],
  ]);
});

test('it is signed as Standard Webhooks ask, with the id of the message', async () => {
  // Verifying allows five minutes between the two clocks.
  const batch = { ...batchOf(incidentEvent()), sentAt: Date.now() };
  expect(await send(batch)).toEqual({ outcome: 'delivered' });
  const request = receiver.requests.at(-1);
  expect(request?.headers['webhook-id']).toBe(batch.id);
  const headers = request?.headers as Record<string, string>;
  expect(new Webhook(secret).verify(request?.body ?? '', headers)).toMatchObject({ id: batch.id });
});

test.each<[HttpReply, object]>([
  [{ status: 204 }, { outcome: 'delivered' }],
  [{ status: 410 }, { outcome: 'rejected', permanent: true }],
  [{ status: 404 }, { outcome: 'rejected', permanent: false }],
  [
    { status: 301, headers: { location: '/elsewhere' } },
    { outcome: 'rejected', permanent: false },
  ],
  [
    { status: 429, headers: { 'retry-after': '7' } },
    { outcome: 'retry', retryAfterMs: 7000 },
  ],
  [
    { status: 503, headers: { 'retry-after': '7' } },
    { outcome: 'retry', retryAfterMs: 7000 },
  ],
  [
    { status: 500, body: 'secret stack trace' },
    { outcome: 'retry', reason: 'HTTP 500', uncertain: false },
  ],
  [{ status: 504 }, { outcome: 'retry', uncertain: true }],
  ['reset', { outcome: 'retry', uncertain: true }],
])('%j is %j', async (reply, delivery) => {
  expect(await send(batchOf(incidentEvent()), reply)).toMatchObject(delivery);
});

test.each([
  ['', false],
  ['whsec_', false],
  ['secret', false],
  [Buffer.alloc(32).toString('base64'), false],
  [`whsec_${Buffer.alloc(23).toString('base64')}`, false],
  [`whsec_${Buffer.alloc(24).toString('base64')}`, true],
  [`whsec_${Buffer.alloc(64).toString('base64')}`, true],
  [`whsec_${Buffer.alloc(65).toString('base64')}`, false],
  [`whsec_${Buffer.alloc(32).toString('base64')}\n`, false],
  [`whsec_${'!'.repeat(40)}`, false],
])('the secret %j: %j', async (given, ok) => {
  const parsed = await parseChannel({ kind: 'webhook', url: receiver.url, secret: given }, context);
  expect(parsed.ok).toBe(ok);
  if (!parsed.ok) expect(parsed.errors).toMatchObject([{ path: 'secret', message: expect.stringContaining('whsec_') }]);
});
