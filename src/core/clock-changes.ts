import type { ClockChange } from './report.ts';
import { type ScheduleSpec, scheduleWarnings } from './schedule.ts';
import { formatInstant, type Instant } from './time.ts';
import { formatLocal, type Transition, type Zone } from './zone.ts';

/** A job by what a clock change may touch. */
export type ScheduledJob = {
  readonly slug: string;
  readonly zone: Zone;
  readonly schedules: readonly ScheduleSpec[];
};

/** How far a report looks ahead. */
const LOOK_AHEAD_MS = 35 * 86_400_000;

/** The changes of the clocks within the next 35 days in the zones of these jobs, the next one first. */
export function clockChanges(jobs: readonly ScheduledJob[], now: Instant): readonly ClockChange[] {
  const zones = new Map(jobs.map(({ zone }) => [zone.name, zone]));
  return [...zones.values()]
    .flatMap((zone) => {
      const change = zone.nextTransition(now);
      return change && change.at - now <= LOOK_AHEAD_MS ? [changeOf(change, zone, jobs)] : [];
    })
    .sort((a, b) => (a.at < b.at || (a.at === b.at && a.zone < b.zone) ? -1 : 1));
}

function changeOf(change: Transition, zone: Zone, all: readonly ScheduledJob[]): ClockChange {
  const jobs = all.filter((job) => job.zone.name === zone.name);
  const touched = jobs.flatMap(({ slug, schedules }) => {
    const effects = effectsOf(change, zone, schedules);
    return effects.length === 0 ? [] : [{ job: slug, effects }];
  });
  return {
    zone: zone.name,
    at: formatInstant(change.at),
    shift_seconds: change.after - change.before,
    from: formatLocal(change.at + change.before * 1000),
    to: formatLocal(change.at + change.after * 1000),
    jobs: jobs.length,
    touched: touched.sort((a, b) => (a.job < b.job ? -1 : 1)),
  };
}

/**
 * What the warnings of the schedules say about this change, without the beginning that names it: they tell the next change
 * that touches a schedule, which may be a later one.
 */
function effectsOf({ at, before }: Transition, zone: Zone, schedules: readonly ScheduleSpec[]): readonly string[] {
  const date = formatLocal(at + before * 1000).slice(0, 10);
  const begin = `on ${date} the clocks of ${zone.name} go `;
  return warningsOf(schedules, zone, at - 1).flatMap((warning) => {
    if (warning.startsWith(begin)) return [warning.slice(warning.indexOf(': ') + 2)];
    // A whole-day interval, which every change moves.
    return warning.includes(`each clock change in ${zone.name} `) ? [warning.split(';', 1)[0] ?? warning] : [];
  });
}

/** A stored schedule that makes no sense has its own incident. */
function warningsOf(schedules: readonly ScheduleSpec[], zone: Zone, now: Instant): readonly string[] {
  try {
    return scheduleWarnings(schedules, zone, now);
  } catch {
    return [];
  }
}
