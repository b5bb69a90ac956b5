import ICAL from 'ical.js';
import { findIana } from 'windows-iana';
import { type CalendarEvent, expandCalendar, LONGEST_EVENT_MS, MOST_A_YEAR } from './calendar.ts';
import { groupBy } from './group.ts';
import {
  FIRST_INSTANT,
  type Instant,
  LAST_INSTANT,
  parseDuration,
  parsed,
  type Result,
  readingMillis,
  refused,
} from './time.ts';
import type { LocalTime, Zone } from './zone.ts';

/** What a calendar is read with. */
export type CalendarContext = {
  /** Of all-day and floating times. */
  readonly zone: string;
  /** The zones that its events name. */
  readonly zoneOf: (name: string) => Result<Zone>;
  /** Asked again and again; when it says no, the calendar is refused, because everybody waits for it. */
  readonly hasTime: () => boolean;
};

/** The largest calendar, in characters. */
export const LARGEST_CALENDAR = 1_000_000;
const MOST_EVENTS = 10_000;
const MOST_RULES = 300;
const LONGEST_ZONE = 200;
const DAY_MS = 86_400_000;

const TOO_LONG = 'has events that repeat, or take the place of others, and take too long to follow';

/** jCal (RFC 7265): name, parameters, type, values. */
type Property = readonly [string, Readonly<Record<string, unknown>>, string, ...unknown[]];
type Component = readonly [string, readonly Property[], readonly Component[]];

/** Says why one event cannot be read; the whole calendar is refused with that. */
class Unreadable extends Error {}

/**
 * Reads an .ics text: the events of all its calendars, cancelled ones left out. All-day and floating times are in the
 * calendar's zone, the others in theirs. Refuses what is no calendar, has a zone nobody knows, or repeats more often than
 * once a day. `now`: the year that is counted out.
 */
export function parseCalendar(text: string, context: CalendarContext, now: Instant): Result<readonly CalendarEvent[]> {
  if (text.length > LARGEST_CALENDAR) return refused('is larger than 1 MB');
  try {
    const events = readEvents(componentsOf(text), context);
    countOut(events, context, now);
    return parsed(events);
  } catch (error) {
    if (error instanceof Unreadable) return refused(error.message);
    // Not what the library says: that repeats the text, which may come from an address that the asker cannot see.
    return refused('is not a calendar (.ics): it cannot be read as one');
  }
}

function componentsOf(text: string): readonly Component[] {
  // PostgreSQL takes no NUL, JSON no half of a surrogate pair.
  if (/\0|\p{Surrogate}/u.test(text)) throw new Unreadable('has characters that are not text');
  const read = ICAL.parse(text.replace(/^\ufeff/, '')) as Component | readonly Component[];
  const all = (typeof read[0] === 'string' ? [read] : read) as readonly Component[];
  const calendars = all.filter(([name]) => name === 'vcalendar');
  if (calendars.length === 0) throw new Unreadable('is not a calendar (.ics): it has no VCALENDAR');
  const events = calendars.flatMap(([, , components]) => components.filter(([name]) => name === 'vevent'));
  if (events.length > MOST_EVENTS) throw new Unreadable(`has ${events.length} events: at most ${MOST_EVENTS} are read`);
  return events;
}

/** One event or one moved occurrence, before they are put together. */
type Read = CalendarEvent & {
  readonly uid: string | null;
  /** The start of an event of which it takes the place; null: it takes none. */
  readonly inPlaceOf: ((event: Starting) => readonly LocalTime[]) | null;
  readonly cancelled: boolean;
};

/** What the clock of an event is, by which its RDATE, EXDATE and RECURRENCE-ID are read. */
type Starting = Pick<CalendarEvent, 'zone' | 'start' | 'length'>;

function readEvents(components: readonly Component[], context: CalendarContext): readonly CalendarEvent[] {
  const read = components.map((component) => readEvent(component, context));
  const rules = read.reduce((count, event) => count + event.rules.length, 0);
  if (rules > MOST_RULES) throw new Unreadable(`has ${rules} recurrence rules: at most ${MOST_RULES} are read`);
  // What takes the place of an occurrence is an event of its own; the occurrence is none any more.
  const moved = groupBy(
    read.filter((event) => event.inPlaceOf !== null),
    ({ uid }) => uid,
  );
  return read.flatMap(({ uid, inPlaceOf, cancelled, ...event }) => {
    if (cancelled) return [];
    if (inPlaceOf !== null || uid === null) return [event];
    if (!context.hasTime()) throw new Unreadable(TOO_LONG);
    const replaced = (moved.get(uid) ?? []).flatMap((one) => one.inPlaceOf?.(event) ?? []);
    return [{ ...event, except: [...event.except, ...replaced] }];
  });
}

