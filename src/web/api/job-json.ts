import { heartbeatPeriod } from '../../core/definition.ts';
import { formatKey } from '../../core/key.ts';
import { type Timetable, timetable } from '../../core/schedule.ts';
import { statusOf } from '../../core/status.ts';
import { formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { type ZoneSource, zoneNamed } from '../../engine/reading.ts';
import type { JobReading, KeyParts, MinuteUse } from '../../store/jobs.ts';
import { definitionJson } from './definition.ts';
import { jobWarnings } from './warnings.ts';

/** What the JSON of jobs is made with, beside the jobs themselves. */
export type JobJsonContext = {
  readonly zones: ZoneSource;
  readonly publicUrl: string;
  readonly minuteUse: readonly MinuteUse[];
  readonly channels: ReadonlySet<string>;
  readonly now: Instant;
};

/** A job as the API answers with it. */
export function jobJson(job: JobReading, { zones, publicUrl, ...context }: JobJsonContext) {
  const zone = zoneNamed(zones, job.definition.zone);
  const instants = timetableOrNull(job, zone);
  const keyOf = (parts: KeyParts): string => formatKey(parts.scheduledFor, zoneNamed(zones, parts.zone));
  const paused = job.pausedAt !== null;
  const next = nextDue(job, instants, context.now);
  return {
    slug: job.slug,
    ...definitionJson(job.definition),
    uuid: job.uuid,
    ping_url: `${publicUrl}/ping/${job.uuid}`,
    status: statusOf({ ...job, paused }),
    paused,
    unreviewed: job.unreviewed,
    warnings: jobWarnings(job, { zone, timetable: instants, ...context }),
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
  if (job.pausedAt !== null) return null;
  const { zone } = job.definition;
  if (instants !== null) {
    const due = instants.next(now);
    return due && { scheduledFor: due.at, zone };
  }
  if (heartbeatPeriod(job.definition.schedules) === null) return null;
  if (job.newestOpen !== null) return job.newestOpen;
  return job.nextUnrecorded === null ? null : { scheduledFor: job.nextUnrecorded, zone };
}
