import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import {
  at,
  fail,
  heartbeat,
  job,
  matched,
  pause,
  resume,
  row,
  type Story,
  start,
  success,
  told,
} from '../support/story.ts';

const MORNING = { created: '09:30', until: '11:10' };
const DAILY = job({ schedules: [{ cron: '0 10 * * *' }] });
const MIDNIGHT = job({ schedules: [{ cron: '0 0 * * *' }] });
const LAST_SECOND = job({ schedules: [{ every: 86_400, anchor: at('01 23:59:59') }] });
const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });

const keys: readonly Story[] = [
  {
    name: 'a date is the key of the one occurrence of that day',
    history: told({ created: '01 12:00', until: '02 10:02', settings: DAILY }, [
      success('02 10:01', { occ: '2026-03-02' }),
    ]),
    expect: { occurrences: [row('02 10:00', 'on_time')], pings: [matched('key', '02 10:00')] },
  },
  {
    name: 'a date of several occurrences is the key of none of them',
    history: told(MORNING, [success('10:01', { occ: '2026-03-02' })]),
    expect: { occurrences: [row('10:00', 'overdue'), row('11:00', 'overdue')], pings: [matched('unmatched', null)] },
  },
  {
    name: 'midnight belongs to the day that it begins',
    history: told({ created: '01 12:00', until: '03 00:02', settings: MIDNIGHT }, [
      success('03 00:01', { occ: '2026-03-02' }),
    ]),
    expect: {
      occurrences: [row('02 00:00', 'late'), row('03 00:00', 'expected')],
      pings: [matched('key', '02 00:00')],
    },
  },
  {
    name: 'the last second of a day belongs to it',
    history: told({ created: '02 12:00', until: '03 00:02', settings: LAST_SECOND }, [
      success('03 00:01', { occ: '2026-03-02' }),
    ]),
    expect: { occurrences: [row('02 23:59:59', 'on_time')], pings: [matched('key', '02 23:59:59')] },
  },
  {
    name: 'an occurrence opens at the very instant of its due less early',
    history: told({ ...MORNING, until: '10:56' }, [
      success('10:01'),
      success('10:54:59', { ...key('11:00'), body: 'too early' }),
      success('10:55', key('11:00')),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time'), row('11:00', 'on_time')],
      pings: [matched('current', '10:00'), matched('unmatched', null), matched('key', '11:00')],
    },
  },
  {
    name: 'a start with a key that lost the race against the end of its run begins no other',
    history: told(MORNING, [success('10:01', key('10:00')), start('10:01:01', key('10:00')), success('11:01')]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 }), row('11:00', 'on_time')],
      pings: [matched('key', '10:00'), matched('key', '10:00'), matched('current', '11:00')],
    },
  },
  {
    name: 'an end with a key ends the unnamed run of that occurrence, whoever began it',
    history: told({ ...MORNING, until: '10:03' }, [
      start('10:00:10', { source: 'host-a' }),
      success('10:01', { ...key('10:00'), source: 'host-b' }),
      success('10:02', { source: 'host-a' }),
    ]),
    expect: { pings: [matched('current', '10:00'), matched('key', '10:00'), matched('again', '10:00')] },
  },
  {
    name: 'a start with a key begins a run of its own, though another is under way',
    history: told({ ...MORNING, until: '10:05' }, [
      start('10:01', { ...key('10:00'), source: 'host-a' }),
      start('10:02', { ...key('10:00'), source: 'host-b' }),
      success('10:03', { source: 'host-b' }),
      success('10:04', { source: 'host-a' }),
    ]),
    expect: {
      pings: [
        matched('key', '10:00'),
        matched('key', '10:00'),
        matched('running', '10:00'),
        matched('running', '10:00'),
      ],
    },
  },
  {
    name: 'a run id is known for 24 h: after that it is a second run of the same occurrence',
    history: told({ created: '02 09:30', until: '03 10:02', settings: DAILY }, [
      success('02 10:01', { rid: 'r1' }),
      success('03 10:01', { rid: 'r1', ...key('10:00') }),
    ]),
    expect: { occurrences: [row('02 10:00', 'on_time', { completions: 2 }), row('03 10:00', 'expected')] },
  },
];

