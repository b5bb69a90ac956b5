import type { Instant, Seconds } from './time.ts';
import type { Zone } from './zone.ts';

export type ScheduleSpec =
  | { readonly cron: string }
  | { readonly every: Seconds; readonly anchor: Instant }
  | { readonly heartbeat: Seconds };
export type Due = { readonly at: Instant; readonly standsFor: number };
export type Timetable = {
  dueIn(after: Instant, until: Instant): Iterable<Due>;
  next(after: Instant): Due | null;
  previous(before: Instant): Due | null;
};
export type FieldError = { readonly path: string; readonly message: string };
export type ParsedSchedules =
  | { readonly ok: true; readonly value: readonly ScheduleSpec[] }
  | { readonly ok: false; readonly errors: readonly FieldError[] };
export declare function parseSchedules(input: unknown, zone: Zone): ParsedSchedules;
export declare function timetable(schedules: readonly ScheduleSpec[], zone: Zone): Timetable;
export declare function describeSchedules(schedules: readonly ScheduleSpec[], zone: Zone): string;
export declare function scheduleWarnings(schedules: readonly ScheduleSpec[], zone: Zone, now: Instant): readonly string[];
