import { type Expansion, type ScheduleKind, type ScheduleProblem, scheduleKinds } from './schedule-registry.ts';
import { formatDuration, type Instant, parseDuration, type Seconds } from './time.ts';
import type { Zone } from './zone.ts';

/** A schedule as stored. `anchor` is a whole second; durations are whole seconds. */
export type ScheduleSpec =
  | { readonly cron: string }
  | { readonly every: Seconds; readonly anchor: Instant }
  | { readonly heartbeat: Seconds };

/** One due instant; `standsFor`: how many local times land on it (more than one only where the clocks jump forward). */
export type Due = { readonly at: Instant; readonly standsFor: number };

/** The due instants of a job: the union of its schedules, each instant once. Instants lie in the years 1970 to 9999. */
export type Timetable = {
  /** All due instants in (after, until], ascending, found one by one as they are taken. */
  dueIn(after: Instant, until: Instant): Iterable<Due>;
  /** The first strictly after; null when there is none in the next 400 years (the calendar repeats then). */
  next(after: Instant): Due | null;
  /** The last strictly before; null when there is none since 1970. */
  previous(before: Instant): Due | null;
};

/** What is wrong, and where in the JSON: `schedules[0].cron`. */
export type FieldError = { readonly path: string; readonly message: string };
export type ParsedSchedules =
  | { readonly ok: true; readonly value: readonly ScheduleSpec[] }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

const MOST_SCHEDULES = 20;
const LONGEST_HEARTBEAT = 366 * 86_400;
const FORMS = 'write {"cron": "30 2 * * *"}, {"every": "2h", "anchor": "2026-01-01T00:00:00Z"} or {"heartbeat": "1d"}';

/**
 * Reads the `schedules` of the API: a list of 1 to 20 `{cron}` and `{every, anchor?}`, or one `{heartbeat}` alone. Unknown
 * fields are refused, and so is a cron expression that is never due in this zone. All problems are reported at once.
 */
export function parseSchedules(input: unknown, zone: Zone): ParsedSchedules {
  const whole = (message: string): ParsedSchedules => ({ ok: false, errors: [{ path: 'schedules', message }] });
  if (!Array.isArray(input)) return whole(`must be a list: [${FORMS.replace('write ', '')}]`);
  if (input.length === 0) return whole(`at least one schedule is required: ${FORMS}`);
  if (input.length > MOST_SCHEDULES) return whole(`at most ${MOST_SCHEDULES} schedules are allowed`);
  const errors: FieldError[] = [];
  const value: ScheduleSpec[] = [];
  for (const [i, one] of input.entries()) {
    const spec = parseOne(one, zone);
    if ('problems' in spec) {
      for (const { field, message } of spec.problems) {
        errors.push({ path: `schedules[${i}]${field === '' ? '' : `.${field}`}`, message });
      }
    } else value.push(spec);
  }
  if (errors.length > 0) return { ok: false, errors };
  if (value.length > 1 && value.some((spec) => 'heartbeat' in spec))
    return whole('a heartbeat stands alone in its job');
  return { ok: true, value };
}

function parseOne(input: unknown, zone: Zone): ScheduleSpec | { readonly problems: readonly ScheduleProblem[] } {
  const problem = (message: string, field = '') => ({ problems: [{ field, message }] });
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return problem(`must be an object: ${FORMS}`);
  const fields = input as Readonly<Record<string, unknown>>;
  const names = Object.keys(fields);
  const kinds = ['heartbeat', ...Object.keys(scheduleKinds)].filter((name) => names.includes(name));
  const [name] = kinds;
  if (name === undefined || kinds.length > 1)
    return problem(`needs exactly one of cron, every and heartbeat: ${FORMS}`);
  const kind = scheduleKinds[name];
  const allowed = kind?.fields ?? ['heartbeat'];
  const unknown = names.find((field) => !allowed.includes(field));
  if (unknown !== undefined) return problem(`unknown field: beside ${name} ${allowedWords(allowed)}`, unknown);
  if (!kind) return parseHeartbeat(fields['heartbeat']);
  const spec = kind.parse(fields, zone);
  return spec.ok ? spec.value : spec;
}

function allowedWords(allowed: readonly string[]): string {
  return allowed.length > 1 ? `only ${allowed.slice(1).join(', ')} may stand` : 'nothing may stand';
}

