import { advance } from '../core/advance.ts';
import { applyPing } from '../core/apply.ts';
import { end } from '../core/incident.ts';
import { parseKey } from '../core/key.ts';
import type { LedgerEvent } from '../core/ledger.ts';
import type { IncidentMessage } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { save } from '../store/ledger-save.ts';
import { type LockedJob, lockJobs } from '../store/locking.ts';
import { enqueueForJobs } from '../store/outbox.ts';
import { type DeferredPing, deferredPings, settleDeferred } from '../store/pings.ts';
import { openScheduleError } from '../store/telling.ts';
import { isOwnAt } from './ping-input.ts';
import { outputTail, type Said, tell } from './telling.ts';
import { type OpenJob, openJobs, outcomeOf, type ScheduleError, type VersionCache } from './working-set.ts';

/** Checks of one job in one transaction, at most. */
export const MAX_STEPS = 1000;
const DEFERRED_AT_ONCE = 100;

/** `gone`: no such job, or somebody else holds it; `behind`: call again; `broken`: its schedules make no sense. */
export type Advanced = 'reached' | 'behind' | 'broken' | 'gone';

export type AdvanceDeps = { readonly versions: VersionCache; readonly settleMs: number };

/** Advances one job to `until` in this transaction: deferred pings in their turn, then the clock. */
export async function advanceJob(
  tx: Tx,
  deps: AdvanceDeps,
  jobId: number,
  { until, wait }: { readonly until: Instant; readonly wait: boolean },
): Promise<Advanced> {
  const [job] = await lockJobs(tx, [jobId], wait);
  if (!job) return 'gone';
  const deferred = job.deferred > 0 ? await deferredPings(tx, jobId, DEFERRED_AT_ONCE) : [];
  const pings = deferred.map((stored) => pingOf(stored, tx.now));
  const { open, broken } = await openJobs(
    tx,
    [job],
    new Map([[jobId, { pings, named: [], all: false, steps: MAX_STEPS }]]),
    deps,
  );
  const [failed] = broken;
  if (failed) {
    await reportBroken(tx, failed.job, failed.error);
    return 'broken';
  }
  const [one] = open;
  if (!one) return 'gone';
  endScheduleError(one, until);
  const { reached, applied, said } = applyDeferred(one, deferred, pings, until);
  const left = job.deferred - applied.length;
  await save(tx, [outcomeOf(one, left, tx.now)]);
  for (const [ping, result] of applied) await settleDeferred(tx, ping.id, result());
  await tell(tx, [one], said);
  return reached && left === 0 ? 'reached' : 'behind';
}

/** A ping as it is applied now; one that came while the clock was ahead arrives at this instant at the latest. */
function pingOf(stored: DeferredPing, now: Instant) {
  const key = stored.occ === null ? null : parseKey(stored.occ);
  const arrival = Math.min(stored.receivedAt, now);
  const ownAt = stored.ownAt !== null && isOwnAt(stored.ownAt, arrival) ? stored.ownAt : null;
  return {
    kind: stored.kind,
    exitCode: stored.exitCode,
    arrival,
    at: ownAt ?? arrival,
    ownAt,
    rid: stored.rid,
    thread: stored.thread,
    key: key?.ok ? key.value : null,
    fingerprint: stored.fingerprint,
    durationMs: stored.durationMs,
  };
}

/** Pings in their order, each after the job has come to its arrival; then the clock, if all of them are done. */
function applyDeferred(
  { job, ledger }: OpenJob,
  deferred: readonly DeferredPing[],
  pings: readonly ReturnType<typeof pingOf>[],
  until: Instant,
) {
  const applied: [DeferredPing, () => Parameters<typeof settleDeferred>[2]][] = [];
  const said = new Map<LedgerEvent, Said>();
  for (const [i, ping] of pings.entries()) {
    const stored = deferred[i];
    if (!stored) break;
    if (!advance(ledger, ping.arrival, MAX_STEPS)) return { reached: false, applied, said };
    const before = ledger.events.length;
    const { match, scheduledFor, counted, run } = applyPing(ledger, ping);
    const output = stored.tail ? outputTail(stored.tail) : null;
    for (const event of ledger.events.slice(before)) said.set(event, { exitCode: ping.exitCode, output });
    const matchedBy = match.rule === 'none' ? 'unmatched' : match.rule;
    const { arrival: receivedAt, at, ownAt } = ping;
    // A new run has its id only when it is saved.
    const outcome = () => ({ receivedAt, at, ownAt, matchedBy, scheduledFor, counted, runId: run?.id ?? null });
    applied.push([stored, outcome]);
  }
  if (deferred.length < job.deferred) return { reached: false, applied, said };
  return { reached: advance(ledger, until, MAX_STEPS), applied, said };
}

async function reportBroken(tx: Tx, job: LockedJob, error: ScheduleError): Promise<void> {
  const id = await openScheduleError(tx, job.id, error.message);
  if (id === null) return;
  const { name, tags, zone, missedRuns } = job.definition;
  const payload: IncidentMessage = {
    type: 'incident.opened',
    incident: { id, kind: 'schedule_error', state: 'open', openedAt: tx.now, resolvedAt: null, occurrenceCount: 0 },
    job: { slug: job.slug, name, tags, zone },
    occurrences: [],
    facts: {
      before: null,
      expectedBy: null,
      lastCompleted: null,
      lastCompletedState: null,
      completions: null,
      runs: null,
      missedRuns,
      exitCode: null,
      output: null,
      detail: error.message,
    },
  };
  await enqueueForJobs(tx, [{ jobId: job.id, incidentId: id, event: 1, payload }]);
}

/** Its schedules make sense again. */
function endScheduleError({ ledger }: OpenJob, at: Instant): void {
  const incident = ledger.incidents.get('schedule_error');
  if (incident) end(ledger, incident, Math.max(at, incident.openedAt), false);
}

/**
 * Advances many jobs to `until` in this transaction, a thousand checks in all; those whose pings wait take a turn of their own
 * (`alone`). One that fails fails all of them: the caller takes them one by one then.
 */
export async function advanceJobs(
  tx: Tx,
  deps: AdvanceDeps,
  jobIds: readonly number[],
  until: Instant,
): Promise<Map<number, Advanced | 'alone'>> {
  const results = new Map<number, Advanced | 'alone'>(jobIds.map((id) => [id, 'gone']));
  const locked = await lockJobs(tx, jobIds, false);
  const plain = locked.filter(({ deferred }) => deferred === 0);
  for (const { id, deferred } of locked) if (deferred > 0) results.set(id, 'alone');
  if (plain.length === 0) return results;
  const steps = Math.ceil(MAX_STEPS / plain.length);
  const ahead = new Map(plain.map(({ id }) => [id, { pings: [], named: [], all: false, steps }]));
  const { open, broken } = await openJobs(tx, plain, ahead, deps);
  for (const { job, error } of broken) {
    await reportBroken(tx, job, error);
    results.set(job.id, 'broken');
  }
  for (const one of open) {
    endScheduleError(one, until);
    results.set(one.job.id, advance(one.ledger, until, steps) ? 'reached' : 'behind');
  }
  await save(
    tx,
    open.map((one) => outcomeOf(one, 0, tx.now)),
  );
  await tell(tx, open, new Map());
  return results;
}
