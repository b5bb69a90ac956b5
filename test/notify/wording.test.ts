import { expect, test } from 'vitest';
import { type IncidentKind, incidentKinds } from '../../src/core/message.ts';
import type { BatchEvent, NoticeEvent } from '../../src/notify/channel.ts';
import { wording } from '../../src/notify/wording.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { linesOf, textOf } from './reading.ts';

const context = channelContext();
const words = (...events: readonly BatchEvent[]) => wording(batchOf(...events), context);
const occurrence = (key: string, state: string) => ({ key, scheduledFor: Date.parse(key), state });
const resolved = (changes: Parameters<typeof incidentEvent>[0]) =>
  incidentEvent({ type: 'incident.resolved', ...changes });
const nth = (i: number, changes: Parameters<typeof incidentEvent>[0] = {}) =>
  incidentEvent({ id: i + 1, job: { slug: `job-${i}`, name: `job-${i}` }, ...changes });

test('the first line of a missed run says which job, what, and which of two 02:30s', () => {
  const { headline, subject, stories } = words(incidentEvent());
  expect(headline).toBe('Nightly billing did not run: due 2026-10-25 02:30 +01:00');
  expect(subject).toBe('missing: nightly-billing (2026-10-25 02:30 +01:00)');
  // The date once; the offset beside every time.
  expect(linesOf(stories[0])).toEqual([
    'Expected by: 02:35 +01:00 (6 s ago)',
    'Last completed: due 2026-10-24 02:30 +02:00 (1 d 1 h ago)',
    'Job: nightly-billing [billing, prod], times are Europe/Berlin',
    'It stays owed (catch_up) until it is done or no longer useful.',
    'Run what is owed, on its host:',
    '$ rollcall exec nightly-billing --catch-up -- COMMAND',
    'If it ran unheard, or you run it by hand, report it (PING_URL is its ping address):',
    '$ curl -fsS "$PING_URL/0?occ=2026-10-25T02:30+01:00"',
    'Or settle it without a run (skipped, or on_time):',
    '$ rollcall settle nightly-billing 2026-10-25T02:30+01:00 skipped',
  ]);
});

test.each<[IncidentKind, string, string, string]>([
  ['missing', 'did not run', 'missed another run', 'runs again'],
  ['failed', 'failed', 'failed again', 'runs again'],
  ['overrun', 'is running too long', 'is running too long again', 'runs in time again'],
  ['not_started', 'has not started', 'has another run that has not started', 'runs again'],
  ['expired', 'finished too late to be useful', 'finished too late again', 'runs in time again'],
  ['late', 'started but has not finished', 'has another run that has not finished', 'runs again'],
  ['duplicate', 'ran more than once', 'ran more than once again', 'ran just once this time'],
])('%s: its opening, its reminder and its end each have their own words', (kind, opened, reminded, ended) => {
  const due = 'due 2026-10-25 02:30 +01:00';
  expect(words(incidentEvent({ kind })).headline).toBe(`Nightly billing ${opened}: ${due}`);
  const occurrences = [secondPass, occurrence('2026-10-24T02:30+02:00', 'missed')];
  const again = words(incidentEvent({ kind, type: 'incident.reminded', occurrences }));
  expect(again.headline).toBe(`Nightly billing ${reminded}: ${due} (2 so far)`);
  const end = words(resolved({ kind, facts: { lastCompleted: '2026-10-26T02:30+01:00' } }));
  expect(end.headline).toContain(`Nightly billing ${ended}: 2026-10-26 02:30 +01:00 completed; before: `);
});

test('every kind of incident is opened in other words', () => {
  const titles = incidentKinds.map((kind) => words(incidentEvent({ kind })).headline);
  expect(new Set(titles).size).toBe(incidentKinds.length);
  expect(words(incidentEvent({ kind: 'unscheduled', occurrences: [] })).headline).toBe(
    'Nightly billing ran off schedule: 2026-10-25 02:35 +01:00',
  );
  const broken = { kind: 'schedule_error', occurrences: [], facts: { detail: 'no zone Europe/Kiew' } } as const;
  expect(words(incidentEvent(broken)).headline).toContain('cannot be read: no zone Europe/Kiew');
  expect(words(resolved(broken)).headline).toBe('Nightly billing can be scheduled again');
});

test('what the policy makes of a missed run is said: owed, covered by the next, or not owed', () => {
  const now = (missedRuns: 'catch_up' | 'coalesce' | 'skip' | null) =>
    textOf(words(incidentEvent({ facts: { missedRuns } })).stories[0]);
  expect(now('catch_up')).toContain('stays owed');
  expect(now('coalesce')).toContain('The next good run covers it');
  expect(now('skip')).toContain('Nothing is owed (skip): this one is not made up for.');
  expect(now(null)).toContain('The next ping of this job settles it');
});

