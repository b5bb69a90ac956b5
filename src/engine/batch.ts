import { advance } from '../core/advance.ts';
import { type Applied, applyPing } from '../core/apply.ts';
import { groupBy } from '../core/group.ts';
import type { LedgerEvent } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';
import type { ClockInDoubt } from '../store/clock-doubt.ts';
import type { DatabaseUnavailable, Tx } from '../store/database.ts';
import { save } from '../store/ledger-save.ts';
import { lockJobs } from '../store/locking.ts';
import { appendPings, type NewPing, noteDeferred, resolveTargets } from '../store/pings.ts';
import type { Zones } from '../zones.ts';
import type { IncomingPing, PingAnswer, PingTarget } from './ingest.ts';
import { insertJob, pingedDefinition } from './job-creation.ts';
import { answerOf } from './ping-answer.ts';
import { type PingInput, readPing } from './ping-input.ts';
import { outputTail, type Said, tell } from './telling.ts';
import { type OpenJob, openJobs, outcomeOf, type VersionCache } from './working-set.ts';

export type BatchDeps = { readonly versions: VersionCache; readonly zones: Zones; readonly settleMs: number };

/** A request and its instant on the database's clock. */
export type ArrivedPing = { readonly incoming: IncomingPing; readonly arrival: Instant };

/** A job further behind than this many checks is brought forward by the evaluator; its pings wait, stored. */
const MAX_STEPS = 100;

type Arrived = {
  readonly index: number;
  readonly input: PingInput;
  readonly jobId: number;
  readonly created: boolean;
};

/** What the batch will write and say, as it grows. */
type Out = {
  /** By position in the batch; a hole: the job is locked by another transaction. */
  readonly answers: (PingAnswer | undefined)[];
  readonly records: { readonly record: NewPing; readonly applied: Applied | null }[];
  readonly said: Map<LedgerEvent, Said>;
};

/**
 * Stores and applies a batch of pings in their order. Returns an answer for each, or a hole where the job's cursor is held
 * by another transaction: those go in the next batch.
 */
export async function applyPings(
  tx: Tx,
  deps: BatchDeps,
  pings: readonly ArrivedPing[],
): Promise<readonly (PingAnswer | undefined)[]> {
  const out: Out = { answers: pings.map(() => undefined), records: [], said: new Map() };
  const targets = await resolveOrCreate(
    tx,
    deps,
    pings.map(({ incoming }) => incoming.target),
  );
  const found: Arrived[] = [];
  for (const [index, { incoming, arrival }] of pings.entries()) {
    const target = targets[index];
    if (target?.jobId == null) out.answers[index] = { outcome: 'not_found' };
    else {
      // A job begins when it is made, a moment after its first ping arrived.
      const input = readPing(incoming, target.isNew ? tx.now : arrival);
      found.push({ index, input, jobId: target.jobId, created: target.created });
    }
  }
  if (found.length > 0)
    await applyToJobs(
      tx,
      deps,
      groupBy(found, ({ jobId }) => jobId),
      out,
    );
  return out.answers;
}

/**
 * While the clock is in doubt: stores a batch of pings, to be applied in their turn when it is believed again. A job that
 * would have to be made cannot be, so that ping is answered with the reason. Holes as above.
 */
export async function keepPings(
  tx: Tx,
  pings: readonly ArrivedPing[],
  doubt: ClockInDoubt,
): Promise<readonly (PingAnswer | DatabaseUnavailable | undefined)[]> {
  const answers: (PingAnswer | DatabaseUnavailable | undefined)[] = [];
  const targets = pings.map(({ incoming }) => incoming.target);
  // Keys are as alive as they were when the clock was believed last.
  const resolved = await resolveTargets(tx, targets, doubt.last);
  const jobIds = resolved.flatMap(({ jobId }) => (jobId === null ? [] : [jobId]));
  const locked = new Set((await lockJobs(tx, [...new Set(jobIds)], false)).map(({ id }) => id));
  const out: Out = { answers: [], records: [], said: new Map() };
  const deferred = new Map<number, number>();
  for (const [index, { incoming, arrival }] of pings.entries()) {
    const { jobId = null, projectId = null } = resolved[index] ?? {};
    if (jobId === null) {
      const isMissing = projectId !== null && 'slug' in incoming.target && incoming.target.create;
      answers[index] = isMissing ? doubt : { outcome: 'not_found' };
      continue;
    }
    if (!locked.has(jobId)) continue;
    const one = { index, input: readPing(incoming, arrival, { isDoubted: true }), jobId, created: false };
    if (!refuseFlawed(one, out)) {
      defer(one, out);
      deferred.set(jobId, (deferred.get(jobId) ?? 0) + 1);
    }
    answers[index] = out.answers[index];
  }
  await appendPings(
    tx,
    out.records.map(({ record }) => record),
  );
  for (const [jobId, count] of deferred) await noteDeferred(tx, jobId, { count, since: doubt.last });
  return answers;
}

