import { describe, expect, test } from 'vitest';
import { clockChanges } from '../../src/core/clock-changes.ts';
import { numbersOf, tallyOf } from '../../src/core/report.ts';
import {
  newestComplete,
  type Period,
  periodAt,
  periodBefore,
  periodNamed,
  periodsBetween,
} from '../../src/core/report-period.ts';
import { countText, periodText, shareText } from '../../src/core/report-words.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const iso = (at: number): string => new Date(at).toISOString().slice(0, 19);
const ends = (period: Period | null) => period && `${period.name}: ${iso(period.startsAt)} to ${iso(period.endsAt)}`;
const named = (name: string, zoneName: string) => ends(periodNamed(name, zone(zoneName)));
const at = (text: string): number => Date.parse(text);

describe('a week or month begins at local midnight', () => {
  test('in Auckland, thirteen hours ahead', () => {
    expect(named('2026-02', 'Pacific/Auckland')).toBe('2026-02: 2026-01-31T11:00:00 to 2026-02-28T11:00:00');
  });

  test('October in Berlin has an hour more, March an hour less', () => {
    expect(named('2026-10', 'Europe/Berlin')).toBe('2026-10: 2026-09-30T22:00:00 to 2026-10-31T23:00:00');
    expect(named('2026-03', 'Europe/Berlin')).toBe('2026-03: 2026-02-28T23:00:00 to 2026-03-31T22:00:00');
  });

  test('where that midnight was skipped, at the change of the clocks', () => {
    expect(named('2023-10', 'America/Asuncion')).toBe('2023-10: 2023-10-01T04:00:00 to 2023-11-01T03:00:00');
    expect(named('2023-09', 'America/Asuncion')).toBe('2023-09: 2023-09-01T04:00:00 to 2023-10-01T04:00:00');
  });

  test('where it comes twice, at the first', () => {
    const havana = zone('America/Havana');
    expect(named('2026-11', 'America/Havana')).toBe('2026-11: 2026-11-01T04:00:00 to 2026-12-01T05:00:00');
    expect(periodAt(at('2026-11-01T03:59:59Z'), 'month', havana).name).toBe('2026-10');
    expect(periodAt(at('2026-11-01T04:00:00Z'), 'month', havana).name).toBe('2026-11');
    expect(periodAt(at('2026-11-01T05:30:00Z'), 'month', havana).name).toBe('2026-11');
  });

  test('weeks are ISO weeks: 2026 has 53, and the last one ends in 2027', () => {
    expect(named('2026-W53', 'Europe/Berlin')).toBe('2026-W53: 2026-12-27T23:00:00 to 2027-01-03T23:00:00');
    const berlin = zone('Europe/Berlin');
    expect(periodAt(at('2027-01-01T12:00:00Z'), 'week', berlin).name).toBe('2026-W53');
    expect(newestComplete(at('2027-01-03T22:59:59Z'), 'week', berlin).name).toBe('2026-W52');
    expect(newestComplete(at('2027-01-03T23:00:00Z'), 'week', berlin).name).toBe('2026-W53');
    expect(periodAt(at('2027-01-04T00:00:00Z'), 'week', berlin).name).toBe('2027-W01');
  });

  test('each one ends where the next begins, in every zone, for two years', () => {
    for (const name of ['America/Santiago', 'Africa/Casablanca', 'Asia/Beirut', 'Pacific/Apia', 'America/Havana']) {
      for (const [every, first] of [
        ['week', '2027-W52'],
        ['month', '2027-12'],
      ] as const) {
        let later = periodNamed(first, zone(name));
        for (let n = 0; n < 100 && later; n += 1) {
          const earlier = periodBefore(later, zone(name));
          expect(earlier?.endsAt, `${name} ${later.name}`).toBe(later.startsAt);
          expect(periodAt(later.startsAt, every, zone(name)).name).toBe(later.name);
          expect(periodAt(later.startsAt - 1, every, zone(name)).name).toBe(earlier?.name);
          later = earlier;
        }
      }
    }
  });

  test.each([
    '2025-W53',
    '2026-W00',
    '2026-W54',
    '2026-13',
    '2026-1',
    '2026-W5',
    '2026',
    '2026-10-25',
    '1969-12',
    '9999-12',
    '',
  ])('%s is no period', (name) => expect(named(name, 'UTC')).toBeNull());

  test('what was never reported is named from its first to its last', () => {
    const berlin = zone('Europe/Berlin');
    const newest = periodNamed('2026-W45', berlin);
    if (!newest) throw new Error('no such week');
    const between = periodsBetween(at('2026-10-04T22:00:00Z'), newest, berlin);
    expect(between && { count: between.count, first: between.first.name }).toEqual({ count: 4, first: '2026-W41' });
    expect(periodsBetween(newest.startsAt, newest, berlin)).toBeNull();
  });
});

