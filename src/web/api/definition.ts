import {
  type JobDefinition,
  type MissedRuns,
  type Overlap,
  type Threshold,
  type ThresholdKind,
  thresholdKinds,
} from '../../core/definition.ts';
import { type FieldError, parseSchedules, type ScheduleSpec } from '../../core/schedule.ts';
import { formatDuration, formatInstant, type Seconds } from '../../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../../core/zone.ts';
import type { Zones } from '../../zones.ts';
import {
  countField,
  durationField,
  type Fields,
  fieldValue,
  listField,
  nullableValue,
  readFields,
  refuseField,
  textField,
  textFlaw,
  wordField,
} from './fields.ts';

/** What a definition may refer to. */
export type DefinitionContext = {
  readonly zones: Zones;
  /** Slugs of the project's channels. */
  readonly channels: ReadonlySet<string>;
  /** Slugs of the project's jobs. */
  readonly jobs: ReadonlySet<string>;
};

export type ParsedDefinition =
  | { readonly ok: true; readonly value: JobDefinition }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Limits of the texts in a definition, in characters. */
export const LIMITS = {
  name: 200,
  description: 2000,
  reason: 500,
  tags: 20,
  tag: 50,
  channels: 100,
  after: 20,
  threshold: 100,
} as const;

const MISSED_RUNS: readonly MissedRuns[] = ['catch_up', 'coalesce', 'skip'];
const FIELDS = [
  'name',
  'description',
  'tags',
  'zone',
  'schedules',
  'missed_runs',
  'missed_runs_reason',
  'early',
  'start_within',
  'grace',
  'useful_for',
  'max_runtime',
  'max_catch_up',
  'throttle',
  'overlap',
  'alert_after',
  'after',
  'duplicates',
  'unscheduled',
  'channels',
];
/** What makes no sense for a heartbeat: its one occurrence is due a period after the last run. */
const NOT_WITH_HEARTBEAT = ['missed_runs', 'early', 'useful_for', 'after'];

/** Reads the body of PUT /jobs/{slug}: the definition, or everything that is wrong with it. */
export function parseDefinition(
  slug: string,
  input: Readonly<Record<string, unknown>>,
  { zones, channels, jobs }: DefinitionContext,
): ParsedDefinition {
  const fields = readFields(input, FIELDS);
  const { zone, name: zoneName } = zoneField(fields, zones);
  const schedules = schedulesField(fields, zone);
  const heartbeat = hasHeartbeat(fieldValue(fields, 'schedules'));
  const missedRuns = missedRunsField(fields, heartbeat);
  const definition: JobDefinition = {
    name: textField(fields, 'name', { max: LIMITS.name, fallback: slug, blank: false }),
    description: textField(fields, 'description', { max: LIMITS.description, fallback: '', lines: true }),
    tags: tagsField(fields),
    zone: zoneName,
    schedules,
    missedRuns,
    missedRunsReason: textField(fields, 'missed_runs_reason', { max: LIMITS.reason, fallback: '', lines: true }),
    ...tolerances(fields),
    maxCatchUp: countField(fields, 'max_catch_up', { least: 0, most: 10_000 }),
    throttle: durationField(fields, 'throttle', { zero: true }),
    overlap: overlapField(fields, missedRuns),
    duplicates: wordField(fields, 'duplicates', ['alert', 'record'], 'alert'),
    unscheduled: wordField(fields, 'unscheduled', ['record', 'alert'], 'record'),
    alertAfter: alertAfterField(fields),
    after: afterField(fields, slug, jobs),
    channels: channelsField(fields, channels),
  };
  if (heartbeat) refuseWithHeartbeat(fields);
  return fields.errors.length === 0 ? { ok: true, value: definition } : { ok: false, errors: fields.errors };
}

