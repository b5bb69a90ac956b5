import type { JobDefinition } from './definition.ts';
import type { Instant } from './time.ts';

/** States of DESIGN section 5. Open ones change with the clock; settled ones only by evidence, a person, or not at all. */
export type OpenState = 'expected' | 'running' | 'overdue';
type SettledState = 'on_time' | 'late' | 'expired' | 'failed' | 'missed' | 'coalesced' | 'skipped' | 'unknown';
export type State = OpenState | SettledState;

export const states: readonly State[] = [
  'expected',
  'running',
  'overdue',
  'on_time',
  'late',
  'expired',
  'failed',
  'missed',
  'coalesced',
  'skipped',
  'unknown',
];

export const isOpen = (state: State): state is OpenState =>
  state === 'expected' || state === 'running' || state === 'overdue';
/** A run completed it. */
export const isCompleted = (state: State): boolean => state === 'on_time' || state === 'late' || state === 'expired';
export const endedWell = (state: State): boolean => state === 'on_time' || state === 'late';
/** Nothing more is awaited for it: a ping without a key does not go to it (section 3, rule 4). */
export const isFinished = (state: State): boolean => isCompleted(state) || state === 'coalesced' || state === 'skipped';
/** Settled ones that say how the job is doing: skipped and unknown say nothing. */
export const isVerdict = (state: State): boolean => !isOpen(state) && state !== 'skipped' && state !== 'unknown';

/** The settings of a job that the ledger reads. */
export type Settings = Pick<
  JobDefinition,
  | 'missedRuns'
  | 'early'
  | 'startWithin'
  | 'grace'
  | 'usefulFor'
  | 'maxRuntime'
  | 'maxCatchUp'
  | 'throttle'
  | 'overlap'
  | 'duplicates'
  | 'unscheduled'
  | 'alertAfter'
>;

/** The deadlines of one occurrence (section 4), as instants; `usefulUntil` is Infinity where unbounded. */
export type Terms = {
  readonly opensAt: Instant;
  readonly startBy: Instant | null;
  readonly graceEnd: Instant;
  readonly usefulUntil: Instant;
  readonly maxRuntimeMs: number | null;
};

const DEFAULT_EARLY_MS = 300_000;
const DEFAULT_GRACE_S = 300;
/** A run that is never ended, and has no max_runtime, counts as in progress this long. */
export const RUN_MEMORY_MS = 24 * 3_600_000;

export const graceMs = (settings: Settings): number =>
  1000 * (settings.grace ?? Math.min(DEFAULT_GRACE_S, settings.usefulFor ?? DEFAULT_GRACE_S));

/**
 * Deadlines of the occurrence due at `due`. `previous` is the instant before it on its schedules (null: none), `next` the
 * next instant of the ledger (null: none); both are asked only when a default needs them.
 */
export function termsOf(
  due: Instant,
  settings: Settings,
  neighbours: { previous: () => Instant | null; next: () => Instant | null },
): Terms {
  const graceEnd = due + graceMs(settings);
  return {
    opensAt: due - earlyMs(due, settings, neighbours.previous),
    startBy: settings.startWithin === null ? null : due + settings.startWithin * 1000,
    graceEnd,
    usefulUntil: usefulUntil(due, settings, graceEnd, neighbours.next),
    maxRuntimeMs: settings.maxRuntime === null ? null : settings.maxRuntime * 1000,
  };
}

function earlyMs(due: Instant, settings: Settings, previous: () => Instant | null): number {
  if (settings.early !== null) return settings.early * 1000;
  const before = previous();
  return before === null ? DEFAULT_EARLY_MS : Math.min(DEFAULT_EARLY_MS, Math.floor((due - before) / 10));
}

function usefulUntil(due: Instant, settings: Settings, graceEnd: Instant, next: () => Instant | null): Instant {
  if (settings.usefulFor !== null) return due + settings.usefulFor * 1000;
  if (settings.missedRuns !== 'skip') return Number.POSITIVE_INFINITY;
  return Math.max(graceEnd, next() ?? Number.POSITIVE_INFINITY);
}

/** One execution. `id` is negative until it is stored; `scheduledFor` null: off schedule. */
export type Run = {
  id: number;
  readonly thread: string;
  readonly rid: string | null;
  scheduledFor: Instant | null;
  startedAt: Instant | null;
  supersededAt: Instant | null;
  endedAt: Instant | null;
  verdict: 'success' | 'fail' | null;
  exitCode: number | null;
  durationMs: number | null;
  heardAt: Instant;
};

/** How long a claim lasts without an extension. */
export const LEASE_MS = 60_000;
/** Two transactions read the clock in another order than they take a lock, and a clock is set back by moments. */
export const CLOCK_SKEW_MS = 500;

/** A lease lasts; one whose rest exceeds its own length was given by a clock that has gone back since: it is void. */
export const lasts = (leaseUntil: Instant, t: Instant): boolean =>
  t < leaseUntil && leaseUntil - t <= LEASE_MS + CLOCK_SKEW_MS;

/** An occurrence in the hands of one runner, by the run it was given for. `id` is negative until it is stored. */
export type Claim = {
  id: number;
  readonly scheduledFor: Instant;
  readonly run: Run;
  readonly claimedAt: Instant;
  leaseUntil: Instant;
  endedAt: Instant | null;
  outcome: 'released' | 'replaced' | null;
};

/** The instant from which on a run begun at `startedAt` without an end is in progress no longer (docs/ledger.md, rule 8). */
export function progressEnd(startedAt: Instant, { supersededAt }: Run, { maxRuntime }: Settings): Instant {
  if (maxRuntime !== null) return startedAt + maxRuntime * 1000;
  return Math.min(startedAt + RUN_MEMORY_MS, supersededAt ?? Number.POSITIVE_INFINITY);
}

/** In progress at `t`: no end was heard. */
export function inProgress(run: Run, settings: Settings, t: Instant): boolean {
  if (run.endedAt !== null || run.startedAt === null || run.startedAt > t) return false;
  return t < progressEnd(run.startedAt, run, settings);
}

/** When a run begun at `startedAt` (null: never announced) is expected to have ended, at the latest. */
export function runLimit(startedAt: Instant | null, terms: Terms): Instant {
  const timed = startedAt !== null && terms.maxRuntimeMs !== null && startedAt < terms.graceEnd;
  return timed ? startedAt + (terms.maxRuntimeMs ?? 0) : terms.graceEnd;
}

/** Limits of the unended runs that are timed by max_runtime. */
export function timedLimits(terms: Terms, runs: readonly Run[]): Instant[] {
  if (terms.maxRuntimeMs === null) return [];
  return runs.flatMap((run) =>
    run.endedAt === null && run.startedAt !== null && run.startedAt < terms.graceEnd
      ? [runLimit(run.startedAt, terms)]
      : [],
  );
}

/** When completion of an open occurrence is expected at the latest. */
export function deadlineOf(terms: Terms, runs: readonly Run[]): Instant {
  const limits = timedLimits(terms, runs);
  return limits.length > 0 ? Math.max(...limits) : terms.graceEnd;
}

/** What a run that ended well at `at` makes of its occurrence. */
export function endOf(at: Instant, startedAt: Instant | null, terms: Terms): 'on_time' | 'late' | 'expired' {
  if (at < runLimit(startedAt, terms)) return 'on_time';
  return at < terms.usefulUntil ? 'late' : 'expired';
}
