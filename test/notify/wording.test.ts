import { expect, test } from 'vitest';
import { incidentKinds } from '../../src/core/message.ts';
import type { BatchEvent, NoticeEvent } from '../../src/notify/channel.ts';
import { wording } from '../../src/notify/wording.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';

const context = channelContext();
const words = (...events: readonly BatchEvent[]) => wording(batchOf(...events), context);
const factsOf = (story: ReturnType<typeof words>['stories'][number] | undefined): string =>
  (story?.facts ?? []).map(({ label, text }) => `${label}: ${text}`).join('\n');

test('the first line of a missed run says which job, what, and which of two 02:30s', () => {
  const { headline, subject, stories } = words(incidentEvent());
  expect(headline).toBe('Nightly billing did not run: due 2026-10-25 02:30 +01:00');
  expect(subject).toBe('missing: nightly-billing (2026-10-25 02:30 +01:00)');
  expect(factsOf(stories[0])).toBe(
    [
      'Job: nightly-billing [billing, prod], times are Europe/Berlin',
      'Expected by: 2026-10-25 02:35 +01:00 (5 min after it was due)',
      'Last completed: 2026-10-24 02:30 +02:00',
      'What now: It stays owed (catch_up) until it is done or no longer useful. To pay: run it with a ping that says occ=2026-10-25T02:30+01:00, or settle it by hand in the API.',
    ].join('\n'),
  );
});

test('every kind of incident has a wording of its own', () => {
  const titles = incidentKinds.map((kind) => words(incidentEvent({ kind, facts: { missedRuns: 'skip' } })).headline);
  expect(new Set(titles).size).toBe(incidentKinds.length);
  expect(words(incidentEvent({ kind: 'failed', facts: { exitCode: 3 } })).headline).toContain('failed (exit code 3)');
  expect(words(incidentEvent({ kind: 'unscheduled', occurrences: [] })).headline).toBe(
    'Nightly billing ran off schedule',
  );
  const broken = incidentEvent({ kind: 'schedule_error', occurrences: [], facts: { detail: 'no zone Europe/Kiew' } });
  expect(words(broken).headline).toContain('cannot be read: no zone Europe/Kiew');
});

test('what the policy makes of a missed run is said: owed, covered by the next, or not owed', () => {
  const now = (missedRuns: 'catch_up' | 'coalesce' | 'skip' | null) =>
    factsOf(words(incidentEvent({ facts: { missedRuns } })).stories[0]);
  expect(now('catch_up')).toContain('stays owed');
  expect(now('coalesce')).toContain('The next good run covers it');
  expect(now('skip')).toContain('Nothing is owed');
  expect(now(null)).toContain('The next ping of this job settles it');
});

test('a recovery lists every occurrence and what became of it', () => {
  const occurrences = [
    { key: '2026-10-24T02:30+02:00', scheduledFor: Date.parse('2026-10-24T00:30:00Z'), state: 'late' },
    { key: '2026-10-25T02:30+02:00', scheduledFor: Date.parse('2026-10-25T00:30:00Z'), state: 'missed' },
    { ...secondPass, state: 'late' },
  ];
  const { headline, stories } = words(incidentEvent({ type: 'incident.resolved', occurrences }));
  expect(headline).toBe('Nightly billing has recovered (was missing): 2 completed late, 1 never ran');
  expect(stories[0]?.occurrences).toEqual([
    '2026-10-24 02:30 +02:00: completed late',
    '2026-10-25 02:30 +02:00: never ran',
    '2026-10-25 02:30 +01:00: completed late',
  ]);
});

test('a problem and its end in one message are one story', () => {
  const end = incidentEvent({ type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }] });
  const { headline, subject, stories } = words(incidentEvent(), end);
  expect(stories).toHaveLength(1);
  expect(headline).toBe('Nightly billing was missing and has recovered: 2026-10-25 02:30 +01:00 completed late');
  expect(subject).toBe('missing, recovered since: nightly-billing (2026-10-25 02:30 +01:00)');
});

test('900 jobs lost at once are a count, the worst ten and a link', () => {
  const lost = Array.from({ length: 900 }, (_, i) =>
    incidentEvent({ id: i + 1, kind: i % 3 === 0 ? 'late' : 'missing', job: { slug: `job-${i}`, name: `job-${i}` } }),
  );
  const { headline, stories, more, link } = words(...lost);
  expect(headline).toBe('600 missing, 300 late: job-1, job-2, job-4 and 897 more');
  expect(stories).toHaveLength(10);
  expect(stories.every(({ title }) => title.includes('did not run'))).toBe(true);
  expect(more).toBe(890);
  expect(link).toBe('https://rollcall.example.org/');
});

test('a notice about Rollcall is not pushed out of sight by a storm', () => {
  const notice: NoticeEvent = {
    type: 'notice',
    notice: { id: 1, kind: 'operator', text: 'Channel ops is dead', at: 0 },
    occurrences: [],
    occurrenceCount: 0,
  };
  const lost = Array.from({ length: 50 }, (_, i) => incidentEvent({ id: i + 1, job: { slug: `job-${i}` } }));
  const { headline, stories } = words(...lost, notice);
  expect(stories.map(({ title }) => title)).toContain('Channel ops is dead');
  expect(headline).toContain('50 missing, 1 notice');
});

test('a name cannot break the line or turn the reading direction', () => {
  const { headline, subject } = words(incidentEvent({ job: { name: 'a\r\nBcc: x@evil.example\u202e' } }));
  expect(headline).toBe('a Bcc: x@evil.example did not run: due 2026-10-25 02:30 +01:00');
  expect(subject).not.toMatch(/[\r\n]/);
});

test('a job whose zone is not known any more is told in UTC', () => {
  expect(factsOf(words(incidentEvent({ job: { zone: 'Mars/Olympus' } })).stories[0])).toContain(
    'Expected by: 2026-10-25 01:35 UTC',
  );
});
