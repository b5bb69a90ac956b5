import {
  claim,
  edit,
  fail,
  heartbeat,
  incident,
  job,
  knowMaintenance,
  maintained,
  pause,
  resume,
  row,
  type Story,
  settle,
  start,
  success,
  told,
} from './story.ts';

const skipped = (due: string, window: string) => row(due, 'skipped', { reason: 'maintenance', note: window });
/** Silent ones are missed, so that nothing is owed. */
const digest = (settings: Parameters<typeof job>[0] = {}) => job({ missedRuns: 'skip', usefulFor: 1800, ...settings });
const THREE_IN_A_ROW = { missing: { count: 3, of: 3 } };

const thresholds: readonly Story[] = [
  {
    name: 'two misses are quiet, and the third in a row is told',
    history: told({ created: '08:30', until: '11:10', settings: digest({ alertAfter: THREE_IN_A_ROW }) }, []),
    expect: {
      occurrences: [row('09:00', 'missed'), row('10:00', 'missed'), row('11:00', 'overdue')],
      incidents: [
        { ...incident('missing', ['09:00', '10:00', '11:00'], ['opened, 11:05, 11:00']), ...openedAt('09:05') },
      ],
      status: 'down',
    },
  },
  {
    name: 'a success begins the row anew, and what nobody was told of ends without a word',
    history: told({ created: '08:30', until: '14:10', settings: digest({ alertAfter: THREE_IN_A_ROW }) }, [
      success('11:01'),
    ]),
    expect: {
      incidents: [
        { ...incident('missing', ['09:00', '10:00'], [], '11:01'), ...openedAt('09:05') },
        { ...incident('missing', ['12:00', '13:00', '14:00'], ['opened, 14:05, 14:00']), ...openedAt('12:05') },
      ],
    },
  },
  {
    name: 'a run that comes late ends the incident, and the miss still counts',
    history: told(
      { created: '08:30', until: '10:20', settings: job({ alertAfter: { missing: { count: 2, of: 2 } } }) },
      [success('09:20'), success('10:10')],
    ),
    expect: {
      occurrences: [row('09:00', 'late'), row('10:00', 'late')],
      incidents: [
        { ...incident('missing', ['09:00'], [], '09:20'), ...openedAt('09:05') },
        incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 10:10']),
      ],
    },
  },
  {
    name: 'three of the last four, with a success between them',
    history: told(
      { created: '08:30', until: '12:30', settings: job({ alertAfter: { failed: { count: 3, of: 4 } } }) },
      [fail('09:01'), success('10:01'), fail('11:01'), fail('12:01')],
    ),
    expect: {
      // 09:00 is owed under catch_up, so its incident is still the same one.
      incidents: [
        { ...incident('failed', ['09:00', '11:00', '12:00'], ['opened, 12:01, 12:00']), ...openedAt('09:01') },
      ],
    },
  },
  {
    name: 'skipped ones and failures are left out of a row of misses',
    history: told(
      { created: '08:30', until: '13:10', settings: digest({ alertAfter: { missing: { count: 3, of: 3 } } }) },
      [settle('10:02', '10:00', 'skipped'), fail('12:01')],
    ),
    expect: {
      occurrences: [
        row('09:00', 'missed'),
        row('10:00', 'skipped'),
        row('11:00', 'missed'),
        row('12:00', 'failed'),
        row('13:00', 'overdue'),
      ],
      incidents: [
        { ...incident('missing', ['09:00', '11:00', '13:00'], ['opened, 13:05, 13:00']), ...openedAt('09:05') },
        incident('failed', ['12:00'], ['opened, 12:01, 12:00']),
      ],
    },
  },
  {
    name: 'what moves to another kind counts for both, and says where it came from when it is told',
    history: told(
      { created: '08:30', until: '10:30', settings: digest({ alertAfter: { failed: { count: 2, of: 2 } } }) },
      [fail('09:10'), fail('10:10')],
    ),
    expect: {
      incidents: [
        incident('missing', ['(09:00)'], ['opened, 09:05, 09:00'], '09:10'),
        {
          ...incident('failed', ['09:00', '10:00'], ['opened, 10:10, 10:00, before, missing']),
          ...openedAt('09:10'),
        },
        incident('missing', ['(10:00)'], ['opened, 10:05, 10:00'], '10:10'),
      ],
    },
  },
  {
    name: 'a threshold that is lowered tells at once, of the newest one, and what joins after a good run when it is reached again',
    history: told({ created: '08:30', until: '13:10', settings: job({ alertAfter: THREE_IN_A_ROW }) }, [
      edit('10:30', job({ alertAfter: { missing: { count: 2, of: 2 } } })),
      success('11:01'),
    ]),
    expect: {
      incidents: [
        {
          ...incident(
            'missing',
            ['09:00', '10:00', '12:00', '13:00'],
            ['opened, 10:30, 10:00', 'reminded, 13:05, 13:00'],
          ),
          ...openedAt('09:05'),
        },
      ],
    },
  },
  {
    name: 'a threshold of one is none: an old run that fails is told although later ones went well',
    history: told(
      { created: '08:30', until: '12:30', settings: job({ alertAfter: { failed: { count: 1, of: 2 } } }) },
      [
        ...['09:01', '10:01', '11:01', '12:01'].map((time) => success(time, { rid: `run-${time}` })),
        fail('12:20', { rid: 'run-09:01', occ: '2026-03-02T09:00Z' }),
      ],
    ),
    expect: { incidents: [incident('failed', ['09:00'], ['opened, 12:20, 09:00'])] },
  },
];

