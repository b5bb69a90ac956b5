import type { Calendar, CalendarEvent, NamedStretch, Stretch } from './calendar.ts';
import { expandCalendar, LONGEST_EVENT_MS } from './calendar.ts';
import { type Timetable, timetable } from './schedule.ts';
import type { Instant, Seconds } from './time.ts';
import type { Zone } from './zone.ts';

/**
 * Whether silence at this due instant is a recorded decision, as far as was known at the check instant `t`: the reason of a
 * skipped occurrence and its note.
 */
export type Maintenance = (
  due: Instant,
  t: Instant,
) => { readonly reason: 'maintenance' | 'calendar'; readonly note: string } | null;

/** Days of the week as cron numbers them. */
export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** A weekly beginning at a local time, `22:00`, and how long it lasts: elapsed time, whatever the clocks do meanwhile. */
export type WeeklyStart = { readonly days: readonly Weekday[]; readonly start: string; readonly duration: Seconds };

/** When a window is: from an instant (inside) until another (outside), once or again and again. */
export type When =
  | { readonly kind: 'once'; readonly from: Instant; readonly until: Instant }
  | { readonly kind: 'weekly'; readonly zone: string; readonly weekly: readonly WeeklyStart[] }
  | { readonly kind: 'cron'; readonly zone: string; readonly cron: string; readonly duration: Seconds }
  | {
      readonly kind: 'calendar';
      readonly zone: string;
      /** Where it is read again and again; null: it was given as text. */
      readonly url: string | null;
      /** As given; null: it comes from a URL. */
      readonly ics: string | null;
      readonly events: readonly CalendarEvent[];
    };

/** A maintenance window or a calendar as PUT defines it, parsed; stored as JSON. Jobs and tags null: not said. */
export type MaintenanceDefinition = {
  readonly name: string;
  readonly reason: string;
  readonly jobs: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly when: When;
};

/** What a definition is about: a job is in it by its slug or one of its tags; by neither said, every job is. */
export type Concerned = { readonly slug: string; readonly tags: readonly string[] };

export function concerns({ jobs, tags }: Pick<MaintenanceDefinition, 'jobs' | 'tags'>, job: Concerned): boolean {
  if (jobs === null && tags === null) return true;
  return (jobs?.includes(job.slug) ?? false) || (tags?.some((tag) => job.tags.includes(tag)) ?? false);
}

/** The stretches of a window, for ever. */
export type Window = {
  /** The stretch that this instant is in, of several the one that ends last; null: none. */
  around(at: Instant): NamedStretch | null;
  /** The first stretch that begins after this instant; null: none, or of a calendar none within five years. */
  next(after: Instant): NamedStretch | null;
};

/** Compiles a window. Throws when what is stored makes no sense, or its zone is unknown (`zoneOf`). */
export function compileWindow(when: When, zoneOf: (name: string) => Zone): Window {
  switch (when.kind) {
    case 'once':
      return onceWindow({ ...when, summary: '' });
    case 'weekly': {
      const zone = zoneOf(when.zone);
      return repeatedWindow(
        when.weekly.map((start) => ({
          starts: timetable([{ cron: cronOf(start) }], zone),
          lengthMs: start.duration * 1000,
        })),
      );
    }
    case 'cron': {
      const starts = timetable([{ cron: when.cron }], zoneOf(when.zone));
      return repeatedWindow([{ starts, lengthMs: when.duration * 1000 }]);
    }
    case 'calendar':
      return calendarWindow(expandCalendar(when.events, (name) => zoneOf(name ?? when.zone)));
    default:
      return when satisfies never;
  }
}

/** A weekly start follows the same rules of clock changes as a job with this schedule. */
export function cronOf({ days, start }: Pick<WeeklyStart, 'days' | 'start'>): string {
  const [hour, minute] = start.split(':').map(Number);
  return `${minute} ${hour} * * ${days.map((day) => WEEKDAYS.indexOf(day)).join(',')}`;
}

const isIn = (at: Instant, { from, until }: Stretch): boolean => from <= at && at < until;

function lastToEnd(stretches: readonly NamedStretch[]): NamedStretch | null {
  return stretches.reduce<NamedStretch | null>((last, one) => (last && last.until >= one.until ? last : one), null);
}