/** A definition as GET shows it: durations in short form, null where the default applies. PUT takes it back. */
export function definitionJson(definition: JobDefinition) {
  const short = (seconds: Seconds | null): string | null => (seconds === null ? null : formatDuration(seconds));
  return {
    name: definition.name,
    description: definition.description,
    tags: definition.tags,
    zone: definition.zone,
    schedules: definition.schedules.map(scheduleJson),
    missed_runs: definition.missedRuns,
    missed_runs_reason: definition.missedRunsReason,
    early: short(definition.early),
    start_within: short(definition.startWithin),
    grace: short(definition.grace),
    useful_for: short(definition.usefulFor),
    max_runtime: short(definition.maxRuntime),
    max_catch_up: definition.maxCatchUp,
    throttle: short(definition.throttle),
    overlap: definition.overlap,
    duplicates: definition.duplicates,
    unscheduled: definition.unscheduled,
    alert_after: definition.alertAfter,
    after: definition.after,
    channels: definition.channels,
  };
}

function scheduleJson(schedule: ScheduleSpec) {
  if ('cron' in schedule) return { cron: schedule.cron };
  if ('heartbeat' in schedule) return { heartbeat: formatDuration(schedule.heartbeat) };
  return { every: formatDuration(schedule.every), anchor: formatInstant(schedule.anchor) };
}

/** The zone, or UTC in its place, so that the schedules beside a wrong zone are looked at too. */
function zoneField(fields: Fields, zones: Zones): { readonly name: string; readonly zone: Zone } {
  const value = fieldValue(fields, 'zone');
  if (value === undefined || value === null) {
    refuseField(fields, 'zone', 'zone is required: write a name such as Europe/Berlin, or UTC');
  } else if (typeof value !== 'string') {
    refuseField(fields, 'zone', 'zone must be text: write a name such as Europe/Berlin, or UTC');
  } else {
    const zone = zones.get(value);
    if (zone.ok) return { name: value, zone: zone.value };
    refuseField(fields, 'zone', zone.reason);
  }
  return { name: 'UTC', zone: zoneOf(UTC_TABLE) };
}

function schedulesField(fields: Fields, zone: Zone): readonly ScheduleSpec[] {
  const value = fieldValue(fields, 'schedules');
  if (value === undefined || value === null) {
    refuseField(fields, 'schedules', 'schedules is required: write a list such as [{"cron": "0 2 * * *"}]');
    return [];
  }
  const schedules = parseSchedules(value, zone);
  if (schedules.ok) return schedules.value;
  fields.errors.push(...schedules.errors);
  return [];
}

/** Asked of the input, because a heartbeat with a wrong period still is one. */
function hasHeartbeat(schedules: unknown): boolean {
  return (
    Array.isArray(schedules) &&
    schedules.some((entry) => typeof entry === 'object' && entry !== null && Object.hasOwn(entry, 'heartbeat'))
  );
}

function missedRunsField(fields: Fields, heartbeat: boolean): MissedRuns | null {
  const value = nullableValue(fields, 'missed_runs');
  // With a value it is refused below, together with what else a heartbeat does not take.
  if (heartbeat) return null;
  const policy = MISSED_RUNS.find((known) => known === value);
  if (policy !== undefined) return policy;
  const choice =
    '"catch_up" (each occurrence is work of its own), "coalesce" (one run covers them) or "skip" (a late run is worse than none)';
  const problem =
    value === undefined ? 'missed_runs is required: what happens when nobody ran an occurrence? Write' : 'must be';
  refuseField(fields, 'missed_runs', `${problem} ${choice}`);
  return null;
}

function overlapField(fields: Fields, missedRuns: MissedRuns | null): Overlap {
  const overlap = wordField(fields, 'overlap', ['forbid', 'allow', 'replace'], 'forbid');
  if (overlap === 'replace' && missedRuns === 'catch_up') {
    refuseField(
      fields,
      'overlap',
      'not "replace" with catch_up, where each occurrence is work of its own: use "forbid" or "allow"',
    );
  }
  return overlap;
}

