import type { Seconds } from './core/time.ts';
import type { ZoneTable } from './core/zone.ts';

/** A POSIX TZ rule as an RFC 8536 footer carries it: two offsets and the two days of the year at which they change. */
type Footer = { readonly standard: Seconds; readonly daylight?: { offset: Seconds; from: YearRule; to: YearRule } };
type YearRule = { readonly day: (year: number) => number; readonly second: Seconds };

const DAY = 86_400;
const YEARS_IN_CYCLE = 400;
const CYCLE_SECONDS = 146_097 * DAY;

/**
 * Reads one compiled tz file (RFC 8536, version 2 or later: 64-bit transitions and a footer). The footer's rule is
 * written out for the 400 years after the last transition; these repeat. Throws on anything else, files with leap
 * seconds (`right/`) included.
 */
export function readCompiledZone(name: string, bytes: Buffer): ZoneTable {
  const first = readHeader(bytes, 0);
  if (first.version < 2) throw new Error(`the tz file of ${name} is version 1: only version 2 and later are read`);
  const header = readHeader(bytes, first.end(4));
  if (header.leaps > 0) throw new Error(`the tz file of ${name} counts leap seconds`);
  const kinds = header.body + header.times * 9;
  const offsetOf = (kind: number): Seconds => bytes.readInt32BE(kinds + kind * 6);
  const seconds: number[] = [];
  const offsets: Seconds[] = [offsetOf(0)];
  for (let i = 0; i < header.times; i++) {
    const at = Number(bytes.readBigInt64BE(header.body + i * 8));
    const offset = offsetOf(bytes.readUInt8(header.body + header.times * 8 + i));
    if (at <= 0) offsets[0] = offset;
    else if (offset !== offsets.at(-1)) {
      seconds.push(at);
      offsets.push(offset);
    }
  }
  // The last transition of the file may change nothing but the name; the rule is in force only after it.
  const last = header.times === 0 ? 0 : Number(bytes.readBigInt64BE(header.body + (header.times - 1) * 8));
  const footer = readFooter(name, bytes.toString('latin1', header.end(8)).trim());
  const repeated = footer?.daylight ? writeOut(footer.standard, footer.daylight, Math.max(last, 0)) : [];
  for (const change of repeated) {
    seconds.push(change.at);
    offsets.push(change.offset);
  }
  return { name, transitions: seconds.map((at) => at * 1000), offsets, cycle: repeated.length };
}

function readHeader(bytes: Buffer, at: number) {
  if (bytes.length < at + 44 || bytes.toString('latin1', at, at + 4) !== 'TZif')
    throw new Error('not a compiled tz file');
  const [utc = 0, standard = 0, leaps = 0, times = 0, types = 0, letters = 0] = [20, 24, 28, 32, 36, 40].map((field) =>
    bytes.readUInt32BE(at + field),
  );
  const body = at + 44;
  const end = (size: number): number =>
    body + times * (size + 1) + types * 6 + letters + leaps * (size + 4) + standard + utc;
  return { version: Number(bytes.toString('latin1', at + 4, at + 5)) || 1, leaps, times, body, end };
}

/** All changes of the rule in the 400 years after `last` (epoch seconds), ascending. */
function writeOut(standard: Seconds, daylight: NonNullable<Footer['daylight']>, last: number) {
  const changes: { at: number; offset: Seconds }[] = [];
  const firstYear = new Date(last * 1000).getUTCFullYear() - 1;
  for (let year = firstYear; year <= firstYear + YEARS_IN_CYCLE + 2; year++) {
    const { from, to, offset } = daylight;
    changes.push({ at: from.day(year) * DAY + from.second - standard, offset });
    changes.push({ at: to.day(year) * DAY + to.second - offset, offset: standard });
  }
  return changes.filter(({ at }) => at > last && at <= last + CYCLE_SECONDS).sort((a, b) => a.at - b.at);
}

const ABBREVIATION = '(?:<[A-Za-z0-9+-]+>|[A-Za-z]{3,})';
const CLOCK = '[+-]?\\d{1,3}(?::\\d{2}){0,2}';
const RULE = `(?:M\\d{1,2}\\.[1-5]\\.[0-6]|J?\\d{1,3})(?:/${CLOCK})?`;
const FOOTER = new RegExp(`^${ABBREVIATION}(${CLOCK})(?:${ABBREVIATION}(${CLOCK})?,(${RULE}),(${RULE}))?$`);

/** Null for the empty footer of a zone whose future is not given: its last offset stays. */
function readFooter(name: string, text: string): Footer | null {
  if (text === '') return null;
  const match = FOOTER.exec(text);
  if (!match) throw new Error(`the tz file of ${name} ends with a rule that cannot be read: ${text}`);
  const [, standardText = '', daylightText, from, to] = match;
  const standard = -clockSeconds(standardText);
  if (from === undefined || to === undefined) return { standard };
  const offset = daylightText === undefined ? standard + 3600 : -clockSeconds(daylightText);
  return { standard, daylight: { offset, from: yearRule(from), to: yearRule(to) } };
}

function clockSeconds(text: string): Seconds {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number);
  const size = hours * 3600 + minutes * 60 + seconds;
  return text.startsWith('-') ? -size : size;
}

function yearRule(text: string): YearRule {
  const [date = '', clock] = text.split('/');
  const second = clock === undefined ? 7200 : clockSeconds(clock);
  if (date.startsWith('M')) {
    const [month = 1, week = 1, weekday = 0] = date.slice(1).split('.').map(Number);
    return { second, day: (year) => nthWeekday(year, month, week, weekday) };
  }
  const number = Number(date.replace('J', ''));
  // J counts without 29 February: from 1 March on one more in a leap year.
  const shift = (year: number): number => (date.startsWith('J') ? (isLeap(year) && number >= 60 ? 0 : -1) : 0);
  return { second, day: (year) => dayNumber(year, 1, 1) + number + shift(year) };
}

/** Days since 1970-01-01 of the week-th weekday of a month; week 5 is the last one. */
function nthWeekday(year: number, month: number, week: number, weekday: number): number {
  const first = dayNumber(year, month, 1);
  const length = dayNumber(year, month + 1, 1) - first;
  const day = first + ((weekday - (first + 4) + 7_000_000) % 7) + (week - 1) * 7;
  return day >= first + length ? day - 7 : day;
}

function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / 86_400_000;
}

function isLeap(year: number): boolean {
  return dayNumber(year + 1, 1, 1) - dayNumber(year, 1, 1) === 366;
}
