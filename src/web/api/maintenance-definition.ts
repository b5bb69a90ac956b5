import {
  type MaintenanceDefinition,
  WEEKDAYS,
  type Weekday,
  type WeeklyStart,
  type When,
} from '../../core/maintenance.ts';
import { type FieldError, parseSchedules } from '../../core/schedule.ts';
import {
  formatDuration,
  formatInstant,
  type Instant,
  LAST_INSTANT,
  parseDuration,
  parseInstant,
  type Seconds,
} from '../../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../../core/zone.ts';
import type { Zones } from '../../zones.ts';
import { LIMITS } from './definition.ts';
import {
  durationField,
  type Fields,
  listField,
  nullableValue,
  readFields,
  refuseField,
  textField,
  textFlaw,
} from './fields.ts';

/** What a window may refer to. */
export type WindowContext = {
  readonly zones: Zones;
  /** Slugs of the project's jobs. */
  readonly jobs: ReadonlySet<string>;
  readonly now: Instant;
};

/** A window as sent. A one-off may leave its beginning open, a calendar is not read yet. */
export type SentWhen =
  | {
      readonly kind: 'once';
      readonly from: Instant | null;
      readonly until: Instant | null;
      readonly duration: Seconds | null;
    }
  | Exclude<When, { readonly kind: 'once' | 'calendar' }>
  | {
      readonly kind: 'calendar';
      readonly zone: string;
      readonly source: { readonly ics: string } | { readonly url: string };
    };
type SentWindow = Omit<MaintenanceDefinition, 'when'> & { readonly when: SentWhen };

export type ParsedWindow =
  | { readonly ok: true; readonly value: SentWindow }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

export const WINDOW_LIMITS = { jobs: 1000, tags: 100, weekly: 50 } as const;
/** A window longer than this is a pause. */
export const LONGEST_WINDOW: Seconds = 366 * 86_400;
const LONGEST_REPEATED: Seconds = 31 * 86_400;

/** The fields that say when, of each kind; the first one names it. */
const KINDS = {
  weekly: ['weekly', 'zone'],
  cron: ['cron', 'zone', 'duration'],
  ics: ['ics', 'zone'],
  ics_url: ['ics_url', 'zone'],
  once: ['from', 'until', 'duration'],
} as const;
type Kind = keyof typeof KINDS;
const WHEN_FIELDS = ['from', 'until', 'duration', 'weekly', 'cron', 'ics', 'ics_url', 'zone'] as const;
const FIELDS = ['name', 'reason', 'jobs', 'tags', ...WHEN_FIELDS];
const FORMS =
  'write from and until (or duration), or one of weekly with zone, cron with zone and duration, ics with zone, ics_url with zone';

/** Reads the body of PUT /maintenance/{slug}: the window, or everything that is wrong with it. */
export function parseWindow(
  slug: string,
  input: Readonly<Record<string, unknown>>,
  context: WindowContext,
): ParsedWindow {
  const fields = readFields(input, FIELDS);
  const when = whenFields(fields, context);
  const value = {
    name: textField(fields, 'name', { max: LIMITS.name, fallback: slug, blank: false }),
    reason: textField(fields, 'reason', { max: LIMITS.reason, fallback: '', lines: true }),
    jobs: namesField(fields, 'jobs', WINDOW_LIMITS.jobs, (job) =>
      context.jobs.has(job) ? null : 'no such job in this project: GET /api/v1/jobs lists them',
    ),
    tags: namesField(fields, 'tags', WINDOW_LIMITS.tags, (tag) => textFlaw(tag, LIMITS.tag)),
  };
  if (when === null || fields.errors.length > 0) return { ok: false, errors: fields.errors };
  return { ok: true, value: { ...value, when } };
}