function readEvent([, properties]: Component, context: CalendarContext): Read {
  const all = (name: string): readonly Property[] => properties.filter(([it]) => it === name).map(asDate);
  const one = (name: string): Property | undefined => all(name)[0];
  const textOf = (name: string): string => String(one(name)?.[3] ?? '');
  const summary = plain(textOf('summary'));
  const about = (problem: string): Unreadable =>
    new Unreadable(`event ${JSON.stringify(summary === '' ? textOf('uid').slice(0, 100) : summary)}: ${problem}`);
  const start = one('dtstart');
  if (!start) throw about('it has no DTSTART');
  const zone = zoneNameOf(start, context, about);
  const reading = { context, about };
  const starting: Starting = {
    zone,
    start: localTimes(start, zone, reading)[0] ?? 0,
    length: lengthOf({ start, end: one('dtend'), duration: one('duration') }, reading),
  };
  const times = (name: string): LocalTime[] => all(name).flatMap((property) => startsOf(property, starting, reading));
  if (all('exrule').length > 0) throw about('EXRULE is not supported: write EXDATE');
  const recurrence = one('recurrence-id');
  if (recurrence?.[1]['range'] !== undefined) throw about('RANGE=THISANDFUTURE is not supported: write two events');
  return {
    ...starting,
    uid: one('uid') ? textOf('uid') : null,
    inPlaceOf: recurrence ? (event) => startsOf(recurrence, event, reading) : null,
    cancelled: textOf('status').toUpperCase() === 'CANCELLED',
    summary,
    rules: all('rrule').map((rule) => ruleText(rule, zone, reading)),
    dates: times('rdate'),
    except: times('exdate'),
  };
}

/** A date whose VALUE=DATE was forgotten: the library makes it a date-time without a time. */
function asDate(property: Property): Property {
  const [name, parameters, type, ...values] = property;
  const isForgotten = type === 'date-time' && values.every((value) => /^\d{4}-\d\d-\d\dT::$/.test(String(value)));
  return isForgotten ? [name, parameters, 'date', ...values.map((value) => String(value).slice(0, 10))] : property;
}

/** One line without control characters, at most 200 characters: it becomes the note of an occurrence. */
function plain(text: string): string {
  return [...text.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim()].slice(0, 200).join('');
}

type Reading = { readonly context: CalendarContext; readonly about: (problem: string) => Unreadable };

/** The zone a date-time is in; null: the calendar's own. */
function zoneNameOf([, parameters, type, value]: Property, { zoneOf }: CalendarContext, about: Reading['about']) {
  const { tzid } = parameters;
  if (type === 'date') return null;
  if (typeof value === 'string' && value.endsWith('Z')) return 'UTC';
  if (typeof tzid !== 'string') return null;
  // No name is longer, and looking for one in a text without end takes without end.
  if (tzid.length > LONGEST_ZONE) throw about(`its time zone ${JSON.stringify(tzid.slice(0, 100))} is not known here`);
  // `/freeassociation.sourceforge.net/Europe/Berlin` and `W. Europe Standard Time` are what other programs write.
  const names = [tzid, /[A-Za-z_]+\/[\w+-]+(?:\/[\w-]+)?$/.exec(tzid)?.[0], ...findIana(tzid)];
  const known = names.find((name) => name !== undefined && zoneOf(name).ok);
  if (known === undefined) throw about(`its time zone ${JSON.stringify(tzid.slice(0, 100))} is not known here`);
  return known;
}

const zoneNamed = (name: string | null, { zone, zoneOf }: CalendarContext): Zone => {
  const found = zoneOf(name ?? zone);
  if (!found.ok) throw new Unreadable(found.reason);
  return found.value;
};

const TIME = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:T(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)Z?)?$/;

function localTime(value: unknown, about: Reading['about']): LocalTime {
  const reading = readingMillis(TIME.exec(String(value))?.groups ?? {});
  if (reading === null || reading > LAST_INSTANT)
    throw about(`${JSON.stringify(String(value).slice(0, 40))} is no time`);
  return reading;
}

/** The values of a property on the local clock of the event. */
function localTimes(property: Property, zone: string | null, { context, about }: Reading): LocalTime[] {
  if (property[2] === 'period') throw about('RDATE with periods is not supported: write events');
  const own = zoneNameOf(property, context, about);
  const values = property.slice(3).map((value) => localTime(value, about));
  // A date stays a date; anything else is told by the clock of the event.
  if (own === zone || property[2] === 'date') return values;
  const [from, to] = [zoneNamed(own, context), zoneNamed(zone, context)];
  return values.map((value) => to.localAt(from.firstInstantAtOrPast(value)));
}