function parseHeartbeat(input: unknown): ScheduleSpec | { readonly problems: readonly ScheduleProblem[] } {
  const period = parseDuration(input);
  if (!period.ok) return { problems: [{ field: 'heartbeat', message: period.reason }] };
  if (period.value >= 1 && period.value <= LONGEST_HEARTBEAT) return { heartbeat: period.value };
  return { problems: [{ field: 'heartbeat', message: 'must be 1s to 366d' }] };
}

/** The kind of a stored spec. Throws for a heartbeat, whose occurrences depend on its runs, and for nonsense. */
function kindOf(spec: ScheduleSpec): ScheduleKind {
  const found = Object.entries(scheduleKinds).find(([name]) => name in spec)?.[1];
  if (found) return found;
  if ('heartbeat' in spec) throw new Error('a heartbeat has no timetable: its next occurrence depends on its last run');
  throw new Error(`not a schedule: ${JSON.stringify(spec)}`);
}

/** Compiles schedules for expansion in a zone. Throws when a stored spec makes no sense or is a heartbeat. */
export function timetable(schedules: readonly ScheduleSpec[], zone: Zone): Timetable {
  if (schedules.length === 0) throw new Error('a job needs at least one schedule');
  const sources = schedules.map((spec) => kindOf(spec).expand(spec, zone));
  const [only] = sources;
  const union = only && sources.length === 1 ? only : unionOf(sources);
  const due = (at: Instant | null): Due | null => (at === null ? null : { at, standsFor: standsFor(at, union, zone) });
  return {
    *dueIn(after, until) {
      let at = union.next(checkedInstant(after));
      while (at !== null && at <= until) {
        yield { at, standsFor: standsFor(at, union, zone) };
        at = union.next(at);
      }
    },
    next: (after) => due(union.next(checkedInstant(after))),
    previous: (before) => due(union.previous(checkedInstant(before))),
  };
}

function checkedInstant(at: Instant): Instant {
  if (Number.isNaN(at)) throw new Error('not an instant: NaN');
  return at;
}

function standsFor(at: Instant, union: Expansion, zone: Zone): number {
  const change = zone.transitionAt(at);
  return change === null || change.after < change.before ? 1 : new Set(union.nominalsAt(at)).size;
}

function unionOf(sources: readonly Expansion[]): Expansion {
  // The next instant of each source as of `asked`: steps forward ask only the sources that were due.
  let asked = Number.NaN;
  let heads: (Instant | null)[] = [];
  return {
    next(after) {
      heads = sources.map((source, i) => {
        const head = heads[i];
        const stillAhead = head !== undefined && after >= asked && (head === null || head > after);
        return stillAhead ? head : source.next(after);
      });
      asked = after;
      return heads.reduce<Instant | null>(
        (least, head) => (least === null || (head !== null && head < least) ? head : least),
        null,
      );
    },
    previous(before) {
      const last = sources.map((source) => source.previous(before));
      return last.reduce<Instant | null>((most, at) => (most === null || (at !== null && at > most) ? at : most), null);
    },
    nominalsAt: (at) =>
      sources.filter((source) => source.previous(at + 1) === at).flatMap((source) => [...source.nominalsAt(at)]),
  };
}

/** A few words for messages, such as `30 2 * * * (Europe/Berlin)` or `heartbeat 1d`. */
export function describeSchedules(schedules: readonly ScheduleSpec[], zone: Zone): string {
  const words = schedules.map((spec) =>
    'heartbeat' in spec ? `heartbeat ${formatDuration(spec.heartbeat)}` : kindOf(spec).describe(spec),
  );
  const isLocal = schedules.some((spec) => 'cron' in spec);
  return words.join(' and ') + (isLocal ? ` (${zone.name})` : '');
}

/**
 * What may surprise the owner of these schedules, in sentences, without repeats: ambiguous days, odd gaps, what other
 * crons read differently, and the next clock change that touches them. The minute shared with other jobs is not here.
 */
export function scheduleWarnings(schedules: readonly ScheduleSpec[], zone: Zone, now: Instant): readonly string[] {
  const warned = schedules.flatMap((spec) => ('heartbeat' in spec ? [] : kindOf(spec).warnings(spec, zone, now)));
  return [...new Set(warned)];
}
