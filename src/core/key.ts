import {
  FIRST_INSTANT,
  floorToSecond,
  type Instant,
  LAST_INSTANT,
  parsed,
  parseOffset,
  type Result,
  readingMillis,
  refused,
  restorePlus,
} from './time.ts';
import { formatLocal, formatOffset, type LocalTime, type Zone } from './zone.ts';

/** What a key names: an instant (whole seconds), a local time, or a local date (its midnight reading). */
export type KeySpelling =
  | { readonly kind: 'instant'; readonly at: Instant }
  | { readonly kind: 'local'; readonly local: LocalTime }
  | { readonly kind: 'date'; readonly date: LocalTime };

/** The instants a key may mean, ascending; or, for a date, the stretch (after, until] of that local day. */
export type KeyCandidates =
  | { readonly instants: readonly Instant[] }
  | { readonly after: Instant; readonly until: Instant };

const DAY_MS = 86_400_000;
const HINT =
  'write a key such as 2026-10-25T02:30+02:00, an RFC 3339 instant, Unix seconds (10 digits) or milliseconds (13), a local time, or a local date';
const SPELLING =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?:[Tt ](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.\d+)?)?(?<offset>[Zz]|[+-]\d{2}:\d{2})?)?$/;

/**
 * The canonical key of a due instant: its local time with offset, to the minute, seconds only when not zero, `Z` in UTC.
 * Where an offset has seconds of its own (Liberia to 1972), ISO 8601 cannot write it, and the key is in UTC.
 */
export function formatKey(at: Instant, zone: Zone): string {
  const offset = zone.offsetAt(at);
  if (zone.name === 'UTC' || zone.name === 'Etc/UTC' || offset % 60 !== 0) return `${formatLocal(at)}Z`;
  return formatLocal(at + offset * 1000) + formatOffset(offset);
}

/**
 * Reads every accepted spelling of a key (DESIGN section 3). Fractions of a second are cut; a space where a sign belongs
 * is a `+`. Refuses, with a hint, whatever is none of them or does not exist, and years outside 1970 to 9999.
 */
export function parseKey(text: string): Result<KeySpelling> {
  if (/^\d+$/.test(text)) return parseUnix(text);
  const groups = text.length <= 64 ? SPELLING.exec(restorePlus(text))?.groups : undefined;
  if (!groups) return refused(`not an occurrence key: ${HINT}`);
  const local = readingMillis(groups);
  const offset = groups['offset'] === undefined ? null : parseOffset(groups['offset']);
  if (local === null || (groups['offset'] !== undefined && offset === null)) {
    return refused(`no such date, time or offset: ${HINT}`);
  }
  if (local < FIRST_INSTANT || local > LAST_INSTANT) return refused('a key must lie in the years 1970 to 9999');
  if (offset !== null) return instant(local - offset * 1000);
  return parsed(groups['hour'] === undefined ? { kind: 'date', date: local } : { kind: 'local', local });
}

function parseUnix(digits: string): Result<KeySpelling> {
  if (digits.length === 10) return instant(Number(digits) * 1000);
  if (digits.length === 13) return instant(floorToSecond(Number(digits)));
  return refused(`Unix seconds have 10 digits and milliseconds 13, not ${digits.length}: ${HINT}`);
}

function instant(at: Instant): Result<KeySpelling> {
  if (at < FIRST_INSTANT || at > LAST_INSTANT) return refused('a key must lie in the years 1970 to 9999');
  return parsed({ kind: 'instant', at });
}

/**
 * Where to look for the occurrence that a key names in this zone. A nonexistent local time is the transition; an
 * ambiguous one both instants. A date is the time from its first instant to that of the next date, so that an
 * occurrence at midnight belongs to its own date and a midnight that is passed twice counts from its first pass.
 */
export function keyCandidates(spelling: KeySpelling, zone: Zone): KeyCandidates {
  switch (spelling.kind) {
    case 'instant':
      return { instants: [spelling.at] };
    case 'local': {
      const instants = zone.instantsOf(spelling.local);
      return { instants: instants.length > 0 ? instants : [zone.firstInstantAtOrPast(spelling.local)] };
    }
    case 'date': {
      const start = zone.firstInstantAtOrPast(spelling.date);
      const end = zone.firstInstantAtOrPast(spelling.date + DAY_MS);
      // Occurrences are whole seconds. A date that was skipped is the transition, like a time that was.
      return { after: start - 1000, until: Math.max(start, end - 1000) };
    }
  }
}
