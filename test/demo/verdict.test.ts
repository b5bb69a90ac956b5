import { expect, test } from 'vitest';
import { JOBS, type Policy } from '../../demo/jobs.ts';
import type { Entry, Ledger } from '../../demo/ledger.ts';
import { type Circumstance, complaints } from '../../demo/verdict.ts';

const DONE = { state: 'on_time', completions: 1, timesDone: 1 };

function ledger(policy: Policy, entry: Partial<Entry>): readonly Ledger[] {
  const job = JOBS.find((one) => one.policy === policy);
  if (!job) throw new Error(`the demo has no job with ${policy}`);
  const whole: Entry = {
    key: '2026-03-02T10:00Z',
    due: Date.parse('2026-03-02T10:00:00Z'),
    state: 'expected',
    reason: null,
    owed: false,
    unconfirmed: false,
    coveredBy: null,
    completions: 0,
    timesDone: 0,
    ...entry,
  };
  return [{ job, entries: [whole] }];
}

const judged = (policy: Policy, circumstance: Circumstance, entry: Partial<Entry>) =>
  complaints(ledger(policy, entry), () => circumstance);

test('the demo is content with the end that each policy says', () => {
  const covered = { state: 'coalesced', coveredBy: '2026-03-02T10:00:10Z' };
  expect([
    ...judged('catch_up', 'started', DONE),
    ...judged('catch_up', 'host_down', { ...DONE, state: 'late' }),
    ...judged('catch_up', 'rollcall_away', { ...DONE, state: 'late' }),
    ...judged('coalesce', 'started', DONE),
    ...judged('coalesce', 'host_down', covered),
    ...judged('coalesce', 'rollcall_away', covered),
    ...judged('skip', 'started', DONE),
    ...judged('skip', 'host_down', { state: 'missed' }),
    ...judged('skip', 'rollcall_away', { state: 'unknown' }),
  ]).toEqual([]);
});

test.each<[what: string, Policy, Circumstance, Partial<Entry>, complaint: RegExp]>([
  [
    'a debt that nobody paid',
    'catch_up',
    'host_down',
    { state: 'overdue', owed: true },
    /is overdue.*still owed.*done 0/,
  ],
  ['a bill that went out twice', 'catch_up', 'host_down', { ...DONE, state: 'late', timesDone: 2 }, /was done 2 times/],
  ['a run that only the ledger knows', 'skip', 'started', { ...DONE, timesDone: 0 }, /was done 0 times/],
  ['a run that the ledger counted twice', 'skip', 'started', { ...DONE, completions: 2 }, /2 completions/],
  ['a debt that nobody was asked about', 'catch_up', 'rollcall_away', { state: 'unknown', unconfirmed: true }, /owed/],
  ['an old digest that was made up for', 'skip', 'host_down', { ...DONE, state: 'late' }, /is late, not missed/],
  ['a miss that is only presumed', 'skip', 'rollcall_away', { state: 'missed' }, /is missed, not unknown/],
  ['a cleanup that nothing covers', 'coalesce', 'host_down', { state: 'coalesced' }, /covered by none/],
])('the demo complains of %s', (_, policy, circumstance, entry, complaint) => {
  const [only, ...others] = judged(policy, circumstance, entry);
  expect(only).toMatch(complaint);
  expect(others).toEqual([]);
});
