import { describe, expect, test } from 'vitest';
import { thresholdReach } from '../../src/core/threshold.ts';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { at, fail, incident, job, type Story, settle, start, success, told } from '../support/story.ts';

const ALL_DAY = { created: '09:30', until: '13:30' };
const TWO_IN_A_ROW = job({ alertAfter: { missing: { count: 2, of: 2 } } });

/** An incident that was recorded at `opened`, and told later or never. */
const recorded = (opened: string, one: ReturnType<typeof incident>) => ({ ...one, openedAt: at(opened) });

const thresholds: readonly Story[] = [
  {
    name: 'each kind counts its own: a miss is none of two failures',
    history: told(
      {
        ...ALL_DAY,
        until: '12:30',
        settings: job({ alertAfter: { failed: { count: 2, of: 2 }, missing: { count: 3, of: 3 } } }),
      },
      [fail('11:01'), fail('12:01')],
    ),
    expect: {
      incidents: [
        recorded('10:05', incident('missing', ['10:00'], [])),
        recorded('11:01', incident('failed', ['11:00', '12:00'], ['opened, 12:01, 12:00'])),
      ],
    },
  },
  {
    name: 'one that a person skipped is left out of the row',
    history: told({ ...ALL_DAY, until: '11:30', settings: TWO_IN_A_ROW }, [settle('10:30', '10:00', 'skipped')]),
    expect: {
      incidents: [
        recorded('10:05', incident('missing', ['10:00'], [], '10:30')),
        recorded('11:05', incident('missing', ['11:00'], [])),
      ],
    },
  },
  {
    name: 'one that became unknown is left out of the row',
    history: told(
      {
        ...ALL_DAY,
        until: '11:30',
        settings: job({ startWithin: 60, alertAfter: { not_started: { count: 2, of: 2 } } }),
      },
      [start('11:02'), success('11:03')],
      [{ kind: 'blind', after: '10:02', until: '10:10' }],
    ),
    expect: {
      incidents: [
        recorded('10:01', incident('not_started', ['10:00'], [], '10:20')),
        recorded('11:01', incident('not_started', ['11:00'], [], '11:02')),
      ],
    },
  },
];

describe('thresholds (docs/ledger.md, rule 60)', () => {
  const zones = loadZones();
  test.each(thresholds)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });

  test('a job looks back as far as each of its thresholds, and not at all without one', () => {
    const reach = thresholdReach({ missing: { count: 2, of: 5 }, failed: { count: 1, of: 3 } });
    expect(reach.map(({ of }) => of)).toEqual([5, 3]);
    expect(thresholdReach({})).toEqual([]);
  });
});
