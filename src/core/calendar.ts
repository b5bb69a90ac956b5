import { RRuleTemporal } from 'rrule-temporal';
import type { Instant, Seconds } from './time.ts';
import { type LocalTime, MAX_SHIFT_MS, type Zone } from './zone.ts';

/** One event of a calendar, as stored. Local times are those of its zone; a time in a gap is the transition instant. */
export type CalendarEvent = {
  readonly summary: string;
  /** null: the zone of the calendar. */
  readonly zone: string | null;
  readonly start: LocalTime;
  /** Whole local days from midnight to midnight, or elapsed time. */
  readonly length: { readonly days: number } | { readonly seconds: Seconds };
  /** Values of RRULE, their UNTIL written as if the local time were UTC. */
  readonly rules: readonly string[];
  /** Further starts (RDATE), and starts that are none (EXDATE, and those moved elsewhere). */
  readonly dates: readonly LocalTime[];
  readonly except: readonly LocalTime[];
};

/** A stretch of time: `from` is inside, `until` is not. */
export type Stretch = { readonly from: Instant; readonly until: Instant };
export type NamedStretch = Stretch & { readonly summary: string };

/** What an event may last, and a rule may cost: one that finds nothing must not search for ever. */
export const LONGEST_EVENT_MS = 366 * 86_400_000;
const DAY_MS = 86_400_000;
const MAX_PERIODS = 10_000;
const MAX_CANDIDATES = 50_000;
/** Stretches of one year, at most; `parseCalendar` refuses a calendar that has more of them now. */
export const MOST_A_YEAR = 5000;

/** The events of a calendar as stretches, a year at a time. */
export type Calendar = {
  /** The stretches that begin in this year (UTC), by their beginning. Kept once asked for. */
  beginningIn(year: number): readonly NamedStretch[];
};

/**
 * Expands events. `zoneOf` throws for a zone that is not there. A rule that costs too much to follow throws when it is asked
 * and `isStrict`; else its event is left out, for the others still say something.
 */
export function expandCalendar(
  events: readonly CalendarEvent[],
  zoneOf: (name: string | null) => Zone,
  { isStrict = false } = {},
): Calendar {
  const compiled = events.map((event) => compileEvent(event, zoneOf(event.zone)));
  const years = new Map<number, readonly NamedStretch[]>();
  return {
    beginningIn(year) {
      const known = years.get(year);
      if (known) return known;
      const [first, last] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];
      const found: NamedStretch[] = [];
      for (const stretches of compiled) {
        for (const stretch of orNone(() => stretches(first, last), isStrict))
          if (found.length < MOST_A_YEAR) found.push(stretch);
      }
      found.sort((a, b) => a.from - b.from);
      years.set(year, found);
      return found;
    },
  };
}

function orNone(stretches: () => NamedStretch[], isStrict: boolean): NamedStretch[] {
  try {
    return stretches();
  } catch (error) {
    if (isStrict) throw error;
    return [];
  }
}

/** The stretches of one event that begin at `first` or later and before `last`. */
function compileEvent(event: CalendarEvent, zone: Zone): (first: Instant, last: Instant) => NamedStretch[] {
  const except = new Set(event.except);
  const starts = new Set([...(event.rules.length === 0 ? [event.start] : []), ...event.dates]);
  const rules = event.rules.map((rule) => compileRule(event.start, rule));
  const endOf = (start: LocalTime, from: Instant): Instant =>
    'days' in event.length
      ? zone.firstInstantAtOrPast(start + event.length.days * DAY_MS)
      : from + event.length.seconds * 1000;
  return (first, last) => {
    const within = rules.flatMap((rule) => rule(first - MAX_SHIFT_MS, last + MAX_SHIFT_MS));
    const stretches: NamedStretch[] = [];
    for (const start of new Set([...starts, ...within])) {
      if (except.has(start)) continue;
      const from = zone.firstInstantAtOrPast(start);
      const until = endOf(start, from);
      if (from >= first && from < last && until > from) stretches.push({ from, until, summary: event.summary });
    }
    return stretches;
  };
}

/** Rules run on the local clock, written as UTC: which instants its readings are is for our zones to say. */
function compileRule(start: LocalTime, rule: string): (first: LocalTime, last: LocalTime) => LocalTime[] {
  const compact = new Date(start).toISOString().replace(/[-:]|\.\d+/g, '');
  const compiled = new RRuleTemporal({
    rruleString: `DTSTART:${compact}\nRRULE:${rule}`,
    maxIterations: MAX_PERIODS,
    maxCandidateEvaluations: MAX_CANDIDATES,
    includeDtstart: true,
  });
  return (first, last) =>
    last < start
      ? []
      : compiled.between(new Date(first), new Date(last), true).map(({ epochMilliseconds }) => epochMilliseconds);
}
