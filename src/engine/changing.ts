import { advance } from '../core/advance.ts';
import type { Instant } from '../core/time.ts';
import { refuseWrongClock } from '../store/beats.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { findJobId } from '../store/jobs.ts';
import { save } from '../store/ledger-save.ts';
import { type LockedJob, lockJobs } from '../store/locking.ts';
import { advanceJob, MAX_STEPS } from './advancing.ts';
import { tell } from './telling.ts';
import { type Ahead, type OpenJob, openJobs, outcomeOf, ScheduleError, type VersionCache } from './working-set.ts';

export type ChangingDeps = {
  readonly database: Database;
  readonly versions: VersionCache;
  readonly settleMs: number;
};

/** Which job, and what of it a change looks at. */
export type Target = { readonly find: (tx: Tx) => Promise<number | null> } & Partial<
  Pick<Ahead, 'named' | 'all' | 'owed'>
>;

export const byName =
  (projectId: number, slug: string): Target['find'] =>
  (tx) =>
    findJobId(tx, projectId, slug);

/** Every open and every wanted occurrence: what an edit, a pause or a person's word on one may touch. */
export const whole = (find: Target['find'], named: readonly Instant[] = []): Target => ({ find, named, all: true });

/** A job whose stored schedules make no sense: it can be defined anew or deleted, and nothing else. */
export class BrokenJob extends ScheduleError {
  readonly slug: string;

  constructor(slug: string, { message }: ScheduleError) {
    super(message);
    this.slug = slug;
  }
}

/** How often a change lets a job that is far behind come forward, 1,000 checks at a time, before it gives up. */
const MAX_ROUNDS = 200;

/** A month of minutely debts is opened anew in one piece. */
const LONG = { deadlineMs: 60_000 };

/**
 * Takes the lock of the job's cursor, advances the job to now, lets `apply` change it, saves and tells: what `apply` made
 * has its real ids when this resolves. A job that is far behind comes forward in transactions of its own first. null: no
 * such job. Throws DatabaseUnavailable, or BrokenJob.
 */
export async function change<T>(
  deps: ChangingDeps,
  target: Target,
  apply: (tx: Tx, open: OpenJob) => Promise<T>,
): Promise<T | null> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const result = await deps.database.transaction(async (begun) => {
      const id = await target.find(begun);
      const [job] = id === null ? [] : await lockJobs(begun, [id], true);
      if (!job) return { done: true as const, value: null };
      // It may have waited for the lock: whoever held it acted at a later instant than this transaction began with.
      const tx = await begun.later();
      return changeLocked(tx, deps, { job, target }, apply);
    }, LONG);
    if (result.done) return result.value;
  }
  throw new DatabaseUnavailable('this job is too far behind to be changed now', { trouble: 'behind' });
}

async function changeLocked<T>(
  tx: Tx,
  deps: ChangingDeps,
  { job, target }: { readonly job: LockedJob; readonly target: Target },
  apply: (tx: Tx, open: OpenJob) => Promise<T>,
): Promise<{ done: true; value: T } | { done: false }> {
  // First of all: the pings of such a job wait, however often it is brought forward.
  const compiled = (await deps.versions.read(tx, [job])).get(job.id);
  if (compiled instanceof ScheduleError) throw new BrokenJob(job.slug, compiled);
  // While ingest is silent nobody knows what was heard: openJobs sees that stretch, recorded or not.
  await refuseWrongClock(tx);
  if (job.deferred > 0) {
    await advanceJob(tx, deps, job.id, { until: tx.now, wait: true });
    return { done: false };
  }
  const { named = [], all = false, owed } = target;
  const ahead = { pings: [], named, all, steps: MAX_STEPS, ...(owed && { owed }) };
  const { open, broken } = await openJobs(tx, [job], new Map([[job.id, ahead]]), deps);
  const [one] = open;
  if (!one) throw broken[0]?.error ?? new Error('a locked job could not be opened');
  if (!advance(one.ledger, tx.now, MAX_STEPS)) {
    await save(tx, [outcomeOf(one, 0, tx.now)]);
    await tell(tx, [one], new Map());
    return { done: false };
  }
  const value = await apply(tx, one);
  await save(tx, [outcomeOf(one, 0, tx.now)]);
  await tell(tx, [one], new Map());
  return { done: true, value };
}