test('a failure: its output right under the title, no word of when it was expected or of going unheard', () => {
  const facts = { exitCode: 3, output: 'disk full', missedRuns: 'skip', before: 'late' } as const;
  const { headline, stories } = words(incidentEvent({ kind: 'failed', facts }));
  expect(headline).toBe('Nightly billing failed (exit code 3): due 2026-10-25 02:30 +01:00');
  const [first, second] = linesOf(stories[0]);
  expect([first, second]).toEqual(['> disk full', 'Before: reported as late']);
  expect(textOf(stories[0])).not.toMatch(/xpected by|unheard/);
});

test('a run too many: how often, when and from where, if that is known; never as the last completed one', () => {
  const known = {
    lastCompleted: secondPass.key,
    completions: 2,
    runs: [
      { endedAt: Date.parse('2026-10-25T01:31:00Z'), source: '10.0.0.5' },
      { endedAt: Date.parse('2026-10-25T01:31:04Z'), source: null },
    ],
  };
  const { headline, stories } = words(incidentEvent({ kind: 'duplicate', facts: known }));
  expect(headline).toBe('Nightly billing ran twice: due 2026-10-25 02:30 +01:00');
  expect(linesOf(stories[0])[0]).toBe('Completed: 02:31 +01:00 from 10.0.0.5, 02:31:04 +01:00');
  const unknown = words(incidentEvent({ kind: 'duplicate', facts: { lastCompleted: secondPass.key } }));
  expect(unknown.headline).toContain('ran more than once');
  for (const text of [textOf(stories[0]), textOf(unknown.stories[0])]) expect(text).not.toContain('Last completed');
});

test('a recovery says what is well now, then what became of every occurrence', () => {
  const occurrences = [
    occurrence('2026-10-24T02:30+02:00', 'late'),
    occurrence('2026-10-25T01:30+02:00', 'missed'),
    occurrence('2026-10-25T02:30+02:00', 'missed'),
    { ...secondPass, state: 'late' },
  ];
  const facts = { lastCompleted: '2026-10-25T03:30+01:00' };
  const { headline, stories } = words(resolved({ occurrences, facts }));
  expect(headline).toBe(
    'Nightly billing runs again: 2026-10-25 03:30 +01:00 completed; before: 2 completed late, 2 never ran (2026-10-24 02:30 +02:00 to 02:30 +01:00)',
  );
  expect(linesOf(stories[0])).toEqual([
    '- 2026-10-24 02:30 +02:00: completed late',
    '- 2026-10-25 01:30 +02:00: never ran',
    '- 2026-10-25 02:30 +02:00: never ran',
    '- 2026-10-25 02:30 +01:00: completed late',
    'Lasted: 1 h 35 min, from 02:35 +01:00 to 04:10 +01:00',
    'Job: nightly-billing [billing, prod], times are Europe/Berlin',
  ]);
});

test('up to three runs are all named in the first line of their end', () => {
  const end = (...states: string[]) => {
    const keys = ['2026-10-25T01:30+02:00', '2026-10-25T02:30+02:00', secondPass.key];
    const occurrences = states.map((state, i) => occurrence(keys[i] ?? '', state));
    const { headline, stories } = words(resolved({ occurrences, facts: { lastCompleted: '2026-10-25T03:30+01:00' } }));
    expect(textOf(stories[0])).not.toContain('- ');
    return headline.replace(/.*before: /, '');
  };
  expect(end('missed', 'missed')).toBe('01:30 +02:00 and 02:30 +02:00 never ran');
  expect(end('late', 'late', 'late')).toBe('01:30 +02:00, 02:30 +02:00 and 02:30 +01:00 completed late');
  expect(end('late', 'missed', 'late')).toBe('01:30 +02:00 and 02:30 +01:00 completed late, 02:30 +02:00 never ran');
});

test('an end names the run that brought it: a later one, its own, or none at all', () => {
  const end = (state: string, kind: IncidentKind, lastCompleted: string | null) =>
    words(resolved({ kind, occurrences: [{ ...secondPass, state }], facts: { lastCompleted } })).headline;
  expect(end('failed', 'failed', '2026-10-25T03:30+01:00')).toBe(
    'Nightly billing runs again: 2026-10-25 03:30 +01:00 completed; before: 02:30 +01:00 failed',
  );
  expect(end('late', 'missing', secondPass.key)).toBe(
    'Nightly billing ran after all: 2026-10-25 02:30 +01:00 completed late',
  );
  expect(end('late', 'late', secondPass.key)).toBe(
    'Nightly billing has finished: 2026-10-25 02:30 +01:00 completed late',
  );
  expect(end('running', 'not_started', '2026-10-24T02:30+02:00')).toBe(
    'Nightly billing has started: 2026-10-25 02:30 +01:00 running now',
  );
  expect(end('skipped', 'missing', '2026-10-24T02:30+02:00')).toBe(
    'Nightly billing is settled: 2026-10-25 02:30 +01:00 skipped',
  );
});

