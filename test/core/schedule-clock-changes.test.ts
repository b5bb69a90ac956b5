import { describe, expect, test } from 'vitest';
import { timetable } from '../../src/core/schedule.ts';
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

/** The first due instants after `after`, as many as expected. */
function firstDue(cron: string, name: string, after: string, count: number): string[] {
  const found: string[] = [];
  for (const due of timetable([{ cron }], zone(name)).dueIn(at(after), Number.POSITIVE_INFINITY)) {
    found.push(formatInstant(due.at));
    if (found.length === count) break;
  }
  return found;
}
const dueOn = (cron: string, name: string, after: string, until: string) => [
  ...timetable([{ cron }], zone(name)).dueIn(at(after), at(until)),
];

describe('clocks forward', () => {
  test.each([
    ['SCH-002', '0 12 * * 0', 'Europe/Berlin', '2022-03-24T11:00:00Z', ['2022-03-27T10:00:00Z']],
    [
      'SCH-004',
      '30 2 * * *',
      'America/New_York',
      '2026-03-08T06:30:00Z',
      ['2026-03-08T07:00:00Z', '2026-03-09T06:30:00Z'],
    ],
    ['SCH-005', '30 2 * * 7', 'Europe/Rome', '2025-03-29T00:00:00Z', ['2025-03-30T01:00:00Z', '2025-04-06T00:30:00Z']],
    ['SCH-005', '0 5 * * 7', 'Europe/Rome', '2025-03-29T00:00:00Z', ['2025-03-30T03:00:00Z']],
    ['SCH-008', '0 0 * * *', 'Europe/Prague', '2026-03-28T23:30:00Z', ['2026-03-29T22:00:00Z']],
    [
      'SCH-009',
      '0 1 30 3 *',
      'Europe/Lisbon',
      '2024-11-15T00:00:00Z',
      ['2025-03-30T01:00:00Z', '2026-03-30T00:00:00Z'],
    ],
    ['SCH-010', '0 9 10 * *', 'America/Sao_Paulo', '2018-10-17T12:00:00Z', ['2018-11-10T11:00:00Z']],
    [
      'SCH-011',
      '0 0 * * *',
      'America/Santiago',
      '2026-09-05T12:00:00Z',
      ['2026-09-06T04:00:00Z', '2026-09-07T03:00:00Z'],
    ],
    ['SCH-011', '0 0 * * 5', 'Africa/Cairo', '2026-04-20T12:00:00Z', ['2026-04-23T22:00:00Z']],
    ['SCH-011', '0 0 * * *', 'Asia/Beirut', '2026-03-28T12:00:00Z', ['2026-03-28T22:00:00Z']],
    [
      'SCH-011',
      '0 0 * * *',
      'America/Havana',
      '2026-03-07T12:00:00Z',
      ['2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z'],
    ],
    [
      'SCH-012',
      '0 6 * * *',
      'America/Santiago',
      '2026-09-05T12:00:00Z',
      ['2026-09-06T09:00:00Z', '2026-09-07T09:00:00Z'],
    ],
    [
      'SCH-013',
      '30 2-23/4 * * *',
      'Australia/Sydney',
      '2019-10-05T14:00:00Z',
      ['2019-10-05T16:00:00Z', '2019-10-05T19:30:00Z', '2019-10-05T23:30:00Z', '2019-10-06T03:30:00Z'],
    ],
    [
      'SCH-014',
      '30 2 * * *',
      'America/New_York',
      '2021-03-13T12:00:00Z',
      ['2021-03-14T07:00:00Z', '2021-03-15T06:30:00Z'],
    ],
    [
      'SCH-015',
      '0 2 * * *',
      'America/Chicago',
      '2024-03-09T12:00:00Z',
      ['2024-03-10T08:00:00Z', '2024-03-11T07:00:00Z'],
    ],
    ['SCH-019', '* 2 * * *', 'America/New_York', '2026-03-08T05:00:00Z', ['2026-03-09T06:00:00Z']],
    ['SCH-019', '*/30 2 * * *', 'America/New_York', '2026-03-08T05:00:00Z', ['2026-03-09T06:00:00Z']],
    [
      'SCH-021',
      '0 */2 * * *',
      'America/New_York',
      '2026-03-08T04:00:00Z',
      ['2026-03-08T05:00:00Z', '2026-03-08T08:00:00Z', '2026-03-08T10:00:00Z'],
    ],
    [
      'SCH-021',
      '0 0-23/2 * * *',
      'America/New_York',
      '2026-03-08T04:00:00Z',
      ['2026-03-08T05:00:00Z', '2026-03-08T07:00:00Z', '2026-03-08T08:00:00Z', '2026-03-08T10:00:00Z'],
    ],
    [
      'SCH-031',
      '0 12 * * *',
      'Pacific/Apia',
      '2011-12-29T00:00:00Z',
      ['2011-12-29T22:00:00Z', '2011-12-30T10:00:00Z', '2011-12-30T22:00:00Z'],
    ],
    [
      'SCH-031',
      '0 0 * * *',
      'Pacific/Apia',
      '2011-12-29T00:00:00Z',
      ['2011-12-29T10:00:00Z', '2011-12-30T10:00:00Z', '2011-12-31T10:00:00Z'],
    ],
    ['SCH-032', '30 2 * * *', 'Pacific/Chatham', '2026-09-26T00:00:00Z', ['2026-09-26T13:45:00Z']],
    ['SCH-032', '50 2 * * *', 'Pacific/Chatham', '2026-09-26T00:00:00Z', ['2026-09-26T14:00:00Z']],
  ])('%s: "%s" in %s after %s', (_id, cron, name, after, due) => {
    expect(firstDue(cron, name, after, due.length)).toEqual(due);
  });

  test.each(['0,30 2 * * *', '0 2,3 * * *'])(
    'several local times that land on one instant are one occurrence that stands for them: %s (SCH-018)',
    (cron) => {
      expect(dueOn(cron, 'America/New_York', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z')).toEqual([
        { at: at('2026-03-08T07:00:00Z'), standsFor: 2 },
      ]);
    },
  );

  test('a skipped day stands for its own times beside those of the next one (SCH-031)', () => {
    const dues = dueOn('0 0,12 * * *', 'Pacific/Apia', '2011-12-30T09:00:00Z', '2011-12-30T22:00:00Z');
    expect(dues).toEqual([
      { at: at('2011-12-30T10:00:00Z'), standsFor: 3 },
      { at: at('2011-12-30T22:00:00Z'), standsFor: 1 },
    ]);
  });
});

