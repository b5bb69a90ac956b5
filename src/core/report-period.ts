import { DateTime } from 'luxon';
import { FIRST_INSTANT, type Instant, LAST_INSTANT } from './time.ts';
import type { Zone } from './zone.ts';

/** How often a report comes: ISO weeks, which begin on Monday, or months. */
export type Every = 'week' | 'month';

/**
 * A week or month on the clock of a zone. It begins at the first instant of its first date and ends at that of the next
 * one's: what is due at midnight belongs to the date that begins. Due instants are whole seconds, so those of the period
 * are (after, until] with both ends a second before midnight.
 */
export type Period = {
  readonly every: Every;
  /** `2026-W53` or `2026-10`. */
  readonly name: string;
  /** The first instant inside. */
  readonly startsAt: Instant;
  /** The first instant after it. */
  readonly endsAt: Instant;
};

const NAME = /^\d{4}-(?:W\d{2}|\d{2})$/;
const FORMATS = { week: "kkkk-'W'WW", month: 'yyyy-MM' } as const;

/** The period of this name in a zone, or null: no such week or month, or one outside the years 1970 to 9998. */
export function periodNamed(name: string, zone: Zone): Period | null {
  if (!NAME.test(name)) return null;
  const first = DateTime.fromISO(name, { zone: 'utc' });
  return first.isValid ? periodFrom(first, name.includes('W') ? 'week' : 'month', zone) : null;
}

/** The period around an instant. */
export function periodAt(at: Instant, every: Every, zone: Zone): Period {
  // Where the clocks go back over midnight the reading is of the date before or after: the instants decide.
  let period = periodFrom(DateTime.fromMillis(zone.localAt(at), { zone: 'utc' }).startOf(every), every, zone);
  if (period && at < period.startsAt) period = periodBefore(period, zone);
  if (period && at >= period.endsAt) period = neighbour(period, 1, zone);
  if (!period) throw new Error(`no ${every} around ${at}`);
  return period;
}

/** The newest period that was over at an instant. */
export function newestComplete(now: Instant, every: Every, zone: Zone): Period {
  const before = periodBefore(periodAt(now, every, zone), zone);
  if (!before) throw new Error(`no ${every} was over at ${now}`);
  return before;
}

/** The period just before; null: it lies before 1970. */
export function periodBefore(period: Period, zone: Zone): Period | null {
  return neighbour(period, -1, zone);
}

/** How many whole periods lie between an instant and the beginning of this one, and the first of them. */
export function periodsBetween(
  since: Instant,
  period: Period,
  zone: Zone,
): { readonly count: number; readonly first: Period } | null {
  let first: Period | null = null;
  let count = 0;
  for (let one = periodBefore(period, zone); one && one.startsAt >= since; one = periodBefore(one, zone)) {
    first = one;
    count += 1;
  }
  return first && { count, first };
}

/** Its due instants as an interval (after, until]. */
export function dueWindow({ startsAt, endsAt }: Period): { readonly after: Instant; readonly until: Instant } {
  return { after: startsAt - 1000, until: endsAt - 1000 };
}

function neighbour({ name, every }: Period, steps: number, zone: Zone): Period | null {
  return periodFrom(DateTime.fromISO(name, { zone: 'utc' }).plus({ [every]: steps }), every, zone);
}

/** `first`: the reading at which it begins, written in UTC. */
function periodFrom(first: DateTime, every: Every, zone: Zone): Period | null {
  const next = first.plus({ [every]: 1 });
  if (first.toMillis() < FIRST_INSTANT || next.toMillis() >= LAST_INSTANT - 366 * 86_400_000) return null;
  return {
    every,
    name: first.toFormat(FORMATS[every]),
    startsAt: zone.firstInstantAtOrPast(first.toMillis()),
    endsAt: zone.firstInstantAtOrPast(next.toMillis()),
  };
}
