import { heartbeatPeriod, type MissedRuns } from '../../../core/definition.ts';
import { type Settings, type Terms, termsOf } from '../../../core/occurrence.ts';
import {
  parseSchedules,
  type ScheduleSpec,
  scheduleWarnings,
  type Timetable,
  timetable,
} from '../../../core/schedule.ts';
import { type Instant, parseDuration, type Seconds } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { Zones } from '../../../zones.ts';
import type { ApiFlaw } from '../call.ts';
import { type ClockChange, nextClockChange } from './clock-change.ts';
import { type Draft, kindOf, type ShownJob, schedulesOf, textOf } from './draft.ts';

/** What a form that is being filled in would mean. */
export type Preview = {
  readonly now: Instant;
  /** null: not chosen yet, or none of that name. */
  readonly zone: Zone | null;
  /** What keeps it from being read: nothing is said of fields that are still empty. */
  readonly flaws: readonly ApiFlaw[];
  readonly plan: Plan | null;
  /** The deadlines of the next occurrence, or of one that was due now where none is known. */
  readonly deadlines: Deadlines;
  /** The schedule or the zone differs from what is stored. */
  readonly isNewVersion: boolean;
};

/** A schedule that makes sense. */
export type Plan = {
  readonly schedules: readonly ScheduleSpec[];
  readonly next: readonly Instant[];
  /** How many are due in the next seven days; `about`: a day of them, seven times. */
  readonly perWeek: { readonly count: number; readonly about: boolean };
  readonly warnings: readonly string[];
  /** Whom it follows at clock changes, where one touches it. */
  readonly dialect: string | null;
  readonly clockChange: ClockChange | null;
};

export type Deadlines = {
  readonly due: Instant;
  /** Whether it is really due then. */
  readonly isKnown: boolean;
  readonly terms: Terms;
  /** null: not known. */
  readonly nextDue: Instant | null;
  readonly isHeartbeat: boolean;
};

const SHOWN = 10;
/** How the core's warning begins that says whom it follows. */
const DIALECT = 'at clock changes this follows ';
const DAY_MS = 86_400_000;
/** More than these in one day, and the week is not counted one by one. */
const MOST_A_DAY = 300;

export function readPreview(
  draft: Draft,
  { zones, now, stored }: { readonly zones: Zones; readonly now: Instant; readonly stored: ShownJob | null },
): Preview {
  const name = textOf(draft, 'zone').trim();
  const found = name === '' ? null : zones.get(name);
  const zone = found?.ok ? found.value : null;
  const schedules = schedulesOf(draft).filter((one) => !Object.values(one).includes(''));
  const parsed = zone && schedules.length > 0 ? parseSchedules(schedules, zone) : null;
  const plan = zone && parsed?.ok ? planOf(parsed.value, zone, now) : null;
  return {
    now,
    zone,
    flaws: [
      ...(found && !found.ok ? [{ path: 'zone', message: found.reason }] : []),
      ...(parsed && !parsed.ok ? parsed.errors : []),
    ],
    plan,
    deadlines: deadlinesOf(settingsOf(draft), plan, zone, now),
    isNewVersion: stored !== null && plan !== null && !isStored(stored, draft),
  };
}

function planOf(schedules: readonly ScheduleSpec[], zone: Zone, now: Instant): Plan {
  const period = heartbeatPeriod(schedules);
  const clockChange = period === null ? nextClockChange(schedules, zone, now) : null;
  if (period !== null) {
    const count = Math.max(1, Math.floor((7 * 86_400) / period));
    return { schedules, next: [], perWeek: { count, about: true }, warnings: [], dialect: null, clockChange };
  }
  const due = timetable(schedules, zone);
  const next: Instant[] = [];
  for (let at = due.next(now); at !== null && next.length < SHOWN; at = due.next(at.at)) next.push(at.at);
  const all = scheduleWarnings(schedules, zone, now).filter((text) => !isSaid(text, clockChange, zone));
  const dialect = all.find((text) => text.startsWith(DIALECT)) ?? null;
  const warnings = all.filter((text) => text !== dialect);
  return { schedules, next, perWeek: weekOf(due, now), warnings, dialect, clockChange };
}

/** The change that is spelled out for this schedule is not told twice. */
function isSaid(warning: string, change: ClockChange | null, zone: Zone): boolean {
  if (change === null || change.effects.length === 0) return false;
  return warning.startsWith(
    `on ${new Date(change.at + zone.offsetAt(change.at - 1) * 1000).toISOString().slice(0, 10)} the clocks`,
  );
}

function weekOf(due: Timetable, now: Instant): Plan['perWeek'] {
  let count = 0;
  for (const _ of due.dueIn(now, now + DAY_MS)) count += 1;
  if (count > MOST_A_DAY) return { count: count * 7, about: true };
  for (const _ of due.dueIn(now + DAY_MS, now + 7 * DAY_MS)) count += 1;
  return { count, about: false };
}

/** What the deadlines are made of; what cannot be read counts as left out. */
function settingsOf(draft: Draft): Settings {
  const seconds = (name: string): Seconds | null => {
    const text = textOf(draft, name).trim();
    const read = text === '' ? null : parseDuration(text);
    return read?.ok ? read.value : null;
  };
  const policy = textOf(draft, 'missed_runs');
  const missedRuns: MissedRuns | null =
    policy === 'catch_up' || policy === 'coalesce' || policy === 'skip' ? policy : null;
  return {
    missedRuns: kindOf(draft) === 'heartbeat' ? null : missedRuns,
    early: seconds('early'),
    startWithin: seconds('start_within'),
    grace: seconds('grace'),
    usefulFor: seconds('useful_for'),
    maxRuntime: seconds('max_runtime'),
    maxCatchUp: null,
    throttle: null,
    overlap: 'forbid',
    duplicates: 'alert',
    unscheduled: 'record',
    alertAfter: {},
  };
}

function deadlinesOf(settings: Settings, plan: Plan | null, zone: Zone | null, now: Instant): Deadlines {
  const period = plan ? heartbeatPeriod(plan.schedules) : null;
  const due = plan?.next[0] ?? now;
  const table = plan && zone && period === null ? timetable(plan.schedules, zone) : null;
  const nextDue = table ? (table.next(due)?.at ?? null) : period === null ? null : due + period * 1000;
  const terms = termsOf(due, settings, {
    previous: () => table?.previous(due)?.at ?? null,
    next: () => nextDue,
  });
  return { due, isKnown: plan?.next[0] !== undefined, terms, nextDue, isHeartbeat: period !== null };
}

/** Asked of the form, for what is stored was a form too. */
function isStored(stored: ShownJob, draft: Draft): boolean {
  const plain = (schedules: readonly object[]): string =>
    JSON.stringify(
      schedules.map((one) => {
        const { anchor, ...rest } = one as { readonly anchor?: string };
        return [...Object.entries(rest), anchor === '1970-01-01T00:00:00Z' ? undefined : anchor];
      }),
    );
  return plain(stored.schedules) === plain(schedulesOf(draft)) && stored['zone'] === textOf(draft, 'zone').trim();
}
