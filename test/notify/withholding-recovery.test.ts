import { expect, test } from 'vitest';
import { withhold } from '../../src/notify/withholding.ts';
import type { Standing } from '../../src/store/withholding.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number): number => noon + seconds * 1000;

const ask = (changes: Partial<Standing>, more: Partial<Parameters<typeof withhold>[1]> = {}) =>
  withhold(
    [
      {
        id: 1,
        incidentId: 1,
        jobId: 1,
        type: 'incident.opened',
        resolvedAt: null,
        snoozedUntil: null,
        heldUntil: null,
        heldFor: null,
        ...changes,
      },
    ],
    { now: noon, isDoubted: false, maintenance: new Map(), keepsAlerts: false, told: new Set(), ...more },
  );
const FREE = { held: [], ended: [] };
const deploy = (until: number) => ({ maintenance: new Map([[1, { slug: 'deploy', until: at(until) }]]) });
const recovery = { type: 'incident.resolved' as const, resolvedAt: at(-5) };

test('a recovery closes the alert that its receiver keeps, window or not; a problem waits all the same', () => {
  const kept = { keepsAlerts: true, told: new Set([1]), ...deploy(3600) };
  expect(ask(recovery, kept)).toEqual(FREE);
  expect(ask({}, kept).held).toHaveLength(1);
});

test('a recovery of which no alert is kept, or was ever told, waits for the end of the window', () => {
  expect(ask(recovery, { keepsAlerts: false, told: new Set([1]), ...deploy(3600) }).held).toHaveLength(1);
  expect(ask(recovery, { keepsAlerts: true, told: new Set(), ...deploy(3600) }).held).toHaveLength(1);
});

test('a recovery that was withheld goes out at the end of the window; its problem does not', () => {
  const held = { resolvedAt: at(-50), heldUntil: at(-10), heldFor: 'maintenance deploy until then' };
  expect(ask({ ...held, type: 'incident.resolved' })).toEqual(FREE);
  expect(ask(held).ended).toHaveLength(1);
});

test('what ends after the snooze, or with it, goes out at once, though the evaluator has not said so yet', () => {
  expect(ask({ snoozedUntil: at(-10), resolvedAt: at(-5) })).toEqual(FREE);
  expect(ask({ snoozedUntil: at(-10), resolvedAt: at(-10) })).toEqual(FREE);
  expect(ask({ snoozedUntil: at(-10), resolvedAt: at(-10.001) }).ended).toHaveLength(1);
});

test('a window holds nothing at the instant of its end', () => {
  expect(ask({}, deploy(0.001)).held).toHaveLength(1);
  expect(ask({}, deploy(0))).toEqual(FREE);
});
