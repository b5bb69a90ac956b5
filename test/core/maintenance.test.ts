import { describe, expect, test } from 'vitest';
import {
  compileWindow,
  cronOf,
  heldUntil,
  maintenanceOf,
  type Revision,
  type When,
  type Window,
} from '../../src/core/maintenance.ts';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const at = (text: string): Instant => Date.parse(text);
const windowOf = (when: When): Window => compileWindow(when, zone);
const isIn = (window: Window, due: string): boolean => window.around(at(due)) !== null;
const shown = (stretch: { from: Instant; until: Instant } | null) =>
  stretch && `${formatInstant(stretch.from)} ${formatInstant(stretch.until)}`;

const once = (from: string, until: string): When => ({ kind: 'once', from: at(from), until: at(until) });
const cron = (expression: string, name: string, hours: number): When => ({
  kind: 'cron',
  zone: name,
  cron: expression,
  duration: hours * 3600,
});

describe('a window that happens once', () => {
  const window = windowOf(once('2026-03-01T02:00:00Z', '2026-03-01T04:00:00Z'));

  test('holds what is due at its very beginning, and not what is due at its very end', () => {
    expect(isIn(window, '2026-03-01T01:59:59.999Z')).toBe(false);
    expect(isIn(window, '2026-03-01T02:00:00Z')).toBe(true);
    expect(isIn(window, '2026-03-01T03:59:59.999Z')).toBe(true);
    expect(isIn(window, '2026-03-01T04:00:00Z')).toBe(false);
  });

  test('comes once', () => {
    expect(shown(window.next(at('2026-03-01T00:00:00Z')))).toBe('2026-03-01T02:00:00Z 2026-03-01T04:00:00Z');
    expect(window.next(at('2026-03-01T02:00:00Z'))).toBeNull();
  });
});

describe('a window that comes again and again', () => {
  test('follows the local clock through the year (ALR-018)', () => {
    const window = windowOf(cron('0 2 * * *', 'Europe/Rome', 2));
    expect(shown(window.around(at('2026-01-10T01:30:00Z')))).toBe('2026-01-10T01:00:00Z 2026-01-10T03:00:00Z');
    expect(shown(window.around(at('2026-07-01T00:00:00Z')))).toBe('2026-07-01T00:00:00Z 2026-07-01T02:00:00Z');
    expect(isIn(window, '2026-07-01T02:00:00Z')).toBe(false);
  });

  test('begins at the transition where its local time does not exist, and lasts as long as ever', () => {
    const window = windowOf(cron('30 2 * * *', 'Europe/Berlin', 4));
    expect(shown(window.around(at('2026-03-29T02:00:00Z')))).toBe('2026-03-29T01:00:00Z 2026-03-29T05:00:00Z');
  });

  test('begins once where its local time is shown twice, and its duration is elapsed time', () => {
    const window = windowOf(cron('30 2 * * *', 'Europe/Berlin', 1));
    expect(shown(window.around(at('2026-10-25T00:30:00Z')))).toBe('2026-10-25T00:30:00Z 2026-10-25T01:30:00Z');
    expect(isIn(window, '2026-10-25T01:30:00Z')).toBe(false);
    const long = windowOf(cron('0 22 24 10 *', 'Europe/Berlin', 24));
    expect(shown(long.next(at('2026-10-01T00:00:00Z')))).toBe('2026-10-24T20:00:00Z 2026-10-25T20:00:00Z');
  });

  test('is weekly by the days it names', () => {
    const weekly: When = {
      kind: 'weekly',
      zone: 'Europe/Berlin',
      weekly: [
        { days: ['sat', 'sun'], start: '22:00', duration: 4 * 3600 },
        { days: ['wed'], start: '06:05', duration: 600 },
      ],
    };
    expect(cronOf({ days: ['sun', 'sat'], start: '22:05' })).toBe('5 22 * * 0,6');
    const window = windowOf(weekly);
    // Saturday, 7 March: 22:00 in Berlin is 21:00Z; past midnight it is still Saturday's window.
    expect(isIn(window, '2026-03-07T20:59:59Z')).toBe(false);
    expect(isIn(window, '2026-03-07T21:00:00Z')).toBe(true);
    expect(isIn(window, '2026-03-08T00:59:59Z')).toBe(true);
    expect(isIn(window, '2026-03-08T01:00:00Z')).toBe(false);
    expect(shown(window.next(at('2026-03-09T12:00:00Z')))).toBe('2026-03-11T05:05:00Z 2026-03-11T05:15:00Z');
  });

  test('of stretches that overlap, the one that ends last counts', () => {
    const window = windowOf({
      kind: 'weekly',
      zone: 'UTC',
      weekly: [
        { days: ['mon'], start: '00:00', duration: 48 * 3600 },
        { days: ['mon'], start: '10:00', duration: 3600 },
      ],
    });
    expect(shown(window.around(at('2026-03-02T10:30:00Z')))).toBe('2026-03-02T00:00:00Z 2026-03-04T00:00:00Z');
  });
});

