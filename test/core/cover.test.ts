import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import {
  at,
  claim,
  EVERY_MINUTE,
  edit,
  fail,
  job,
  pause,
  row,
  type Story,
  start,
  success,
  told,
} from '../support/story.ts';

const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });
const COALESCE = job({ missedRuns: 'coalesce' });
const MINUTES = job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce' });

const stories: readonly Story[] = [
  {
    name: 'one that fails when a later one is completed already is covered, and nobody owes it',
    history: told({ created: '10:00:30', until: '10:02:30', settings: job({ ...MINUTES, early: 120, grace: 60 }) }, [
      success('10:01:10', key('10:03')),
      fail('10:02:10', key('10:02')),
    ]),
    expect: {
      occurrences: [
        row('10:01', 'coalesced', { coveredBy: at('10:03') }),
        row('10:02', 'failed', { coveredBy: at('10:03'), wanted: false }),
        row('10:03', 'on_time'),
      ],
      owed: [],
    },
  },
  {
    name: 'a run that was covered meanwhile is coalesced when its limit passes, before the next grace ends',
    history: told({ created: '09:59:30', until: '10:05:30', settings: MINUTES }, [
      start('10:00:10', { rid: 'long' }),
      success('10:01:10', key('10:01')),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'coalesced', { coveredBy: at('10:01') }),
        row('10:01', 'on_time'),
        ...['10:02', '10:03', '10:04', '10:05'].map((due) => row(due, 'expected')),
      ],
    },
  },
  {
    name: 'who comes to catch up awaits the run that a later one had covered',
    history: told({ created: '09:59:30', until: '10:05:30', settings: MINUTES }, [
      start('10:00:10', { rid: 'long' }),
      success('10:01:10', key('10:01')),
      edit('10:01:30', job({ schedules: EVERY_MINUTE })),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'overdue', { wanted: true }),
        row('10:01', 'on_time'),
        ...['10:02', '10:03', '10:04', '10:05'].map((due) => row(due, 'expected')),
      ],
    },
  },
  {
    name: 'who comes to coalesce finds the first completion that covers, not the first occurrence',
    history: told({ created: '09:30', until: '12:30' }, [
      success('12:01'),
      success('12:10', { ...key('11:00'), body: 'a debt' }),
      edit('12:20', COALESCE),
    ]),
    expect: {
      occurrences: [
        row('10:00', 'coalesced', { coveredBy: at('12:00') }),
        row('11:00', 'late'),
        row('12:00', 'on_time'),
      ],
    },
  },
  {
    name: 'what was claimed when the job was paused is covered at resume, not before',
    history: told({ created: '09:30', until: '10:57', settings: COALESCE }, [
      claim('10:00:30', 'r1'),
      pause('10:01'),
      success('10:56', key('11:00')),
    ]),
    expect: { occurrences: [row('10:00', 'expected'), row('11:00', 'on_time')] },
  },
];

describe('what a later completion covers (docs/ledger.md, rule 23)', () => {
  const zones = loadZones();
  test.each(stories)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
