import { randomUUID } from 'node:crypto';
import { heartbeatPeriod, type JobDefinition } from '../core/definition.ts';
import { graceMs } from '../core/occurrence.ts';
import { floorToSecond, type Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import * as writing from '../store/job-writing.ts';
import type { Zones } from '../zones.ts';
import { compileSchedules } from './working-set.ts';

/** What `create=1` makes: Healthchecks' defaults, one day and one hour of grace, every channel of the project. */
export function pingedDefinition(slug: string): JobDefinition {
  return {
    name: slug,
    description: '',
    tags: [],
    zone: 'UTC',
    schedules: [{ heartbeat: 86_400 }],
    missedRuns: null,
    missedRunsReason: '',
    early: null,
    startWithin: null,
    grace: 3600,
    usefulFor: null,
    maxRuntime: null,
    maxCatchUp: null,
    throttle: null,
    overlap: 'forbid',
    alertAfter: {},
    after: [],
    duplicates: 'alert',
    unscheduled: 'record',
    channels: null,
  };
}

/** Makes the job of this slug with its first version and cursor, unless there is one. Two at once make one. */
export async function insertJob(
  tx: Tx,
  { zones }: { readonly zones: Zones },
  projectId: number,
  slug: string,
  definition: JobDefinition,
  unreviewed: boolean,
): Promise<{ readonly id: number; readonly created: boolean }> {
  const job = await writing.insertJob(tx, { projectId, uuid: randomUUID(), slug, definition, unreviewed });
  if (!job.created) return job;
  await writing.insertVersion(tx, job.id, 1, { definition, zones });
  const nextUnrecorded = firstInstant(definition, zones, tx.now);
  const first = definition.startWithin === null ? graceMs(definition) : definition.startWithin * 1000;
  const nextCheckAt = nextUnrecorded === null ? null : nextUnrecorded + Math.min(first, graceMs(definition));
  await writing.insertCursor(tx, job.id, { nextUnrecorded, nextCheckAt });
  return job;
}

/** The first instant of a definition after `now`; null: none. */
export function firstInstant(definition: JobDefinition, zones: Zones, now: Instant): Instant | null {
  const period = heartbeatPeriod(definition.schedules);
  if (period !== null) return floorToSecond(now) + period * 1000;
  return compileSchedules(definition.schedules, definition.zone, zones).timetable?.next(now)?.at ?? null;
}
