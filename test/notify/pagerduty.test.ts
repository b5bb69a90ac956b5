import { expect, test } from 'vitest';
import type { BatchEvent } from '../../src/notify/channel.ts';
import { pagerDutyEvent } from '../../src/notify/pagerduty.ts';
import { createTestMessage } from '../../src/store/channels.ts';
import { batchOf, channelContext, type EventChanges, incidentEvent, secondPass } from '../support/messages.ts';

const event = (...events: readonly BatchEvent[]) => pagerDutyEvent(batchOf(...events), channelContext());
const keyOf = (changes: EventChanges) => event(incidentEvent(changes))['dedup_key'];

test('whoever is on call sees what failed, how, when it was due, and what to do about it', () => {
  const failed = incidentEvent({ kind: 'failed', facts: { exitCode: 3, output: 'line 1\r\ndisk full\u0007' } });
  expect(event(failed)).toEqual({
    event_action: 'trigger',
    dedup_key: `rollcall/nightly-billing/failed/1/${failed.incident.openedAt}`,
    payload: {
      summary: 'Nightly billing failed (exit code 3): due 2026-10-25 02:30 +01:00',
      severity: 'error',
      source: 'nightly-billing',
      class: 'failed',
      group: 'billing, prod',
      timestamp: '2026-10-25T01:35:00Z',
      custom_details: expect.objectContaining({
        'Last output': 'line 1\ndisk full',
        'Last completed': 'due 2026-10-24 02:30 +02:00 (1 d 1 h ago)',
        Ways: expect.arrayContaining([expect.stringContaining('curl -fsS "$PING_URL/0?occ=2026-10-25T02:30+01:00"')]),
      }),
    },
    links: [{ href: 'https://rollcall.example.org/', text: 'Rollcall' }],
    client: 'Rollcall',
    client_url: 'https://rollcall.example.org/',
  });
});

test('all events of an incident carry one key, those of another one another', () => {
  const reminder = keyOf({ type: 'incident.reminded', occurrences: [{ ...secondPass, scheduledFor: 5 }] });
  expect(new Set([keyOf({}), reminder, keyOf({ type: 'incident.resolved' })]).size).toBe(1);
  expect(new Set([keyOf({}), keyOf({ id: 2 }), keyOf({ kind: 'failed' }), keyOf({ job: { slug: 'x' } })]).size).toBe(4);
  expect(String(keyOf({ job: { slug: 'x'.repeat(100) }, id: Number.MAX_SAFE_INTEGER })).length).toBeLessThan(255);
});

test('an end only resolves, and so does a problem together with its end', () => {
  const end = incidentEvent({ type: 'incident.resolved' });
  const resolve = { event_action: 'resolve', dedup_key: keyOf({}) };
  expect(event(end)).toEqual(resolve);
  expect(event(incidentEvent(), end)).toEqual(resolve);
});

test.each([
  ['missing', 'error'],
  ['overrun', 'error'],
  ['backlog', 'error'],
  ['late', 'warning'],
  ['duplicate', 'warning'],
] as const)('%s has severity %s', (kind, severity) => {
  expect(event(incidentEvent({ kind }))).toMatchObject({ payload: { severity } });
});

test('a test message is an alert of its own each time, a notice one for good', () => {
  const trial = { ...createTestMessage('ops', 0), occurrences: [], occurrenceCount: 0 };
  expect(event(trial)).toMatchObject({ dedup_key: 'msg_0123456789abcdef', payload: { severity: 'info' } });
  const notice = { ...trial, notice: { ...trial.notice, id: 7 } };
  expect(event(notice)).toMatchObject({ dedup_key: 'rollcall/notice/7', payload: { severity: 'warning' } });
});
