import { type ScheduleSpec, type Timetable, timetable } from '../../../core/schedule.ts';
import { formatDuration, type Instant } from '../../../core/time.ts';
import {
  formatLocal,
  formatOffset,
  type LocalTime,
  type Transition,
  UTC_TABLE,
  type Zone,
  zoneOf,
} from '../../../core/zone.ts';

const HOUR_MS = 3_600_000;
const DAY_S = 86_400;
/** A clock without changes, on which a cron schedule is due at the local times it names. */
const LOCAL = zoneOf(UTC_TABLE);
const MOST_TIMES = 3;

/** The next change of a zone's clocks, and what it does to a schedule. */
export type ClockChange = {
  readonly at: Instant;
  /** Such as `25 October 2026`, by the local clock before it. */
  readonly date: string;
  /** One for each schedule that it touches; none: it touches none of them. */
  readonly effects: readonly string[];
};

/** How sentences speak of what happens at these times. */
export type Subject = {
  readonly isDue: string;
  readonly isExpected: string;
  readonly none: string;
  readonly schedule: string;
};
const JOB: Subject = {
  isDue: 'this job is due',
  isExpected: 'this job is expected',
  none: 'nothing is due instead',
  schedule: 'this schedule',
};

/** null: the clocks of the zone never change again. The schedules must make sense in the zone. */
export function nextClockChange(
  schedules: readonly ScheduleSpec[],
  zone: Zone,
  now: Instant,
  subject: Subject = JOB,
): ClockChange | null {
  const change = zone.nextTransition(now);
  if (change === null) return null;
  const effects = schedules.flatMap((spec) => ('heartbeat' in spec ? [] : effectOf(spec, change, zone, subject)));
  return { at: change.at, date: dateOf(change), effects: [...new Set(effects)] };
}

/** The same in sentences. */
export function clockChangeSentences(
  change: ClockChange | null,
  zone: Zone,
  { schedule }: Pick<Subject, 'schedule'> = JOB,
): readonly string[] {
  if (change === null) return [`The clocks of ${zone.name} never change.`];
  if (change.effects.length === 0) return [`The next clock change, on ${change.date}, does not touch ${schedule}.`];
  return change.effects.map((effect) => `On ${change.date} ${effect}`);
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

function dateOf({ at, before }: Transition): string {
  const [year, month, day] = formatLocal(at + before * 1000)
    .slice(0, 10)
    .split('-');
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}

function effectOf(
  spec: Exclude<ScheduleSpec, { heartbeat: unknown }>,
  change: Transition,
  zone: Zone,
  subject: Subject,
): string[] {
  if ('every' in spec) return spec.every % DAY_S === 0 ? [moved(spec, change, zone)] : [];
  const local = timetable([spec], LOCAL);
  const due = timetable([spec], zone);
  const times = timesTouched(local, change);
  if (times.length === 0 || keepsPace(local, due, change)) return [];
  return [
    change.after > change.before
      ? skipped(times, { local, due, change, subject })
      : repeated(times, { due, zone, change, subject }),
  ];
}

/** What the local clock skips or shows twice, of what the schedule names. */
function timesTouched(local: Timetable, { at, before, after }: Transition): readonly LocalTime[] {
  const from = at + Math.min(before, after) * 1000;
  const until = at + Math.max(before, after) * 1000;
  return [...local.dueIn(from - 1, until - 1)].map((one) => one.at);
}

/** Due at the same instants whether the clocks change or not: nobody would notice. */
function keepsPace(local: Timetable, due: Timetable, { at, before, after }: Transition): boolean {
  const real = [...due.dueIn(at - 3 * HOUR_MS, at + 3 * HOUR_MS)].map((one) => one.at);
  return [before, after].every((offset) => {
    const from = at + offset * 1000;
    const even = [...local.dueIn(from - 3 * HOUR_MS, from + 3 * HOUR_MS)].map((one) => one.at - offset * 1000);
    return real.length === even.length && real.every((one, i) => one === even[i]);
  });
}

function named(times: readonly LocalTime[]): string {
  const shown = times.slice(0, MOST_TIMES).map((local) => formatLocal(local).slice(11));
  if (times.length > MOST_TIMES) return `${shown.join(', ')} and ${times.length - MOST_TIMES} more`;
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : (shown[0] ?? '');
}

type Touched = { readonly due: Timetable; readonly change: Transition; readonly subject: Subject };

function skipped(
  times: readonly LocalTime[],
  { local, due, change: { at, after }, subject }: Touched & { readonly local: Timetable },
): string {
  const isOne = times.length === 1;
  const what = `${named(times)} ${isOne ? 'does' : 'do'} not exist`;
  const [moment] = due.dueIn(at - 1, at);
  const own = [...local.dueIn(at + after * 1000 - 1, at + after * 1000)].length;
  // What is due there for another reason than its own local time is due there in place of what was skipped.
  if (!moment || moment.standsFor <= own) return `${what}; ${subject.none}.`;
  const then = `${formatLocal(at + after * 1000).slice(11)}${formatOffset(after)}, the moment the clocks change`;
  if (isOne && own === 0) return `${what}; ${subject.isDue} at ${then}.`;
  return `${what}; ${subject.isDue} once for ${own > 0 ? 'all that falls there' : 'them'}, at ${then}.`;
}

function repeated(
  times: readonly LocalTime[],
  { due, zone, change: { before, after }, subject }: Touched & { readonly zone: Zone },
): string {
  const isOne = times.length === 1;
  const what = `${named(times)} ${isOne ? 'happens' : 'happen'} twice`;
  const passes = zone.instantsOf(times[0] ?? 0).filter((at) => due.previous(at + 1)?.at === at).length;
  if (passes > 1) return `${what}; ${subject.isExpected} both times, ${formatDuration(before - after)} apart.`;
  return `${what}; ${subject.isExpected} once${isOne ? '' : ' for each'}, on the first.`;
}

function moved(spec: ScheduleSpec, { at }: Transition, zone: Zone): string {
  const due = timetable([spec], zone);
  const timeOf = (instant: Instant | undefined): string =>
    instant === undefined ? '' : formatLocal(zone.localAt(instant)).slice(11, 16);
  const [was, is] = [timeOf(due.previous(at)?.at), timeOf(due.next(at - 1)?.at)];
  return `the local time of this job moves from ${was} to ${is}: every so many days is elapsed time, 24 h each.`;
}
