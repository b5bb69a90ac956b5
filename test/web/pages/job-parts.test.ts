import { expect, test } from 'vitest';
import type { State } from '../../../src/core/occurrence.ts';
import { percentile } from '../../../src/web/pages/job/durations.tsx';
import { onCalendar } from '../../../src/web/pages/job/on-calendar.ts';
import { passOf, scheduleText, scheduleWords, spokenMs } from '../../../src/web/pages/job/words.ts';
import { worstOf } from '../../../src/web/pages/job/year.tsx';
import { loadZones } from '../../../src/zones.ts';

const zones = loadZones();
const berlin = zones.get('Europe/Berlin');
if (!berlin.ok) throw new Error(berlin.reason);

test.each([
  ['30 2 * * *', '*-*-* 02:30:00 Europe/Berlin'],
  ['*/15 8-18 * * 1-5', 'Mon..Fri *-*-* 08..18:00/15:00 Europe/Berlin'],
  ['0 4 1 * *', '*-*-01 04:00:00 Europe/Berlin'],
  ['0 0 * */3 0,6', 'Sun,Sat *-01/3-* 00:00:00 Europe/Berlin'],
  ['5,35 * */2 * *', '*-*-01/2 *:05,35:00 Europe/Berlin'],
])('%s is %s for systemd', (cron, calendar) => {
  expect(onCalendar(cron, 'Europe/Berlin')).toBe(calendar);
});

test.each(['0 0 1 * 1', '0 0 L * *', '0 0 * JAN *', '0 0 * * 1#2', '5/15 * * * *', '@daily'])(
  '%s is left to a person who knows systemd',
  (cron) => expect(onCalendar(cron, 'UTC')).toBeNull(),
);

test('the passes of a repeated hour have names, other hours none', () => {
  const at = (text: string) => passOf(Date.parse(text), berlin.value);
  expect(at('2026-10-25T00:30:00Z')).toBe('first');
  expect(at('2026-10-25T01:30:00Z')).toBe('second');
  expect(at('2026-10-25T02:30:00Z')).toBeNull();
});

test('a percentile is a length that a run really had', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  expect([percentile(hundred, 0.5), percentile(hundred, 0.95), percentile([7], 0.95)]).toEqual([50, 95, 7]);
});

test('the worst end of a day is what the day was', () => {
  const day = (...states: State[]) => worstOf({ date: 0, counts: new Map(states.map((state) => [state, 1])) });
  expect(day('on_time', 'failed', 'late')).toBe('failed');
  expect(day('on_time', 'unknown', 'skipped')).toBe('unknown');
  expect(day('skipped', 'on_time')).toBe('on_time');
  expect(day()).toBeNull();
});

test('schedules and lengths are put into words', () => {
  expect(scheduleWords({ cron: '30 2 * * *' })).toBe('At 02:30');
  expect(scheduleWords({ every: 7200, anchor: 0 })).toBe('Every 2 h');
  expect(scheduleText({ every: 7200, anchor: 0 })).toBe('every 2 h from 1970-01-01T00:00:00Z');
  expect(scheduleWords({ heartbeat: 21_600 })).toBe('Within 6 h of the last run');
  expect([340, 12_000, 150_000, 120_000, 7_800_000].map(spokenMs)).toEqual([
    '340 ms',
    '12 s',
    '2 min 30 s',
    '2 min',
    '2 h 10 min',
  ]);
});