describe('shares', () => {
  test('skipped, unknown and undecided ones are shown and do not count; covered ones were not on time', () => {
    const tally = tallyOf({
      on_time: 20,
      late: 1,
      missed: 2,
      coalesced: 2,
      skipped: 3,
      unknown: 4,
      expected: 1,
      running: 1,
    });
    expect(tally).toMatchObject({ due: 34, counted: 25, on_time_share: 0.8, skipped: 3, unknown: 4, pending: 2 });
  });

  test('nothing that counts is no data, not 100 %', () => {
    expect(tallyOf({ skipped: 5 })).toMatchObject({ due: 5, counted: 0, on_time_share: null });
    expect(shareText(null)).toBe('no data');
  });

  test('only a whole share is 100 %, and none that is something is 0', () => {
    expect([1, 0.9999, 0.29, 0.001, 0.00001, 0].map(shareText)).toEqual([
      '100 %',
      '99.9 %',
      '29.0 %',
      '0.1 %',
      'under 0.1 %',
      '0.0 %',
    ]);
    expect(countText(1234567)).toBe('1,234,567');
  });

  test('the lowest share is the worst, then the most that went wrong; jobs with nothing bad are only counted', () => {
    const period = periodNamed('2026-10', zone('UTC'));
    if (!period) throw new Error('no such month');
    const job = (slug: string, createdAt: string, now: object) => ({
      slug,
      name: slug,
      createdAt: at(createdAt),
      now,
      before: {},
    });
    const numbers = numbersOf(
      [
        job('fine', '2026-01-01T00:00:00Z', { on_time: 31 }),
        job('idle', '2026-01-01T00:00:00Z', { skipped: 31 }),
        job('half', '2026-01-01T00:00:00Z', { on_time: 1, failed: 1 }),
        job('half-of-many', '2026-01-01T00:00:00Z', { on_time: 10, missed: 10 }),
        job('none', '2026-10-14T09:00:00Z', { missed: 1 }),
        job('too-young', '2026-11-01T00:00:00Z', {}),
      ],
      period,
      periodBefore(period, zone('UTC')),
    );
    expect(numbers.worst_jobs.map(({ job: slug }) => slug)).toEqual(['none', 'half-of-many', 'half']);
    expect(numbers.worst_jobs.map(({ since }) => since)).toEqual(['2026-10-14T09:00:00Z', null, null]);
    expect(numbers.jobs).toEqual({ total: 5, in_trouble: 3, well: 1, without_data: 1 });
  });

  test('before any job existed there is no data, however many zeros there are', () => {
    const january = periodNamed('2026-01', zone('UTC'));
    if (!january) throw new Error('no such month');
    const born = { slug: 'a', name: 'a', createdAt: at('2026-02-20T00:00:00Z'), now: {}, before: {} };
    const numbers = numbersOf([born], january, periodBefore(january, zone('UTC')));
    expect(numbers.jobs.total).toBe(0);
    expect(numbers.occurrences.on_time_share).toBeNull();
    expect(numbers.before).toEqual({ name: '2025-12', occurrences: null });
  });
});

test('periods have the names that people use', () => {
  expect(['2026-10', '2026-W48', '2026-W53'].map((name) => periodText({ name }))).toEqual([
    'October 2026',
    'week 48 of 2026 (23 to 29 November)',
    'week 53 of 2026 (28 December to 3 January)',
  ]);
});

describe('clock changes to come', () => {
  const now = at('2026-10-01T00:15:00Z');
  const berlin = zone('Europe/Berlin');

  test('of the zones of jobs, within 35 days, with the schedules they touch and how', () => {
    const changes = clockChanges(
      [
        { slug: 'night', zone: berlin, schedules: [{ cron: '30 2 * * *' }] },
        { slug: 'noon', zone: berlin, schedules: [{ cron: '0 12 * * *' }] },
        { slug: 'daily', zone: berlin, schedules: [{ every: 86_400, anchor: 0 }] },
        { slug: 'elsewhere', zone: zone('Asia/Tokyo'), schedules: [{ cron: '30 2 * * *' }] },
        { slug: 'later', zone: zone('America/New_York'), schedules: [{ cron: '30 1 * * *' }] },
      ],
      now,
    );
    expect(changes.map((change) => [change.zone, change.at, change.shift_seconds, change.from, change.to])).toEqual([
      ['Europe/Berlin', '2026-10-25T01:00:00Z', -3600, '2026-10-25T03:00', '2026-10-25T02:00'],
      ['America/New_York', '2026-11-01T06:00:00Z', -3600, '2026-11-01T02:00', '2026-11-01T01:00'],
    ]);
    expect(changes[0]).toMatchObject({
      jobs: 3,
      touched: [
        {
          job: 'daily',
          effects: ['every 1d is elapsed time: each clock change in Europe/Berlin moves its local time'],
        },
        { job: 'night', effects: ['02:30 happens twice, and only the first pass is due'] },
      ],
    });
  });

  test('none that lies further ahead', () => {
    const job = { slug: 'night', zone: berlin, schedules: [{ cron: '30 2 * * *' }] };
    expect(clockChanges([job], at('2026-09-20T00:59:59Z'))).toEqual([]);
    expect(clockChanges([job], at('2026-09-20T01:00:00Z'))).toHaveLength(1);
  });
});
