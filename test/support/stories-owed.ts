import { answer } from './history.ts';
import {
  at,
  claim,
  decide,
  EVERY_MINUTE,
  edit,
  extend,
  extended,
  fail,
  given,
  incident,
  job,
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
} from './story.ts';

const BILLING = job({ schedules: [{ cron: '30 2 * * *' }], grace: 3600 });
const THREE_OWED = { created: '09:30', until: '12:21', settings: job({ maxCatchUp: 2 }) };
const BLIND = { kind: 'blind' as const, after: '09:50', until: '10:40' };

const backlogs: readonly Story[] = [
  {
    name: 'a billing host that was away for three nights pays them one by one, the oldest first',
    history: told({ created: '01 12:00', until: '04 10:00', settings: BILLING }, [
      claim('04 09:00:00', 'r1'),
      success('04 09:00:05', { rid: 'r1' }),
      claim('04 09:00:06', 'r2'),
      claim('04 09:00:10', 'r3'),
      success('04 09:00:15', { rid: 'r3' }),
      claim('04 09:00:20', 'r4'),
      success('04 09:00:25', { rid: 'r4' }),
      claim('04 09:00:30', 'r5'),
    ]),
    expect: {
      occurrences: [row('02 02:30', 'late'), row('03 02:30', 'late'), row('04 02:30', 'late')],
      pings: [matched('rid', '02 02:30'), matched('rid', '03 02:30'), matched('rid', '04 02:30')],
      answers: [
        given('02 02:30', '04 09:01:00'),
        refused('not_yet', { retry: '04 09:00:10' }),
        given('03 02:30', '04 09:01:10'),
        given('04 02:30', '04 09:01:20'),
        refused('completed'),
      ],
      owed: [],
      incidents: [
        incident(
          'missing',
          ['02 02:30', '03 02:30', '04 02:30'],
          ['opened, 02 03:30, 02 02:30', 'resolved, 04 09:00:25'],
        ),
      ],
      status: 'up',
    },
  },
  {
    name: 'more owed than max_catch_up: nothing is handed out until a person says run',
    history: told(THREE_OWED, [claim('12:10', 'r1'), decide('12:20', 'run'), claim('12:20:01', 'r2')]),
    expect: {
      answers: [refused('backlog'), answer('decide', 'decided'), given('10:00', '12:21:01')],
      owed: [owing('11:00', 'overdue', '12:21'), owing('12:00', 'overdue', '12:21:10')],
      incidents: [
        incident('missing', ['10:00', '11:00', '12:00'], ['opened, 10:05, 10:00']),
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 12:05', 'resolved, 12:20']),
      ],
      status: 'down',
    },
  },
  {
    name: 'a person says skip, and later ones are counted anew',
    history: told({ ...THREE_OWED, until: '15:30' }, [decide('12:20', 'skip'), claim('12:20:01', 'r1')]),
    expect: {
      occurrences: [
        ...['10:00', '11:00', '12:00'].map((due) => row(due, 'skipped', { reason: 'operator', wanted: false })),
        ...['13:00', '14:00', '15:00'].map((due) => row(due, 'overdue', { wanted: true })),
      ],
      answers: [answer('decide', 'decided'), refused('completed')],
      incidents: [
        incident('missing', ['10:00', '11:00', '12:00'], ['opened, 10:05, 10:00', 'resolved, 12:20']),
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 12:05', 'resolved, 12:20']),
        incident('missing', ['13:00', '14:00', '15:00'], ['opened, 13:05, 13:00']),
        incident('backlog', ['13:00', '14:00', '15:00'], ['opened, 15:05']),
      ],
    },
  },
  {
    name: 'what is at work when a person says skip is left to its run',
    history: told(THREE_OWED, [start('12:10', { occ: '2026-03-02T11:00Z' }), decide('12:20', 'skip')]),
    expect: {
      occurrences: [row('10:00', 'skipped'), row('11:00', 'overdue'), row('12:00', 'skipped')],
      owed: [],
    },
  },
  {
    name: 'a backlog ends when nothing is owed any more, and does not wait for the newest one to end well',
    history: told({ ...THREE_OWED, until: '12:30', settings: job({ maxCatchUp: 1 }) }, [
      success('12:10', { occ: '2026-03-02T10:00Z' }),
      success('12:11', { occ: '2026-03-02T11:00Z', body: 'b' }),
      success('12:12', { occ: '2026-03-02T12:00Z', body: 'c' }),
    ]),
    expect: {
      incidents: [
        incident('missing', ['10:00', '11:00', '12:00'], ['opened, 10:05, 10:00', 'resolved, 12:12']),
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 11:05', 'resolved, 12:12']),
      ],
      owed: [],
      status: 'up',
    },
  },
  {
    name: 'who raises max_catch_up has decided too',
    history: told(THREE_OWED, [edit('12:15', job({ maxCatchUp: 10 })), claim('12:15:01', 'r1')]),
    expect: {
      answers: [given('10:00', '12:16:01')],
      incidents: [
        { kind: 'missing' },
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 12:05', 'resolved, 12:15']),
      ],
    },
  },
  {
    name: 'what a blind window left unknown is listed as unconfirmed and holds nobody back',
    history: told({ created: '09:30', until: '11:02' }, [claim('11:01', 'r1')], [BLIND]),
    expect: {
      occurrences: [row('10:00', 'unknown', { wanted: false, confirmed: false }), row('11:00', 'expected')],
      answers: [given('11:00', '11:02')],
      owed: [owing('10:00', 'unknown', null)],
      incidents: [],
      status: 'unknown',
    },
  },
  {
    name: 'an unconfirmed one is handed out when a person said run',
    history: told(
      { created: '09:30', until: '10:54' },
      [
        claim('10:51', 'r1'),
        decide('10:52', 'run'),
        claim('10:52:10', 'r2'),
        success('10:53', { rid: 'r2' }),
        claim('10:53:10', 'r3'),
      ],
      [BLIND],
    ),
    expect: {
      occurrences: [row('10:00', 'late', { completedAt: at('10:53'), confirmed: true })],
      answers: [refused('backlog'), answer('decide', 'decided'), given('10:00', '10:53:10'), refused('completed')],
      owed: [],
    },
  },
];

