import { expect, test } from 'vitest';
import { withhold } from '../../src/notify/withholding.ts';
import type { Standing } from '../../src/store/withholding.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number): number => noon + seconds * 1000;
const DAY = 86_400;

const row = (changes: Partial<Standing> = {}): Standing => ({
  id: 1,
  incidentId: 1,
  jobId: 1,
  type: 'incident.opened',
  resolvedAt: null,
  snoozedUntil: null,
  heldUntil: null,
  heldFor: null,
  ...changes,
});
const ask = (changes: Partial<Standing>, more: Partial<Parameters<typeof withhold>[1]> = {}) =>
  withhold([row(changes)], {
    now: noon,
    isDoubted: false,
    maintenance: new Map(),
    keepsAlerts: false,
    told: new Set(),
    ...more,
  });
const FREE = { held: [], ended: [] };
const deploy = { maintenance: new Map([[1, { slug: 'deploy', until: at(3600) }]]) };

test('what nothing withholds goes out', () => {
  expect(ask({})).toEqual(FREE);
  expect(ask({ jobId: 2 }, deploy)).toEqual(FREE);
});

test('a snooze is asked before maintenance, and each says until when', () => {
  const snoozed = { id: 1, until: at(60), reason: 'snoozed until 2026-03-01T12:01:00Z' };
  expect(ask({ snoozedUntil: at(60) }, deploy).held).toEqual([snoozed]);
  expect(ask({}, deploy).held).toEqual([
    { id: 1, until: at(3600), reason: 'maintenance deploy until 2026-03-01T13:00:00Z' },
  ]);
});

test('a snooze whose rest exceeds the longest one is void: the clock was set back', () => {
  expect(ask({ snoozedUntil: at(366 * DAY) }).held).toHaveLength(1);
  expect(ask({ snoozedUntil: at(366 * DAY + 1) })).toEqual(FREE);
});

test('at the end of a snooze the evaluator has half a minute to say so; without it the rest goes out alone', () => {
  expect(ask({ snoozedUntil: at(-29.9) }).held).toHaveLength(1);
  expect(ask({ snoozedUntil: at(-30) })).toEqual(FREE);
});

test('a clock in doubt lets nothing go that is withheld, and ends nothing', () => {
  const held = { heldUntil: at(-DAY), heldFor: 'snoozed until then', resolvedAt: at(-2 * DAY) };
  expect(ask(held, { isDoubted: true })).toEqual({
    held: [{ id: 1, until: at(-DAY), reason: 'snoozed until then' }],
    ended: [],
  });
  expect(ask({}, { isDoubted: true, ...deploy })).toEqual(FREE);
});

test('what ends after the snooze or the window is told, however late the sender looks', () => {
  const held = { heldUntil: at(-100), heldFor: 'maintenance deploy until then' };
  expect(ask({ ...held, resolvedAt: at(-50) })).toEqual(FREE);
  expect(ask({ ...held, resolvedAt: at(-100) }).ended).toEqual([
    { id: 1, state: 'withheld', reason: 'maintenance deploy until then; the incident ended before' },
  ]);
  expect(ask({ snoozedUntil: at(-100), resolvedAt: at(-100) })).toEqual(FREE);
  expect(ask({ snoozedUntil: at(-100), resolvedAt: at(-100.001) }).ended).toHaveLength(1);
});
