import { formatInstant, type Instant } from '../../src/core/time.ts';
import type { HistorySettings, Input } from './history.ts';
import type { YearJob } from './year-jobs.ts';

type PingInput = Extract<Input, { type: 'ping' }>;
type Details = Partial<Omit<PingInput, 'type' | 'at'>>;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One occurrence about to be reported on: what a deviation needs to know. */
export type Case = {
  readonly due: Instant;
  /** To the next occurrence. */
  readonly gap: number;
  readonly settings: HistorySettings;
  readonly key: string;
  readonly local: string;
  /** How long after its due instant a run begins here, and how long it takes. */
  readonly delay: number;
  readonly took: number;
  readonly rid: () => string;
};

export const ping = (at: Instant, details: Details): PingInput => {
  const blank = { exitCode: null, rid: null, source: 'host-a', body: '', occ: null, ownAt: null } as const;
  return { type: 'ping', at: Math.floor(at), kind: 'success', ...blank, ...details };
};

export const graceOf = ({ grace, usefulFor }: HistorySettings): number =>
  (grace ?? Math.min(300, usefulFor ?? 300)) * SECOND;
const windowOf = ({ settings, gap }: Case): number =>
  settings.usefulFor === null ? Math.max(gap, graceOf(settings)) : settings.usefulFor * SECOND;

/** What goes as it should, in the job's own style. */
export function healthy(style: YearJob['style'], one: Case): PingInput[] {
  const begun = one.due + one.delay;
  const ended = begun + one.took;
  switch (style) {
    case 'success':
      return [ping(ended, {})];
    case 'start_end':
      return [ping(begun, { kind: 'start' }), ping(ended, { body: 'done' })];
    case 'exit_code':
      return [ping(ended, { exitCode: 0 })];
    case 'named': {
      const rid = one.rid();
      return [ping(begun, { kind: 'start', rid }), ping(ended, { rid })];
    }
    case 'keyed':
      return [ping(ended, { occ: one.key })];
  }
}

type Deviation = (one: Case, random: () => number) => PingInput[];