const windows: readonly Story[] = [
  {
    name: 'a window over a silent job: nobody is called, and the ledger says why',
    history: told(
      { created: '08:30', until: '11:10', settings: job({ startWithin: 60 }) },
      [],
      [],
      [maintained('deploy', '09:00', '11:00')],
    ),
    expect: {
      occurrences: [skipped('09:00', 'deploy'), skipped('10:00', 'deploy'), row('11:00', 'overdue')],
      incidents: [incident('not_started', ['11:00'], ['opened, 11:01, 11:00'])],
    },
  },
  {
    name: 'a run inside a window is what it is',
    history: told(
      { created: '08:30', until: '12:10' },
      [success('09:01'), fail('10:01'), start('11:04')],
      [],
      [maintained('deploy', '09:00', '12:00')],
    ),
    expect: {
      occurrences: [row('09:00', 'on_time'), row('10:00', 'failed'), row('11:00', 'overdue'), row('12:00', 'overdue')],
      incidents: [
        incident('failed', ['10:00'], ['opened, 10:01, 10:00']),
        incident('late', ['11:00'], ['opened, 11:05, 11:00']),
        incident('missing', ['12:00'], ['opened, 12:05, 12:00']),
      ],
    },
  },
  {
    name: 'what was due before the window is told as ever, although its deadline lies inside',
    history: told({ created: '08:30', until: '09:30' }, [], [], [maintained('deploy', '09:01', '10:00')]),
    expect: {
      occurrences: [row('09:00', 'overdue')],
      incidents: [incident('missing', ['09:00'], ['opened, 09:05, 09:00'])],
    },
  },
  {
    name: 'what is skipped in a window is shown with the run that comes after all',
    history: told(
      { created: '08:30', until: '09:30' },
      [success('09:06')],
      [],
      [maintained('deploy', '09:00', '09:10')],
    ),
    expect: { occurrences: [{ ...skipped('09:00', 'deploy'), completions: 1 }], incidents: [] },
  },
  {
    name: 'a window known after the fact ends the incident, and its debts',
    history: told(
      { created: '08:30', until: '11:02' },
      [success('09:01'), knowMaintenance('11:01')],
      [],
      [maintained('deploy', '09:30', '10:30', { known: '11:01' })],
    ),
    expect: {
      occurrences: [row('09:00', 'on_time'), skipped('10:00', 'deploy'), row('11:00', 'expected')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00', 'resolved, 11:01'])],
      owed: [],
    },
  },
  {
    name: 'a window known after the fact skips what was missed, and leaves alone what was begun or lies outside',
    history: told(
      { created: '08:30', until: '12:40', settings: digest() },
      [start('11:10'), knowMaintenance('12:35')],
      [],
      [maintained('deploy', '10:00', '12:00', { known: '12:35' })],
    ),
    expect: {
      occurrences: [
        row('09:00', 'missed', { note: null }),
        skipped('10:00', 'deploy'),
        row('11:00', 'missed'),
        row('12:00', 'missed'),
      ],
      status: 'down',
    },
  },
  {
    name: 'a window that is known only in a pause is not told at resume',
    history: told(
      { created: '08:30', until: '11:00' },
      [pause('09:10'), knowMaintenance('09:30'), resume('10:10')],
      [],
      [maintained('deploy', '09:00', '10:00', { known: '09:30' })],
    ),
    expect: {
      occurrences: [
        skipped('09:00', 'deploy'),
        row('10:00', 'skipped', { reason: 'paused' }),
        row('11:00', 'expected'),
      ],
      incidents: [incident('missing', ['09:00'], ['opened, 09:05, 09:00'], '09:10')],
      owed: [],
    },
  },
  {
    name: 'a window that is known only in a pause is about what is missed in that pause too',
    history: told(
      { created: '08:30', until: '11:00', settings: digest({ grace: 60 }) },
      [claim('09:00:30', 'a'), pause('09:00:45'), knowMaintenance('09:40'), resume('10:10')],
      [],
      [maintained('deploy', '09:00', '10:00', { known: '09:40' })],
    ),
    expect: {
      occurrences: [
        skipped('09:00', 'deploy'),
        row('10:00', 'skipped', { reason: 'paused' }),
        row('11:00', 'expected'),
      ],
      incidents: [],
    },
  },
  {
    name: 'a window that is taken back gives nothing back, and holds nothing any more',
    history: told(
      { created: '08:30', until: '10:10' },
      [],
      [],
      [maintained('deploy', '09:00', '12:00', { back: '09:30' })],
    ),
    expect: {
      occurrences: [skipped('09:00', 'deploy'), row('10:00', 'overdue')],
      incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'])],
    },
  },
  {
    name: 'in a blind window, what was due in maintenance is skipped and not unknown',
    history: told(
      { created: '08:30', until: '10:40' },
      [],
      [{ kind: 'blind', after: '08:59', until: '10:20' }],
      [maintained('upgrade', '09:00', '09:30')],
    ),
    expect: {
      occurrences: [skipped('09:00', 'upgrade'), row('10:00', 'unknown')],
      incidents: [],
    },
  },
  {
    name: 'maintenance of Rollcall too, said afterwards: what it could not hear of is skipped, and nobody is asked to look',
    history: told(
      { created: '08:30', until: '10:40' },
      [knowMaintenance('10:25')],
      [{ kind: 'blind', after: '08:59', until: '10:20' }],
      [maintained('upgrade', '09:00', '10:30', { known: '10:25' })],
    ),
    expect: { occurrences: [skipped('09:00', 'upgrade'), skipped('10:00', 'upgrade')], incidents: [] },
  },
  {
    name: 'a heartbeat that is silent in a window is awaited anew from its deadline on',
    history: told(
      { created: '08:00', until: '11:30', settings: heartbeat() },
      [success('08:30')],
      [],
      [maintained('deploy', '09:00', '10:00')],
    ),
    expect: {
      occurrences: [row('09:00', 'on_time'), skipped('09:30', 'deploy'), row('10:40', 'overdue')],
      incidents: [incident('missing', ['10:40'], ['opened, 10:50, 10:40'])],
    },
  },
];

/** Recorded earlier than told. */
function openedAt(time: string): { readonly openedAt: number } {
  return { openedAt: Date.parse(`2026-03-02T${time}:00Z`) };
}

export const alertStories: readonly Story[] = [...thresholds, ...windows];
