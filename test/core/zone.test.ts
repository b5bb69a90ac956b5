import { DateTime } from 'luxon';
import { describe, expect, test } from 'vitest';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import { formatLocal, type LocalTime, LuxonTableZone, UTC_TABLE, type Zone, zoneOf } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const at = (text: string): Instant => Date.parse(text);
const local = (text: string): LocalTime => Date.parse(`${text}:00Z`);
const instantsOf = (name: string, text: string): string[] => zone(name).instantsOf(local(text)).map(formatInstant);

describe('a local time', () => {
  test('that happens once is one instant', () => {
    expect(instantsOf('America/New_York', '2026-07-01T02:30')).toEqual(['2026-07-01T06:30:00Z']);
  });

  test('in a gap is no instant, and the first at or past it is the transition (SCH-037)', () => {
    expect(instantsOf('America/New_York', '2026-03-08T02:30')).toEqual([]);
    expect(formatInstant(zone('America/New_York').firstInstantAtOrPast(local('2026-03-08T02:30')))).toBe(
      '2026-03-08T07:00:00Z',
    );
  });

  test('in an overlap is two instants, whatever today is (SCH-036)', () => {
    expect(instantsOf('America/New_York', '2023-11-05T01:00')).toEqual([
      '2023-11-05T05:00:00Z',
      '2023-11-05T06:00:00Z',
    ]);
    expect(formatInstant(zone('America/New_York').firstInstantAtOrPast(local('2023-11-05T01:00')))).toBe(
      '2023-11-05T05:00:00Z',
    );
  });

  test('of a day that Samoa skipped is the transition', () => {
    expect(instantsOf('Pacific/Apia', '2011-12-30T12:00')).toEqual([]);
    expect(formatInstant(zone('Pacific/Apia').firstInstantAtOrPast(local('2011-12-30T12:00')))).toBe(
      '2011-12-30T10:00:00Z',
    );
  });

  test('in a half-hour overlap is found on both sides (SCH-028)', () => {
    expect(instantsOf('Australia/Lord_Howe', '2026-04-05T01:45')).toEqual([
      '2026-04-04T14:45:00Z',
      '2026-04-04T15:15:00Z',
    ]);
    expect(instantsOf('Australia/Lord_Howe', '2026-04-05T02:00')).toEqual(['2026-04-04T15:30:00Z']);
  });

  test('is written to the minute, with seconds when there are some', () => {
    expect(formatLocal(local('2026-10-25T02:30'))).toBe('2026-10-25T02:30');
    expect(formatLocal(local('2026-10-25T02:30') + 5000)).toBe('2026-10-25T02:30:05');
  });
});

describe('the clock of a zone', () => {
  test('in its second pass has already shown more than it shows', () => {
    const berlin = zone('Europe/Berlin');
    expect(formatLocal(berlin.localAt(at('2026-10-25T01:10:00Z')))).toBe('2026-10-25T02:10');
    expect(formatLocal(berlin.highWater(at('2026-10-25T01:10:00Z')) + 1)).toBe('2026-10-25T03:00');
    expect(formatLocal(berlin.highWater(at('2026-10-25T02:10:00Z')))).toBe('2026-10-25T03:10');
  });

  test('tells its next change, and null when there is none', () => {
    expect(zone('Europe/Berlin').nextTransition(at('2026-03-29T00:59:59Z'))).toEqual({
      at: at('2026-03-29T01:00:00Z'),
      before: 3600,
      after: 7200,
    });
    expect(zone('Europe/Berlin').nextTransition(at('2026-03-29T01:00:00Z'))?.at).toBe(at('2026-10-25T01:00:00Z'));
    expect(zone('UTC').nextTransition(0)).toBeNull();
    expect(zone('Asia/Kolkata').nextTransition(at('2026-01-01T00:00:00Z'))).toBeNull();
    expect(zone('Europe/Berlin').transitionAt(at('2026-03-29T01:00:00Z'))?.after).toBe(7200);
    expect(zone('Europe/Berlin').transitionAt(at('2026-03-29T01:00:01Z'))).toBeNull();
  });

  test('has no last year: the rules of Berlin hold in 2600 and in 9999, 400 years are one round', () => {
    const berlin = zone('Europe/Berlin');
    expect(berlin.offsetAt(at('2600-07-01T00:00:00Z'))).toBe(7200);
    expect(berlin.offsetAt(at('2600-12-01T00:00:00Z'))).toBe(3600);
    expect(berlin.offsetAt(at('9999-07-01T00:00:00Z'))).toBe(7200);
    const shift = at('2900-01-01T00:00:00Z') - at('2500-01-01T00:00:00Z');
    for (
      let change = berlin.nextTransition(at('2498-01-01T00:00:00Z'));
      change && change.at < at('2503-01-01T00:00:00Z');
      change = berlin.nextTransition(change.at)
    ) {
      expect(berlin.nextTransition(change.at + shift - 1)).toEqual({ ...change, at: change.at + shift });
      expect(new Date(change.at).getUTCDay()).toBe(0);
      expect(berlin.transitionAt(change.at)).toEqual(change);
    }
  });

  test('follows permanent changes and abolished rules (SCH-042)', () => {
    expect(zone('America/Asuncion').offsetAt(at('2025-03-26T09:00:00Z'))).toBe(-10_800);
    expect(zone('America/Sao_Paulo').nextTransition(at('2020-01-01T00:00:00Z'))).toBeNull();
    expect(zone('Europe/Dublin').offsetAt(at('2026-01-01T00:00:00Z'))).toBe(0);
  });

  test('knows offsets with seconds', () => {
    expect(zone('Africa/Monrovia').offsetAt(at('1971-01-01T00:00:00Z'))).toBe(-2670);
  });

  test('a malformed table is refused at once', () => {
    expect(() => zoneOf({ ...UTC_TABLE, offsets: [] })).toThrow(/malformed/);
  });
});

describe('luxon over our table', () => {
  const show = (name: string, text: string): DateTime =>
    DateTime.fromMillis(at(text), { zone: new LuxonTableZone(zone(name)) });

  test('midnight is hour 0 of its own day (SCH-038)', () => {
    expect(show('America/New_York', '2026-01-01T05:00:00Z').toFormat('yyyy-MM-dd HH:mm')).toBe('2026-01-01 00:00');
  });

  test('shows local time, offset and the name as typed', () => {
    const then = show('Europe/Kyiv', '2026-07-01T00:00:00Z');
    expect(then.toISO()).toBe('2026-07-01T03:00:00.000+03:00');
    expect(then.zoneName).toBe('Europe/Kyiv');
    expect(show('America/St_Johns', '2026-01-01T00:00:00Z').toFormat('HH:mm ZZ ZZZ ZZZZ')).toBe(
      '20:30 -03:30 -0330 UTC-03:30',
    );
    expect(show('UTC', '2026-01-01T00:00:00Z').toFormat('ZZZZ')).toBe('UTC');
  });

  test('two zones are equal when they are the same table', () => {
    expect(new LuxonTableZone(zone('UTC')).equals(new LuxonTableZone(zone('UTC')))).toBe(true);
    expect(new LuxonTableZone(zone('UTC')).equals(new LuxonTableZone(zone('Europe/Kyiv')))).toBe(false);
    expect(new LuxonTableZone(zone('UTC')).isUniversal).toBe(true);
  });
});
