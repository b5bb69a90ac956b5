import type { Context } from 'hono';
import { heartbeatPeriod } from '../../../core/definition.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { type OccurrenceReading, type ReadableJob, readableJob, withOwed } from '../../../engine/reading.ts';
import type { Tx } from '../../../store/database.ts';
import { type JobReading, readChannelSlugs, readJobs, readMinuteUse } from '../../../store/jobs.ts';
import { occurrencesAt } from '../../../store/reading.ts';
import { createVersionZones, orUtc } from '../../../store/version-zones.ts';
import type { MaintenanceNow } from '../../../store/withholding.ts';
import { caughtUpJob } from '../../api/bring-to-now.ts';
import { jobJson, tablesOf } from '../../api/job-json.ts';
import type { PageDeps } from '../deps.ts';
import { type Membership, mayAs, type PageEnv } from '../viewer.ts';

/** A job as every one of its pages shows it. */
export type LoadedJob = {
  readonly stored: JobReading;
  /** As the API answers with it. */
  readonly json: ReturnType<typeof jobJson>;
  readonly readable: ReadableJob;
  /** The zone it is scheduled in now. */
  readonly zone: Zone;
  readonly maintenance: MaintenanceNow | null;
  /** The newest completed occurrence. */
  readonly lastDone: OccurrenceReading | null;
  readonly now: Instant;
};

/** Its occurrences are done, as a rule, before they are due. */
export const isHeartbeat = ({ stored }: LoadedJob): boolean => heartbeatPeriod(stored.definition.schedules) !== null;

/**
 * Brings the job of this page to now, and reads it and what else the page needs in one transaction; null: there is no such
 * job. The number of statements does not depend on how long its history is.
 */
export async function loadJob<T>(
  deps: PageDeps,
  c: Context<PageEnv>,
  read: (tx: Tx, job: LoadedJob) => Promise<T>,
): Promise<(T & { readonly job: LoadedJob }) | null> {
  const { project, viewer } = c.var;
  const slug = c.req.param('slug') ?? '';
  const id = await caughtUpJob(deps, { projectId: project.id, actor: viewer.email }, slug);
  if (id === null) return null;
  return deps.database.transaction(async (tx) => {
    const job = await readLoaded(deps, tx, project, id);
    return job && { ...(await read(tx, job)), job };
  });
}

async function readLoaded(
  { zones, publicUrl, readMaintenance }: PageDeps,
  tx: Tx,
  { id: projectId, role }: Membership,
  id: number,
): Promise<LoadedJob | null> {
  const showsPingUrl = mayAs(role, 'editor');
  const [stored] = await readJobs(tx, [id]);
  if (!stored) return null;
  const minuteUse = await readMinuteUse(tx, projectId);
  const channels = await readChannelSlugs(tx, projectId);
  const zoneOf = await createVersionZones(zones).read(tx, tablesOf(stored));
  const readable = await readableJob(tx, stored, zones);
  const held = await readMaintenance?.(tx, [id]);
  const done = stored.lastCompleted ? await occurrencesAt(tx, id, [stored.lastCompleted.scheduledFor]) : [];
  const [lastDone = null] = await withOwed(tx, readable, done, zones);
  return {
    stored,
    json: jobJson(stored, { zoneOf, publicUrl, showsPingUrl, minuteUse, channels, now: tx.now }),
    readable,
    zone: stored.newestVersion ? orUtc(zoneOf(stored.newestVersion)) : orUtc(zones.get(stored.definition.zone)),
    maintenance: held?.get(id) ?? null,
    lastDone,
    now: tx.now,
  };
}
