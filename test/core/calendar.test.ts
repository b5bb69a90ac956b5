import { describe, expect, test } from 'vitest';
import { LARGEST_CALENDAR } from '../../src/core/calendar-text.ts';
import { at, ics, read, stretches, windowOf } from '../support/calendars.ts';

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

  test('are read as other programs write them: without VALUE, ending where they begin, left out by a time', () => {
    const text = ics(
      ['UID:a', 'DTSTART:20260501', 'SUMMARY:no value'],
      ['UID:b', 'DTSTART;VALUE=DATE:20260502', 'DTEND;VALUE=DATE:20260502', 'SUMMARY:same end'],
      ['UID:c', 'DTSTART;VALUE=DATE:20260503', 'DURATION:P0D', 'SUMMARY:no duration'],
      [
        'UID:d',
        'DTSTART;VALUE=DATE:20260504',
        'RRULE:FREQ=DAILY;COUNT=5',
        'EXDATE:20260505T000000Z,20260506T000000',
        'EXDATE;TZID=America/New_York:20260507T000000',
        'SUMMARY:daily',
      ],
    );
    for (const [zone, hour] of [
      ['UTC', '00'],
      ['America/New_York', '04'],
    ] as const) {
      expect(stretches(windowOf(text, zone), '2026-01-01T00:00:00Z', 9)).toEqual([
        `2026-05-01T${hour}:00:00Z 2026-05-02T${hour}:00:00Z no value`,
        `2026-05-02T${hour}:00:00Z 2026-05-03T${hour}:00:00Z same end`,
        `2026-05-03T${hour}:00:00Z 2026-05-04T${hour}:00:00Z no duration`,
        `2026-05-04T${hour}:00:00Z 2026-05-05T${hour}:00:00Z daily`,
        `2026-05-08T${hour}:00:00Z 2026-05-09T${hour}:00:00Z daily`,
      ]);
    }
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

  test('are left out by a date too, and moved into another zone or to a whole day', () => {
    const master = [
      'UID:m',
      'DTSTART;TZID=Europe/Berlin:20260302T220000',
      'DURATION:PT1H',
      'RRULE:FREQ=DAILY;COUNT=6',
      'EXDATE;VALUE=DATE:20260303',
      'SUMMARY:Night',
    ];
    const instead = (id: string, ...lines: string[]): string[] => ['UID:m', `RECURRENCE-ID;${id}`, ...lines];
    const text = ics(
      master,
      instead('VALUE=DATE:20260304', 'DTSTART:20260310T100000Z', 'DURATION:PT1H', 'SUMMARY:by date'),
      instead('TZID=Europe/Berlin:20260305T220000', 'DTSTART:20260311T100000Z', 'DURATION:PT1H', 'SUMMARY:zone'),
      instead('TZID=Europe/Berlin:20260306T220000', 'DTSTART;VALUE=DATE:20260312', 'SUMMARY:day'),
    );
    // The zone of the calendar is neither that of the event nor that of what takes its place.
    expect(stretches(windowOf(text, 'America/New_York'), '2026-01-01T00:00:00Z', 9)).toEqual([
      '2026-03-02T21:00:00Z 2026-03-02T22:00:00Z Night',
      '2026-03-07T21:00:00Z 2026-03-07T22:00:00Z Night',
      '2026-03-10T10:00:00Z 2026-03-10T11:00:00Z by date',
      '2026-03-11T10:00:00Z 2026-03-11T11:00:00Z zone',
      '2026-03-12T04:00:00Z 2026-03-13T04:00:00Z day',
    ]);
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
    [event('DTSTART:20260101T1'), /is no time/],
    [event('DTSTART;TZID=Mars/Olympus:20260101T100000', 'DURATION:PT1H'), /time zone "Mars\/Olympus" is not known/],
    [event('DTSTART;VALUE=DATE:20260101', 'DURATION:-P1D'), /negative/],
    [event('DTSTART;VALUE=DATE:20260101', 'DTEND;VALUE=DATE:20280101'), /longer than 366 days/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=SECONDLY'), /more often than once a day/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=HOURLY;COUNT=1000000000'), /more often/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=DAILY;BYHOUR=1,2;BYMINUTE=3'), /more often/],
    [event('DTSTART:20260101T000000Z', 'DURATION:PT1S', 'RRULE:FREQ=DAILY;INTERVAL=x'), /./],
    // Zero is no number of times; the library would read it as for ever.
    [event('DTSTART;VALUE=DATE:20260101', 'RRULE:FREQ=DAILY;COUNT=0'), /COUNT/],
    [event('DTSTART;VALUE=DATE:20260101', 'EXRULE:FREQ=DAILY'), /EXRULE/],
    [event('DTSTART;VALUE=DATE:20260101', 'RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20260101'), /THISANDFUTURE/],
    [event('DTSTART:20260101T000000Z', 'RDATE;VALUE=PERIOD:20260101T000000Z/PT1H'), /periods/],
  ])('%#', (text, reason) => {
    const answer = read(text);
    expect(answer).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });
});