/** null, as GET shows it, counts as left out; an empty list would be a window about nothing. */
function namesField(fields: Fields, name: 'jobs' | 'tags', most: number, item: (value: string) => string | null) {
  const value = nullableValue(fields, name);
  if (value === undefined) return null;
  if (Array.isArray(value) && value.length === 0) {
    refuseField(fields, name, `must name at least one: leave out jobs and tags for all jobs of the project`);
  }
  return listField(fields, name, { most, item, what: name });
}

function whenFields(fields: Fields, { zones, now }: WindowContext): SentWhen | null {
  const given = WHEN_FIELDS.filter((name) => nullableValue(fields, name) !== undefined);
  const named = (['weekly', 'cron', 'ics', 'ics_url'] as const).filter((kind) => given.includes(kind));
  const isOnce = named.length === 0 && given.some((name) => (KINDS.once as readonly string[]).includes(name));
  const [kind = isOnce ? ('once' as const) : null] = named;
  if (kind === null || named.length > 1) {
    refuseField(fields, named[1] ?? 'from', kind === null ? `says not when: ${FORMS}` : `not beside ${kind}: ${FORMS}`);
    return null;
  }
  for (const name of given) {
    if ((KINDS[kind] as readonly string[]).includes(name)) continue;
    refuseField(fields, name, `not with ${kind === 'once' ? 'a window that happens once' : kind}: leave it out`);
  }
  return kind === 'once' ? onceFields(fields, now) : repeatedFields(fields, kind, zoneField(fields, zones));
}

function repeatedFields(
  fields: Fields,
  kind: Exclude<Kind, 'once'>,
  { name: zone, zone: table }: { readonly name: string; readonly zone: Zone },
): SentWhen | null {
  if (kind === 'weekly') return { kind, zone, weekly: weeklyField(fields) };
  if (kind === 'cron') return { kind, zone, cron: cronField(fields, table), duration: lengthField(fields) };
  const text = nullableValue(fields, kind);
  if (typeof text === 'string') {
    return { kind: 'calendar', zone, source: kind === 'ics' ? { ics: text } : { url: text } };
  }
  refuseField(fields, kind, kind === 'ics' ? 'must be the text of an .ics file' : 'must be an https URL');
  return null;
}

/** The zone, or UTC in its place, so that what is beside a wrong zone is looked at too. */
function zoneField(fields: Fields, zones: Zones): { readonly name: string; readonly zone: Zone } {
  const value = nullableValue(fields, 'zone');
  const zone = typeof value === 'string' ? zones.get(value) : null;
  if (zone?.ok && typeof value === 'string') return { name: value, zone: zone.value };
  const hint = 'write a name such as Europe/Berlin, or UTC';
  refuseField(fields, 'zone', zone && !zone.ok ? zone.reason : `zone is required: ${hint}`);
  return { name: 'UTC', zone: zoneOf(UTC_TABLE) };
}

function onceFields(fields: Fields, now: Instant): SentWhen {
  const [from, until] = [instantField(fields, 'from'), instantField(fields, 'until')];
  const duration = durationField(fields, 'duration');
  const isBoth = [until, duration].every((one) => one !== null);
  const isNeither = ['until', 'duration'].every((name) => nullableValue(fields, name) === undefined);
  if (isBoth || isNeither) refuseField(fields, 'until', 'write until or duration, one of them: a window has an end');
  const end = until ?? (from ?? now) + (duration ?? 0) * 1000;
  if (until !== null && end <= (from ?? now))
    refuseField(fields, 'until', `must be later than ${from === null ? 'now' : 'from'}`);
  if (end - (from ?? now) > LONGEST_WINDOW * 1000)
    refuseField(fields, 'until', 'must be at most 366d after from: pause the jobs');
  if (end > LAST_INSTANT) refuseField(fields, 'duration', 'must end in the years 1970 to 9999');
  return { kind: 'once', from, until, duration };
}

function instantField(fields: Fields, name: 'from' | 'until'): Instant | null {
  const value = nullableValue(fields, name);
  if (value === undefined) return null;
  const at = parseInstant(typeof value === 'string' ? value : '');
  if (at.ok) return at.value;
  refuseField(fields, name, at.reason);
  return null;
}

