/** An instant: whole milliseconds since 1970-01-01T00:00:00Z. Intervals of instants are (after, until]. */
export type Instant = number;
/** A length of elapsed time in settings: whole seconds. */
export type Seconds = number;
/** What parsing outside data answers: the domain value, or a reason written for the person who sent it. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

/** The first and last instant Rollcall knows: the years 1970 to 9999 in UTC. */
export const FIRST_INSTANT: Instant = 0;
export const LAST_INSTANT: Instant = 253_402_300_799_999;

/** The longest duration a setting may have: 36,600 days. */
const LONGEST: Seconds = 36_600 * 86_400;

export function parsed<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function refused(reason: string): Result<never> {
  return { ok: false, reason };
}

/** The parts of a clock reading, as matched from text; what is missing is zero. */
type Reading = { readonly [part in 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second']?: string | undefined };

/**
 * The milliseconds at which a UTC clock shows this reading, or null when no clock ever does (31 February, 24:00, second
 * 60). Checked by round trip, because Date turns 31 February into 3 March.
 */
export function readingMillis(reading: Reading): number | null {
  const { year, month, day, hour = '00', minute = '00', second = '00' } = reading;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const at = Date.parse(text);
  return Number.isNaN(at) || new Date(at).toISOString() !== text ? null : at;
}

/** `+02:00`, `-09:30` or `Z` as seconds east of UTC; null when it is none of them. */
export function parseOffset(text: string): Seconds | null {
  if (text === 'Z' || text === 'z') return 0;
  const match = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (!match) return null;
  const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60;
  return match[1] === '-' ? -seconds : seconds;
}

/** A query decodes the `+` of an offset to a space: this puts it back where only a sign can stand. */
export function restorePlus(text: string): string {
  return text.replace(/(:\d{2}(?:\.\d+)?) (?=\d{2}:\d{2}$)/, '$1+');
}

/** Whole milliseconds of a decimal fraction of a second, the rest cut: `1239` is 123. */
function fractionMillis(digits: string | undefined): number {
  return Number((digits ?? '').padEnd(3, '0').slice(0, 3));
}

const RFC3339 =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})[Tt ](?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})(?:\.(?<fraction>\d+))?(?<offset>[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads an RFC 3339 instant with its offset, such as `2026-03-08T07:00:00Z`. Fractions are cut to milliseconds. Refuses
 * times without an offset, dates that do not exist, and instants outside the years 1970 to 9999.
 */
export function parseInstant(text: string): Result<Instant> {
  const example = 'write an RFC 3339 instant with its offset, such as 2026-03-08T02:30:00-05:00';
  const groups = typeof text === 'string' && text.length <= 64 ? RFC3339.exec(text)?.groups : undefined;
  if (!groups) return refused(`not an instant: ${example}`);
  const reading = readingMillis(groups);
  const offset = parseOffset(groups['offset'] ?? '');
  if (reading === null || offset === null) return refused(`no such date, time or offset: ${example}`);
  const at = reading + fractionMillis(groups['fraction']) - offset * 1000;
  if (at < FIRST_INSTANT || at > LAST_INSTANT) return refused('an instant must lie in the years 1970 to 9999');
  return parsed(at);
}

/** RFC 3339 in UTC with `Z`; milliseconds are written only when they are not zero. */
export function formatInstant(at: Instant): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

const UNITS: readonly (readonly [string, Seconds])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];
const ISO_DURATION = /^P(?:(\d+)W|(?=[\dT])(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?)$/;
const DURATION_HINT = 'write 90s, 10m, 6h, 2d, an ISO 8601 duration such as PT1H30M, or whole seconds';

/**
 * Reads a duration: `90s`, `10m`, `6h`, `2d`, ISO 8601 (`PT1H30M`, `P1D`, `P1W`) or whole seconds. A day is 24 h, a week
 * seven of them. Zero is read (callers restrict); negative, fractional, over 36,600 days, years and months are refused.
 */
export function parseDuration(input: unknown): Result<Seconds> {
  if (typeof input === 'number') return checkedDuration(input);
  if (typeof input !== 'string' || input.length > 64) return refused(`not a duration: ${DURATION_HINT}`);
  const short = /^(\d+)([smhd]?)$/.exec(input);
  if (short) {
    const unit = UNITS.find(([name]) => name === short[2])?.[1] ?? 1;
    return checkedDuration(Number(short[1]) * unit);
  }
  const iso = ISO_DURATION.exec(input);
  if (iso) {
    const [weeks, days, hours, minutes, seconds] = iso.slice(1).map((digits) => Number(digits ?? 0));
    return checkedDuration(
      (weeks ?? 0) * 604_800 + (days ?? 0) * 86_400 + (hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0),
    );
  }
  if (/^P\d+[YM]|^P.*\d[YM](?!.*T)|^\d+ ?(?:y|mo)/.test(input)) {
    return refused('years and months have no fixed length: write days, such as 30d, or use a cron schedule');
  }
  if (/^-|^P.*-/.test(input)) return refused(`a duration cannot be negative: ${DURATION_HINT}`);
  if (/\d[.,]\d/.test(input)) return refused(`a duration has no fractions: ${DURATION_HINT}`);
  return refused(`not a duration: ${DURATION_HINT}`);
}

function checkedDuration(seconds: number): Result<Seconds> {
  if (seconds < 0) return refused(`a duration cannot be negative: ${DURATION_HINT}`);
  if (seconds > LONGEST) return refused('a duration is at most 36600 days');
  if (!Number.isInteger(seconds)) return refused(`a duration has no fractions: ${DURATION_HINT}`);
  return parsed(seconds + 0);
}

/** The shortest exact form in one unit: `90s`, `10m`, `6h`, `2d`, `0s`. */
export function formatDuration(seconds: Seconds): string {
  const [name, size] = UNITS.find(([, unit]) => seconds !== 0 && seconds % unit === 0) ?? ['s', 1];
  return `${seconds / size}${name}`;
}

/** The instant with its milliseconds cut. */
export function floorToSecond(at: Instant): Instant {
  return Math.floor(at / 1000) * 1000;
}
