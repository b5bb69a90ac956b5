import type { Clock } from '../clock.ts';
import type { Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { createOutageLog, type OutageLog } from '../log-outage.ts';
import { readHearing } from '../store/beats.ts';
import type { Database, Tx } from '../store/database.ts';
import { refreshFact } from '../store/facts.ts';
import { EVALUATOR_TICK } from '../store/health.ts';
import { endStalledSessions } from '../store/stalled.ts';
import { dueJobs, failuresOf, pushBack } from '../store/telling.ts';
import type { Vitals } from '../vitals.ts';
import { type AdvanceDeps, type Advanced, advanceJob, advanceJobs } from './advancing.ts';
import { watchHorizon } from './blindness.ts';

export type EvaluatorDeps = AdvanceDeps & {
  readonly database: Database;
  readonly clock: Clock;
  readonly vitals: Vitals;
  readonly log: Logger;
};

const EVERY_MS = 250;
const BATCH = 200;
const AT_ONCE = 4;
const STALLED_EVERY_MS = 2000;
const BROKEN_RETRY_MS = 60_000;
const MAX_RETRY_MS = 600_000;

export type Evaluator = {
  /** One round: every due job is judged up to the horizon, oldest first. Returns how many were. */
  tick(): Promise<number>;
  run(signal: AbortSignal): Promise<void>;
};

/** The loop that judges due jobs. Any number may run; each job belongs to one at a time, by the lock of its cursor. */
export function createEvaluator(deps: EvaluatorDeps): Evaluator {
  const outage = createOutageLog(deps.log, 'the evaluator', deps.clock.monotonic);
  let sessionsSeenAt = Number.NEGATIVE_INFINITY;

  /** A stopped process must not hold a fleet. */
  async function freeLocks(): Promise<void> {
    if (deps.clock.monotonic() - sessionsSeenAt < STALLED_EVERY_MS) return;
    sessionsSeenAt = deps.clock.monotonic();
    const ended = await deps.database.transaction((tx) => endStalledSessions(tx));
    if (ended > 0) deps.log.warn({ ended }, 'sessions of a process that seems to be stopped were ended');
  }

  async function tick(): Promise<number> {
    const begun = deps.clock.monotonic();
    let judged = 0;
    for (let again = true; again; ) {
      // Asked anew in each round: after a jump of the clock the horizon may be elsewhere.
      const { due, horizon, lagMs } = await deps.database.transaction((tx) => lookAround(tx));
      const results = await inParallel(inGroups(due), (jobIds) => judgeMany({ ...deps, outage }, jobIds, horizon));
      judged += results.filter((result) => result === 'reached').length;
      // Locked and failed ones come back next tick; going on without progress would spin.
      again = results.some((result) => result === 'reached' || result === 'behind');
      deps.vitals.tick({ horizonLagMs: lagMs, ms: deps.clock.monotonic() - begun });
    }
    return judged;
  }

  return {
    tick,
    async run(signal) {
      while (!signal.aborted) {
        await outage.watch(tick, 'an evaluator tick failed');
        await outage.watch(freeLocks, 'stalled sessions could not be looked for');
        await deps.clock.sleep(EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** How far may be judged, and who is due by then. */
async function lookAround(tx: Tx) {
  const hearing = await readHearing(tx);
  const lagMs = await watchHorizon(tx, hearing);
  const { horizon } = hearing;
  const due = horizon === null ? [] : await dueJobs(tx, horizon, BATCH);
  await refreshFact(tx, EVALUATOR_TICK, new Date(tx.now).toISOString());
  return { lagMs, horizon: horizon ?? 0, due };
}

const inGroups = (jobIds: readonly number[]): number[][] =>
  Array.from({ length: Math.ceil(jobIds.length / TOGETHER) }, (_, i) => jobIds.slice(i * TOGETHER, (i + 1) * TOGETHER));

async function inParallel<T>(
  groups: readonly number[][],
  judgeGroup: (jobIds: readonly number[]) => Promise<T[]>,
): Promise<T[]> {
  const results: T[] = [];
  const queue = [...groups];
  const worker = async (): Promise<void> => {
    for (let group = queue.shift(); group; group = queue.shift()) results.push(...(await judgeGroup(group)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** Jobs judged in one transaction: two thousand lost at once are told within seconds. */
const TOGETHER = 50;

/** Some jobs in one transaction; if that fails, each by itself, so that the failure of one is its own. */
async function judgeMany(deps: JudgeDeps, jobIds: readonly number[], until: Instant): Promise<Judged[]> {
  const results = jobIds.length === 1 ? null : await judgeTogether(deps, jobIds, until);
  const judged: Judged[] = [];
  for (const jobId of jobIds) {
    const result = results?.get(jobId) ?? 'alone';
    judged.push(result === 'alone' ? await judge(deps, jobId, until) : result);
  }
  return judged;
}

type JudgeDeps = EvaluatorDeps & { readonly outage: OutageLog };
type Judged = Advanced | 'failed';

async function judgeTogether(deps: JudgeDeps, jobIds: readonly number[], until: Instant) {
  try {
    return await deps.database.transaction(async (tx) => {
      const results = await advanceJobs(tx, deps, jobIds, until);
      for (const [jobId, result] of results) {
        if (result === 'broken') await pushBack(tx, jobId, 0, tx.now + BROKEN_RETRY_MS);
      }
      return results;
    });
  } catch {
    // The one that failed says so when it is tried alone.
    return null;
  }
}

/** One job, one transaction; its failure is its own: it is pushed back with growing delay, and the rest go on. */
async function judge(deps: JudgeDeps, jobId: number, until: Instant): Promise<Judged> {
  try {
    return await deps.database.transaction(async (tx) => {
      const result = await advanceJob(tx, deps, jobId, { until, wait: false });
      if (result === 'broken') await pushBack(tx, jobId, 0, tx.now + BROKEN_RETRY_MS);
      return result;
    });
  } catch (error) {
    deps.outage.failed(error, 'a job could not be judged', { jobId });
    await deps.database
      .transaction((tx) => retryLater(tx, jobId))
      .catch((failure: unknown) => deps.outage.failed(failure, 'a failing job could not be pushed back', { jobId }));
    return 'failed' as const;
  }
}

async function retryLater(tx: Tx, jobId: number): Promise<void> {
  const failures = (await failuresOf(tx, jobId)) + 1;
  await pushBack(tx, jobId, failures, tx.now + Math.min(MAX_RETRY_MS, 1000 * 2 ** Math.min(failures, 20)));
}
