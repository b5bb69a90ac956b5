import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { job, matched, row, type Story, start, success, told } from '../support/story.ts';

const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });

const stories: readonly Story[] = [
  {
    name: 'a run is in progress no more at the very instant of its limit',
    history: told({ created: '09:30', until: '10:12', settings: job({ maxRuntime: 600 }) }, [
      start('10:01', { source: 'host-a' }),
      success('10:11', { source: 'host-b' }),
    ]),
    expect: { pings: [matched('current', '10:00'), matched('current', '10:00')] },
  },
  {
    name: 'of two runs the one that may last longer keeps an occurrence open past its window',
    history: told({ created: '09:30', until: '10:32', settings: job({ maxRuntime: 1800, usefulFor: 1800 }) }, [
      start('10:01', { rid: 'r1' }),
      start('10:04', { rid: 'r2', ...key('10:00') }),
    ]),
    expect: { occurrences: [row('10:00', 'running')] },
  },
];

describe('the limits of runs, to the instant (docs/ledger.md, rules 8 and 10)', () => {
  const zones = loadZones();
  test.each(stories)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