function cronField(fields: Fields, zone: Zone): string {
  const parsed = parseSchedules([{ cron: nullableValue(fields, 'cron') }], zone);
  const [spec] = parsed.ok ? parsed.value : [];
  if (spec && 'cron' in spec) return spec.cron;
  if (!parsed.ok) for (const { message } of parsed.errors) refuseField(fields, 'cron', message);
  return '';
}

function lengthField(fields: Fields): Seconds {
  const duration = durationField(fields, 'duration');
  if (nullableValue(fields, 'duration') === undefined) {
    refuseField(fields, 'duration', 'duration is required with cron: how long the window lasts, such as "2h"');
  }
  if (duration !== null && duration > LONGEST_REPEATED) refuseField(fields, 'duration', 'must be at most 31d');
  return duration ?? 0;
}

function weeklyField(fields: Fields): readonly WeeklyStart[] {
  const value = nullableValue(fields, 'weekly');
  const form = '[{"days": ["sat", "sun"], "start": "22:00", "duration": "4h"}]';
  if (!Array.isArray(value) || value.length === 0 || value.length > WINDOW_LIMITS.weekly) {
    refuseField(fields, 'weekly', `must be a list of 1 to ${WINDOW_LIMITS.weekly}, such as ${form}`);
    return [];
  }
  return value.flatMap((entry: unknown, i) => weeklyStart(fields, `weekly[${i}]`, entry));
}

function weeklyStart(fields: Fields, path: string, entry: unknown): readonly WeeklyStart[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    refuseField(fields, path, 'must be an object with days, start and duration');
    return [];
  }
  const own = readFields({ ...entry }, ['days', 'start', 'duration']);
  const days = daysOf(own);
  const start = nullableValue(own, 'start');
  const isTime = typeof start === 'string' && /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(start);
  if (!isTime) refuseField(own, 'start', 'must be a local time, such as "22:00"');
  const duration = parseDuration(nullableValue(own, 'duration') ?? '');
  if (!duration.ok) refuseField(own, 'duration', duration.reason);
  else if (duration.value < 1 || duration.value > LONGEST_REPEATED) refuseField(own, 'duration', 'must be 1s to 31d');
  for (const { path: name, message } of own.errors) refuseField(fields, `${path}.${name}`, message);
  return isTime && duration.ok ? [{ days, start, duration: duration.value }] : [];
}

const SHOWN_DAYS: readonly Weekday[] = [...WEEKDAYS.slice(1), 'sun'];

function daysOf(own: Fields): readonly Weekday[] {
  const item = (day: string): string | null =>
    WEEKDAYS.some((known) => known === day) ? null : `must be one of ${SHOWN_DAYS.join(', ')}`;
  const days = listField(own, 'days', { most: 7, item, what: 'days' }) ?? [];
  if (days.length === 0 && own.errors.length === 0)
    refuseField(own, 'days', 'must name at least one day, such as "sat"');
  return SHOWN_DAYS.filter((day) => days.includes(day));
}

/** A definition as GET shows it; PUT takes it back. */
export function windowJson({ name, reason, jobs, tags, when }: MaintenanceDefinition) {
  return { name, reason, jobs, tags, ...NEVER, ...whenJson(when) };
}

const NEVER = { from: null, until: null, duration: null, weekly: null, cron: null, ics_url: null, zone: null };

function whenJson(when: When) {
  switch (when.kind) {
    case 'once':
      return { from: formatInstant(when.from), until: formatInstant(when.until) };
    case 'weekly':
      return {
        zone: when.zone,
        weekly: when.weekly.map(({ days, start, duration }) => ({ days, start, duration: formatDuration(duration) })),
      };
    case 'cron':
      return { zone: when.zone, cron: when.cron, duration: formatDuration(when.duration) };
    case 'calendar':
      return { zone: when.zone, ics_url: when.url };
    default:
      return when satisfies never;
  }
}
