import type { ScheduleSpec } from './schedule.ts';
import type { Seconds } from './time.ts';

export type MissedRuns = 'catch_up' | 'coalesce' | 'skip';

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
  readonly duplicates: 'alert' | 'record';
  readonly unscheduled: 'alert' | 'record';
  readonly channels: readonly string[] | null;
};

/** The period of a heartbeat job, or null for cron and interval jobs. */
export function heartbeatPeriod(schedules: readonly ScheduleSpec[]): Seconds | null {
  const [only] = schedules;
  return only && 'heartbeat' in only ? only.heartbeat : null;
}
