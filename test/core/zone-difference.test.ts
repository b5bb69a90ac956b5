import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { timetable } from '../../src/core/schedule.ts';
import { type Zone, zoneOf } from '../../src/core/zone.ts';
import { differences, firstMove } from '../../src/core/zone-difference.ts';
import { loadZones } from '../../src/zones.ts';
import { LAW_2025, LAW_2026 } from '../support/tz-replica.ts';

const DAY = 86_400_000;
const machine = loadZones();
const zone = (zones: Pick<typeof machine, 'get'>, name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const before = zone(LAW_2025, 'America/Vancouver');
const after = zone(LAW_2026, 'America/Vancouver');
const at = (text: string): number => Date.parse(text);
const text = (instant: number): string => new Date(instant).toISOString();

describe('two tables of one zone', () => {
  test('differ in the winters that one law has and the other has not, with a day on either side', () => {
    const found = differences(before, after, { after: at('2026-01-01T00:00:00Z'), until: at('2028-01-01T00:00:00Z') });
    expect(found.map((span) => `${text(span.after + 1)} ${text(span.until)}`)).toEqual([
      '2026-10-31T07:00:00.000Z 2027-03-15T12:00:00.000Z',
      '2027-11-06T07:00:00.000Z 2028-01-01T00:00:00.000Z',
    ]);
  });

  test('that are equal differ nowhere', () => {
    expect(differences(before, before, { after: 0, until: at('2040-01-01T00:00:00Z') })).toEqual([]);
  });

  test('differ still for a while after the last difference, within the window alone', () => {
    const end = at('2027-03-14T10:00:00Z');
    expect(differences(before, after, { after: end + 3_600_000, until: end + 40 * DAY })).toEqual([
      { after: end + 3_600_000, until: end + 26 * 3_600_000 },
    ]);
    expect(differences(before, after, { after: end + 27 * 3_600_000, until: end + 40 * DAY })).toEqual([]);
  });
});

/** Offsets of whole quarters of an hour, changed a few times in a year. */
const anyZone = fc
  .array(fc.record({ gap: fc.integer({ min: 1, max: 90 * 96 }), offset: fc.integer({ min: -48, max: 48 }) }), {
    maxLength: 8,
  })
  .map((changes) => {
    let last = at('2026-01-01T00:00:00Z');
    const transitions = changes.map(({ gap }) => (last += gap * 900_000));
    return zoneOf({
      name: 'Test/Any',
      transitions,
      offsets: [0, ...changes.map(({ offset }) => offset * 900)],
      cycle: 0,
    });
  });
const anyCron = fc.constantFrom(
  '30 2 * * *',
  '0 9 * * 1-5',
  '0,30 1 * * *',
  '0 */6 * * *',
  '15 0 1 * *',
  '*/45 1 * * *',
);

test('what parts first is found where a look at every instant finds it', () => {
  fc.assert(
    fc.property(anyZone, anyZone, anyCron, fc.integer({ min: 0, max: 500 * 96 }), (a, b, cron, start) => {
      const span = { after: at('2025-12-01T00:00:00Z') + start * 900_000, until: at('2028-06-01T00:00:00Z') };
      const [was, is] = [timetable([{ cron }], a), timetable([{ cron }], b)];
      const quick = firstMove(was, is, differences(a, b, span), Number.POSITIVE_INFINITY);
      expect(quick).toEqual(firstMove(was, is, [span], Number.POSITIVE_INFINITY));
    }),
    { numRuns: 400, seed: 20_260_308 },
  );
});

test('no more instants are compared than asked', () => {
  const span = { after: at('2026-10-30T00:00:00Z'), until: at('2026-11-05T00:00:00Z') };
  const [was, is] = [timetable([{ cron: '0 9 * * *' }], before), timetable([{ cron: '0 9 * * *' }], after)];
  expect(firstMove(was, is, [span], 2)).toBeNull();
  expect(firstMove(was, is, [span], 3)).toEqual({
    was: { at: at('2026-11-01T17:00:00Z'), standsFor: 1 },
    is: { at: at('2026-11-01T16:00:00Z'), standsFor: 1 },
  });
});