function tagsField(fields: Fields): readonly string[] {
  const item = (tag: string): string | null => (tag.trim() === '' ? 'must not be empty' : textFlaw(tag, LIMITS.tag));
  return listField(fields, 'tags', { most: LIMITS.tags, item, what: 'tags' }) ?? [];
}

function tolerances(fields: Fields) {
  const values = {
    early: durationField(fields, 'early', { zero: true }),
    startWithin: durationField(fields, 'start_within'),
    grace: durationField(fields, 'grace', { zero: true }),
    usefulFor: durationField(fields, 'useful_for'),
    maxRuntime: durationField(fields, 'max_runtime'),
  };
  if (values.usefulFor !== null && values.grace !== null && values.usefulFor < values.grace) {
    refuseField(fields, 'useful_for', 'must not be shorter than grace: lengthen useful_for, or shorten grace');
  }
  return values;
}

/** null, as GET shows it, means every channel of the project, as leaving it out does. */
function channelsField(fields: Fields, known: ReadonlySet<string>): readonly string[] | null {
  if (nullableValue(fields, 'channels') === undefined) return null;
  const item = (slug: string): string | null =>
    known.has(slug) ? null : 'no such channel in this project: create it first with PUT /api/v1/channels/{slug}';
  return listField(fields, 'channels', { most: LIMITS.channels, item, what: 'channels' });
}

/** Thresholds by kind: {"missing": {"count": 2, "of": 3}}; `of` left out is `count`: so many in a row. */
function alertAfterField(fields: Fields): JobDefinition['alertAfter'] {
  const value = nullableValue(fields, 'alert_after') ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    refuseField(fields, 'alert_after', 'must be an object such as {"missing": {"count": 2, "of": 3}}');
    return {};
  }
  const given = readFields(value as Record<string, unknown>, thresholdKinds);
  const found: Partial<Record<ThresholdKind, Threshold>> = {};
  for (const kind of thresholdKinds) {
    const threshold = thresholdField(fields, `alert_after.${kind}`, fieldValue(given, kind));
    if (threshold) found[kind] = threshold;
  }
  fields.errors.push(...given.errors.map(({ path, message }) => ({ path: `alert_after.${path}`, message })));
  return found;
}

/** null: the default, which tells at once. */
function thresholdField(fields: Fields, path: string, value: unknown): Threshold | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) {
    refuseField(fields, path, 'must be an object such as {"count": 2, "of": 3}');
    return null;
  }
  const given = readFields(value as Record<string, unknown>, ['count', 'of']);
  const count = countField(given, 'count', { least: 1, most: LIMITS.threshold });
  const of = countField(given, 'of', { least: count ?? 1, most: LIMITS.threshold }) ?? count;
  if (count === null && given.errors.length === 0) refuseField(given, 'count', 'is required: how many make a message');
  fields.errors.push(...given.errors.map((error) => ({ path: `${path}.${error.path}`, message: error.message })));
  return count === null || of === null || count === 1 ? null : { count, of };
}

function afterField(fields: Fields, own: string, jobs: ReadonlySet<string>): readonly string[] {
  const item = (slug: string): string | null => {
    if (slug === own) return 'a job cannot wait for itself';
    return jobs.has(slug) ? null : 'no such job in this project: create it first with PUT /api/v1/jobs/{slug}';
  };
  if (nullableValue(fields, 'after') === undefined) return [];
  return listField(fields, 'after', { most: LIMITS.after, item, what: 'jobs' }) ?? [];
}

function refuseWithHeartbeat(fields: Fields): void {
  for (const name of NOT_WITH_HEARTBEAT) {
    const value = nullableValue(fields, name);
    // [] is how GET shows that it waits for nothing.
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    refuseField(
      fields,
      name,
      'not with heartbeat, whose one occurrence is due a period after the last run: leave it out',
    );
  }
}
