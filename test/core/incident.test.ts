import { describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/core/ledger.ts';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { at, decide, edit, fail, incident, job, row, type Story, success, told } from '../support/story.ts';
import { advanceTo, bareLedger, take } from './bare-ledger.ts';

const HALF_HOURLY = job({ schedules: [{ cron: '*/30 * * * *' }] });
const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });

const backlogs: readonly Story[] = [
  {
    name: 'who allows for just what is owed has decided',
    history: told({ created: '09:30', until: '12:21', settings: job({ maxCatchUp: 2 }) }, [
      edit('12:15', job({ maxCatchUp: 3 })),
    ]),
    expect: {
      incidents: [
        incident('missing', ['10:00', '11:00', '12:00'], ['opened, 10:05, 10:00']),
        incident('backlog', ['10:00', '11:00', '12:00'], ['opened, 12:05', 'resolved, 12:15']),
      ],
    },
  },
  {
    name: 'what is due at the very instant of a decision is decided',
    history: told({ created: '09:30', until: '11:01', settings: job({ maxCatchUp: 0 }) }, [
      success('10:01'),
      fail('10:58'),
      decide('11:00', 'run'),
    ]),
    expect: {
      incidents: [
        incident('backlog', ['11:00'], ['opened, 10:58', 'resolved, 11:00']),
        incident('failed', ['11:00'], ['opened, 10:58, 11:00']),
      ],
    },
  },
  {
    name: 'one whose window ends with its grace was no debt at any time, and is in no backlog',
    history: told(
      {
        created: '09:59',
        until: '10:05:30',
        settings: job({ schedules: [{ cron: '*/2 * * * *' }], usefulFor: 300, maxCatchUp: 0 }),
      },
      [fail('10:04:10')],
    ),
    expect: {
      occurrences: [row('10:00', 'missed'), row('10:02', 'expected'), row('10:04', 'failed', { wanted: true })],
      incidents: [
        incident('backlog', ['10:04'], ['opened, 10:04:10']),
        incident('failed', ['10:04'], ['opened, 10:04:10, 10:04']),
        incident('missing', ['10:00'], ['opened, 10:05, 10:00']),
      ],
    },
  },
];

const tellings: readonly Story[] = [
  {
    name: 'an older one that joins is told only if one between it and the last told ended well: the last told itself is none',
    history: told({ created: '09:30', until: '12:21' }, [
      fail('11:02'),
      fail('12:02'),
      success('12:10', key('11:00')),
      fail('12:20', key('10:00')),
    ]),
    expect: {
      incidents: [
        incident('missing', ['(10:00)'], ['opened, 10:05, 10:00'], '12:20'),
        incident('failed', ['10:00', '11:00', '12:00'], ['opened, 11:02, 11:00']),
      ],
    },
  },
  {
    name: 'a duplicate stays open for its newest occurrence, though an older one joins after it',
    history: told({ created: '09:30', until: '11:04', settings: HALF_HOURLY }, [
      success('10:01'),
      success('10:31'),
      success('10:57', { ...key('11:00'), body: 'a' }),
      success('10:58', { ...key('11:00'), body: 'b' }),
      success('10:59', { ...key('10:00'), body: 'c' }),
    ]),
    expect: {
      incidents: [incident('duplicate', ['10:00', '11:00'], ['opened, 10:58, 11:00', 'reminded, 10:59, 10:00'])],
    },
  },
  {
    name: 'an off-schedule run that is told late is not the last one',
    history: told({ created: '09:30', until: '12:02', settings: job({ unscheduled: 'alert' }) }, [
      success('10:01'),
      success('11:01'),
      success('11:40'),
      success('11:41', { ownAt: '10:40', body: 'spooled' }),
      success('12:01'),
    ]),
    expect: { incidents: [incident('unscheduled', [], ['opened, 11:40', 'resolved, 12:01'])] },
  },
];

describe('incidents, to the instant (docs/ledger.md, rules 36 to 43)', () => {
  const zones = loadZones();
  test.each([...backlogs, ...tellings])('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});

describe('what the view of a history does not show of incidents', () => {
  /** A miss at 10:00, then one at noon; nothing of 11:00 is loaded but what the store says of it. */
  const missed = (wells: Ledger['wells'], has11: boolean) => {
    const ledger = bareLedger('09:30', job(), { wells });
    advanceTo(ledger, '10:05');
    if (!has11) ledger.nextUnrecorded = at('12:00');
    advanceTo(ledger, '12:05');
    return ledger.events.map(({ type, number }) => `${type} ${number}`);
  };

  test('one that ended well and is not loaded makes the next miss news, if it lies between the two', () => {
    expect(missed([{ at: at('11:00'), doubled: false }], false)).toEqual(['opened 1', 'reminded 2']);
    expect(missed([{ at: at('11:00'), doubled: true }], false)).toEqual(['opened 1', 'reminded 2']);
    expect(missed([], false)).toEqual(['opened 1']);
    expect(missed([{ at: at('09:00'), doubled: false }], false)).toEqual(['opened 1']);
    // The loaded row knows better.
    expect(missed([{ at: at('11:00'), doubled: false }], true)).toEqual(['opened 1']);
  });

  test('to a duplicate one with a completion too many does not count as well', () => {
    for (const doubled of [false, true]) {
      const ledger = bareLedger('09:30', job(), { wells: [{ at: at('11:00'), doubled }] });
      for (const time of ['10:01', '10:02']) take(ledger, success(time, { ...key('10:00'), body: time }));
      ledger.nextUnrecorded = at('12:00');
      for (const time of ['12:01', '12:02']) take(ledger, success(time, { ...key('12:00'), body: time }));
      expect(ledger.events.map(({ type }) => type)).toEqual(doubled ? ['opened'] : ['opened', 'reminded']);
    }
  });

  test('events are numbered, and an occurrence joins a duplicate once however often it is run', () => {
    const ledger = bareLedger('09:30', job());
    for (const time of ['10:01', '10:02', '10:03']) take(ledger, success(time, { ...key('10:00'), body: time }));
    expect(ledger.members).toHaveLength(1);
    take(ledger, success('11:01'));
    advanceTo(ledger, '11:05');
    expect(ledger.events.map(({ type, number }) => `${type} ${number}`)).toEqual(['opened 1', 'resolved 2']);
  });
});
