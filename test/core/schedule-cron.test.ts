import { describe, expect, test } from 'vitest';
import { parseSchedules, timetable } from '../../src/core/schedule.ts';
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
const error = (cron: unknown, name = 'UTC'): string => {
  const read = parseSchedules([{ cron }], zone(name));
  return read.ok ? 'accepted' : (read.errors[0]?.message ?? '');
};

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

describe('days', () => {
  const days = (cron: string, after: string, count: number): string[] =>
    firstDue(cron, 'UTC', after, count).map((text) => text.slice(0, 10));
  test.each([
    ['SCH-042 (Asuncion is below)', '0 0 31 2,3,4,5 *', '2018-07-27T00:00:00Z', ['2019-03-31', '2019-05-31']],
    ['SCH-051', '0 0 29 2 *', '2097-01-01T00:00:00Z', ['2104-02-29']],
    ['SCH-051', '0 0 29 2 */7', '2026-01-01T00:00:00Z', ['2032-02-29', '2060-02-29']],
    [
      'SCH-052',
      '30 4 1,15 * 5',
      '2026-01-01T00:00:00Z',
      ['2026-01-01', '2026-01-02', '2026-01-09', '2026-01-15', '2026-01-16', '2026-01-23'],
    ],
    ['SCH-053', '0 0 */2 * 1', '2024-12-31T23:59:00Z', ['2025-01-13', '2025-01-27']],
    ['SCH-053', '0 0 15 * */3', '2024-12-31T23:59:00Z', ['2025-01-15']],
    [
      'SCH-055',
      '0 0 1-7 * 1',
      '2026-05-31T00:00:00Z',
      [
        '2026-06-01',
        '2026-06-02',
        '2026-06-03',
        '2026-06-04',
        '2026-06-05',
        '2026-06-06',
        '2026-06-07',
        '2026-06-08',
        '2026-06-15',
      ],
    ],
    ['SCH-056', '0 0 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04']],
    ['SCH-056', '0 0 * * 5-7', '2026-01-01T00:00:00Z', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09']],
    ['SCH-056', '0 0 * * 6,7', '2026-01-01T00:00:00Z', ['2026-01-03', '2026-01-04', '2026-01-10', '2026-01-11']],
    ['SCH-056', '0 0 * * 0-7', '2026-01-01T00:00:00Z', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05']],
    ['SCH-058', '0 0 * * MON#2', '2026-01-01T00:00:00Z', ['2026-01-12', '2026-02-09']],
    ['SCH-058', '0 0 L * *', '2028-01-31T00:00:00Z', ['2028-02-29', '2028-03-31']],
    ['SCH-058', '0 0 * * 7L', '2026-01-01T00:00:00Z', ['2026-01-25', '2026-02-22']],
    [
      'LW',
      '0 0 LW * *',
      '2026-01-01T00:00:00Z',
      ['2026-01-30', '2026-02-27', '2026-03-31', '2026-04-30', '2026-05-29'],
    ],
    [
      'SCH-066',
      '0 0 31 * *',
      '2026-01-01T00:00:00Z',
      ['2026-01-31', '2026-03-31', '2026-05-31', '2026-07-31', '2026-08-31'],
    ],
  ])('%s: "%s" after %s', (_id, cron, after, due) => {
    expect(days(cron, after, due.length)).toEqual(due);
  });

  test('a country that gave up DST stays where it is (SCH-042)', () => {
    expect(firstDue('0 6 * * *', 'America/Asuncion', '2025-03-25T12:00:00Z', 1)).toEqual(['2025-03-26T09:00:00Z']);
  });
});

describe('an expression is refused with what to write instead', () => {
  test.each([
    ['0 0 31 2 *', /matches no day/],
    ['0 0 30 2 *', /matches no day/],
    ['0 0 31 4 *', /matches no day/],
    ['0 0 31 4,6 *', /matches no day/],
    ['0 0 31 2,4,6,9,11 *', /matches no day/],
    ['0 0 30,31 2 *', /matches no day/],
    ['0 22-2 * * *', /write 22-23,0-2/],
    ['* * * * FRI-SUN', /write 5-7/],
    ['0 0 * * 7-1', /write 0-1/],
    ['0 0 ? * 1', /write \*/],
    ['H * * * *', /Jenkins/],
    ['0 0 15W * *', /"W" is not supported/],
    ['*/0 * * * *', /step .* is 0/],
    ['0 15 */1 * * *', /5 fields expected/],
    ['15 23 * * 1-5 *', /5 fields expected/],
    ['20 15 * *', /5 fields expected/],
    ['', /required/],
    ['   ', /required/],
    ['¹ * * * *', /character 1 \(U\+00B9\)/],
    ['*/5 6-23 \u034f* * *', /character 10 \(U\+034F\)/],
    ['٣ * * * *', /character 1 \(U\+0663\)/],
    ['0 0 ＊ * *', /character 5 \(U\+FF0A\)/],
    ['0 0\u00a0* * *', /character 4 \(U\+00A0\)/],
    ['0 0 * * *\n', /character 10 \(U\+000A\)/],
    ['TZ=0', /set "zone"/],
    ['TZ=', /set "zone"/],
    ['CRON_TZ=UTC', /set "zone"/],
    ['TZ=Europe/Rome 0 2 * * *', /set "zone"/],
    ['@reboot', /heartbeat/],
    ['@every 5m', /interval/],
    [`${'*/1,'.repeat(2500)}* * * * *`, /longer than 256/],
    [5, /must be text/],
    [undefined, /must be text/],
    [null, /must be text/],
  ])('%j (SCH-048, 057 to 065, 068)', (cron, message) => {
    const started = performance.now();
    expect(error(cron)).toMatch(message);
    expect(performance.now() - started).toBeLessThan(50);
  });

  test('tabs between fields are fine (SCH-064)', () => {
    expect(firstDue('0\t0 \t* * *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-02T00:00:00Z']);
  });

  test('what a clock change always skips is never due, so it is refused where it is skipped, and only there', () => {
    expect(error('*/30 2 * 3 0L', 'Europe/Berlin')).toMatch(/never due in Europe\/Berlin/);
    expect(error('*/30 2 * 3 0L', 'UTC')).toBe('accepted');
    expect(error('30 2 * 3 0L', 'Europe/Berlin')).toBe('accepted');
  });

  test('the longest list of all is read in time', () => {
    const started = performance.now();
    expect(
      error(
        `${Array.from({ length: 60 }, (_, i) => i).join(',')} ${Array.from({ length: 24 }, (_, i) => i).join(',')} * * *`,
      ),
    ).toBe('accepted');
    expect(performance.now() - started).toBeLessThan(50);
  });
});

test('the answer to a sparse rule takes milliseconds, in both directions (SCH-009, SCH-051)', () => {
  for (const [cron, name] of [
    ['0 0 29 2 */7', 'Europe/Berlin'],
    ['0 1 30 3 *', 'Europe/Lisbon'],
    ['*/30 1 29 2 */7', 'America/New_York'],
    ['0 0 */28 2 MON#5', 'Asia/Gaza'],
  ] as const) {
    const table = timetable([{ cron }], zone(name));
    const started = performance.now();
    for (const after of ['1970-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '9000-01-01T00:00:00Z']) {
      table.next(at(after));
      table.previous(at(after));
    }
    expect(performance.now() - started).toBeLessThan(20);
  }
});

test('at the ends of time there is an answer, and it is null', () => {
  for (const cron of ['30 2 * * *', '*/30 * * * *']) {
    for (const name of ['UTC', 'America/New_York', 'Pacific/Kiritimati', 'Africa/Monrovia']) {
      const table = timetable([{ cron }], zone(name));
      expect(table.next(at('9999-12-31T23:59:59Z'))).toBeNull();
      expect(table.next(Number.POSITIVE_INFINITY)).toBeNull();
      expect(table.previous(0)).toBeNull();
      expect(table.previous(Number.NEGATIVE_INFINITY)).toBeNull();
      expect(table.next(Number.NEGATIVE_INFINITY)?.at).toBeGreaterThanOrEqual(0);
      expect(table.previous(Number.POSITIVE_INFINITY)?.at).toBeGreaterThan(at('9999-12-30T00:00:00Z'));
      expect(() => table.next(Number.NaN)).toThrow(/not an instant/);
    }
  }
});
