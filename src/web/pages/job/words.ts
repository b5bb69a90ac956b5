import cronstrue from 'cronstrue';
import type { JobDefinition } from '../../../core/definition.ts';
import { parseKey } from '../../../core/key.ts';
import type { IncidentKind } from '../../../core/message.ts';
import type { ScheduleSpec } from '../../../core/schedule.ts';
import { formatInstant, type Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { PingReading } from '../../../engine/job-page.ts';
import { spokenDuration } from '../time.tsx';

/** One schedule as people say it: `At 02:30`, `Every 2 h`. An expression that cannot be put into words stands for itself. */
export function scheduleWords(spec: ScheduleSpec): string {
  if ('heartbeat' in spec) return `Within ${spokenDuration(spec.heartbeat)} of the last run`;
  if ('every' in spec) return `Every ${spokenDuration(spec.every)}`;
  try {
    return cronstrue.toString(spec.cron, { use24HourTimeFormat: true });
  } catch {
    return spec.cron;
  }
}

/** The same as it is written. */
export function scheduleText(spec: ScheduleSpec): string {
  if ('cron' in spec) return spec.cron;
  if ('heartbeat' in spec) return `heartbeat ${spokenDuration(spec.heartbeat)}`;
  return `every ${spokenDuration(spec.every)} from ${formatInstant(spec.anchor)}`;
}

/** What the job does about occurrences nobody ran. */
export function policyWords({ missedRuns }: Pick<JobDefinition, 'missedRuns'>): string {
  if (missedRuns === null) return 'Heartbeat: any run will do. One that does not come is overdue until the next ping.';
  return POLICIES[missedRuns];
}

const POLICIES: Readonly<Record<NonNullable<JobDefinition['missedRuns']>, string>> = {
  catch_up: 'Catch up: what nobody ran stays owed, the oldest first, until it is done or no longer useful.',
  coalesce: 'Coalesce: one later run covers all that were missed. At most the newest is owed.',
  skip: 'Skip: a late run is worse than none. What was missed is recorded and never made up for.',
};

/** What is wrong, after the name of the job or the number of an incident. */
export const KIND_WORDS: Readonly<Record<IncidentKind, string>> = {
  not_started: 'has not started',
  missing: 'did not run',
  late: 'has not finished in time',
  overrun: 'is running too long',
  failed: 'failed',
  expired: 'finished too late to be of use',
  duplicate: 'ran more than once',
  unscheduled: 'ran off schedule',
  backlog: 'owes more runs than it may',
  schedule_error: 'has a schedule that cannot be read',
};

const REASONS: Readonly<Record<string, string>> = {
  paused: 'the job was paused',
  maintenance: 'a maintenance window',
  calendar: 'a calendar',
  schedule_changed: 'the schedule was changed',
  operator: 'settled by hand',
  blind_window: 'Rollcall itself could not hear at that time',
};

/** Why an occurrence is in its state. */
export const reasonWords = (reason: string): string => REASONS[reason] ?? reason.replaceAll('_', ' ');

/** `first` or `second` of the two passes of an hour that the clocks of a zone repeat; null: this hour is not repeated. */
export function passOf(at: Instant, zone: Zone): 'first' | 'second' | null {
  const [first, second] = zone.instantsOf(zone.localAt(at));
  if (second === undefined) return null;
  return at === first ? 'first' : 'second';
}

/** How a ping, or the run that completed an occurrence, was matched. */
export const MATCH_WORDS: Readonly<Record<string, string>> = {
  key: 'named by its key',
  rid: 'by its run id',
  running: 'by the run in progress',
  current: 'the current occurrence',
  again: 'another run of an occurrence that was done already',
  off_schedule: 'off schedule: no occurrence was near that still awaited a run, so it counts for none',
  retry: 'a retry of the ping before it: answered like that one, and not counted again',
  deferred:
    'waits: it is stored, and applied in its turn as soon as the job has caught up or the clock is believed again',
};

/** How a ping found its occurrence, or why it found none. */
export function matchWords(ping: PingReading): string {
  return MATCH_WORDS[ping.matchedBy] ?? `unmatched: ${unmatchedReason(ping)}`;
}

/** The reply said it to the sender; here it is read from what was kept, which has no unreadable run id. */
function unmatchedReason({ occ, exitCode }: PingReading): string {
  if (exitCode !== null && exitCode > 255) return `${exitCode} is no exit code: it is above 255`;
  if (occ === null) return 'its run id was no UUID, or its address could not be read';
  const key = parseKey(occ);
  if (!key.ok) return `its key ${occ} cannot be read: ${key.reason}`;
  return `its key ${occ} named no occurrence, or one that had not opened yet`;
}

/** What a ping says happened. */
export function kindWords({ kind, exitCode }: Pick<PingReading, 'kind' | 'exitCode'>): string {
  return exitCode === null ? kind : `${kind}, exit code ${exitCode}`;
}

/** Milliseconds for people: `340 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function spokenMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  const rest = seconds % 60;
  const isShort = seconds >= 60 && seconds < 3600 && rest > 0;
  return isShort ? `${spokenDuration(seconds - rest)} ${rest} s` : spokenDuration(seconds);
}
