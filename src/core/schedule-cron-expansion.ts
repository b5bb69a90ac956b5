import type { Calendar } from './schedule-cron-calendar.ts';
import type { Expansion } from './schedule-registry.ts';
import { FIRST_INSTANT, type Instant, LAST_INSTANT } from './time.ts';
import { type LocalTime, MAX_SHIFT_MS, type Stretch, type Zone } from './zone.ts';

const NOWHERE: Stretch = { start: Number.NaN, end: Number.NaN, offset: 0 };
/** A stretch this long shows each of its readings once: what it does not show, its neighbours must. */
const LONG_MS = 2 * MAX_SHIFT_MS;

/**
 * Fixed times: a local time is due at the first instant at which the clock shows it or has passed it. So a time in a gap
 * is due at the transition, and only the first pass of an overlap counts, wherever we start: readings up to the highest
 * one shown so far are over.
 */
export function expandFixed(calendar: Calendar, zone: Zone): Expansion {
  // Far from both ends of its stretch an instant and its reading are one sum apart.
  let quiet = NOWHERE;
  const isQuiet = (at: Instant): boolean => {
    if (at >= quiet.start && at < quiet.end) return true;
    const { start, end, offset } = zone.stretchAt(at);
    quiet = { start: start + MAX_SHIFT_MS, end, offset: offset * 1000 };
    return at >= quiet.start;
  };
  const instantOf = (local: LocalTime | null): Instant | null => {
    if (local === null) return null;
    const guess = local - quiet.offset;
    return inRange(guess >= quiet.start && guess < quiet.end ? guess : zone.firstInstantAtOrPast(local));
  };
  const highWater = (at: Instant): LocalTime => (isQuiet(at) ? at + quiet.offset : zone.highWater(at));
  return {
    next: (after) => instantOf(calendar.after(highWater(Math.max(after, FIRST_INSTANT - 1)))),
    previous: (before) => instantOf(calendar.upTo(highWater(Math.min(before - 1, LAST_INSTANT)))),
    nominalsAt(at) {
      const nominals: LocalTime[] = [];
      const last = zone.highWater(at);
      let local = calendar.after(zone.highWater(at - 1));
      for (; local !== null && local <= last; local = calendar.after(local)) nominals.push(local);
      return nominals;
    },
  };
}

/** Wildcards follow real time: every instant whose reading matches, in both passes of an overlap, nothing for a gap. */
export function expandWildcard(calendar: Calendar, zone: Zone): Expansion {
  let stretch = NOWHERE;
  const stretchAt = (at: Instant): Stretch => {
    if (!(at >= stretch.start && at < stretch.end)) stretch = zone.stretchAt(at);
    return stretch;
  };
  return {
    next(after) {
      for (let from = Math.max(after + 1, FIRST_INSTANT); from <= LAST_INSTANT; ) {
        const { start, end, offset } = stretchAt(from);
        const local = calendar.after(from - 1 + offset * 1000);
        if (local === null) return null;
        if (local - offset * 1000 < end) return inRange(local - offset * 1000);
        const isLong = end - Math.max(start, from) >= LONG_MS;
        from = isLong ? Math.max(end, local - MAX_SHIFT_MS) : end;
      }
      return null;
    },
    previous(before) {
      for (let from = Math.min(before - 1, LAST_INSTANT); from >= FIRST_INSTANT; ) {
        const { start, end, offset } = stretchAt(from);
        const local = calendar.upTo(from + offset * 1000);
        if (local === null) return null;
        if (local - offset * 1000 >= start) return inRange(local - offset * 1000);
        const isLong = Math.min(end - 1, from) - start >= LONG_MS;
        from = isLong ? Math.min(start - 1, local + MAX_SHIFT_MS) : start - 1;
      }
      return null;
    },
    nominalsAt: (at) => [zone.localAt(at)],
  };
}

function inRange(at: Instant): Instant | null {
  return at >= FIRST_INSTANT && at <= LAST_INSTANT ? at : null;
}
