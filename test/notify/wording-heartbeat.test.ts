import { expect, test } from 'vitest';
import type { MessageOccurrence } from '../../src/core/message.ts';
import { wording } from '../../src/notify/wording.ts';
import { channelContext, type EventChanges, incidentEvent } from '../support/messages.ts';
import { textOf } from './reading.ts';

// A heartbeat of a day: it ran at 22:45:15, failed at 22:46:37, and was told of twelve minutes later.

const failed: MessageOccurrence = {
  key: '2026-12-01T22:45:15+01:00',
  scheduledFor: Date.parse('2026-12-01T21:45:15Z'),
  state: 'failed',
  endedAt: Date.parse('2026-11-30T21:46:37Z'),
};
const facts = {
  missedRuns: null,
  lastCompleted: '2026-12-01T22:45:10+01:00',
  lastCompletedState: 'on_time',
  lastCompletedAt: Date.parse('2026-11-30T21:45:15Z'),
  exitCode: 2,
} as const;
const sentAt = Date.parse('2026-11-30T21:58:40Z');

function words(changes: EventChanges = {}, again?: 'interval') {
  const event = incidentEvent({
    kind: 'failed',
    occurrences: [failed],
    ...changes,
    facts: { ...facts, ...changes.facts },
  });
  const told = again === undefined ? event : { ...event, again };
  return wording({ id: 'msg_0123456789abcdef', sentAt, inReplyTo: null, events: [told] }, channelContext());
}

test('a failure is told by when it happened, and by when a run was expected', () => {
  const { headline, subject, stories } = words();
  expect(headline).toBe('Nightly billing failed (exit code 2) at 2026-11-30 22:46:37 +01:00');
  expect(subject).toBe('failed: nightly-billing (2026-11-30 22:46:37 +01:00)');
  expect(textOf(stories[0])).toContain('Run expected by: 2026-12-01 22:45:15 +01:00');
});

test('the last completion is told by its own instant, not by one that is to come', () => {
  const text = textOf(words().stories[0]);
  expect(text).toContain('Last completed: 22:45:15 +01:00 (13 min ago)');
  expect(text).not.toContain('just now');
});

test('a reminder says when it failed', () => {
  const { headline } = words({ type: 'incident.reminded' }, 'interval');
  expect(headline).toBe('Nightly billing has still not succeeded (exit code 2): failed at 2026-11-30 22:46:37 +01:00');
});

test('an end says when the good run came, and when the bad one had', () => {
  const ended = { lastCompleted: '2026-12-01T22:46:37+01:00', lastCompletedAt: Date.parse('2026-11-30T21:58:30Z') };
  const { headline } = words({ type: 'incident.resolved', facts: ended });
  expect(headline).toBe(
    'Nightly billing runs again: 2026-11-30 22:58:30 +01:00 completed in time; before: 22:46:37 +01:00 failed',
  );
});

test('several failures are listed by when each happened', () => {
  const second = {
    key: '2026-12-01T22:46:37+01:00',
    scheduledFor: Date.parse('2026-12-01T21:46:37Z'),
    state: 'failed',
    endedAt: Date.parse('2026-11-30T21:50:00Z'),
  };
  const text = textOf(words({ type: 'incident.reminded', occurrences: [second, failed] }).stories[0]);
  expect(text).toContain('- 22:46:37 +01:00: failed\n- 22:50 +01:00: failed');
});