test('a problem and its end in one message are one story', () => {
  const facts = { lastCompleted: secondPass.key };
  const { headline, subject, stories } = words(
    incidentEvent(),
    resolved({ occurrences: [{ ...secondPass, state: 'late' }], facts }),
  );
  expect(stories).toHaveLength(1);
  expect(headline).toBe(
    'Nightly billing did not run in time, but ran after all: 2026-10-25 02:30 +01:00 completed late',
  );
  expect(subject).toBe('missing, recovered since: nightly-billing (2026-10-25 02:30 +01:00)');
});

test('a group says which job has what, the worst first, in the same order whatever order they came in', () => {
  const events = [
    nth(4),
    nth(1, { kind: 'late' }),
    resolved({ id: 9, job: { slug: 'job-0', name: 'job-0' }, facts: { lastCompleted: secondPass.key } }),
    nth(2),
    nth(3, { kind: 'failed', facts: { exitCode: 7 } }),
    nth(5, { occurrences: [occurrence('2026-10-24T02:30+02:00', 'overdue')] }),
  ];
  for (const order of [events, [...events].reverse()]) {
    const { headline, stories } = words(...order);
    expect(headline).toBe(
      '3 missing (job-5, job-2, job-4), 1 failed (job-3), 1 late (job-1), 1 recovered (job-0), on 2026-10-25',
    );
    expect(stories.map(({ title }) => title)).toEqual([
      'job-5 did not run: due 2026-10-24 02:30 +02:00',
      'job-2 did not run: due 02:30 +01:00',
      'job-4 did not run: due 02:30 +01:00',
      'job-3 failed (exit code 7): due 02:30 +01:00',
      'job-1 started but has not finished: due 02:30 +01:00',
      'job-0 ran after all: 02:30 +01:00 still not completed',
    ]);
  }
});

test('900 jobs lost at once are a count, the worst ten, the names of all others and a link', () => {
  const lost = Array.from({ length: 900 }, (_, i) => nth(i, { kind: i % 3 === 0 ? 'late' : 'missing' }));
  const { headline, subject, stories, rest, link } = words(...lost);
  expect(headline).toBe(
    '600 missing (job-1, job-10, job-100 and 597 more), 300 late (job-0, job-102, job-105 and 297 more), on 2026-10-25',
  );
  expect(subject.length).toBeLessThanOrEqual(120);
  expect(stories).toHaveLength(10);
  expect(stories.every(({ title }) => title.includes('did not run'))).toBe(true);
  expect(rest.map(({ label, names }) => [label, names.length])).toEqual([
    ['also missing (590)', 590],
    ['also late (300)', 300],
  ]);
  expect(link).toBe('https://rollcall.example.org/');
});

test('the link leads to the page of the one job that all is about, else to that of the project', () => {
  const linkOf = (...events: readonly BatchEvent[]) =>
    wording({ ...batchOf(...events), project: 'acme' }, context).link;
  const end = resolved({ id: 7, job: { slug: 'job-1' }, facts: { lastCompleted: secondPass.key } });
  expect(linkOf(nth(1))).toBe('https://rollcall.example.org/projects/acme/jobs/job-1');
  expect(linkOf(nth(1, { kind: 'duplicate' }), end)).toBe('https://rollcall.example.org/projects/acme/jobs/job-1');
  expect(linkOf(nth(1), nth(2))).toBe('https://rollcall.example.org/projects/acme');
  const notice = { id: 1, kind: 'operator', text: 'a channel is dead', at: 0 } as const;
  expect(linkOf({ type: 'notice', notice, occurrences: [], occurrenceCount: 0 })).toBe(
    'https://rollcall.example.org/projects/acme',
  );
});

test('the end of every incident is named, however many problems stand before it', () => {
  const ends = Array.from({ length: 5 }, (_, i) =>
    resolved({ id: 100 + i, job: { slug: `back-${i}` }, facts: { lastCompleted: secondPass.key } }),
  );
  const { rest } = words(...ends, ...Array.from({ length: 20 }, (_, i) => nth(i)));
  expect(rest.at(-1)).toEqual({
    label: 'also recovered (5)',
    names: ['back-0', 'back-1', 'back-2', 'back-3', 'back-4'],
    mood: 'recovered',
  });
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
  expect(headline).toContain('50 missing (job-0, job-1, job-10 and 47 more), 1 notice (Rollcall)');
});

test('a name cannot break the line or turn the reading direction', () => {
  const { headline, subject } = words(incidentEvent({ job: { name: 'a\r\nBcc: x@evil.example\u202e' } }));
  expect(headline).toBe('a Bcc: x@evil.example did not run: due 2026-10-25 02:30 +01:00');
  expect(subject).not.toMatch(/[\r\n]/);
});

test('a job whose zone is not known any more is told in UTC', () => {
  expect(textOf(words(incidentEvent({ job: { zone: 'Mars/Olympus' } })).stories[0])).toContain(
    'Expected by: 01:35 UTC (6 s ago)',
  );
});
