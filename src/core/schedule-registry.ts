import type { ScheduleSpec } from './schedule.ts';
import { cron } from './schedule-cron.ts';
import { interval } from './schedule-interval.ts';
import type { Instant } from './time.ts';
import type { LocalTime, Zone } from './zone.ts';

/** The due instants of one schedule, without end. Every answer lies in the years 1970 to 9999, else it is null. */
export type Expansion = {
  /** The first due instant strictly after this one. */
  next(after: Instant): Instant | null;
  /** The last due instant strictly before this one. */
  previous(before: Instant): Instant | null;
  /** The local times that land on a due instant; asked only where the clocks jump forward, elsewhere it is the reading. */
  nominalsAt(at: Instant): readonly LocalTime[];
};

/** One thing wrong with one schedule; `field` is the JSON field, or empty for the whole. */
export type ScheduleProblem = { readonly field: string; readonly message: string };
export type ParsedSpec =
  | { readonly ok: true; readonly value: ScheduleSpec }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] };

/** A kind of schedule: one file, and one line below. */
export type ScheduleKind = {
  /** The JSON fields it reads; the first is its own name. */
  readonly fields: readonly string[];
  /** Checks the JSON of one schedule; unknown fields are refused before. */
  parse(input: Readonly<Record<string, unknown>>, zone: Zone): ParsedSpec;
  /** Throws when the stored spec makes no sense. */
  expand(spec: ScheduleSpec, zone: Zone): Expansion;
  /** A few words, without the zone. */
  describe(spec: ScheduleSpec): string;
  /** What may surprise its owner, most surprising first. */
  warnings(spec: ScheduleSpec, zone: Zone, now: Instant): readonly string[];
};

export const scheduleKinds: Readonly<Record<string, ScheduleKind>> = { cron, every: interval };
