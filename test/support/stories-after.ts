import { fail, goesAfter, incident, job, log, matched, row, type Story, start, success, told } from './story.ts';

const DIGEST = job({ missedRuns: 'skip', usefulFor: 1800 });

/** Jobs that go after others. */
export const afterStories: readonly Story[] = [
  {
    name: 'an export that waits for billing is quiet, and has its grace anew from when billing is done',
    history: goesAfter(told({ created: '08:30', until: '09:50' }, []), ['08:50, 09:30']),
    expect: {
      occurrences: [row('09:00', 'overdue')],
      incidents: [incident('missing', ['09:00'], ['opened, 09:35, 09:00'])],
    },
  },
  {
    name: 'within that grace it is on time',
    history: goesAfter(told({ created: '08:30', until: '09:50' }, [success('09:34')]), ['08:50, 09:30']),
    expect: { occurrences: [row('09:00', 'on_time')], incidents: [] },
  },
  {
    name: 'while billing is not done the export is blocked: nobody is called about it, and nothing of it is owed',
    history: goesAfter(told({ created: '08:30', until: '10:50' }, []), ['08:50']),
    expect: {
      occurrences: [row('09:00', 'expected'), row('10:00', 'expected')],
      incidents: [],
      owed: [],
      status: 'blocked',
    },
  },
  {
    name: 'what goes first counts as of its latest occurrence, and a job that has none blocks nothing',
    history: goesAfter(told({ created: '08:30', until: '10:10' }, []), ['08:50, 08:55', '09:50'], ['11:00']),
    expect: {
      occurrences: [row('09:00', 'overdue'), row('10:00', 'expected')],
      incidents: [incident('missing', ['09:00'], ['opened, 09:05, 09:00'])],
    },
  },
  {
    name: 'of two that go first, the last to be done counts',
    history: goesAfter(told({ created: '08:30', until: '09:50' }, []), ['08:50, 09:10'], ['08:40, 09:20']),
    expect: { incidents: [incident('missing', ['09:00'], ['opened, 09:25, 09:00'])] },
  },
  {
    name: 'one that begins all the same is timed from then on, and judged as ever',
    history: goesAfter(
      told({ created: '08:30', until: '09:50', settings: job({ maxRuntime: 600, startWithin: 60 }) }, [start('09:20')]),
      ['08:50'],
    ),
    expect: {
      occurrences: [row('09:00', 'overdue')],
      incidents: [incident('overrun', ['09:00'], ['opened, 09:30, 09:00'])],
    },
  },
  {
    name: 'the window of a blocked one ends as ever: it is missed, and nobody is called',
    history: goesAfter(told({ created: '08:30', until: '09:50', settings: DIGEST }, []), ['08:50, 09:40']),
    expect: { occurrences: [row('09:00', 'missed')], incidents: [], status: 'up' },
  },
  {
    name: 'a blocked one that is released in the very instant in which its window ends is missed, and nobody is called',
    history: goesAfter(told({ created: '08:30', until: '09:50', settings: DIGEST }, []), ['08:50, 09:30']),
    expect: { occurrences: [row('09:00', 'missed')], incidents: [], status: 'up' },
  },
  {
    name: 'a grace that is shorter than the time between two looks ends when it ends',
    history: goesAfter(told({ created: '08:30', until: '09:50', settings: job({ grace: 2 }) }, [log('09:30')]), [
      '08:50, 09:30:05',
    ]),
    expect: { incidents: [incident('missing', ['09:00'], ['opened, 09:30:07, 09:00'])] },
  },
  {
    name: 'one that fails without a start has begun all the same: what comes after its grace is late',
    history: goesAfter(
      told({ created: '08:30', until: '09:50', settings: job({ grace: 60 }) }, [fail('09:10'), success('09:12')]),
      ['08:50, 09:30'],
    ),
    expect: { occurrences: [row('09:00', 'late')] },
  },
  {
    name: 'a start that comes after the end of its run says when the occurrence began',
    history: goesAfter(
      told({ created: '08:30', until: '09:50', settings: job({ grace: 60 }) }, [
        fail('09:10', { rid: 'a' }),
        start('09:10:10', { rid: 'a', ownAt: '09:05' }),
        success('09:10:30', { rid: 'b' }),
      ]),
      ['08:50, 09:30'],
    ),
    expect: { occurrences: [row('09:00', 'late')] },
  },
  {
    name: 'a digest that runs when its window is over is expired, although it had to wait',
    history: goesAfter(told({ created: '08:30', until: '09:50', settings: DIGEST }, [success('09:42')]), [
      '08:50, 09:40',
    ]),
    expect: {
      occurrences: [row('09:00', 'expired')],
      pings: [matched('current', '09:00')],
      incidents: [incident('expired', ['09:00'], ['opened, 09:42, 09:00'])],
    },
  },
];
