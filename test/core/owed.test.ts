import { describe, expect, test } from 'vitest';
import type { Row } from '../../src/core/ledger.ts';
import { CLOCK_SKEW_MS } from '../../src/core/occurrence.ts';
import { applyBacklogDecision, applyClaim, undecidedRows } from '../../src/core/owed.ts';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { answer } from '../support/history.ts';
import {
  at,
  claim,
  decide,
  EVERY_MINUTE,
  extend,
  fail,
  given,
  incident,
  job,
  log,
  matched,
  owing,
  pause,
  refused,
  release,
  resume,
  row,
  type Story,
  start,
  success,
  told,
} from '../support/story.ts';
import { advanceTo, bareLedger, take } from './bare-ledger.ts';

const BLIND = { kind: 'blind' as const, after: '09:50', until: '10:40' };
/** A deadline of 11:00 waits for 11:01 here. */
const GAP = { kind: 'gap' as const, after: '10:59:50', until: '11:00' };
const ONE_HOUR = job({ usefulFor: 3600 });

const edges: readonly Story[] = [
  {
    name: 'an unconfirmed one is listed until its window ends, and no longer at that instant',
    history: told({ created: '09:30', until: '12:00', settings: job({ usefulFor: 7200 }) }, [], [BLIND]),
    expect: { owed: [owing('11:00', 'overdue', '12:00')] },
  },
  {
    name: 'what a gap keeps from being judged at the end of its window is handed out no more',
    history: told({ created: '09:30', until: '11:00', settings: ONE_HOUR }, [claim('11:00', 'r1')], [GAP]),
    expect: {
      occurrences: [row('10:00', 'overdue', { wanted: true }), row('11:00', 'expected')],
      answers: [given('11:00', '11:01')],
    },
  },
  {
    name: 'nor is it for a person to decide: it goes missed when the gap is over',
    history: told({ created: '09:30', until: '11:02', settings: ONE_HOUR }, [decide('11:00', 'skip')], [GAP]),
    expect: { occurrences: [row('10:00', 'missed', { reason: null }), row('11:00', 'expected')] },
  },
  {
    name: 'a decision is about what is due by its instant: a failure ahead of time is left',
    history: told({ created: '09:30', until: '10:59:30' }, [success('10:01'), fail('10:58'), decide('10:59', 'skip')]),
    expect: { occurrences: [row('10:00', 'on_time'), row('11:00', 'failed', { wanted: true })] },
  },
  {
    name: 'a decision at the very instant at which it is due takes it in',
    history: told({ created: '09:30', until: '11:01' }, [success('10:01'), fail('10:58'), decide('11:00', 'skip')]),
    expect: { occurrences: [row('10:00', 'on_time'), row('11:00', 'skipped', { reason: 'operator' })] },
  },
  {
    name: 'skip is about debts alone: what ended well stays',
    history: told({ created: '09:30', until: '11:31' }, [success('10:01'), decide('11:30', 'skip')]),
    expect: { occurrences: [row('10:00', 'on_time'), row('11:00', 'skipped', { reason: 'operator' })] },
  },
  {
    name: 'a backlog that a decision ends opens anew for what is due later',
    history: told({ created: '09:30', until: '10:59:30', settings: job({ maxCatchUp: 0 }) }, [
      success('10:01'),
      fail('10:58'),
      decide('10:59', 'run'),
    ]),
    expect: {
      incidents: [
        incident('backlog', ['11:00'], ['opened, 10:58', 'resolved, 10:59']),
        incident('failed', ['11:00'], ['opened, 10:58, 11:00']),
        incident('backlog', ['11:00'], ['opened, 10:59']),
      ],
    },
  },
  {
    name: 'while the job is paused a person decides no more about what is past its window',
    history: told({ created: '09:30', until: '11:31', settings: ONE_HOUR }, [
      pause('10:30'),
      decide('11:00', 'skip'),
      resume('11:30'),
    ]),
    expect: { occurrences: [row('10:00', 'missed'), row('11:00', 'skipped', { reason: 'paused' })] },
  },
];

