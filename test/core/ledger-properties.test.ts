import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { explainDifference } from '../support/ledger-difference.ts';
import { historyArbitrary } from '../support/random-history.ts';
import { slowLedger } from '../support/slow-ledger.ts';

const zones = loadZones();
const numRuns = Number(process.env['ROLLCALL_TEST_RUNS'] ?? 300);

describe('random histories', () => {
  test('end in the ledger of the slow, perfect evaluator', () => {
    fc.assert(
      fc.property(historyArbitrary(zones), (history) => {
        expect(explainDifference(slowLedger(history, zones), fastLedger(history, zones))).toBeNull();
      }),
      { numRuns },
    );
  });

  test('end in the same ledger whenever an evaluator looks, or never', () => {
    const ticked = historyArbitrary(zones).chain((history) => {
      const span = history.until - history.createdAt;
      const tick = fc.integer({ min: 0, max: span }).map((offset) => history.createdAt + offset);
      return fc.record({ history: fc.constant(history), ticks: fc.array(tick, { maxLength: 30 }) });
    });
    fc.assert(
      fc.property(ticked, ({ history, ticks }) => {
        expect(explainDifference(fastLedger(history, zones), fastLedger(history, zones, ticks))).toBeNull();
      }),
      { numRuns },
    );
  });
});