/** The starts of an event that RDATE, EXDATE or RECURRENCE-ID name. Many programs write a date for a time, or the reverse. */
function startsOf(property: Property, { zone, start, length }: Starting, reading: Reading): LocalTime[] {
  const named = localTimes(property, zone, reading);
  if (!('days' in length)) return property[2] === 'date' ? named.map((day) => day + timeOfDay(start)) : named;
  // Midnight in whatever zone is how a date is written as a time.
  const written = property.slice(3).map((value) => localTime(value, reading.about));
  return named.map((at, i) => {
    const day = written[i] ?? at;
    return timeOfDay(day) === 0 ? day : at - timeOfDay(at);
  });
}

const timeOfDay = (at: LocalTime): number => ((at % DAY_MS) + DAY_MS) % DAY_MS;

type Bounds = { readonly start: Property; readonly end: Property | undefined; readonly duration: Property | undefined };

/** All-day events last whole days, one at least, the others elapsed time; without an end, a day or no time at all. */
function lengthOf({ start, end, duration }: Bounds, { context, about }: Reading): CalendarEvent['length'] {
  const isDate = start[2] === 'date';
  const elapsed = duration ? durationMs(duration, about) : null;
  const ended = end ? endMs(start, end, { context, about }) : null;
  const length = ended ?? elapsed ?? (isDate ? DAY_MS : 0);
  if (length > LONGEST_EVENT_MS) throw about('it lasts longer than 366 days');
  // Many programs end a day where it begins.
  return isDate
    ? { days: Math.max(1, Math.ceil(length / DAY_MS)) }
    : { seconds: Math.max(0, Math.floor(length / 1000)) };
}

function durationMs([, , , value]: Property, about: Reading['about']): number {
  const read = parseDuration(String(value).replace(/^\+/, ''));
  if (!read.ok) throw about(`its duration: ${read.reason}`);
  return read.value * 1000;
}

function endMs(start: Property, end: Property, { context, about }: Reading): number {
  if (start[2] === 'date') return localTime(end[3], about) - localTime(start[3], about);
  const at = (property: Property): Instant =>
    zoneNamed(zoneNameOf(property, context, about), context).firstInstantAtOrPast(localTime(property[3], about));
  return at(end) - at(start);
}

/** More often than this is no calendar of days, and would be expanded without end. */
const FREQUENCIES: readonly unknown[] = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'];

function ruleText([, , , value]: Property, zone: string | null, reading: Reading): string {
  const { about } = reading;
  const rule = value as Readonly<Record<string, unknown>>;
  const isMany = ['byhour', 'byminute', 'bysecond'].some((part) => Array.isArray(rule[part]) && rule[part].length > 1);
  if (!FREQUENCIES.includes(rule['freq']) || isMany) {
    throw about('it repeats more often than once a day: use a window with a cron expression instead');
  }
  // The library reads COUNT=0 as if it had not been written: for ever.
  if ('count' in rule && !(Number(rule['count']) >= 1)) throw about('COUNT must be a whole number from 1 on');
  const text = ICAL.Recur.fromData(value as never).toString();
  const until = /;?UNTIL=[^;]*/.exec(text)?.[0];
  if (until === undefined) return text;
  const local = untilOf(String(rule['until']), zone, reading);
  const written = new Date(local).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${text.replace(until, '')};UNTIL=${written}`;
}

/** UNTIL is UTC where the event has a zone, and local where it has none; a date is over when the day is. */
function untilOf(value: string, zone: string | null, { context, about }: Reading): LocalTime {
  const reading = localTime(value, about);
  if (!value.includes('T')) return reading + DAY_MS - 1000;
  return value.endsWith('Z') ? zoneNamed(zone, context).localAt(Math.max(reading, FIRST_INSTANT)) : reading;
}

/** Expands three years once, so that what cannot be expanded is refused now and not found out by a judge. */
function countOut(events: readonly CalendarEvent[], context: CalendarContext, now: Instant): void {
  const year = new Date(now).getUTCFullYear();
  const counts = [0, 0, 0];
  for (const event of events) {
    if (!context.hasTime()) throw new Unreadable(TOO_LONG);
    try {
      const calendar = expandCalendar([event], (name) => zoneNamed(name, context), { isStrict: true });
      for (const i of counts.keys()) counts[i] = (counts[i] ?? 0) + calendar.beginningIn(year - 1 + i).length;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Unreadable(`event ${JSON.stringify(event.summary)}: its recurrence rule cannot be followed: ${why}`);
    }
    if (Math.max(...counts) > MOST_A_YEAR) throw new Unreadable(`has more than ${MOST_A_YEAR} events in a year`);
  }
}
