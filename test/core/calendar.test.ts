import { describe, expect, test } from 'vitest';
import { LARGEST_CALENDAR, parseCalendar } from '../../src/core/calendar-text.ts';
import { compileWindow, type Window } from '../../src/core/maintenance.ts';
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
const NOW = at('2026-03-01T12:00:00Z');

/** An .ics text of these events, each a list of its lines. */
const ics = (...events: readonly (readonly string[])[]): string =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//example//holidays//EN',
    ...events.flatMap((lines) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']),
    'END:VCALENDAR',
    '',
  ].join('\r\n');

const read = (text: string, name = 'Europe/Berlin', hasTime = () => true) =>
  parseCalendar(text, { zone: name, zoneOf: zones.get, hasTime }, NOW);

function windowOf(text: string, name = 'Europe/Berlin'): Window {
  const events = read(text, name);
  if (!events.ok) throw new Error(events.reason);
  return compileWindow({ kind: 'calendar', zone: name, url: null, ics: null, events: events.value }, zone);
}

/** The stretches that begin after `from`, the first `count` of them. */
function stretches(window: Window, from: string, count: number): string[] {
  const found: string[] = [];
  for (let next = window.next(at(from)); next && found.length < count; next = window.next(next.from)) {
    found.push(`${formatInstant(next.from)} ${formatInstant(next.until)} ${next.summary}`.trim());
  }
  return found;
}

describe('all-day events', () => {
  test('last from local midnight to local midnight, 23 or 25 hours where the clocks change', () => {
    const text = ics(
      ['UID:a', 'DTSTART;VALUE=DATE:20260329', 'SUMMARY:Palm Sunday'],
      ['UID:b', 'DTSTART;VALUE=DATE:20261024', 'DTEND;VALUE=DATE:20261026', 'SUMMARY:A weekend'],
    );
    expect(stretches(windowOf(text), '2026-01-01T00:00:00Z', 5)).toEqual([
      '2026-03-28T23:00:00Z 2026-03-29T22:00:00Z Palm Sunday',
      '2026-10-23T22:00:00Z 2026-10-25T23:00:00Z A weekend',
    ]);
    expect(stretches(windowOf(text, 'UTC'), '2026-01-01T00:00:00Z', 1)).toEqual([
      '2026-03-29T00:00:00Z 2026-03-30T00:00:00Z Palm Sunday',
    ]);
  });

  test('begin at the transition where midnight does not exist', () => {
    const text = ics(['UID:a', 'DTSTART;VALUE=DATE:20260906', 'SUMMARY:Spring forward']);
    expect(stretches(windowOf(text, 'America/Santiago'), '2026-01-01T00:00:00Z', 1)).toEqual([
      '2026-09-06T04:00:00Z 2026-09-07T03:00:00Z Spring forward',
    ]);
  });

  test('come every year, by date or by weekday, from long ago', () => {
    const text = ics(
      ['UID:a', 'DTSTART;VALUE=DATE:16041225', 'RRULE:FREQ=YEARLY', 'SUMMARY:Christmas'],
      ['UID:b', 'DTSTART;VALUE=DATE:19411127', 'RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH', 'SUMMARY:Thanksgiving'],
    );
    expect(stretches(windowOf(text, 'UTC'), '2026-01-01T00:00:00Z', 4)).toEqual([
      '2026-11-26T00:00:00Z 2026-11-27T00:00:00Z Thanksgiving',
      '2026-12-25T00:00:00Z 2026-12-26T00:00:00Z Christmas',
      '2027-11-25T00:00:00Z 2027-11-26T00:00:00Z Thanksgiving',
      '2027-12-25T00:00:00Z 2027-12-26T00:00:00Z Christmas',
    ]);
  });

  test('that span the turn of a year hold on both sides of it', () => {
    const window = windowOf(ics(['UID:a', 'DTSTART;VALUE=DATE:20261224', 'DURATION:P2W', 'SUMMARY:Closed']), 'UTC');
    expect(window.around(at('2026-12-31T23:59:59Z'))?.summary).toBe('Closed');
    expect(window.around(at('2027-01-06T23:59:59Z'))?.summary).toBe('Closed');
    expect(window.around(at('2027-01-07T00:00:00Z'))).toBeNull();
  });

  test('count whether they are shown as busy or free: holiday calendars say free', () => {
    const text = ics(['UID:a', 'DTSTART;VALUE=DATE:20260501', 'TRANSP:TRANSPARENT', 'SUMMARY:Labour Day']);
    expect(windowOf(text).around(at('2026-05-01T10:00:00Z'))?.summary).toBe('Labour Day');
  });
});

