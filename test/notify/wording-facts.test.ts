import { expect, test } from 'vitest';
import type { IncidentKind } from '../../src/core/message.ts';
import type { BatchEvent, NoticeEvent } from '../../src/notify/channel.ts';
import { wording } from '../../src/notify/wording.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { linesOf, textOf } from './reading.ts';

const context = channelContext();
const words = (...events: readonly BatchEvent[]) => wording(batchOf(...events), context);
const over = { type: 'incident.resolved' } as const;

const still = (kind: IncidentKind, again: 'interval' | 'snooze_over') => ({
  ...incidentEvent({ kind, type: 'incident.reminded' }),
  again,
  known: { acked: null, reminders: 3 },
});

test.each<[IncidentKind, string]>([
  ['missing', 'still has not run: due'],
  ['failed', 'has still not succeeded: due'],
  ['overrun', 'is still running too long: due'],
  ['not_started', 'has still not started: due'],
  ['late', 'has still not finished: due'],
  ['backlog', 'still owes too many runs, the latest due'],
])('a reminder of %s says that it goes on, and which reminder it is', (kind, says) => {
  const { headline, subject, stories } = words(still(kind, 'interval'));
  expect(headline).toBe(`Nightly billing ${says} 2026-10-25 02:30 +01:00`);
  expect(subject).toMatch(/^[a-z ]+, still open: nightly-billing /);
  expect(stories[0]?.label).toMatch(/, reminder 3$/);
  expect(textOf(stories[0])).toContain('Still open since: 02:35 +01:00 (6 s ago), reminder 3');
});

test('a snooze that is over says so', () => {
  const { stories } = words(still('missing', 'snooze_over'));
  expect(textOf(stories[0])).toContain('Still open since: 02:35 +01:00 (6 s ago); its snooze is over');
  expect(stories[0]?.label).toBe('missing, snooze over');
});

test('what somebody has acknowledged says who and when, also when another run joins it', () => {
  const acked = { by: 'channel ops', at: Date.parse('2026-10-25T01:35:01Z') };
  const event = { ...incidentEvent({ type: 'incident.reminded' }), known: { acked, reminders: 0 } };
  expect(textOf(words(event).stories[0])).toContain('Acknowledged: by channel ops, 02:35:01 +01:00 (5 s ago)');
});

test('the link to acknowledge stands above what to do, and only while there is something to acknowledge', () => {
  const ackUrl = 'https://rollcall.example.org/a/x';
  const lines = linesOf(words({ ...incidentEvent(), ackUrl }).stories[0]);
  const [link, advice] = [`Acknowledge or snooze at ${ackUrl}`, 'It stays owed (catch_up)'];
  expect(lines.indexOf(link)).toBe(lines.findIndex((line) => line.startsWith(advice)) - 1);
  expect(textOf(words(incidentEvent(over)).stories[0])).not.toContain('Acknowledge');
});

test('a backlog says how many, how many are allowed, and both decisions', () => {
  const { headline, stories } = words(incidentEvent({ kind: 'backlog', count: 101, facts: { maxCatchUp: 100 } }));
  expect(headline).toBe('Nightly billing owes 101 runs, the latest due 2026-10-25 02:30 +01:00');
  const text = textOf(stories[0]);
  for (const line of [
    'Allowed: 100 at most (max_catch_up)',
    'Nothing is handed out until a person says run or skip.',
    '$ rollcall backlog nightly-billing run',
    '$ rollcall backlog nightly-billing skip',
    '$ curl -fsS "$ROLLCALL_URL/api/v1/jobs/nightly-billing/backlog" -H "Authorization: Bearer $ROLLCALL_API_KEY"',
  ])
    expect(text).toContain(line);
});

test('a threshold, the end of the window and the next run are said, where there are any', () => {
  const told = (alertAfter: { count: number; of: number }) =>
    textOf(words(incidentEvent({ facts: { alertAfter } })).stories[0]);
  expect(told({ count: 3, of: 3 })).toContain('Told after: 3 in a row (alert_after)');
  expect(told({ count: 3, of: 5 })).toContain('Told after: 3 of the last 5 (alert_after)');
  const facts = { usefulUntil: Date.parse('2026-10-25T04:30:00Z'), nextDue: '2026-10-26T02:30+01:00' };
  const text = textOf(words(incidentEvent({ facts })).stories[0]);
  expect(text).toContain('Useful until: 05:30 +01:00 (in 2 h 55 min)');
  expect(text).toContain('Next run due: 2026-10-26 02:30 +01:00 (in 23 h 55 min)');
  const late = { ...batchOf(incidentEvent({ facts })), sentAt: Date.parse('2026-10-27T00:00:00Z') };
  expect(textOf(wording(late, context).stories[0])).not.toMatch(/Useful until|Next run due/);
});

test('runs of which Rollcall could not hear: how to report them, and how those of catch_up are handed out', () => {
  const occurrences = ['billing', 'export', 'billing', 'digest'].map((slug, i) => ({
    ...secondPass,
    state: 'unknown',
    job: { slug, name: slug, tags: [], zone: 'UTC' },
    missedRuns: slug === 'digest' ? 'skip' : 'catch_up',
    scheduledFor: i,
  }));
  const notice = { id: 1, kind: 'unknown', text: 'Rollcall could not hear', at: 0 } as const;
  const event: NoticeEvent = { type: 'notice', notice, occurrences, occurrenceCount: 5 };
  const lines = linesOf(words(event).stories[0]);
  expect(lines).toContain('$ rollcall backlog billing run\nrollcall backlog export run');
  expect(lines).toContain('$ curl -fsS "$PING_URL/0?occ=2026-10-25T02:30+01:00"');
  expect(lines.at(-1)).toBe('- and 1 more');
  const others = { ...event, occurrences: occurrences.filter(({ missedRuns }) => missedRuns === 'skip') };
  expect(textOf(words(others).stories[0])).not.toContain('rollcall backlog');
});

test('what else is open in the project is told, the worst five and how many more', () => {
  const problem = { slug: 'export', zone: 'UTC', kind: 'failed', openedAt: Date.parse('2026-10-24T10:00Z') } as const;
  const worst = [
    { ...problem, isAcked: false, snoozedUntil: null },
    { ...problem, slug: 'sync', isAcked: true, snoozedUntil: null },
    { ...problem, slug: 'copy', isAcked: true, snoozedUntil: Date.parse('2026-10-25T09:00Z') },
  ];
  expect(wording({ ...batchOf(incidentEvent()), others: { count: 9, worst } }, context).others).toEqual({
    label: 'Other open problems of the project (9)',
    names: [
      'export failed since 2026-10-24 10:00 UTC',
      'sync failed since 2026-10-24 10:00 UTC (acknowledged)',
      'copy failed since 2026-10-24 10:00 UTC (snoozed until 2026-10-25 09:00 UTC)',
      'and 6 more',
    ],
    mood: 'problem',
  });
});

test('that nothing else is open is news only where all is well again', () => {
  const others = { count: 0, worst: [] };
  expect(wording({ ...batchOf(incidentEvent(over)), others }, context).others?.names).toEqual(['none']);
  expect(wording({ ...batchOf(incidentEvent()), others }, context).others).toBeNull();
});
