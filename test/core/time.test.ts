import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  floorToSecond,
  formatDuration,
  formatInstant,
  parseDuration,
  parseInstant,
  restorePlus,
} from '../../src/core/time.ts';

describe('an instant', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2026-03-08T02:30:00-05:00', Date.UTC(2026, 2, 8, 7, 30)],
    ['2026-03-08T02:30:00+05:30', Date.UTC(2026, 2, 7, 21)],
    ['2026-03-08 02:30:00Z', Date.UTC(2026, 2, 8, 2, 30)],
    ['2026-03-08t02:30:00z', Date.UTC(2026, 2, 8, 2, 30)],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['9999-12-31T23:59:59.999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ])('%s is read', (text, at) => {
    expect(parseInstant(text)).toEqual({ ok: true, value: at });
  });

  test('fractions are cut to milliseconds, never rounded', () => {
    expect(parseInstant('2026-01-01T00:00:00.9999999Z')).toEqual({
      ok: true,
      value: Date.UTC(2026, 0, 1, 0, 0, 0, 999),
    });
    expect(parseInstant('2026-01-01T00:00:00.5Z')).toEqual({ ok: true, value: Date.UTC(2026, 0, 1, 0, 0, 0, 500) });
  });

  test.each([
    '2026-02-31T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-03-08 02:30',
    '2026-03-08T02:30:00',
    '2026-03-08T02:30Z',
    '2026-03-08',
    'infinity',
    '+275761-01-01T00:00:00Z',
    '275761-01-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+0200',
    '2026-13-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\0',
    '٢٠٢٦-01-01T00:00:00Z',
    '1767225600',
    '',
  ])('%j is refused with a hint (SCH-071)', (text) => {
    expect(parseInstant(text)).toMatchObject({ ok: false, reason: expect.stringMatching(/RFC 3339|1970 to 9999/) });
  });

  test('is written in UTC, with milliseconds only when there are some', () => {
    expect(formatInstant(Date.UTC(2026, 2, 8, 7))).toBe('2026-03-08T07:00:00Z');
    expect(formatInstant(Date.UTC(2026, 2, 8, 7, 0, 0, 40))).toBe('2026-03-08T07:00:00.040Z');
    expect(formatInstant(0)).toBe('1970-01-01T00:00:00Z');
  });

  test('written and read again it is the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (at) => {
        expect(parseInstant(formatInstant(at))).toEqual({ ok: true, value: at });
      }),
    );
  });

  test('cut to the second it never moves forward', () => {
    expect(floorToSecond(1999)).toBe(1000);
    expect(floorToSecond(2000)).toBe(2000);
  });

  test('a plus that a query turned into a space is put back, and no other space is touched', () => {
    expect(restorePlus('2026-10-25T02:30 02:00')).toBe('2026-10-25T02:30+02:00');
    expect(restorePlus('2026-10-25T02:30:00.5 02:00')).toBe('2026-10-25T02:30:00.5+02:00');
    expect(restorePlus('2026-10-25 02:30')).toBe('2026-10-25 02:30');
    expect(restorePlus('2026-10-25 02:30 02:00')).toBe('2026-10-25 02:30+02:00');
  });
});

describe('a duration', () => {
  test.each([
    ['90s', 90],
    ['10m', 600],
    ['6h', 21_600],
    ['2d', 172_800],
    ['0s', 0],
    ['PT1H30M', 5400],
    ['P1D', 86_400],
    ['P1W', 604_800],
    ['P1DT1S', 86_401],
    ['PT0S', 0],
    ['3600', 3600],
    [45, 45],
    [0, 0],
    ['36600d', 3_162_240_000],
  ])('%j is %d seconds', (input, seconds) => {
    expect(parseDuration(input)).toEqual({ ok: true, value: seconds });
  });

  test.each([
    ['P1Y', /years and months/],
    ['P2M', /years and months/],
    ['P1Y2M10DT2H', /years and months/],
    ['-5m', /negative/],
    [-1, /negative/],
    ['-PT5M', /negative/],
    ['1.5h', /fractions/],
    ['PT0.5S', /fractions/],
    [1.5, /fractions/],
    [Number.NaN, /fractions|duration/],
    [Number.POSITIVE_INFINITY, /36600/],
    ['36601d', /36600/],
    [3_162_240_001, /36600/],
    ['99999999999999999999s', /36600/],
    ['1h30m', /not a duration/],
    ['10 m', /not a duration/],
    ['10M', /not a duration/],
    ['P', /not a duration/],
    ['PT', /not a duration/],
    ['P1DT', /not a duration/],
    ['P1W2D', /not a duration/],
    ['', /not a duration/],
    [null, /not a duration/],
    [true, /not a duration/],
    [['5m'], /not a duration/],
  ])('%j is refused and says why', (input, reason) => {
    expect(parseDuration(input)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test.each([
    [0, '0s'],
    [90, '90s'],
    [600, '10m'],
    [5400, '90m'],
    [21_600, '6h'],
    [172_800, '2d'],
    [604_800, '7d'],
    [86_401, '86401s'],
  ])('%d seconds are written %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  test('written and read again it is the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_162_240_000 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds))).toEqual({ ok: true, value: seconds });
      }),
    );
  });
});