describe('events at a time', () => {
  test('keep their local time through the year, in their own zone and not the one of the calendar', () => {
    const text = ics([
      'UID:a',
      'DTSTART;TZID=America/New_York:20260301T020000',
      'DTEND;TZID=America/New_York:20260301T040000',
      'RRULE:FREQ=WEEKLY;COUNT=3',
      'SUMMARY:Patching',
    ]);
    expect(stretches(windowOf(text), '2026-01-01T00:00:00Z', 5)).toEqual([
      '2026-03-01T07:00:00Z 2026-03-01T09:00:00Z Patching',
      // 02:00 does not exist on 8 March: it is the transition, and lasts two hours as ever.
      '2026-03-08T07:00:00Z 2026-03-08T09:00:00Z Patching',
      '2026-03-15T06:00:00Z 2026-03-15T08:00:00Z Patching',
    ]);
  });

  test('may be in UTC, floating in the zone of the calendar, or named as Outlook does', () => {
    const text = ics(
      ['UID:a', 'DTSTART:20260701T100000Z', 'DURATION:PT1H', 'SUMMARY:utc'],
      ['UID:b', 'DTSTART:20260702T100000', 'DURATION:PT1H', 'SUMMARY:floating'],
      ['UID:c', 'DTSTART;TZID=Tokyo Standard Time:20260703T100000', 'DURATION:PT1H', 'SUMMARY:windows'],
      ['UID:d', 'DTSTART;TZID=/example.org/2020/Asia/Kolkata:20260704T100000', 'DURATION:PT1H', 'SUMMARY:prefixed'],
    );
    expect(stretches(windowOf(text), '2026-01-01T00:00:00Z', 5)).toEqual([
      '2026-07-01T10:00:00Z 2026-07-01T11:00:00Z utc',
      '2026-07-02T08:00:00Z 2026-07-02T09:00:00Z floating',
      '2026-07-03T01:00:00Z 2026-07-03T02:00:00Z windows',
      '2026-07-04T04:30:00Z 2026-07-04T05:30:00Z prefixed',
    ]);
  });

  test('are read by our zones whatever rules the file brings along', () => {
    const wrong = [
      'BEGIN:VTIMEZONE',
      'TZID:Europe/Berlin',
      'BEGIN:STANDARD',
      'DTSTART:19700101T000000',
      'TZOFFSETFROM:+0900',
      'TZOFFSETTO:+0900',
      'END:STANDARD',
      'END:VTIMEZONE',
    ];
    const text = ics(['UID:a', 'DTSTART;TZID=Europe/Berlin:20260701T100000', 'DURATION:PT1H', 'SUMMARY:x']).replace(
      'BEGIN:VEVENT',
      [...wrong, 'BEGIN:VEVENT'].join('\r\n'),
    );
    expect(stretches(windowOf(text), '2026-01-01T00:00:00Z', 1)).toEqual([
      '2026-07-01T08:00:00Z 2026-07-01T09:00:00Z x',
    ]);
  });

  test('leave out exceptions, take further dates, and follow what was moved or cancelled', () => {
    const master = [
      'UID:m',
      'DTSTART;TZID=Europe/Berlin:20260302T220000',
      'DTEND;TZID=Europe/Berlin:20260302T230000',
      'RRULE:FREQ=WEEKLY;UNTIL=20260330T200000Z',
      'EXDATE;TZID=Europe/Berlin:20260309T220000',
      // The same exception as another program writes it.
      'EXDATE:20260316T210000Z',
      'RDATE;TZID=Europe/Berlin:20260303T220000',
      'SUMMARY:Night',
    ];
    const moved = [
      'UID:m',
      'RECURRENCE-ID;TZID=Europe/Berlin:20260323T220000',
      'DTSTART;TZID=Europe/Berlin:20260324T100000',
      'DTEND;TZID=Europe/Berlin:20260324T110000',
      'SUMMARY:Moved',
    ];
    expect(stretches(windowOf(ics(master, moved)), '2026-01-01T00:00:00Z', 9)).toEqual([
      '2026-03-02T21:00:00Z 2026-03-02T22:00:00Z Night',
      '2026-03-03T21:00:00Z 2026-03-03T22:00:00Z Night',
      '2026-03-24T09:00:00Z 2026-03-24T10:00:00Z Moved',
      // UNTIL is 22:00 in Berlin, in summer time by then: this one still counts.
      '2026-03-30T20:00:00Z 2026-03-30T21:00:00Z Night',
    ]);
    const cancelled = [...moved.slice(0, 4), 'STATUS:CANCELLED'];
    expect(stretches(windowOf(ics(master, cancelled)), '2026-03-04T00:00:00Z', 9)).toEqual([
      '2026-03-30T20:00:00Z 2026-03-30T21:00:00Z Night',
    ]);
    expect(stretches(windowOf(ics([...master, 'STATUS:CANCELLED'])), '2026-01-01T00:00:00Z', 9)).toEqual([]);
  });

  test('without an end hold nothing', () => {
    expect(stretches(windowOf(ics(['UID:a', 'DTSTART:20260701T100000Z'])), '2026-01-01T00:00:00Z', 9)).toEqual([]);
  });
});

