import type { Instant, Seconds } from './core/time.ts';
import type { ZoneTable } from './core/zone.ts';

const DAY_MS = 86_400_000;
/** No zone has kept an offset for less than 6.9 days since 1970: steps of three miss nothing. */
const FINE_STEP = 3 * DAY_MS;
/** Up to here zones have lists of single changes (Gaza, to 2086); after it only yearly rules. */
const LISTS_END = Date.UTC(2090, 0, 1);
const COARSE_STEP = 20 * DAY_MS;
/** 28 years without a skipped leap year hold each of the 14 kinds of year, twice at least. */
const PATTERN_FIRST_YEAR = 2101;
const PATTERN_YEARS = 28;
const CYCLE_YEARS = 400;

type Change = { readonly at: Instant; readonly offset: Seconds };

/**
 * Makes the table of a zone from Node's own data by asking Intl and bisecting, about 30 ms a zone. Changes of the years
 * to 2100 are found one by one; the 400 years after it follow the pattern of 2101 to 2128, year by year of the same
 * kind. Throws RangeError when Node does not know the name.
 */
export function readNodeZone(name: string): ZoneTable {
  const offsetAt = nodeOffsets(name);
  const patternEnd = Date.UTC(PATTERN_FIRST_YEAR + PATTERN_YEARS, 0, 1);
  const fine = changesIn(offsetAt, 0, LISTS_END, FINE_STEP);
  const coarse = changesIn(offsetAt, LISTS_END, patternEnd, COARSE_STEP);
  const patternStart = Date.UTC(PATTERN_FIRST_YEAR, 0, 1);
  const single = [...fine, ...coarse.filter(({ at }) => at < patternStart)];
  const repeated = repeatYears(coarse.filter(({ at }) => at >= patternStart));
  const changes = [...single, ...repeated];
  return {
    name,
    transitions: changes.map(({ at }) => at),
    offsets: [offsetAt(0), ...changes.map(({ offset }) => offset)],
    cycle: repeated.length,
  };
}

/** Intl as a function from instants to offsets. Hour cycle h23: with `hour12: false` midnight is hour 24 of the day before. */
function nodeOffsets(timeZone: string): (at: Instant) => Seconds {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      format.format(at).match(/\d+/g) ?? []
    ).map(Number);
    return (Date.UTC(year, month - 1, day, hour, minute, second) - at) / 1000;
  };
}

function changesIn(offsetAt: (at: Instant) => Seconds, from: Instant, to: Instant, step: number): Change[] {
  const changes: Change[] = [];
  let before = offsetAt(from);
  for (let at = from; at < to; at += step) {
    const offset = offsetAt(at + step);
    if (offset === before) continue;
    changes.push({ at: firstSecondWithout(before, offsetAt, at, at + step), offset });
    before = offset;
  }
  return changes;
}

function firstSecondWithout(before: Seconds, offsetAt: (at: Instant) => Seconds, from: Instant, to: Instant): Instant {
  let low = from / 1000;
  let high = to / 1000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000) === before) low = middle;
    else high = middle;
  }
  return high * 1000;
}

function repeatYears(pattern: readonly Change[]): Change[] {
  const byKind = new Map<string, { at: number; offset: Seconds }[]>();
  for (let year = PATTERN_FIRST_YEAR; year < PATTERN_FIRST_YEAR + PATTERN_YEARS; year++) {
    const [start, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];
    const inYear = pattern.filter(({ at }) => at >= start && at < end);
    byKind.set(
      kindOfYear(year),
      inYear.map(({ at, offset }) => ({ at: at - start, offset })),
    );
  }
  const repeated: Change[] = [];
  for (let year = PATTERN_FIRST_YEAR; year < PATTERN_FIRST_YEAR + CYCLE_YEARS; year++) {
    const start = Date.UTC(year, 0, 1);
    for (const { at, offset } of byKind.get(kindOfYear(year)) ?? []) repeated.push({ at: start + at, offset });
  }
  return repeated;
}

/** Its length and the weekday of its first day: years of one kind have the same calendar. */
function kindOfYear(year: number): string {
  const start = Date.UTC(year, 0, 1);
  return `${(Date.UTC(year + 1, 0, 1) - start) / DAY_MS}/${new Date(start).getUTCDay()}`;
}
