import { heartbeatPeriod } from '../../core/definition.ts';
import { formatKey } from '../../core/key.ts';
import { type Timetable, timetable } from '../../core/schedule.ts';
import { statusOf } from '../../core/status.ts';
import { formatInstant, type Instant, refused } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import type { JobReading, KeyParts, MinuteUse } from '../../store/jobs.ts';
import { orUtc, type ZoneOfVersion } from '../../store/version-zones.ts';
import type { TableName } from '../../store/zone-tables.ts';
import { definitionJson } from './definition.ts';
import { jobWarnings } from './warnings.ts';

/** What the JSON of jobs is made with, beside the jobs themselves. */
export type JobJsonContext = {
  /** For the tables of these jobs (`tablesOf`). */
  readonly zoneOf: ZoneOfVersion;
  readonly publicUrl: string;
  /** Whether whoever asks may ping the job. */
  readonly showsPingUrl: boolean;
  readonly minuteUse: readonly MinuteUse[];
  readonly channels: ReadonlySet<string>;
  readonly now: Instant;
};

/** The zone tables that the JSON of a job is written by. */
export function tablesOf({ newestVersion, lastCompleted, newestOpen }: JobReading): readonly TableName[] {
  return [newestVersion, lastCompleted, newestOpen].filter((one) => one !== null);
}

/** A job as the API answers with it. */
export function jobJson(job: JobReading, { zoneOf, publicUrl, showsPingUrl, ...context }: JobJsonContext) {
  const zone = job.newestVersion ? zoneOf(job.newestVersion) : refused('it has no schedule');
  const instants = zone.ok ? timetableOrNull(job, zone.value) : null;
  const keyOf = (parts: KeyParts): string => formatKey(parts.scheduledFor, orUtc(zoneOf(parts)));
  const paused = job.pausedAt !== null;
  const next = nextDue(job, instants, context.now);
  return {
    slug: job.slug,
    ...definitionJson(job.definition),
    uuid: showsPingUrl ? job.uuid : null,
    ping_url: showsPingUrl ? `${publicUrl}/ping/${job.uuid}` : null,
    status: statusOf({ ...job, paused, blocked: job.blockedOn.length > 0 }),
    blocked_on: job.blockedOn.map(({ job: slug, due }) => ({ job: slug, scheduled_for: formatInstant(due) })),
    paused,
    unreviewed: job.unreviewed,
    warnings: jobWarnings(job, { zone: orUtc(zone), timetable: instants, ...context }),
    next_due: next === null ? null : { key: keyOf(next), scheduled_for: formatInstant(next.scheduledFor) },
    last_completed: job.lastCompleted === null ? null : keyOf(job.lastCompleted),
    created_at: formatInstant(job.createdAt),
  };
}

/** None for a heartbeat, or for a stored schedule that no longer makes sense, which has its own incident. */
function timetableOrNull({ definition }: JobReading, zone: Zone): Timetable | null {
  try {
    return timetable(definition.schedules, zone);
  } catch {
    return null;
  }
}

/** The first due instant after now; of a heartbeat the open occurrence, which may be past. */
function nextDue(job: JobReading, instants: Timetable | null, now: Instant): KeyParts | null {
  const { newestVersion } = job;
  if (job.pausedAt !== null || newestVersion === null) return null;
  if (instants !== null) {
    const due = instants.next(now);
    return due && { scheduledFor: due.at, ...newestVersion };
  }
  if (heartbeatPeriod(job.definition.schedules) === null) return null;
  if (job.newestOpen !== null) return job.newestOpen;
  return job.nextUnrecorded === null ? null : { scheduledFor: job.nextUnrecorded, ...newestVersion };
}
