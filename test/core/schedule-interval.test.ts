import { describe, expect, test } from 'vitest';
import { parseSchedules, type ScheduleSpec, timetable } from '../../src/core/schedule.ts';
import { formatInstant } from '../../src/core/time.ts';
import { UTC_TABLE, zoneOf } from '../../src/core/zone.ts';

const utc = zoneOf(UTC_TABLE);
const read = (input: unknown): ScheduleSpec => {
  const found = parseSchedules([input], utc);
  if (!found.ok) throw new Error(found.errors[0]?.message);
  return found.value[0] as ScheduleSpec;
};
const error = (input: unknown) => {
  const found = parseSchedules([input], utc);
  return found.ok ? 'accepted' : found.errors;
};
const dueIn = (input: unknown, after: string, until: string): string[] =>
  [...timetable([read(input)], utc).dueIn(Date.parse(after), Date.parse(until))].map((due) => formatInstant(due.at));

describe('an interval', () => {
  test('runs on elapsed time from its anchor, through a clock change (SCH-069)', () => {
    expect(
      dueIn({ every: '2h', anchor: '2026-03-08T00:30:00-05:00' }, '2026-03-08T05:00:00Z', '2026-03-08T12:00:00Z'),
    ).toEqual(['2026-03-08T05:30:00Z', '2026-03-08T07:30:00Z', '2026-03-08T09:30:00Z', '2026-03-08T11:30:00Z']);
  });

  test('of 24 h is an hour later by the local clock after the change (SCH-070)', () => {
    expect(
      dueIn({ every: '24h', anchor: '2026-03-07T13:00:00Z' }, '2026-03-07T13:00:00Z', '2026-03-08T13:00:00Z'),
    ).toEqual(['2026-03-08T13:00:00Z']);
  });

  test('is due before its anchor too: the anchor fixes the phase, not a beginning', () => {
    expect(
      dueIn({ every: '7h', anchor: '2030-01-01T00:00:00Z' }, '2026-01-01T00:00:00Z', '2026-01-01T12:00:00Z'),
    ).toEqual(['2026-01-01T01:00:00Z', '2026-01-01T08:00:00Z']);
  });

  test('without an anchor counts from the epoch', () => {
    expect(read({ every: '1d' })).toEqual({ every: 86_400, anchor: 0 });
    expect(dueIn({ every: 'PT12H' }, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')).toEqual([
      '2026-01-01T12:00:00Z',
      '2026-01-02T00:00:00Z',
    ]);
  });

  test('next and previous are strict, also on the due instant', () => {
    const table = timetable([{ every: 60, anchor: 0 }], utc);
    expect([table.next(60_000)?.at, table.next(59_999)?.at]).toEqual([120_000, 60_000]);
    expect([table.previous(60_000)?.at, table.previous(60_001)?.at]).toEqual([0, 60_000]);
    expect(table.previous(0)).toBeNull();
    expect(table.next(Date.parse('9999-12-31T23:59:59Z'))).toBeNull();
  });

  test.each([
    [{ every: '1s' }, 'accepted'],
    [{ every: '366d' }, 'accepted'],
    [{ every: 90 }, 'accepted'],
    [{ every: '0s' }, [{ path: 'schedules[0].every', message: 'must be 1s to 366d' }]],
    [{ every: '367d' }, [{ path: 'schedules[0].every', message: 'must be 1s to 366d' }]],
    [{ every: 'P1M' }, [{ path: 'schedules[0].every', message: expect.stringMatching(/years and months/) }]],
    [{ every: 1.5 }, [{ path: 'schedules[0].every', message: expect.stringMatching(/fractions/) }]],
    [
      { every: '1h', anchor: '2026-02-31T00:00:00Z' },
      [{ path: 'schedules[0].anchor', message: expect.stringMatching(/no such date/) }],
    ],
    [
      { every: '1h', anchor: '2026-03-08 02:30' },
      [{ path: 'schedules[0].anchor', message: expect.stringMatching(/with its offset/) }],
    ],
    [
      { every: '1h', anchor: 'infinity' },
      [{ path: 'schedules[0].anchor', message: expect.stringMatching(/with its offset/) }],
    ],
    [
      { every: '1h', anchor: '+275761-01-01T00:00:00Z' },
      [{ path: 'schedules[0].anchor', message: expect.stringMatching(/with its offset/) }],
    ],
    [
      { every: '1h', anchor: '2026-01-01T00:00:00.5Z' },
      [{ path: 'schedules[0].anchor', message: 'must be a whole second' }],
    ],
    [{ every: '1h', anchor: 5 }, [{ path: 'schedules[0].anchor', message: expect.stringMatching(/RFC 3339/) }]],
    [
      { every: '0s', anchor: 'x' },
      [
        { path: 'schedules[0].every', message: expect.any(String) },
        { path: 'schedules[0].anchor', message: expect.any(String) },
      ],
    ],
  ])('%j is judged at the door (SCH-071)', (input, verdict) => {
    expect(error(input)).toEqual(verdict);
  });

  test('stored nonsense throws and says what it is', () => {
    expect(() => timetable([{ every: 0, anchor: 0 }], utc)).toThrow(/not an interval schedule/);
    expect(() => timetable([{ every: 1.5, anchor: 0 }], utc)).toThrow(/not an interval schedule/);
  });
});