const retries: readonly Story[] = [
  {
    name: 'a ping with a key that is sent again across a due instant is a retry',
    history: told({ ...MORNING, until: '11:01' }, [
      success('10:59:50', key('10:00')),
      success('11:00:20', key('10:00')),
    ]),
    expect: {
      occurrences: [row('10:00', 'late', { completions: 1 }), row('11:00', 'expected')],
      pings: [matched('key', '10:00'), matched('retry', '10:00')],
    },
  },
  {
    name: 'an unnamed ping that is repeated when the next one is due is about that one',
    history: told({ ...MORNING, until: '11:01', settings: job({ early: 0 }) }, [
      success('10:59:50'),
      success('11:00:20'),
    ]),
    expect: {
      occurrences: [row('10:00', 'late', { completions: 1 }), row('11:00', 'on_time')],
      pings: [matched('current', '10:00'), matched('current', '11:00')],
    },
  },
  {
    name: 'the spooled end of a long run that is sent again is a retry, though a later one was due by its instant',
    history: told({ created: '08:30', until: '10:04' }, [
      start('09:10'),
      success('10:03', { ownAt: '10:02' }),
      success('10:03:30', { ownAt: '10:02' }),
    ]),
    expect: {
      occurrences: [row('09:00', 'late', { completions: 1 }), row('10:00', 'expected')],
      pings: [matched('current', '09:00'), matched('running', '09:00'), matched('retry', '09:00')],
    },
  },
  {
    name: 'an unnamed start 2 minutes after an end is no more the start of that run',
    history: told({ ...MORNING, until: '10:04' }, [success('10:01'), start('10:03')]),
    expect: { pings: [matched('current', '10:00'), matched('again', '10:00')] },
  },
];

const runs: readonly Story[] = [
  {
    name: 'a named start that comes long after the end of its run times it all the same',
    history: told({ ...MORNING, until: '10:30', settings: job({ maxRuntime: 1800 }) }, [
      success('10:20', { rid: 'r1' }),
      start('10:23', { rid: 'r1', ownAt: '10:01' }),
      fail('10:24', { rid: 'r1' }),
      success('10:25', { rid: 'r1' }),
    ]),
    expect: { occurrences: [row('10:00', 'on_time', { completedAt: at('10:25') })] },
  },
  {
    name: 'an unnamed end ends the run that was begun last, not the one that was heard of last',
    history: told({ created: '08:30', until: '10:04' }, [
      start('10:01', { source: 'host-a' }),
      start('10:02', { source: 'host-b', ownAt: '09:40' }),
      success('10:03', { source: 'host-c' }),
    ]),
    expect: {
      occurrences: [row('09:00', 'overdue'), row('10:00', 'on_time')],
      pings: [matched('current', '10:00'), matched('current', '09:00'), matched('running', '10:00')],
    },
  },
  {
    name: 'the last word of a run that ended before its occurrence was due is its own, not that of a new run',
    history: told({ ...MORNING, until: '10:02' }, [success('09:57', { rid: 'r1' }), fail('10:01', { rid: 'r1' })]),
    expect: {
      occurrences: [row('10:00', 'failed', { completions: 0 })],
      pings: [matched('current', '10:00'), matched('rid', '10:00')],
    },
  },
  {
    name: 'heartbeat: an end in the second of the resume is of the one that it anchored',
    history: told({ created: '09:00', until: '10:01', settings: heartbeat() }, [
      success('09:20'),
      pause('09:30'),
      resume('10:00'),
      success('10:00:00.500'),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 }), row('11:00', 'on_time')],
      pings: [matched('current', '10:00'), matched('current', '11:00')],
    },
  },
];

describe('which occurrence a ping is about, to the instant (docs/ledger.md, rules 11 to 22 and 31)', () => {
  const zones = loadZones();
  test.each([...keys, ...retries, ...runs])('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