function onceWindow(stretch: NamedStretch): Window {
  return {
    around: (at) => (isIn(at, stretch) ? stretch : null),
    next: (after) => (stretch.from > after ? stretch : null),
  };
}

type Repeated = { readonly starts: Timetable; readonly lengthMs: number };

function repeatedWindow(parts: readonly Repeated[]): Window {
  const stretch = ({ lengthMs }: Repeated, start: { readonly at: Instant } | null): NamedStretch[] =>
    start === null ? [] : [{ from: start.at, until: start.at + lengthMs, summary: '' }];
  return {
    around(at) {
      // Of one part, the latest start lasts longest.
      const begun = parts.flatMap((part) => stretch(part, part.starts.previous(at + 1)));
      return lastToEnd(begun.filter((one) => isIn(at, one)));
    },
    next(after) {
      const coming = parts.flatMap((part) => stretch(part, part.starts.next(after)));
      return coming.sort((a, b) => a.from - b.from)[0] ?? null;
    },
  };
}

const YEARS_AHEAD = 5;
const yearOf = (at: Instant): number => new Date(at).getUTCFullYear();

function calendarWindow(calendar: Calendar): Window {
  return {
    around(at) {
      const years = [yearOf(at - LONGEST_EVENT_MS), yearOf(at)];
      const near = [...new Set(years)].flatMap((year) => calendar.beginningIn(year));
      return lastToEnd(near.filter((one) => isIn(at, one)));
    },
    next(after) {
      const year = yearOf(after);
      for (let ahead = 0; ahead <= YEARS_AHEAD; ahead += 1) {
        const found = calendar.beginningIn(year + ahead).find(({ from }) => from > after);
        if (found) return found;
      }
      return null;
    },
  };
}

const MOST_JOINED = 1000;

/** Until when, from `at` on, one of these windows always holds; null: at `at` none does. */
export function heldUntil(windows: readonly Pick<Window, 'around'>[], at: Instant): Instant | null {
  let until = at;
  for (let joined = 0; joined < MOST_JOINED; joined += 1) {
    const ends = windows.flatMap((window) => window.around(until)?.until ?? []);
    if (ends.length === 0) break;
    until = Math.max(...ends);
  }
  return until > at ? until : null;
}

/**
 * One revision of a window: known from an instant on, until it was replaced or ended. An ended one goes on to say what was
 * due in it until then. A replaced one does so only of stretches that were over by then: a new definition of what is under
 * way is a correction, but the next deploy takes nothing back of the last one.
 */
export type Revision = Pick<MaintenanceDefinition, 'name' | 'reason' | 'jobs' | 'tags'> & {
  readonly slug: string;
  readonly actor: string;
  readonly isCalendar: boolean;
  readonly knownFrom: Instant;
  readonly knownUntil: Instant | null;
  readonly isReplaced: boolean;
  readonly window: Window;
};

/** What is known about one job; null: no window is about it. */
export function maintenanceOf(revisions: readonly Revision[], job: Concerned): Maintenance | null {
  const own = revisions.filter((revision) => concerns(revision, job));
  if (own.length === 0) return null;
  return (due, t) => {
    for (const revision of own) {
      const stretch = isKnown(revision, due, t) ? revision.window.around(due) : null;
      if (stretch && holdsStill(revision, stretch, t)) return decisionOf(revision, stretch);
    }
    return null;
  };
}

function isKnown({ knownFrom, knownUntil, isReplaced }: Revision, due: Instant, t: Instant): boolean {
  if (t < knownFrom) return false;
  return knownUntil === null || due < knownUntil || (isReplaced && t < knownUntil);
}

function holdsStill({ knownUntil, isReplaced }: Revision, { until }: Stretch, t: Instant): boolean {
  return !isReplaced || knownUntil === null || t < knownUntil || until <= knownUntil;
}

function decisionOf({ name, reason, actor, isCalendar }: Revision, { summary }: NamedStretch) {
  if (isCalendar) return { reason: 'calendar', note: summary === '' ? name : summary } as const;
  return { reason: 'maintenance', note: `${name}${reason === '' ? '' : `: ${reason}`} (${actor})` } as const;
}
