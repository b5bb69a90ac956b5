import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatKey, keyCandidates, parseKey } from '../../src/core/key.ts';
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
const candidates = (text: string, name: string): readonly string[] => {
  const spelling = parseKey(text);
  if (!spelling.ok) throw new Error(spelling.reason);
  const found = keyCandidates(spelling.value, zone(name));
  return 'instants' in found
    ? found.instants.map(formatInstant)
    : [formatInstant(found.after), formatInstant(found.until)];
};
const inDate = (date: string, cron: string, name: string): string[] => {
  const spelling = parseKey(date);
  if (!spelling.ok) throw new Error(spelling.reason);
  const found = keyCandidates(spelling.value, zone(name));
  if ('instants' in found) throw new Error('not a date');
  return [...timetable([{ cron }], zone(name)).dueIn(found.after, found.until)].map((due) => formatInstant(due.at));
};

describe('the canonical key', () => {
  test.each([
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25T02:30+02:00'],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25T02:30+01:00'],
    ['2026-03-29T01:00:00Z', 'Europe/Berlin', '2026-03-29T03:00+02:00'],
    ['2026-01-01T12:00:00Z', 'UTC', '2026-01-01T12:00Z'],
    ['2026-01-01T12:00:00Z', 'Etc/UTC', '2026-01-01T12:00Z'],
    ['2026-01-01T12:00:07Z', 'Europe/London', '2026-01-01T12:00:07+00:00'],
    ['2026-01-01T12:00:00Z', 'America/St_Johns', '2026-01-01T08:30-03:30'],
    ['1971-01-01T00:00:00Z', 'Africa/Monrovia', '1971-01-01T00:00Z'],
  ])('of %s in %s is %s', (instant, name, key) => {
    expect(formatKey(at(instant), zone(name))).toBe(key);
  });

  test('read back, it names its own instant in any zone and any second', () => {
    const names = [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Chatham',
      'Africa/Monrovia',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer({ min: 86_400, max: 4_102_444_800 }), (name, seconds) => {
        const key = formatKey(seconds * 1000, zone(name));
        expect(parseKey(key)).toEqual({ ok: true, value: { kind: 'instant', at: seconds * 1000 } });
      }),
    );
  });
});

describe('a key may also be spelled', () => {
  test.each([
    ['2026-10-25T02:30+02:00', '2026-10-25T00:30:00Z'],
    ['2026-10-25T02:30 02:00', '2026-10-25T00:30:00Z'],
    ['2026-10-25 02:30:00 02:00', '2026-10-25T00:30:00Z'],
    ['2026-10-25T00:30:00.999Z', '2026-10-25T00:30:00Z'],
    ['2026-10-24T20:30:00-04:00', '2026-10-25T00:30:00Z'],
    ['1792888200', '2026-10-25T00:30:00Z'],
    ['1792888200999', '2026-10-25T00:30:00Z'],
  ])('%j, which is the instant %s', (text, instant) => {
    expect(candidates(text, 'Europe/Berlin')).toEqual([instant]);
  });

  test.each(['2026-10-25T02:30', '2026-10-25 02:30', '2026-10-25T02:30:00', '2026-10-25 02:30:00'])(
    '%j, a local time that happens twice: both instants, the first one first',
    (text) => {
      expect(candidates(text, 'Europe/Berlin')).toEqual(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']);
    },
  );

  test('a local time that does not exist: the transition instant', () => {
    expect(candidates('2026-03-29T02:30', 'Europe/Berlin')).toEqual(['2026-03-29T01:00:00Z']);
  });

  test('a local date: an occurrence at its midnight is inside, one at the next midnight is not', () => {
    expect(candidates('2026-07-01', 'Europe/Berlin')).toEqual(['2026-06-30T21:59:59Z', '2026-07-01T21:59:59Z']);
    expect(inDate('2026-07-01', '0 0 * * *', 'Europe/Berlin')).toEqual(['2026-06-30T22:00:00Z']);
  });

  test('a date whose midnight is skipped, or passed twice, still has its one midnight occurrence', () => {
    expect(inDate('2026-09-06', '0 0 * * *', 'America/Santiago')).toEqual(['2026-09-06T04:00:00Z']);
    expect(inDate('2010-11-06', '0 0 * * *', 'America/St_Johns')).toEqual(['2010-11-06T02:30:00Z']);
    expect(inDate('2010-11-07', '0 0 * * *', 'America/St_Johns')).toEqual(['2010-11-07T02:30:00Z']);
  });

  test('a date that a country skipped: the transition instant', () => {
    expect(inDate('2011-12-30', '0 12 * * *', 'Pacific/Apia')).toEqual(['2011-12-30T10:00:00Z']);
  });
});

test.each([
  '',
  ' ',
  'yesterday',
  '2026-02-31',
  '2026-02-31T00:00Z',
  '2026-10-25T25:00',
  '2026-10-25T02:30+2:00',
  '2026-10-25T02:30+99:00',
  '2026-10-25T02:30\0',
  '2026-10-25T02:30+02:00\n',
  '2026-10-25T',
  '123456789',
  '12345678901',
  '99999999999999999999',
  '1969-12-31',
  '0001-01-01T00:00Z',
  '+275761-01-01T00:00:00Z',
  '２０２６-10-25',
  '2026-10-25T02:30−02:00',
  'x'.repeat(100_000),
])('the key %j is refused with a hint', (text) => {
  expect(parseKey(text)).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/write a key such as|1970 to 9999/),
  });
});
