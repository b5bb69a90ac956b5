import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endedWell, isCompleted, isOpen, type State } from '../../src/core/occurrence.ts';
import type { Instant } from '../../src/core/time.ts';
import { loadZones } from '../../src/zones.ts';
import { fastLedger, fastSteps } from '../support/fast-ledger.ts';
import type { History, HistorySettings, Input, LedgerView } from '../support/history.ts';
import { explainDifference } from '../support/ledger-difference.ts';
import { historyArbitrary } from '../support/random-history.ts';
import { slowLedger } from '../support/slow-ledger.ts';

const zones = loadZones();
const asked = process.env['ROLLCALL_TEST_RUNS'];
/** The same histories each time, within a few seconds; with ROLLCALL_TEST_RUNS others each time, that many. */
const runs = asked
  ? { numRuns: Number(asked) }
  : { numRuns: 400, seed: 20_260_302, interruptAfterTimeLimit: 2800, markInterruptAsFailure: false };

describe('random histories', () => {
  for (const crossings of [false, true]) {
    test(`end in the ledger of the slow, perfect evaluator${crossings ? ', also between heartbeats and other schedules' : ''}`, () => {
      fc.assert(
        fc.property(historyArbitrary(zones, { crossings, after: true }).map(resumed), (history) => {
          expect(explainDifference(slowLedger(history, zones), fastLedger(history, zones))).toBeNull();
        }),
        crossings ? { ...runs, numRuns: Math.ceil(runs.numRuns / 4) } : runs,
      );
    });
  }

  test('end in the same ledger whenever an evaluator looks, or never', () => {
    const ticked = historyArbitrary(zones, { crossings: true, after: true }).chain((history) => {
      const span = history.until - history.createdAt;
      const anyTick = fc.integer({ min: 0, max: span }).map((offset) => history.createdAt + offset);
      const tick = fc.oneof(anyTick, fc.constantFrom(...interestingInstants(history)));
      return fc.record({ history: fc.constant(history), ticks: fc.array(tick, { maxLength: 40, size: 'max' }) });
    });
    fc.assert(
      fc.property(ticked, ({ history, ticks }) => {
        expect(explainDifference(fastLedger(history, zones), fastLedger(history, zones, ticks))).toBeNull();
      }),
      runs,
    );
  });

  test('open nothing again that is settled, and only evidence or a person changes how it was settled', () => {
    fc.assert(
      fc.property(historyArbitrary(zones, { crossings: true, after: true }), (history) => {
        let before = new Map<Instant, State>();
        for (const { by, view } of fastSteps(history, zones)) {
          const after = statesOf(view);
          const evidence = by === 'clock' ? 'none' : by.type;
          for (const [due, state] of before) {
            if (!isOpen(state))
              expect(isAllowed(state, after.get(due), evidence), `${state} ${after.get(due)}`).toBe(true);
          }
          before = after;
        }
      }),
      runs,
    );
  });
});

/** A paused job shows what it was when the pause began; what came of it is said at resume. */
function resumed(history: History): History {
  return { ...history, inputs: [...history.inputs, { type: 'resume', at: history.until }] };
}

/** Every instant at which something may change, and a millisecond before and after. */
function interestingInstants(history: History): Instant[] {
  const edits = history.inputs.flatMap((input) => (input.type === 'edit' ? [input.settings] : []));
  const instants = history.windows.flatMap(({ after, until }) => [
    after,
    until,
    until + 60_000,
    until + history.settleSeconds * 1000,
  ]);
  for (const { scheduledFor } of fastLedger(history, zones).occurrences) {
    for (const settings of [history.settings, ...edits]) instants.push(...deadlinesOf(scheduledFor, settings));
  }
  for (const { at } of history.inputs) instants.push(at);
  for (const { knownFrom, knownUntil } of history.maintenance) instants.push(knownFrom, knownUntil ?? knownFrom);
  return [...new Set(instants.flatMap((at) => [at - 1, at, at + 1]))]
    .filter((at) => at >= history.createdAt && at <= history.until)
    .concat(history.createdAt);
}

function deadlinesOf(due: Instant, { startWithin, grace, usefulFor, maxRuntime }: HistorySettings): Instant[] {
  const seconds = [0, startWithin ?? 0, grace ?? Math.min(300, usefulFor ?? 300), usefulFor ?? 0, maxRuntime ?? 0];
  return seconds.map((length) => due + length * 1000);
}

function statesOf({ occurrences }: LedgerView): Map<Instant, State> {
  return new Map(occurrences.map(({ scheduledFor, state }) => [scheduledFor, state as State]));
}

/** DESIGN section 5: absence yields to evidence, evidence never to absence; skipped stays; nothing settled opens again. */
function isAllowed(before: State, after: State | undefined, evidence: 'none' | Input['type']): boolean {
  if (after === before) return true;
  if (after === undefined || isOpen(after)) return false;
  // A person's skip is about what failed, or what nobody knows of.
  if (evidence === 'decide') return after === 'skipped' && (before === 'failed' || before === 'unknown');
  // It was maintenance, one hears afterwards.
  if (evidence === 'maintenance') return before === 'missed' && after === 'skipped';
  if (evidence !== 'settle' && evidence !== 'ping') return false;
  if (evidence === 'settle') return after === 'skipped' || after === 'on_time';
  if (before === 'skipped') return false;
  return isCompleted(before) ? after === 'failed' : endedWell(after) || after === 'expired' || after === 'failed';
}
