import { isDeepStrictEqual } from 'node:util';
import { applyDecision, applyPause, applyResume, applySettings, applyVersion } from '../core/change.ts';
import type { JobDefinition } from '../core/definition.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import {
  deleteJob,
  dropBrokenVersions,
  insertVersion,
  markReviewed,
  recordAudit,
  restartCursor,
  setPaused,
  updateDefinition,
} from '../store/job-writing.ts';
import { findJobId } from '../store/jobs.ts';
import { lockJobs } from '../store/locking.ts';
import { findCycle } from '../store/upstream.ts';
import type { Zones } from '../zones.ts';
import { byName, type ChangingDeps, change, whole } from './changing.ts';
import { firstInstant, insertJob } from './job-creation.ts';
import { compileSchedules, type OpenJob, ScheduleError } from './working-set.ts';

/** What a person or a program does to a job; each takes the cursor's lock, advances the job to now, applies itself. */
export type Changes = {
  /** Upsert by slug. The first call creates the uuid; a definition that changes nothing is no edit. */
  putJob(projectId: number, slug: string, definition: JobDefinition, actor: string): Promise<Put>;
  /** false: no such job. */
  deleteJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  pauseJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  resumeJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  /** A person's word on one occurrence; `no_occurrence`: not an instant of this job's ledger. */
  settle(
    projectId: number,
    slug: string,
    scheduledFor: Instant,
    decision: { readonly state: 'skipped' | 'on_time'; readonly note: string },
    actor: string,
  ): Promise<'settled' | 'no_job' | 'no_occurrence'>;
};

/** `cycle`: refused, for the job would wait for itself by way of these. */
type Put = { readonly created: boolean } | { readonly cycle: readonly string[] };

export type ChangesDeps = ChangingDeps & { readonly zones: Zones };

export function createChanges(deps: ChangesDeps): Changes {
  return {
    putJob: (projectId, slug, definition, actor) => putJob(deps, { projectId, slug, actor }, definition),
    async deleteJob(projectId, slug, actor) {
      return deps.database.transaction(async (tx) => {
        const id = await findJobId(tx, projectId, slug);
        // The lock of the cursor first: a ping in flight is either kept and deleted with the job, or finds none.
        if (id === null || (await lockJobs(tx, [id], true)).length === 0) return false;
        await deleteJob(tx, id);
        await recordAudit(tx, { projectId, actor, action: 'job.delete', subject: slug });
        return true;
      });
    },
    pauseJob: (projectId, slug, actor) => setPause(deps, { projectId, slug, actor }, true),
    resumeJob: (projectId, slug, actor) => setPause(deps, { projectId, slug, actor }, false),
    async settle(projectId, slug, scheduledFor, decision, actor) {
      const settled = await change(deps, whole(byName(projectId, slug), [scheduledFor]), async (tx, { ledger }) => {
        if (!applyDecision(ledger, scheduledFor, decision, tx.now)) return 'no_occurrence' as const;
        const subject = `${slug} ${formatInstant(scheduledFor)}`;
        await recordAudit(tx, { projectId, actor, action: 'occurrence.settle', subject, detail: decision });
        return 'settled' as const;
      });
      return settled ?? 'no_job';
    },
  };
}

type Who = { readonly projectId: number; readonly slug: string; readonly actor: string };

async function putJob(deps: ChangesDeps, { projectId, slug, actor }: Who, definition: JobDefinition): Promise<Put> {
  const { after } = definition;
  const made = await deps.database.transaction(async (tx) => {
    const cycle = await findCycle(tx, projectId, { slug, after });
    if (cycle) return { cycle };
    const job = await insertJob(tx, deps, projectId, slug, definition, false);
    if (job.created)
      await recordAudit(tx, { projectId, actor, action: 'job.create', subject: slug, detail: definition });
    return job.created;
  });
  if (made === true) return { created: true };
  if (made) return made;
  const edited = await repaired(deps, { projectId, slug, actor }, definition);
  if (edited) return { created: false };
  const found = await change(deps, whole(byName(projectId, slug)), async (tx, open) => {
    // Again, for another edit may have come in between; from here on no other one can.
    const cycle = await findCycle(tx, projectId, { slug, after });
    if (cycle) return { cycle };
    await edit(tx, deps, open, definition, { projectId, slug, actor });
    return { created: false };
  });
  // Deleted in between: it is made after all.
  return found ?? putJob(deps, { projectId, slug, actor }, definition);
}

async function edit(
  tx: Tx,
  deps: ChangesDeps,
  { job, ledger }: OpenJob,
  definition: JobDefinition,
  { projectId, slug, actor }: Who,
) {
  if (isDeepStrictEqual(job.definition, definition)) {
    await markReviewed(tx, job.id);
    return;
  }
  const { schedules, zone } = job.definition;
  if (!isDeepStrictEqual({ schedules, zone }, { schedules: definition.schedules, zone: definition.zone })) {
    const number = job.version + 1;
    await insertVersion(tx, job.id, number, { definition, zones: deps.zones });
    applyVersion(ledger, { ...compileSchedules(definition.schedules, definition.zone, deps.zones), number }, tx.now);
  }
  applySettings(ledger, definition, tx.now);
  await updateDefinition(tx, job.id, definition);
  await recordAudit(tx, {
    projectId,
    actor,
    action: 'job.edit',
    subject: slug,
    detail: { from: job.definition, to: definition },
  });
}

/**
 * A job whose stored schedules make no sense cannot be advanced: its new definition takes over from now on, and what is
 * recorded stays as it is. False: its schedules make sense.
 */
async function repaired(
  deps: ChangesDeps,
  { projectId, slug, actor }: Who,
  definition: JobDefinition,
): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    const id = await findJobId(tx, projectId, slug);
    const [job] = id === null ? [] : await lockJobs(tx, [id], true);
    if (!job) return false;
    const compiled = (await deps.versions.read(tx, [job])).get(job.id);
    if (!(compiled instanceof ScheduleError)) return false;
    await dropBrokenVersions(tx, job.id);
    await insertVersion(tx, job.id, job.version + 1, { definition, zones: deps.zones });
    await updateDefinition(tx, job.id, definition);
    await restartCursor(tx, job.id, job.version + 1, firstInstant(definition, deps.zones, tx.now));
    await recordAudit(tx, {
      projectId,
      actor,
      action: 'job.edit',
      subject: slug,
      detail: { from: job.definition, to: definition },
    });
    return true;
  });
}

async function setPause(deps: ChangesDeps, { projectId, slug, actor }: Who, paused: boolean): Promise<boolean> {
  const found = await change(deps, whole(byName(projectId, slug)), async (tx, { job, ledger }) => {
    if ((ledger.pausedAt !== null) === paused) return true;
    if (paused) applyPause(ledger, tx.now);
    else applyResume(ledger, tx.now);
    await setPaused(tx, job.id, paused);
    await recordAudit(tx, { projectId, actor, action: paused ? 'job.pause' : 'job.resume', subject: slug });
    return true;
  });
  return found === true;
}