test('windows that meet hold until the last of them ends', () => {
  const windows = [
    windowOf(once('2026-03-01T02:00:00Z', '2026-03-01T04:00:00Z')),
    windowOf(once('2026-03-01T04:00:00Z', '2026-03-01T05:00:00Z')),
    windowOf(once('2026-03-01T06:00:00Z', '2026-03-01T07:00:00Z')),
  ];
  expect(heldUntil(windows, at('2026-03-01T03:00:00Z'))).toBe(at('2026-03-01T05:00:00Z'));
  expect(heldUntil(windows, at('2026-03-01T05:00:00Z'))).toBeNull();
  const always = windowOf(cron('* * * * *', 'UTC', 1));
  expect(heldUntil([always], at('2026-03-01T05:00:00Z'))).toBeGreaterThan(at('2026-03-01T20:00:00Z'));
});

describe('what is known about a job', () => {
  const job = { slug: 'backup', tags: ['db', 'nightly'] };
  const night = once('2026-03-01T02:00:00Z', '2026-03-01T04:00:00Z');
  const revision = (more: Partial<Revision> = {}, when: When = night): Revision => ({
    slug: 'deploy',
    name: 'Deploy',
    reason: 'new kernel',
    jobs: null,
    tags: null,
    actor: 'ada',
    isCalendar: false,
    knownFrom: at('2026-02-01T00:00:00Z'),
    knownUntil: null,
    isReplaced: false,
    window: windowOf(when),
    ...more,
  });
  const ask = (revisions: readonly Revision[], due: string, t: string) =>
    maintenanceOf(revisions, job)?.(at(due), at(t)) ?? null;
  const note = { reason: 'maintenance', note: 'Deploy: new kernel (ada)' };

  test('says why and who', () => {
    expect(ask([revision()], '2026-03-01T02:00:00Z', '2026-03-01T02:05:00Z')).toEqual(note);
    expect(ask([revision({ reason: '' })], '2026-03-01T02:00:00Z', '2026-03-01T02:05:00Z')).toMatchObject({
      note: 'Deploy (ada)',
    });
    expect(ask([revision()], '2026-03-01T04:00:00Z', '2026-03-01T04:05:00Z')).toBeNull();
  });

  test('is nothing where no window is about the job', () => {
    expect(maintenanceOf([revision({ jobs: ['other'] }), revision({ tags: ['web'] })], job)).toBeNull();
    expect(maintenanceOf([], job)).toBeNull();
    for (const about of [{ jobs: ['backup'] }, { tags: ['nightly'] }, { jobs: ['other'], tags: ['db'] }])
      expect(ask([revision(about)], '2026-03-01T03:00:00Z', '2026-03-01T03:05:00Z')).toEqual(note);
  });

  test('is what was known at the check, so that judging later judges the same', () => {
    const late = revision({ knownFrom: at('2026-03-01T02:10:00Z') });
    expect(ask([late], '2026-03-01T02:00:00Z', '2026-03-01T02:05:00Z')).toBeNull();
    expect(ask([late], '2026-03-01T02:00:00Z', '2026-03-01T02:10:00Z')).toEqual(note);
  });

  test('a window that was ended holds what was due until then, whenever it is judged', () => {
    const ended = revision({ knownUntil: at('2026-03-01T02:30:00Z') });
    expect(ask([ended], '2026-03-01T02:15:00Z', '2026-03-01T02:45:00Z')).toEqual(note);
    expect(ask([ended], '2026-03-01T02:30:00Z', '2026-03-01T02:45:00Z')).toBeNull();
  });

  test('a window that was replaced says nothing any more, but for what was judged before', () => {
    const replaced = revision({ knownUntil: at('2026-03-01T02:30:00Z'), isReplaced: true });
    expect(ask([replaced], '2026-03-01T02:15:00Z', '2026-03-01T02:29:59Z')).toEqual(note);
    expect(ask([replaced], '2026-03-01T02:15:00Z', '2026-03-01T02:45:00Z')).toBeNull();
  });

  test('a window that was replaced when it was over holds what was due in it: the name was only used again', () => {
    const over = revision({ knownUntil: at('2026-03-01T04:00:00Z'), isReplaced: true });
    expect(ask([over], '2026-03-01T03:55:00Z', '2026-03-01T04:05:00Z')).toEqual(note);
    expect(ask([over], '2026-03-01T04:00:00Z', '2026-03-01T04:05:00Z')).toBeNull();
    const weekly: When = {
      kind: 'weekly',
      zone: 'UTC',
      weekly: [{ days: ['sun'], start: '02:00', duration: 7200 }],
    };
    const changed = revision({ knownUntil: at('2026-03-08T03:00:00Z'), isReplaced: true }, weekly);
    expect(ask([changed], '2026-03-01T02:00:00Z', '2026-03-08T03:00:00Z')).toEqual(note);
    // Last Sunday's is over; this one's was under way, and the new definition says what becomes of it.
    expect(ask([changed], '2026-03-08T02:00:00Z', '2026-03-08T03:00:00Z')).toBeNull();
  });
});
