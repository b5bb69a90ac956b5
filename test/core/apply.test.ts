import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import {
  at,
  EVERY_MINUTE,
  fail,
  heartbeat,
  incident,
  job,
  log,
  pause,
  row,
  type Story,
  start,
  success,
  told,
} from '../support/story.ts';
import { bareLedger, rowOf, take } from './bare-ledger.ts';

const key = (time: string) => ({ occ: `2026-03-02T${time}Z` });
const again = (arrival: string, own?: string) =>
  success(arrival, { ...key('10:00'), body: arrival, ...(own === undefined ? {} : { ownAt: own }) });
const AN_HOUR = { created: '09:30', until: '10:40' };
const DUPLICATE = (told: string) => incident('duplicate', ['10:00'], [`opened, ${told}, 10:00`]);

const stories: readonly Story[] = [
  {
    name: 'a second completion in a gap between beats is a duplicate like any other',
    history: told(
      AN_HOUR,
      [success('10:01'), again('10:30', '10:02:05')],
      [{ kind: 'gap', after: '10:02', until: '10:02:10' }],
    ),
    expect: { incidents: [DUPLICATE('10:30')] },
  },
  {
    name: 'a second completion dated before a blind window is a duplicate',
    history: told(
      AN_HOUR,
      [success('10:01'), again('10:30', '10:02')],
      [{ kind: 'blind', after: '10:10', until: '10:20' }],
    ),
    expect: { incidents: [DUPLICATE('10:30')] },
  },
  {
    name: 'a second completion at the very instant after which nothing was heard is a duplicate',
    history: told(
      AN_HOUR,
      [success('10:01'), again('10:30', '10:10')],
      [{ kind: 'blind', after: '10:10', until: '10:20' }],
    ),
    expect: { incidents: [DUPLICATE('10:30')] },
  },
  {
    name: 'a second completion at the very end of a blind window is none',
    history: told(
      AN_HOUR,
      [success('10:01'), again('10:30', '10:20')],
      [{ kind: 'blind', after: '10:10', until: '10:20' }],
    ),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 2 })], incidents: [] },
  },
  {
    name: 'a second completion that is heard while the job is paused is no duplicate, whenever it was',
    history: told(AN_HOUR, [success('10:01'), pause('10:20'), again('10:30', '10:02')]),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 2 })], incidents: [] },
  },
  {
    name: 'a failure that was before the success is not the last word, though it is heard of last',
    history: told(AN_HOUR, [success('10:03'), fail('10:04', { ownAt: '10:02' })]),
    expect: { occurrences: [row('10:00', 'on_time', { completions: 1 })], incidents: [] },
  },
];

describe('second completions and last words, to the instant (docs/ledger.md, rules 12 and 39)', () => {
  const zones = loadZones();
  test.each(stories)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });

  test('a schedule that may have run in both passes of a stretch that was repeated calls no duplicate', () => {
    for (const repeated of [false, true]) {
      const silence = { kind: 'blind' as const, after: at('10:00:10'), until: at('10:00:40'), repeated };
      const ledger = bareLedger('09:30', job(), { silences: [silence] });
      take(ledger, success('10:01'));
      take(ledger, again('10:02'));
      expect(ledger.incidents.has('duplicate')).toBe(!repeated);
    }
  });
});

