import { describe, expect, test } from 'vitest';
import { ics, NOW, read, windowOf } from '../support/calendars.ts';

/** Processor time of this process: a busy machine must not fail a promise about work. */
function cpuMillis(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const replacing = (i: number): string[] => (i % 2 === 0 ? ['RECURRENCE-ID;VALUE=DATE:20260102'] : []);

describe('calendars that cost', () => {
  test.each([
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31',
    'FREQ=WEEKLY;INTERVAL=52;BYMONTH=2;BYDAY=MO',
    'FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6',
    'FREQ=DAILY;BYSETPOS=3',
    'FREQ=DAILY;INTERVAL=1000000000',
    'FREQ=YEARLY;INTERVAL=999999999999',
    'FREQ=DAILY;COUNT=1000000000',
  ])('%s is expanded or refused at once, though it may never come', (rule) => {
    const text = ics(['UID:a', 'DTSTART;VALUE=DATE:19000101', `RRULE:${rule}`, 'SUMMARY:x']);
    const cost = cpuMillis(() => {
      const answer = read(text);
      if (answer.ok) windowOf(text).next(NOW);
    });
    expect(cost).toBeLessThan(5000);
  });

  test('are bounded in events, rules and stretches', () => {
    const many = (count: number, ...lines: readonly string[]): string =>
      ics(...Array.from({ length: count }, (_, i) => [`UID:${i}`, 'DTSTART;VALUE=DATE:20200101', ...lines]));
    expect(read(many(10_001))).toEqual({ ok: false, reason: expect.stringMatching(/10001 events/) });
    expect(read(many(301, 'RRULE:FREQ=YEARLY'))).toEqual({
      ok: false,
      reason: expect.stringMatching(/301 recurrence/),
    });
    expect(read(many(14, 'RRULE:FREQ=DAILY'))).toEqual({ ok: false, reason: expect.stringMatching(/in a year/) });
    expect(read(many(13, 'RRULE:FREQ=DAILY')).ok).toBe(true);
    let asked = 0;
    const hasTime = (): boolean => ++asked < 5;
    const slow = read(many(13, 'RRULE:FREQ=DAILY'), 'UTC', hasTime);
    expect(slow).toEqual({ ok: false, reason: expect.stringMatching(/take too long/) });
  });

  test('a name of a time zone without end is refused at once', () => {
    const text = ics(['UID:a', `DTSTART;TZID=${'A'.repeat(900_000)}:20260101T000000`, 'SUMMARY:x']);
    const cost = cpuMillis(() => expect(read(text)).toMatchObject({ reason: expect.stringMatching(/is not known/) }));
    expect(cost).toBeLessThan(2000);
  });

  test('thousands of events that each stand for thousands of others are given up in time', () => {
    const events = Array.from({ length: 4000 }, (_, i) => ['UID:a', 'DTSTART;VALUE=DATE:20260101', ...replacing(i)]);
    let asked = 0;
    const cost = cpuMillis(() => {
      const answer = read(ics(...events), 'UTC', () => ++asked < 10);
      expect(answer).toEqual({ ok: false, reason: expect.stringMatching(/take too long/) });
    });
    expect(cost).toBeLessThan(5000);
  });
});