async function resolveOrCreate(tx: Tx, deps: BatchDeps, targets: readonly PingTarget[]) {
  const resolved = await resolveTargets(tx, targets);
  const made = new Map<string, number>();
  const result: { readonly jobId: number | null; readonly created: boolean; readonly isNew: boolean }[] = [];
  for (const [i, target] of targets.entries()) {
    const { jobId = null, projectId = null } = resolved[i] ?? {};
    const isMissing = jobId === null && projectId !== null && 'slug' in target && target.create;
    const known = isMissing ? made.get(`${projectId} ${target.slug}`) : jobId;
    if (!isMissing || known !== undefined) {
      result.push({ jobId: known ?? null, created: false, isNew: isMissing });
      continue;
    }
    const job = await insertJob(tx, deps, projectId, target.slug, pingedDefinition(target.slug), true);
    made.set(`${projectId} ${target.slug}`, job.id);
    result.push({ jobId: job.id, created: job.created, isNew: job.created });
  }
  return result;
}

async function applyToJobs(tx: Tx, deps: BatchDeps, byJob: ReadonlyMap<number, readonly Arrived[]>, out: Out) {
  const locked = await lockJobs(tx, [...byJob.keys()], false);
  const ahead = new Map(
    [...byJob].map(([jobId, arrived]) => {
      const pings = arrived.filter(({ input }) => input.flaw === null).map(({ input }) => input.ping);
      return [jobId, { pings, named: [], all: false, steps: MAX_STEPS }];
    }),
  );
  const { open, broken } = await openJobs(tx, locked, ahead, deps);
  for (const { job } of broken) {
    // Its schedules make no sense just now: its pings are kept, and applied when they do again.
    const arrived = byJob.get(job.id) ?? [];
    for (const one of arrived) if (!refuseFlawed(one, out)) defer(one, out);
    await noteDeferred(tx, job.id, { count: arrived.length, since: tx.now });
  }
  const outcomes = open.map((one) => outcomeOf(one, applyToJob(one, byJob.get(one.job.id) ?? [], out), tx.now));
  await save(tx, outcomes);
  // Runs have their ids now.
  await appendPings(
    tx,
    out.records.map(({ record, applied }) => ({ ...record, runId: applied?.run?.id ?? null })),
  );
  await tell(tx, open, out.said);
}

/** Applies the pings of one job in their order; returns how many of its pings are deferred now. */
function applyToJob({ job, ledger }: OpenJob, arrived: readonly Arrived[], out: Out): number {
  let { deferred } = job;
  for (const one of arrived) {
    const { index, input, created } = one;
    if (refuseFlawed(one, out)) continue;
    // One that waits makes every later one wait: pings are applied in their order.
    if (deferred > 0 || !advance(ledger, input.ping.arrival, MAX_STEPS)) {
      deferred += 1;
      defer(one, out);
      continue;
    }
    const told = ledger.events.length;
    const applied = applyPing(ledger, input.ping);
    for (const event of ledger.events.slice(told)) {
      out.said.set(event, { exitCode: input.ping.exitCode, output: outputTail(input.record.body) });
    }
    const { match, scheduledFor, counted } = applied;
    const matchedBy = match.rule === 'none' ? 'unmatched' : match.rule;
    out.records.push({ record: recordOf(one, { matchedBy, scheduledFor, counted }), applied });
    out.answers[index] = answerOf(ledger, input.ping, applied, created);
  }
  return deferred;
}

/** What the door or the key's spelling made unreadable is kept all the same, as evidence. */
function refuseFlawed(one: Arrived, { answers, records }: Out): boolean {
  const { flaw } = one.input;
  if (flaw === null) return false;
  records.push({ record: recordOf(one, { matchedBy: 'unmatched' }), applied: null });
  answers[one.index] = { outcome: 'refused', status: 400, message: flaw };
  return true;
}

function defer(one: Arrived, { answers, records }: Out): void {
  records.push({ record: recordOf(one, { matchedBy: 'deferred' }), applied: null });
  answers[one.index] = { outcome: 'accepted', created: one.created, matchedBy: 'deferred', key: null };
}

function recordOf(
  { input, jobId }: Arrived,
  applied: { readonly matchedBy: string; readonly scheduledFor?: Instant | null; readonly counted?: boolean },
): NewPing {
  const { matchedBy, scheduledFor = null, counted = false } = applied;
  return { ...input.record, jobId, matchedBy, scheduledFor, counted, runId: null };
}
