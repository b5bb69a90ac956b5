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
const error = (cron: unknown, name = 'UTC'): string => {
  const read = parseSchedules([{ cron }], zone(name));
  return read.ok ? 'accepted' : (read.errors[0]?.message ?? '');
};

/** Processor time of this process: a busy machine must not fail a promise about work. */
function cpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe('days', () => {
  const days = (cron: string, after: string, count: number): string[] =>
    firstDue(cron, 'UTC', after, count).map((text) => text.slice(0, 10));
  test.each([
    ['SCH-049', '0 0 31 2,3,4,5 *', '2018-07-27T00:00:00Z', ['2019-03-31', '2019-05-31']],
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
    const started = cpuMillis();
    expect(error(cron)).toMatch(message);
    expect(cpuMillis() - started).toBeLessThan(50);
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
    const started = cpuMillis();
    expect(
      error(
        `${Array.from({ length: 60 }, (_, i) => i).join(',')} ${Array.from({ length: 24 }, (_, i) => i).join(',')} * * *`,
      ),
    ).toBe('accepted');
    expect(cpuMillis() - started).toBeLessThan(50);
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
    const started = cpuMillis();
    for (const after of ['1970-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '9000-01-01T00:00:00Z']) {
      table.next(at(after));
      table.previous(at(after));
    }
    expect(cpuMillis() - started).toBeLessThan(20);
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
