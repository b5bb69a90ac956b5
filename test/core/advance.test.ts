import { describe, expect, test } from 'vitest';
import { advance, nextCheckOf } from '../../src/core/advance.ts';
import { applyPause } from '../../src/core/change.ts';
import type { Ledger } from '../../src/core/ledger.ts';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { at, claim, job, success, told } from '../support/story.ts';
import { bareLedger, take } from './bare-ledger.ts';

const recorded = (ledger: Ledger) => [...ledger.rows.keys()].map((due) => new Date(due).toISOString().slice(11, 16));

describe('advancing a ledger of which a part is loaded', () => {
  test('stops after so many checks, and goes on when it is called again', () => {
    const ledger = bareLedger('09:30', job());
    expect([advance(ledger, at('12:30'), 2), recorded(ledger)]).toEqual([false, ['10:00', '11:00']]);
    expect([advance(ledger, at('12:30'), 2), recorded(ledger)]).toEqual([true, ['10:00', '11:00', '12:00']]);
  });

  test('judges up to what is loaded, inclusive, and says that it has not arrived', () => {
    const ledger = bareLedger('09:30', job(), { loadedUntil: at('11:05') });
    expect([advance(ledger, at('12:30'), 10), recorded(ledger)]).toEqual([false, ['10:00', '11:00']]);
    const before = bareLedger('09:30', job(), { loadedUntil: at('11:04:59') });
    expect([advance(before, at('11:05'), 10), recorded(before)]).toEqual([false, ['10:00']]);
    expect(advance(before, at('11:04:58'), 10)).toBe(true);
    expect(advance(before, at('11:04:59'), 10)).toBe(false);
  });

  test('records nothing that may have a row already which is not loaded', () => {
    const ledger = bareLedger('09:30', job(), { knownUntil: at('11:00') });
    expect([advance(ledger, at('12:30'), 10), recorded(ledger)]).toEqual([false, ['10:00']]);
  });
});

describe('the next check', () => {
  test('is the first deadline, or the end of what is loaded', () => {
    expect(nextCheckOf(bareLedger('09:30', job()))).toBe(at('10:05'));
    expect(nextCheckOf(bareLedger('09:30', job(), { loadedUntil: at('09:40') }))).toBe(at('09:40'));
  });

  test('of a healthy job it is about what comes next: what it has done needs none', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, success('10:01'));
    expect(nextCheckOf(ledger)).toBe(at('11:05'));
  });

  test('there is none while the job is paused, and none after a debt without end', () => {
    const ledger = bareLedger('09:30', job());
    applyPause(ledger, at('09:40'));
    expect(nextCheckOf(ledger)).toBeNull();
    const ended = bareLedger('09:30', job());
    ended.nextUnrecorded = null;
    expect(nextCheckOf(ended)).toBeNull();
  });
});

test('of what acts at one instant the older one comes first, whichever was recorded first', () => {
  const schedules = [{ cron: '0 10 * * *' }, { every: 86_400, anchor: at('10:00:20') }];
  const settings = job({ schedules, grace: 60 });
  const history = told(
    { created: '09:59:59', until: '10:02:26', settings },
    [claim('10:00:22', 'r1')],
    [{ kind: 'gap', after: '10:00:55', until: '10:01:25' }],
  );
  const [missing] = fastLedger(history, loadZones()).incidents;
  expect(missing?.events[0]).toMatchObject({ type: 'opened', at: at('10:02:25'), first: at('10:00') });
});