test('a summary becomes one plain line', () => {
  const text = ics(['UID:a', 'DTSTART;VALUE=DATE:20260501', `SUMMARY:Two\\nlines\\, ${'x'.repeat(300)}`]);
  const summary = windowOf(text).around(at('2026-05-01T10:00:00Z'))?.summary ?? '';
  expect(summary).toMatch(/^Two lines, x+$/);
  expect(summary).toHaveLength(200);
});

describe('what is refused, with the reason', () => {
  const event = (...lines: readonly string[]): string => ics(['UID:a', 'SUMMARY:It', ...lines]);
  test.each([
    ['', /not a calendar/],
    ['hello', /not a calendar/],
    ['<html><body>Sign in</body></html>', /not a calendar/],
    ['BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260101', /not a calendar/],
    ['BEGIN:VEVENT\r\nDTSTART:20260101T000000Z\r\nEND:VEVENT\r\n', /no VCALENDAR/],
    ['BEGIN:VCARD\r\nFN:x\r\nEND:VCARD\r\n', /no VCALENDAR/],
    ['\0'.repeat(100), /not text/],
    [`BEGIN:VCALENDAR\r\n${'X'.repeat(LARGEST_CALENDAR)}`, /larger than 1 MB/],
    [event(), /"It": it has no DTSTART/],
    [event('DTSTART;VALUE=DATE:20261345'), /"It": .* is no time/],
    [event('DTSTART:20260101'), /is no time/],
    [event('DTSTART;TZID=Mars/Olympus:20260101T100000', 'DURATION:PT1H'), /time zone "Mars\/Olympus" is not known/],
    [event('DTSTART;VALUE=DATE:20260101', 'DURATION:-P1D'), /negative/],
    [event('DTSTART;VALUE=DATE:20260101', 'DTEND;VALUE=DATE:20280101'), /longer than 366 days/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=SECONDLY'), /more often than once a day/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=HOURLY;COUNT=1000000000'), /more often/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=DAILY;BYHOUR=1,2;BYMINUTE=3'), /more often/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=DAILY;INTERVAL=x'), /./],
    [event('DTSTART;VALUE=DATE:20260101', 'EXRULE:FREQ=DAILY'), /EXRULE/],
    [event('DTSTART;VALUE=DATE:20260101', 'RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20260101'), /THISANDFUTURE/],
    [event('DTSTART:20260101T000000Z', 'RDATE;VALUE=PERIOD:20260101T000000Z/PT1H'), /periods/],
  ])('%#', (text, reason) => {
    const answer = read(text);
    expect(answer).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });
});

/** Processor time of this process: a busy machine must not fail a promise about work. */
function cpuMillis(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

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
});