/** Everything that goes wrong in a year, each as pings around one occurrence. */
export const deviations: readonly Deviation[] = [
  // Nothing is heard.
  () => [],
  () => [],
  // Late, exactly at the deadline, at the end of the window, after it.
  ({ due, settings, took }) => [ping(due + graceOf(settings) + took, {})],
  ({ due, settings }) => [ping(due + graceOf(settings), {})],
  (one) => [ping(one.due + windowOf(one), { occ: one.key })],
  (one) => [ping(one.due + windowOf(one) + 90 * SECOND, { occ: one.local })],
  // Failed; failed, then good; good, and then its last word is a failure.
  ({ due, delay }) => [ping(due + delay, { kind: 'fail', exitCode: 3, body: 'out of disk' })],
  ({ due, delay, took }) => [ping(due + delay, { kind: 'fail' }), ping(due + delay + 3 * took, { body: 'again' })],
  ({ due, delay, took }) => [ping(due + delay, {}), ping(due + delay + 3 * took, { kind: 'fail', source: 'host-b' })],
  ({ due, delay, took, rid }) => {
    const run = { rid: rid() };
    return [
      ping(due + delay, run),
      ping(due + delay + took, { ...run, kind: 'fail' }),
      ping(due + delay + 2 * took, run),
    ];
  },
  // Twice under two run ids, at one instant or apart.
  ({ due, delay, rid }) => [ping(due + delay, { rid: rid() }), ping(due + delay, { rid: rid() })],
  ({ due, delay, took, rid }) => [ping(due + delay, { rid: rid() }), ping(due + delay + took, { rid: rid() })],
  // The same once more, as curl --retry sends it.
  ({ due, delay }) => [ping(due + delay, {}), ping(due + delay + 5 * SECOND, {})],
  ({ due, delay, rid }) => {
    const run = { rid: rid() };
    return [ping(due + delay, run), ping(due + delay + HOUR, run)];
  },
  // Started and never ended; started late; ended before its start arrived; a log line in between.
  ({ due, delay }) => [ping(due + delay, { kind: 'start' })],
  ({ due, delay, rid }) => [ping(due + delay, { kind: 'start', rid: rid() })],
  ({ due, settings, took }) => [
    ping(due + graceOf(settings) - SECOND, { kind: 'start' }),
    ping(due + graceOf(settings) + took, {}),
  ],
  ({ due, settings, took }) => [
    ping(due + graceOf(settings) + SECOND, { kind: 'start' }),
    ping(due + graceOf(settings) + took, { kind: 'fail' }),
  ],
  ({ due, delay, rid }) => {
    const run = { rid: rid() };
    return [ping(due + delay, run), ping(due + delay + 10 * SECOND, { ...run, kind: 'start' })];
  },
  ({ due, delay, took }) => [
    ping(due + delay, { kind: 'start' }),
    ping(due + delay + 1, { kind: 'log', body: 'halfway' }),
    ping(due + delay + took, {}),
  ],
  // Overrun: it ends long after max_runtime.
  ({ due, delay, settings, rid }) => {
    const run = { rid: rid() };
    const end = due + delay + 2 * (settings.maxRuntime ?? 3600) * SECOND;
    return [ping(due + delay, { ...run, kind: 'start' }), ping(end, run)];
  },
  // It ends, well or badly, when the next one is due already; another run begins meanwhile.
  ({ due, delay, gap, rid }) => {
    const run = { rid: rid() };
    return [ping(due + delay, { ...run, kind: 'start' }), ping(due + Math.min(4.3 * gap, 23 * HOUR), run)];
  },
  ({ due, delay, gap }) => [ping(due + delay, { kind: 'start' }), ping(due + 1.2 * gap, { kind: 'fail', exitCode: 9 })],
  ({ due, delay, gap, rid, key }) => {
    const run = { rid: rid() };
    const later = due + 3.1 * gap;
    return [ping(due + delay, { ...run, occ: key, kind: 'start' }), ping(later, { ...run, ownAt: due + 2 * delay })];
  },
  // Off schedule; early; too early.
  ({ due, gap, delay }) => [ping(due + delay, {}), ping(due + gap * 0.6, { source: 'host-b' })],
  ({ due, settings, gap }) => [ping(due - Math.min((settings.early ?? 300) * SECOND, gap / 10), {})],
  ({ due, gap }) => [ping(due - gap / 10 - MINUTE, { occ: null, source: 'host-c' })],
  // Spooled: it ran in time, and says so hours or days later.
  ({ due, delay, key }) => [ping(due + delay + 3 * HOUR, { occ: key, ownAt: due + delay })],
  ({ due, delay }) => [ping(due + delay + 5 * HOUR, { ownAt: due + delay })],
  ({ due, delay, rid }, random) => [ping(due + delay + (1 + random()) * DAY, { rid: rid(), ownAt: due + delay })],
  ({ due, delay, gap }) => [ping(due + Math.min(20 * DAY, 2.2 * gap), { ownAt: due + delay })],
  // A debt that is paid later, by its key, or its local date.
  ({ due, gap, key }, random) => [ping(due + gap * (1.2 + 2 * random()), { occ: key })],
  ({ due, gap, key }) => [
    ping(due + 1.4 * gap, { occ: key, kind: 'start' }),
    ping(due + 1.4 * gap + MINUTE, { occ: key }),
  ],
  ({ due, gap, local }) => [ping(due + 1.1 * gap, { occ: local.slice(0, 10) })],
  ({ due, delay, took, key }) => [
    ping(due + delay, { kind: 'fail', occ: key }),
    ping(due + delay + DAY + took, { occ: key, source: 'host-b' }),
  ],
  // A key that names nothing; one of tomorrow.
  ({ due, delay }) => [ping(due + delay, { occ: formatInstant(due + SECOND) }), ping(due + delay + MINUTE, {})],
  ({ due, delay, gap }) => [ping(due + delay, { occ: formatInstant(due + gap) })],
];
