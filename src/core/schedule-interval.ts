import type { ScheduleSpec } from './schedule.ts';
import type { Expansion, ParsedSpec, ScheduleKind, ScheduleProblem } from './schedule-registry.ts';
import {
  FIRST_INSTANT,
  formatDuration,
  formatInstant,
  type Instant,
  LAST_INSTANT,
  parseDuration,
  parseInstant,
} from './time.ts';
import type { Zone } from './zone.ts';

const DAY = 86_400;
const LONGEST = 366 * DAY;

type IntervalSpec = Extract<ScheduleSpec, { every: unknown }>;

/** Due at anchor + k × every, for any whole k: elapsed time from a fixed instant, so clock changes do not matter. */
export const interval: ScheduleKind = {
  fields: ['every', 'anchor'],
  parse(input) {
    const problems: ScheduleProblem[] = [];
    const every = parseDuration(input['every']);
    if (!every.ok) problems.push({ field: 'every', message: every.reason });
    else if (every.value < 1 || every.value > LONGEST) problems.push({ field: 'every', message: 'must be 1s to 366d' });
    const anchor = parseAnchor(input['anchor']);
    if (typeof anchor === 'string') problems.push({ field: 'anchor', message: anchor });
    if (!every.ok || typeof anchor === 'string' || problems.length > 0) return { ok: false, problems };
    return { ok: true, value: { every: every.value, anchor } } satisfies ParsedSpec;
  },
  expand(spec, zone) {
    return expandInterval(checked(spec), zone);
  },
  describe(spec) {
    const { every, anchor } = checked(spec);
    return `every ${formatDuration(every)}${anchor === 0 ? '' : ` from ${formatInstant(anchor)}`}`;
  },
  warnings(spec, zone, now) {
    const { every } = checked(spec);
    if (every % DAY !== 0 || zone.nextTransition(now) === null) return [];
    return [
      `every ${formatDuration(every)} is elapsed time: each clock change in ${zone.name} moves its local time; to keep the local time, use a cron schedule`,
    ];
  },
};

/** The instant, or what is wrong with it. */
function parseAnchor(input: unknown): Instant | string {
  if (input === undefined || input === null) return 0;
  const at = typeof input === 'string' ? parseInstant(input) : null;
  if (!at?.ok) return at?.reason ?? 'write an RFC 3339 instant with its offset, such as 2026-03-08T02:30:00-05:00';
  return at.value % 1000 === 0 ? at.value : 'must be a whole second';
}

function checked(spec: ScheduleSpec): IntervalSpec {
  if ('every' in spec && Number.isInteger(spec.every) && spec.every >= 1 && Number.isFinite(spec.anchor)) return spec;
  throw new Error(
    `not an interval schedule: ${JSON.stringify(spec)}; every must be whole seconds and anchor an instant`,
  );
}

function expandInterval({ every, anchor }: IntervalSpec, zone: Zone): Expansion {
  const step = every * 1000;
  return {
    next(after) {
      const at = anchor + (Math.floor((Math.max(after, FIRST_INSTANT - 1) - anchor) / step) + 1) * step;
      return at > LAST_INSTANT ? null : at;
    },
    previous(before) {
      const at = anchor + (Math.ceil((Math.min(before, LAST_INSTANT + 1) - anchor) / step) - 1) * step;
      return at < FIRST_INSTANT ? null : at;
    },
    nominalsAt: (at) => [zone.localAt(at)],
  };
}
