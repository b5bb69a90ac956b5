import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadZones } from '../src/zones.ts';
import type { History, Input } from './support/history.ts';
import { explainDifference } from './support/ledger-difference.ts';
import { historyArbitrary } from './support/random-history.ts';
import { slowLedger } from './support/slow-ledger.ts';
import { stories } from './support/stories.ts';
import { afterStories } from './support/stories-after.ts';

const zones = loadZones();

describe('the slow ledger tells each story as the design does', () => {
  for (const { name, history, expect: expected } of [...stories, ...afterStories]) {
    test(name, () => {
      expect(slowLedger(history, zones)).toMatchObject(expected);
    });
  }
});

test('looking more often, here by edits that change nothing, never changes the ledger', () => {
  const moments = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 });
  fc.assert(
    fc.property(historyArbitrary(zones, { crossings: true, after: true }), moments, (history, parts) => {
      const looked = parts.reduce(withLook, history);
      expect(explainDifference(slowLedger(history, zones), slowLedger(looked, zones))).toBeNull();
    }),
    { numRuns: Number(process.env['ROLLCALL_TEST_RUNS'] ?? 150) },
  );
});

/** The history with one more edit that changes nothing, `part` of the way from the creation to the end. */
function withLook(history: History, part: number): History {
  const at = Math.floor(history.createdAt + (history.until - history.createdAt) * part);
  if (history.windows.some(({ after, until }) => after < at && at <= until)) return history;
  const before = history.inputs.filter((input) => input.at <= at);
  const settings = before.findLast((input) => input.type === 'edit')?.settings ?? history.settings;
  const look: Input = { type: 'edit', at, settings };
  return { ...history, inputs: [...before, look, ...history.inputs.slice(before.length)] };
}