const claims: readonly Story[] = [
  {
    name: 'coalesce hands out the newest one, whose completion covers the rest',
    history: told({ created: '09:30', until: '11:04', settings: job({ missedRuns: 'coalesce' }) }, [
      claim('11:03', 'r1'),
      success('11:03:30', { rid: 'r1' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'coalesced', { coveredBy: at('11:00') }), row('11:00', 'on_time')],
      answers: [given('11:00', '11:04')],
      owed: [],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 11:03:30'])],
    },
  },
  {
    name: 'skip hands out the current one until its window ends, and then says what is past',
    history: told({ created: '09:30', until: '10:11', settings: job({ missedRuns: 'skip', usefulFor: 600 }) }, [
      claim('10:07', 'r1'),
      claim('10:10', 'r2'),
    ]),
    expect: {
      occurrences: [row('10:00', 'missed', { wanted: false })],
      answers: [given('10:00', '10:08'), refused('off_schedule', { past: '10:00' })],
      owed: [],
    },
  },
  {
    name: 'a runner that is not heard of for 60 s loses its occurrence to another',
    history: told({ created: '09:30', until: '10:08' }, [
      claim('10:06', 'r1'),
      start('10:06:01', { rid: 'r1' }),
      claim('10:06:30', 'r2'),
      claim('10:07', 'r3'),
      extend('10:07:05', 'r1'),
      success('10:07:20', { rid: 'r3' }),
      extend('10:07:30', 'r1'),
    ]),
    expect: {
      occurrences: [row('10:00', 'late', { completions: 1, completedAt: at('10:07:20') })],
      pings: [matched('rid', '10:00'), matched('rid', '10:00')],
      answers: [
        given('10:00', '10:07'),
        refused('in_progress', { retry: '10:06:40' }),
        given('10:00', '10:08'),
        answer('extend', 'lease_lost'),
        answer('extend', 'completed'),
      ],
    },
  },
  {
    name: 'the same run that asks again gets the claim it has, and no run id is used twice',
    history: told({ created: '09:30', until: '10:10' }, [
      claim('10:06', 'r1'),
      claim('10:06:02', 'r1'),
      release('10:06:05', 'r1'),
      claim('10:06:06', 'r1'),
      claim('10:06:10', 'r2'),
    ]),
    expect: {
      answers: [
        given('10:00', '10:07'),
        given('10:00', '10:07'),
        answer('release', 'released'),
        refused('rid_used'),
        given('10:00', '10:07:10'),
      ],
      owed: [owing('10:00', 'overdue', '10:10')],
    },
  },
  {
    name: 'a claim whose occurrence another run completes is over',
    history: told({ created: '09:30', until: '10:02' }, [
      claim('10:01', 'r1'),
      success('10:01:20'),
      extend('10:01:30', 'r1'),
      release('10:01:31', 'r1'),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time', { completions: 1 })],
      pings: [matched('current', '10:00')],
      answers: [given('10:00', '10:02'), answer('extend', 'completed'), answer('release', 'released')],
      incidents: [],
    },
  },
  {
    name: 'a claim changes no state: what is claimed and never begun goes missing',
    history: told({ created: '09:30', until: '10:06' }, [claim('10:00:10', 'r1'), extend('10:01', 'r1')]),
    expect: {
      occurrences: [row('10:00', 'overdue')],
      answers: [given('10:00', '10:01:10'), extended('10:00', '10:02')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'])],
    },
  },
  {
    name: 'replace ends the older claim, and its occurrence is covered by the newer one',
    history: told(
      {
        created: '09:59:30',
        until: '10:01:59',
        settings: job({ schedules: EVERY_MINUTE, missedRuns: 'coalesce', grace: 120, overlap: 'replace' }),
      },
      [
        claim('10:00:05', 'r1'),
        start('10:00:06', { rid: 'r1' }),
        claim('10:00:30', 'r2'),
        extend('10:00:50', 'r1'),
        claim('10:01:05', 'r3'),
        extend('10:01:10', 'r1'),
        success('10:01:30', { rid: 'r3' }),
      ],
    ),
    expect: {
      occurrences: [row('10:00', 'coalesced', { coveredBy: at('10:01') }), row('10:01', 'on_time')],
      answers: [
        given('10:00', '10:01:05'),
        refused('in_progress', { retry: '10:00:40' }),
        extended('10:00', '10:01:50'),
        given('10:01', '10:02:05'),
        answer('extend', 'replaced'),
      ],
      incidents: [],
    },
  },
  {
    name: 'forbid waits for any run of the job and drops nothing',
    history: told({ created: '08:30', until: '10:01' }, [
      start('10:00:02'),
      claim('10:00:30', 'r1'),
      success('10:00:50'),
      claim('10:00:51', 'r2'),
    ]),
    expect: {
      occurrences: [row('09:00', 'overdue'), row('10:00', 'on_time')],
      answers: [refused('in_progress', { retry: '10:00:40' }), given('09:00', '10:01:51')],
    },
  },
  {
    name: 'allow hands out the next owed one while the first is at work',
    history: told({ created: '08:30', until: '10:07', settings: job({ overlap: 'allow', throttle: 0 }) }, [
      claim('10:06:01', 'r1'),
      claim('10:06:02', 'r2'),
      claim('10:06:03', 'r3'),
    ]),
    expect: {
      answers: [given('09:00', '10:07:01'), given('10:00', '10:07:02'), refused('in_progress', { retry: '10:06:13' })],
      owed: [],
    },
  },
  {
    name: 'the next one is handed out within early, not before',
    history: told({ created: '09:30', until: '11:01', settings: job({ early: 120 }) }, [
      success('10:00:10'),
      claim('10:20', 'r1'),
      claim('10:57:59', 'r2'),
      claim('10:58', 'r3'),
      success('10:58:30', { rid: 'r3' }),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time'), row('11:00', 'on_time', { completedAt: at('10:58:30') })],
      pings: [matched('current', '10:00'), matched('rid', '11:00')],
      answers: [refused('completed'), refused('off_schedule'), given('11:00', '10:59')],
    },
  },
  {
    name: 'the run of a claim completes an older occurrence without a key',
    history: told({ created: '08:30', until: '10:04' }, [
      claim('10:02', 'r1'),
      success('10:03', { rid: 'r1' }),
      success('10:03:30'),
    ]),
    expect: {
      occurrences: [row('09:00', 'late'), row('10:00', 'on_time')],
      pings: [matched('rid', '09:00'), matched('current', '10:00')],
      answers: [given('09:00', '10:03')],
      incidents: [incident('missing', ['09:00'], ['opened, 09:05, 09:00', 'resolved, 10:03'])],
    },
  },
  {
    name: 'owed ones are handed out at the pace of throttle; the current one is not held back',
    history: told({ created: '07:30', until: '10:01', settings: job({ throttle: 60, usefulFor: 7200 }) }, [
      claim('09:50', 'r1'),
      success('09:50:05', { rid: 'r1' }),
      claim('09:50:30', 'r2'),
      claim('09:51', 'r3'),
      fail('09:51:05', { rid: 'r3' }),
      claim('09:52', 'r4'),
      success('09:52:05', { rid: 'r4' }),
      claim('10:00:10', 'r5'),
    ]),
    expect: {
      occurrences: [row('08:00', 'late'), row('09:00', 'late', { completions: 1 }), row('10:00', 'expected')],
      answers: [
        given('08:00', '09:51'),
        refused('not_yet', { retry: '09:51' }),
        given('09:00', '09:52'),
        given('09:00', '09:53'),
        given('10:00', '10:01:10'),
      ],
    },
  },
  {
    name: 'past useful_for nothing is handed out, and a later failure is owed at the pace of throttle',
    history: told({ created: '07:30', until: '10:00:30', settings: job({ throttle: 60, usefulFor: 5400 }) }, [
      claim('09:45', 'r1'),
      fail('10:00:10'),
    ]),
    expect: {
      occurrences: [row('08:00', 'missed'), row('09:00', 'overdue'), row('10:00', 'failed')],
      answers: [given('09:00', '09:46')],
      owed: [owing('09:00', 'overdue', '10:00:30'), owing('10:00', 'failed', '10:01:30')],
    },
  },
];

const inBetween: readonly Story[] = [
  {
    name: 'a pause leaves an occurrence with a live claim, and hands out nothing',
    history: told({ created: '09:30', until: '10:06' }, [
      claim('10:00:30', 'r1'),
      pause('10:01'),
      claim('10:01:10', 'r2'),
      extend('10:01:20', 'r1'),
      success('10:02', { rid: 'r1' }),
      resume('10:05'),
    ]),
    expect: {
      occurrences: [row('10:00', 'on_time')],
      answers: [given('10:00', '10:01:30'), refused('paused'), extended('10:00', '10:02:20')],
      incidents: [],
    },
  },
  {
    name: 'a pause closes an occurrence whose lease is over',
    history: told({ created: '09:30', until: '10:06' }, [claim('10:00:30', 'r1'), pause('10:01:30'), resume('10:05')]),
    expect: { occurrences: [row('10:00', 'skipped', { reason: 'paused' })], incidents: [] },
  },
  {
    name: 'what was claimed in a pause and is past its deadline at resume opens its incident then',
    history: told({ created: '09:30', until: '10:21' }, [claim('10:00:30', 'r1'), pause('10:01'), resume('10:20')]),
    expect: {
      occurrences: [row('10:00', 'overdue', { wanted: true })],
      owed: [owing('10:00', 'overdue', '10:21')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:20, 10:00'])],
    },
  },
  {
    name: 'an edit of the schedules leaves an occurrence with a live claim',
    history: told({ created: '09:30', until: '10:02' }, [
      claim('10:00:30', 'r1'),
      edit('10:00:40', job({ schedules: [{ cron: '30 * * * *' }] })),
      success('10:00:50', { rid: 'r1' }),
    ]),
    expect: { occurrences: [row('10:00', 'on_time')], pings: [matched('rid', '10:00')], incidents: [] },
  },
  {
    name: 'an edit of the schedules closes an occurrence whose claim was given back',
    history: told({ created: '09:30', until: '10:02' }, [
      claim('10:00:30', 'r1'),
      release('10:00:35', 'r1'),
      edit('10:00:40', job({ schedules: [{ cron: '30 * * * *' }] })),
    ]),
    expect: { occurrences: [row('10:00', 'skipped', { reason: 'schedule_changed' })], incidents: [] },
  },
];

/** What is owed, and the claims on it (DESIGN section 6; docs/ledger.md, rules 41 to 47). */
export const owedStories: readonly Story[] = [...backlogs, ...claims, ...inBetween];