describe('what a row says of its runs', () => {
  test('it began with its first start, and keeps the rule by which it was found first', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, start('10:02', { rid: 'r2' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:02'), matchedBy: 'current' });
    take(ledger, start('10:03', { rid: 'r3', ...key('10:00') }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:02'), matchedBy: 'current' });
    take(ledger, start('10:04', { rid: 'r1', ...key('10:00'), ownAt: '10:01' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:01') });
  });

  test('a start repeated by its run does not begin it anew', () => {
    const ledger = bareLedger('09:30', job());
    const { run } = take(ledger, start('10:01', { rid: 'r1' }));
    take(ledger, log('10:01:30', { rid: 'r1' }));
    take(ledger, start('10:02', { rid: 'r1' }));
    expect(run).toMatchObject({ startedAt: at('10:01'), heardAt: at('10:02') });
  });

  test('its duration is what the ping says, else what lies between start and end', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, start('10:01', { rid: 'r1' }));
    take(ledger, success('10:03', { rid: 'r1' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:01'), durationMs: 120_000 });
    take(ledger, start('11:01', { rid: 'r2' }));
    take(ledger, success('11:03', { rid: 'r2' }), 90_000);
    expect(rowOf(ledger, '11:00')).toMatchObject({ startedAt: at('11:01'), durationMs: 90_000 });
    take(ledger, success('12:03', { rid: 'r3' }), 60_000);
    expect(rowOf(ledger, '12:00')).toMatchObject({ startedAt: at('12:02'), durationMs: 60_000 });
    take(ledger, success('13:03', { rid: 'r4' }));
    expect(rowOf(ledger, '13:00')).toMatchObject({ startedAt: null, durationMs: null });
  });

  test('an end that is dated before its start took no time', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, start('10:03', { rid: 'r1' }));
    take(ledger, success('10:04', { rid: 'r1', ownAt: '10:02' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:03'), durationMs: 0 });
  });

  test('a second run that says how long it took does not move the beginning', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, start('10:01', { rid: 'r1' }));
    take(ledger, success('10:04', { rid: 'r2', ...key('10:00') }), 120_000);
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('10:01'), durationMs: 120_000 });
  });

  test('a start that lost the race is not later than the end of its run', () => {
    const ledger = bareLedger('09:30', job());
    const { run } = take(ledger, success('10:01', { rid: 'r1' }));
    take(ledger, start('10:01:02', { rid: 'r1' }));
    expect(run).toMatchObject({ startedAt: at('10:01') });
    const { run: other } = take(ledger, success('11:01', { rid: 'r2' }));
    take(ledger, start('11:01:02', { rid: 'r2', ownAt: '11:00:30' }));
    expect(other).toMatchObject({ startedAt: at('11:00:30') });
  });

  test('failed once, it was settled by the first failure', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, fail('10:01', { rid: 'r1' }));
    take(ledger, fail('10:02', { rid: 'r2', ...key('10:00') }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ state: 'failed', settledAt: at('10:01') });
  });

  test('the run that completed a row read from the store is found by its number', () => {
    const ledger = bareLedger('09:30', job());
    take(ledger, success('10:00:30', { rid: 'other' }));
    const { run } = take(ledger, success('11:01'));
    const done = rowOf(ledger, '11:00');
    done.completedBy = run?.id ?? null;
    take(ledger, fail('11:01:30'));
    expect(done).toMatchObject({ state: 'failed', completions: 0 });
    expect(run?.verdict).toBe('fail');
  });

  test('a heartbeat’s occurrence that its run has left began with the runs that it keeps', () => {
    const ledger = bareLedger('09:00', heartbeat());
    take(ledger, start('09:05', { rid: 'r1' }));
    take(ledger, start('09:10', { rid: 'r2' }));
    take(ledger, start('09:12', { rid: 'r3' }));
    // r2 ends the occurrence it began under; r1 ends the next one.
    take(ledger, success('09:20', { rid: 'r2' }));
    take(ledger, success('09:30', { rid: 'r1' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ state: 'on_time', startedAt: at('09:10') });
    take(ledger, success('09:40', { rid: 'r3' }));
    expect(rowOf(ledger, '10:00')).toMatchObject({ startedAt: at('09:10') });
  });

  test('an unnamed run is given up at the next start of its source, also one that is told late', () => {
    const ledger = bareLedger('09:59:30', job({ schedules: EVERY_MINUTE, grace: 600 }));
    const first = take(ledger, start('10:00:10')).run;
    const second = take(ledger, start('10:02:10')).run;
    const between = take(ledger, start('10:02:40', { ownAt: '10:01:10' })).run;
    expect(first).toMatchObject({ supersededAt: at('10:01:10') });
    expect(between).toMatchObject({ supersededAt: at('10:02:10') });
    expect(second).toMatchObject({ supersededAt: null });
  });

  test('what names nothing and what is a retry is counted nowhere', () => {
    const ledger = bareLedger('09:30', job());
    expect(take(ledger, success('10:01'))).toMatchObject({ counted: true });
    expect(take(ledger, success('10:01:10'))).toMatchObject({ counted: false, match: { rule: 'retry' } });
    expect(take(ledger, success('10:01:20', key('10:17')))).toMatchObject({ counted: false, match: { rule: 'none' } });
  });
});
