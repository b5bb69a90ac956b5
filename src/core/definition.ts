import type { IncidentKind } from './message.ts';
import type { ScheduleSpec } from './schedule.ts';
import type { Seconds } from './time.ts';

export type MissedRuns = 'catch_up' | 'coalesce' | 'skip';
/** What a claim does while a run of the job is in progress: wait, hand out regardless, or end the older claim. */
export type Overlap = 'forbid' | 'allow' | 'replace';

/** Kinds that may be told only after several occurrences. */
export const thresholdKinds = [
  'not_started',
  'missing',
  'late',
  'overrun',
  'failed',
  'expired',
  'duplicate',
] as const satisfies readonly IncidentKind[];
export type ThresholdKind = (typeof thresholdKinds)[number];

/** Told when `count` of the last `of` occurrences were in trouble of that kind. */
export type Threshold = { readonly count: number; readonly of: number };

export const DEFAULT_MAX_CATCH_UP = 100;
export const DEFAULT_THROTTLE_S = 10;

/**
 * A job as PUT defines it (DESIGN section 11), parsed; stored as JSON. Durations are whole seconds, null is the default
 * of section 4. `channels` null: every channel of the project, later ones too; [] nobody.
 */
export type JobDefinition = {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly zone: string;
  readonly schedules: readonly ScheduleSpec[];
  /** null for heartbeats. */
  readonly missedRuns: MissedRuns | null;
  readonly missedRunsReason: string;
  readonly early: Seconds | null;
  readonly startWithin: Seconds | null;
  readonly grace: Seconds | null;
  readonly usefulFor: Seconds | null;
  readonly maxRuntime: Seconds | null;
  /** More owed than this under catch_up, and a person has to decide; null: 100. */
  readonly maxCatchUp: number | null;
  /** Between two hand-outs of owed ones; null: 10 s. */
  readonly throttle: Seconds | null;
  readonly overlap: Overlap;
  readonly duplicates: 'alert' | 'record';
  readonly unscheduled: 'alert' | 'record';
  readonly alertAfter: Readonly<Partial<Record<ThresholdKind, Threshold>>>;
  /** Slugs of the jobs that go first. */
  readonly after: readonly string[];
  readonly channels: readonly string[] | null;
};

/** The period of a heartbeat job, or null for cron and interval jobs. */
export function heartbeatPeriod(schedules: readonly ScheduleSpec[]): Seconds | null {
  const [only] = schedules;
  return only && 'heartbeat' in only ? only.heartbeat : null;
}
