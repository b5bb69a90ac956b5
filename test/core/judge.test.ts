import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { edit, incident, job, maintained, row, type Story, told } from '../support/story.ts';

const blind = (after: string, until: string) => ({ kind: 'blind' as const, after, until });

const windows: readonly Story[] = [
  {
    name: 'a blind window that begins at the very instant of a check comes too late for it',
    history: told(
      { created: '09:30', until: '10:21', settings: job({ startWithin: 300, grace: 1800 }) },
      [],
      [blind('10:05', '10:20')],
    ),
    expect: { incidents: [incident('not_started', ['10:00'], ['opened, 10:05, 10:00'])] },
  },
  {
    name: 'a blind window that ends as an occurrence opens does not touch it',
    history: told({ created: '09:30', until: '10:06' }, [], [blind('09:40', '09:55')]),
    expect: { occurrences: [row('10:00', 'overdue')] },
  },
  {
    name: 'of two blind windows the one that ends last holds an occurrence',
    history: told(
      { created: '09:30', until: '10:55', settings: job({ grace: 1800 }) },
      [],
      [blind('10:05', '10:10'), blind('10:25', '10:50')],
    ),
    expect: { occurrences: [row('10:00', 'expected')], incidents: [] },
  },
  {
    name: 'one that is in an incident already is held by no blind window, though an edit put its deadline off',
    history: told(
      { created: '08:30', until: '11:01' },
      [edit('10:10', job({ grace: 3600 }))],
      [blind('10:20', '10:40')],
    ),
    expect: {
      occurrences: [row('09:00', 'overdue'), row('10:00', 'overdue'), row('11:00', 'expected')],
      incidents: [incident('missing', ['09:00', '10:00'], ['opened, 09:05, 09:00'])],
    },
  },
  {
    name: 'a start that was due in a window is not asked for when the window is taken back',
    history: told(
      { created: '09:30', until: '10:06', settings: job({ startWithin: 60 }) },
      [edit('10:04', job({ startWithin: 60, duplicates: 'record' }))],
      [],
      [maintained('disks', '09:50', '11:00', { back: '10:03' })],
    ),
    expect: { incidents: [incident('missing', ['10:00'], ['opened, 10:05, 10:00'])] },
  },
];

describe('judging, to the instant (docs/ledger.md, rules 3, 25 and 26)', () => {
  const zones = loadZones();
  test.each(windows)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