const claims: readonly Story[] = [
  {
    name: 'two claims in one instant are a throttle apart',
    history: told({ created: '08:30', until: '10:07', settings: job({ overlap: 'allow', throttle: 60 }) }, [
      claim('10:06:01', 'r1'),
      claim('10:06:01', 'r2'),
    ]),
    expect: { answers: [given('09:00', '10:07:01'), refused('not_yet', { retry: '10:07:01' })] },
  },
  {
    name: 'coalesce: what is owed is handed out at the pace of throttle',
    history: told({ created: '09:30', until: '10:08', settings: job({ missedRuns: 'coalesce', throttle: 60 }) }, [
      claim('10:06', 'r1'),
      fail('10:06:05', { rid: 'r1' }),
      claim('10:06:30', 'r2'),
      claim('10:07', 'r3'),
    ]),
    expect: {
      answers: [given('10:00', '10:07'), refused('not_yet', { retry: '10:07' }), given('10:00', '10:08')],
    },
  },
  {
    name: 'coalesce: the current one that failed is done with once the next one is completed early',
    history: told(
      {
        created: '09:59:30',
        until: '10:00:50',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', early: 30, grace: 120 }),
      },
      [fail('10:00:10'), success('10:00:40', { occ: '2026-03-02T10:01Z' }), claim('10:00:45', 'r1')],
    ),
    expect: {
      occurrences: [row('10:00', 'failed', { coveredBy: at('10:01') }), row('10:01', 'on_time')],
      answers: [refused('completed')],
    },
  },
  {
    name: 'a claim that was replaced and then given back was replaced all the same',
    history: told(
      {
        created: '09:59:30',
        until: '10:01:59',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', grace: 120, overlap: 'replace' }),
      },
      [claim('10:00:30', 'r1'), claim('10:01:05', 'r2'), release('10:01:10', 'r1'), extend('10:01:15', 'r1')],
    ),
    expect: {
      answers: [
        given('10:00', '10:01:30'),
        given('10:01', '10:02:05'),
        answer('release', 'released'),
        answer('extend', 'replaced'),
      ],
    },
  },
  {
    name: 'while a lease is in the way one asks again when it ends, if that is soon',
    history: told({ created: '09:30', until: '10:07' }, [claim('10:06', 'r1'), claim('10:06:55', 'r2')]),
    expect: { answers: [given('10:00', '10:07'), refused('in_progress', { retry: '10:07' })] },
  },
  {
    name: 'skip: the current one that failed is handed out though the next one is completed early',
    history: told(
      {
        created: '09:59:30',
        until: '10:00:50',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'skip', early: 30, grace: 120 }),
      },
      [fail('10:00:10'), success('10:00:40', { occ: '2026-03-02T10:01Z' }), claim('10:00:45', 'r1')],
    ),
    expect: { answers: [given('10:00', '10:01:45')] },
  },
  {
    name: 'a claim of what a later completion covers has nothing left to do',
    history: told({ created: '09:30', until: '10:57', settings: job({ missedRuns: 'coalesce' }) }, [
      claim('10:54:50', 'r1'),
      success('10:55:10', { occ: '2026-03-02T11:00Z' }),
      extend('10:55:20', 'r1'),
    ]),
    expect: { answers: [given('10:00', '10:55:50'), answer('extend', 'completed')] },
  },
  {
    name: 'replace: what was completed before the newer claim stays completed',
    history: told(
      {
        created: '09:59:30',
        until: '10:01:30',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', grace: 120, overlap: 'replace' }),
      },
      [claim('10:00:30', 'r1'), success('10:00:40'), claim('10:01:05', 'r2')],
    ),
    expect: { occurrences: [row('10:00', 'on_time'), row('10:01', 'expected')] },
  },
  {
    name: 'replace: a claim that was given back is no older one',
    history: told(
      {
        created: '09:59:30',
        until: '10:01:30',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', grace: 120, overlap: 'replace' }),
      },
      [claim('10:00:30', 'r1'), release('10:00:40', 'r1'), claim('10:01:05', 'r2')],
    ),
    expect: { occurrences: [row('10:00', 'expected'), row('10:01', 'expected')] },
  },
  {
    name: 'what is done is done, though another run of it is under way',
    history: told({ created: '09:30', until: '10:04' }, [success('10:01'), start('10:02'), claim('10:03', 'r1')]),
    expect: { answers: [refused('completed')] },
  },
  {
    name: 'a log line sent again after its run was given a claim is a retry still',
    history: told({ created: '09:30', until: '10:02' }, [
      log('10:01', { rid: 'r1', body: 'warming up' }),
      claim('10:01:10', 'r1'),
      log('10:01:20', { rid: 'r1', body: 'warming up' }),
    ]),
    expect: { pings: [matched('current', '10:00'), matched('retry', '10:00')], answers: [given('10:00', '10:02:10')] },
  },
];

describe('what is owed, to the instant (docs/ledger.md, rules 41 to 47)', () => {
  const zones = loadZones();
  test.each([...edges, ...claims])('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});

describe('what the view of a history does not show of claims and decisions', () => {
  test('a run that asks again is told that it has its claim already', () => {
    const ledger = bareLedger('09:30', job());
    advanceTo(ledger, '10:06');
    expect(applyClaim(ledger, 'r1', at('10:06'))).toMatchObject({ kind: 'given', again: false });
    expect(applyClaim(ledger, 'r1', at('10:06:10'))).toMatchObject({ kind: 'given', again: true });
  });

  test('a hand-out in the future holds nobody back for longer than the throttle, or at all if it is far', () => {
    const ledger = bareLedger('09:30', job({ throttle: 60 }));
    advanceTo(ledger, '10:06');
    ledger.lastHandOut = at('10:06') + CLOCK_SKEW_MS;
    expect(applyClaim(ledger, 'r1', at('10:06'))).toMatchObject({ why: 'not_yet', retryAfterMs: 60_000 });
    ledger.lastHandOut += 1;
    expect(applyClaim(ledger, 'r1', at('10:06'))).toMatchObject({ kind: 'given' });
  });

  test('a decision is about what is owed, a part at a time, and says how many that were', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, success('11:01'));
    advanceTo(ledger, '13:10');
    const due = (rows: readonly Row[]) => rows.map(({ scheduledFor }) => scheduledFor);
    expect(due(undecidedRows(ledger, at('10:00') - 1, at('13:10')))).toEqual(
      ['10:00', '12:00', '13:00'].map((one) => at(one)),
    );
    const later = undecidedRows(ledger, at('10:00'), at('13:10'));
    expect(due(later)).toEqual([at('12:00'), at('13:00')]);
    expect(applyBacklogDecision(ledger, 'skip', later, at('13:10'))).toBe(2);
    expect(due(undecidedRows(ledger, at('09:00'), at('13:10')))).toEqual([at('10:00')]);
  });
});
