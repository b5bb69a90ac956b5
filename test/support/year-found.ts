import type { Instant } from '../../src/core/time.ts';
import type { History, HistorySettings, Input, MaintenanceWindow } from './history.ts';

/** Histories in which the database once ended in another ledger than the slow one, made as small as they get. */
export type Found = { readonly name: string; readonly history: History; readonly ticks: readonly Instant[] };

const at = (text: string): Instant => Date.parse(text.length > 5 ? `${text}Z` : `2026-03-02T${text}:00Z`);

const hourly: HistorySettings = {
  schedules: [{ cron: '0 * * * *' }],
  missedRuns: 'catch_up',
  early: null,
  startWithin: null,
  grace: null,
  usefulFor: null,
  maxRuntime: null,
  maxCatchUp: null,
  throttle: null,
  overlap: 'forbid',
  alertAfter: {},
  duplicates: 'alert',
  unscheduled: 'record',
};

type PingInput = Extract<Input, { type: 'ping' }>;

function ping(time: string, details: Partial<Omit<PingInput, 'type' | 'at'>> = {}): PingInput {
  const blank = {
    kind: 'success',
    exitCode: null,
    rid: null,
    source: 'host-a',
    body: '',
    occ: null,
    ownAt: null,
  } as const;
  return { type: 'ping', at: at(time), ...blank, ...details };
}

function found(
  name: string,
  settings: Partial<HistorySettings>,
  inputs: readonly Input[],
  until: string,
  ...ticks: readonly string[]
): Found {
  const all = { ...hourly, ...settings };
  const history = { zone: 'UTC', createdAt: at('08:30'), settings: all, inputs, windows: [], maintenance: [] };
  return { name, history: { ...history, after: [], settleSeconds: 600, until: at(until) }, ticks: ticks.map(at) };
}

/** Nobody runs anything, and a window becomes known after the fact. */
function inWindow(
  name: string,
  settings: Partial<HistorySettings>,
  window: MaintenanceWindow,
  until: string,
  ...ticks: readonly string[]
): Found {
  const one = found(name, settings, [{ type: 'maintenance', at: window.knownFrom }], until, ...ticks);
  return { ...one, history: { ...one.history, maintenance: [window] } };
}

export const foundHistories: readonly Found[] = [
  found(
    'a row recorded ahead of the first instant without one, when that moves by more than one at once',
    { missedRuns: 'coalesce' },
    [{ type: 'settle', at: at('09:00'), scheduledFor: at('11:00'), state: 'skipped' }],
    '13:00',
  ),
  found(
    'evidence within a long grace that nobody judged yet, when the evaluator was away',
    { grace: 6 * 3600, usefulFor: 12 * 3600 },
    [ping('10:01'), ping('11:01'), ping('12:01'), ping('13:01')],
    '23:30',
  ),
  found(
    'an unnamed run that ends when its occurrence is neither the current one nor a recent one',
    { missedRuns: 'skip' },
    [
      ping('09:01', { kind: 'start' }),
      ping('13:30', { kind: 'start', rid: 'a', source: 'host-b' }),
      ping('15:05', { kind: 'fail' }),
    ],
    '23:01',
  ),
  found(
    'a named run that ends twice, the second time spooled',
    { usefulFor: 300 },
    [
      ping('09:03', { rid: 'b', occ: '2026-03-02T09:00' }),
      ping('10:03'),
      ping('11:20', { rid: 'b', ownAt: at('11:10') }),
    ],
    '13:00',
    '11:15',
  ),
  found(
    'a named run that starts again when its occurrence is settled',
    { missedRuns: 'coalesce', maxRuntime: 60 },
    [
      ping('09:01', { kind: 'start', rid: 'b' }),
      ping('12:01'),
      ping('13:01'),
      ping('13:20', { kind: 'log', rid: 'b' }),
      ping('13:40', { kind: 'start', rid: 'b' }),
    ],
    '14:30',
  ),
  found(
    'a debt that is open without a deadline to come, when its unnamed run ends',
    { startWithin: 60 },
    [ping('10:46', { kind: 'start', source: 'host-c', occ: '2026-03-02T09:00Z' }), ping('12:30')],
    '13:30',
    '12:10',
  ),
  found(
    'a failure covered under coalesce, when the policy becomes catch_up',
    { missedRuns: 'coalesce', usefulFor: 7200 },
    [
      ping('09:01', { kind: 'fail' }),
      ping('10:01'),
      ping('11:01'),
      ping('12:01'),
      { type: 'edit', at: at('12:30'), settings: { ...hourly, missedRuns: 'catch_up', usefulFor: 5 * 3600 } },
    ],
    '13:00',
  ),
  found(
    'a failure under skip, when the policy becomes coalesce after several completions',
    { missedRuns: 'skip' },
    [
      ping('09:01', { kind: 'fail' }),
      ping('10:01'),
      ping('11:01'),
      ping('12:01'),
      ping('13:01'),
      { type: 'edit', at: at('13:30'), settings: { ...hourly, missedRuns: 'coalesce' } },
    ],
    '14:00',
  ),
  found(
    'a last word that is a failure, under coalesce, after several completions',
    { missedRuns: 'coalesce' },
    [
      ping('09:01', { rid: 'x' }),
      ping('10:01'),
      ping('11:01'),
      ping('12:01'),
      ping('13:01'),
      ping('13:30', { kind: 'fail', rid: 'x', occ: '2026-03-02T09:00Z' }),
    ],
    '14:00',
  ),
  found(
    'a spooled end of an unnamed run that began days ago and never ended',
    { missedRuns: 'skip' },
    [ping('09:01', { kind: 'start' }), ping('2026-03-05T09:01', { ownAt: at('09:30') })],
    '2026-03-05T10:00',
    '12:00',
  ),
  found(
    'a backlog that opens and ends, and opens again, in one transaction',
    { usefulFor: 1800, maxCatchUp: 0 },
    [{ type: 'claim', at: at('12:06'), rid: 'c0' }],
    '12:10',
  ),
  found(
    'a decision that skips the newest verdicts, when the one before them was not well',
    { usefulFor: 6 * 3600 },
    [
      ...['09:01', '10:01', '11:01', '12:01', '13:01'].map((time) => ping(time, { kind: 'fail' })),
      { type: 'decide', at: at('15:10'), decision: 'skip' },
    ],
    '15:20',
    '15:05',
  ),
  found(
    'what an edit told, and how it ended',
    { alertAfter: { missing: { count: 3, of: 3 } } },
    [{ type: 'edit', at: at('09:30'), settings: hourly }, ping('09:40', { occ: '2026-03-02T09:00' })],
    '09:50',
    '09:20',
  ),
  inWindow(
    'a window known after the fact that takes all the newest misses, when the one before it was missed too',
    { missedRuns: 'skip', usefulFor: 1800 },
    { name: 'deploy', from: at('09:30'), until: at('13:30'), knownFrom: at('13:50'), knownUntil: null },
    '13:55',
    '13:45',
  ),
];
