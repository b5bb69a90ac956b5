import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import {
  at,
  claim,
  decide,
  edit,
  given,
  incident,
  job,
  pause,
  resume,
  row,
  type Story,
  start,
  success,
  told,
} from '../support/story.ts';

const BLIND = { kind: 'blind' as const, after: '09:50', until: '10:40' };
const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });

const edits: readonly Story[] = [
  {
    name: 'an edit that says nothing about debts leaves a backlog open, though by now few enough are owed',
    history: told({ created: '09:30', until: '12:30', settings: job({ maxCatchUp: 2 }) }, [
      success('12:10', key('10:00')),
      edit('12:15', job({ maxCatchUp: 2, duplicates: 'record' })),
    ]),
    expect: {
      incidents: [
        incident('missing', ['10:00', '11:00', '12:00'], ['opened, 10:05, 10:00']),
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 12:05']),
      ],
    },
  },
  {
    name: 'what a person said to run is given up by an edit to skip, and not taken up again by one to catch_up',
    history: told(
      { created: '09:30', until: '10:54:30' },
      [decide('10:52', 'run'), edit('10:53', job({ missedRuns: 'skip' })), edit('10:54', job())],
      [BLIND],
    ),
    expect: { occurrences: [row('10:00', 'unknown', { confirmed: true, wanted: false })] },
  },
  {
    name: 'what a person said to run is no debt of a job that coalesces',
    history: told(
      { created: '09:30', until: '10:53:30' },
      [decide('10:52', 'run'), edit('10:53', job({ missedRuns: 'coalesce' }))],
      [BLIND],
    ),
    expect: { occurrences: [row('10:00', 'unknown', { confirmed: true, wanted: false })] },
  },
  {
    name: 'what a person said to run is handed out though a later one is done',
    history: told(
      { created: '09:30', until: '11:11' },
      [success('11:01'), decide('11:10', 'run'), claim('11:10:30', 'r1')],
      [BLIND],
    ),
    expect: { answers: [{ word: 'decided' }, given('10:00', '11:11:30')] },
  },
];

const TWO_A_DAY = [{ cron: '0 10 * * *' }, { every: 86_400, anchor: at('10:00:20') }];
const inOrder: Story = {
  name: 'an edit that moves deadlines into the past tells of the oldest one first, whichever was recorded first',
  history: told({ created: '09:59:30', until: '10:00:55', settings: job({ schedules: TWO_A_DAY, grace: 60 }) }, [
    claim('10:00:22', 'r1'),
    edit('10:00:50', job({ schedules: TWO_A_DAY, grace: 20 })),
  ]),
  expect: { incidents: [incident('missing', ['10:00', '10:00:20'], ['opened, 10:00:50, 10:00'])] },
};

const pauses: readonly Story[] = [
  {
    name: 'a run that is begun and ended early in a pause completes its occurrence before that is due',
    history: told({ created: '09:30', until: '11:10' }, [
      success('10:01'),
      pause('10:30'),
      start('10:56'),
      success('10:59:59'),
    ]),
    expect: { occurrences: [row('10:00', 'on_time'), row('11:00', 'on_time')] },
  },
  {
    name: 'one that is due at the very instant of its end is skipped, and shows its run',
    history: told({ created: '09:30', until: '11:10' }, [
      success('10:01'),
      pause('10:30'),
      start('10:56'),
      success('11:00'),
    ]),
    expect: { occurrences: [row('10:00', 'on_time'), row('11:00', 'skipped', { reason: 'paused', completions: 1 })] },
  },
  {
    name: 'what was claimed is shown as running when its run begins in the pause in time',
    history: told({ created: '09:30', until: '10:03' }, [
      claim('10:00:30', 'r1'),
      pause('10:01'),
      start('10:02', { rid: 'r1' }),
    ]),
    expect: { occurrences: [row('10:00', 'running')] },
  },
  {
    name: 'what was claimed is shown as it was when its run begins in the pause too late',
    history: told({ created: '09:30', until: '10:07' }, [
      claim('10:00:30', 'r1'),
      pause('10:01'),
      start('10:06', { rid: 'r1' }),
    ]),
    expect: { occurrences: [row('10:00', 'expected')], incidents: [] },
  },
  {
    name: 'while the job is paused a debt is shown as it was, though its window is over',
    history: told({ created: '09:30', until: '11:30', settings: job({ usefulFor: 3600 }) }, [pause('10:30')]),
    expect: { occurrences: [row('10:00', 'overdue', { wanted: true }), row('11:00', 'skipped', { reason: 'paused' })] },
  },
  {
    name: 'at resume a debt whose window is not over lives on',
    history: told({ created: '09:30', until: '11:01', settings: job({ usefulFor: 7200 }) }, [
      pause('10:30'),
      resume('11:00'),
    ]),
    expect: { occurrences: [row('10:00', 'overdue', { wanted: true }), row('11:00', 'skipped')] },
  },
  {
    name: 'at resume what a person said to run opens no incident: it never failed',
    history: told(
      { created: '09:30', until: '11:11' },
      [decide('10:52', 'run'), pause('10:54'), resume('11:10')],
      [BLIND],
    ),
    expect: {
      occurrences: [row('10:00', 'unknown', { wanted: true }), row('11:00', 'skipped', { reason: 'paused' })],
      incidents: [],
    },
  },
  {
    name: 'an edit of a paused job says what is owed of what lives on',
    history: told({ created: '08:30', until: '10:20' }, [
      claim('09:20', 'r1'),
      success('09:20:30', { rid: 'r1' }),
      claim('10:00:10', 'r2'),
      pause('10:01'),
      edit('10:02', job({ duplicates: 'record' })),
    ]),
    expect: { occurrences: [row('09:00', 'late'), row('10:00', 'expected', { wanted: false })] },
  },
  {
    name: 'an edit of a paused job to skip forgives what is overdue',
    history: told({ created: '09:30', until: '10:50' }, [pause('10:30'), edit('10:40', job({ missedRuns: 'skip' }))]),
    expect: { occurrences: [row('10:00', 'overdue', { wanted: false })] },
  },
  {
    name: 'what is overdue when the job is paused is owed after an edit that keeps to catch_up',
    history: told({ created: '09:30', until: '10:50' }, [pause('10:30'), edit('10:40', job({ duplicates: 'record' }))]),
    expect: { occurrences: [row('10:00', 'overdue', { wanted: true })] },
  },
];

describe('edits and pauses, to the instant (docs/ledger.md, rules 28, 29 and 43)', () => {
  const zones = loadZones();
  test.each([...edits, inOrder, ...pauses])('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