describe('clocks back', () => {
  test.each([
    [
      'SCH-014',
      '30 1 * * *',
      'America/New_York',
      '2021-11-07T00:00:00Z',
      ['2021-11-07T05:30:00Z', '2021-11-08T06:30:00Z'],
    ],
    [
      'SCH-021',
      '0 * * * *',
      'America/New_York',
      '2026-11-01T04:00:00Z',
      ['2026-11-01T05:00:00Z', '2026-11-01T06:00:00Z', '2026-11-01T07:00:00Z'],
    ],
    [
      'SCH-021',
      '0 0-23 * * *',
      'America/New_York',
      '2026-11-01T04:00:00Z',
      ['2026-11-01T05:00:00Z', '2026-11-01T07:00:00Z', '2026-11-01T08:00:00Z'],
    ],
    ['SCH-023', '30 1 * * *', 'America/New_York', '2026-11-01T06:00:00Z', ['2026-11-02T06:30:00Z']],
    ['SCH-023', '30 1 * * *', 'America/New_York', '2026-11-01T06:10:00Z', ['2026-11-02T06:30:00Z']],
    ['SCH-023', '* * * * *', 'America/New_York', '2026-11-01T06:30:15Z', ['2026-11-01T06:31:00Z']],
    [
      'SCH-024',
      '0 * * * *',
      'America/Los_Angeles',
      '2026-11-01T07:00:00Z',
      ['2026-11-01T08:00:00Z', '2026-11-01T09:00:00Z', '2026-11-01T10:00:00Z'],
    ],
    [
      'SCH-025',
      '30 * * * *',
      'Europe/Helsinki',
      '2017-10-29T00:00:00Z',
      ['2017-10-29T00:30:00Z', '2017-10-29T01:30:00Z', '2017-10-29T02:30:00Z', '2017-10-29T03:30:00Z'],
    ],
    ['SCH-026', '* * * * *', 'America/Sao_Paulo', '2016-02-21T02:00:00Z', ['2016-02-21T02:01:00Z']],
    [
      'SCH-027',
      '0 0 * * *',
      'America/Sao_Paulo',
      '2018-02-17T02:05:00Z',
      ['2018-02-17T03:00:00Z', '2018-02-18T03:00:00Z'].slice(1),
    ],
    [
      'SCH-027',
      '30 23 * * *',
      'America/Santiago',
      '2026-04-04T12:00:00Z',
      ['2026-04-05T02:30:00Z', '2026-04-06T03:30:00Z'],
    ],
    [
      'SCH-028',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T00:00:00Z',
      ['2026-04-04T14:45:00Z', '2026-04-05T15:15:00Z'],
    ],
    [
      'SCH-028',
      '0 * * * *',
      'Australia/Lord_Howe',
      '2026-04-04T13:00:00Z',
      ['2026-04-04T14:00:00Z', '2026-04-04T15:30:00Z', '2026-04-04T16:30:00Z'],
    ],
    ['SCH-035', '30 1 * * *', 'UTC', '2022-10-30T00:00:00Z', ['2022-10-30T01:30:00Z', '2022-10-31T01:30:00Z']],
  ])('%s: "%s" in %s after %s', (_id, cron, name, after, due) => {
    expect(firstDue(cron, name, after, due.length)).toEqual(due);
  });

  test('two spellings of one set of minutes differ on that night: */30 is due in both passes, 0,30 in the first (SCH-020)', () => {
    const night = (cron: string): string[] =>
      dueOn(cron, 'America/New_York', '2026-11-01T04:00:00Z', '2026-11-01T12:00:00Z').map((due) =>
        formatInstant(due.at).slice(11, 16),
      );
    expect(night('*/30 1 * * *')).toEqual(['05:00', '05:30', '06:00', '06:30']);
    expect(night('0,30 1 * * *')).toEqual(['05:00', '05:30']);
  });

  test('a minutely job has 1500 occurrences on the long day and 1380 on the short one (SCH-024)', () => {
    expect(dueOn('* * * * *', 'Europe/Berlin', '2023-10-28T21:59:59Z', '2023-10-29T22:59:59Z')).toHaveLength(1500);
    expect(dueOn('* * * * *', 'Europe/Berlin', '2023-03-25T22:59:59Z', '2023-03-26T21:59:59Z')).toHaveLength(1380);
  });

  test('the search backwards finds the first pass from inside the second', () => {
    const table = timetable([{ cron: '30 1 * * *' }], zone('America/New_York'));
    expect(table.previous(at('2026-11-01T06:45:00Z'))?.at).toBe(at('2026-11-01T05:30:00Z'));
    expect(table.previous(at('2026-11-01T05:30:00Z'))?.at).toBe(at('2026-10-31T05:30:00Z'));
  });
});
