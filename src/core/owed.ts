import { settleIncidents } from './advance.ts';
import { coverByCompleted } from './cover.ts';
import { DEFAULT_THROTTLE_S } from './definition.ts';
import { changeRow, end, recountBacklog } from './incident.ts';
import { isHeartbeat, versionDueAt } from './instants.ts';
import { coalesceNow, judge } from './judge.ts';
import type { Ledger, Row } from './ledger.ts';
import {
  CLOCK_SKEW_MS,
  type Claim,
  inProgress,
  isCompleted,
  isFinished,
  isOpen,
  LEASE_MS,
  lasts,
  type Run,
} from './occurrence.ts';
import { matchClock } from './ping.ts';
import { skipDue, skipRecorded } from './record.ts';
import { byDue, rowAt, runsOf } from './rows.ts';
import { rowTerms, termsAt } from './terms.ts';
import type { Instant } from './time.ts';
import { judgeWanted } from './wanted.ts';

/** Why nothing is handed out (docs/ledger.md, rule 45). */
export type Refused = {
  readonly kind: 'refused';
  readonly why: 'paused' | 'backlog' | 'not_yet' | 'in_progress' | 'completed' | 'off_schedule';
  /** null: waiting does not help. */
  readonly retryAfterMs: number | null;
  /** The occurrence that `completed`, `in_progress` and `not_yet` are about; of `off_schedule`: whose window is over. */
  readonly about: Instant | null;
};

export type Claimed =
  /** `again`: the same run asked before. */
  { readonly kind: 'given'; readonly claim: Claim; readonly again: boolean } | { readonly kind: 'rid_used' } | Refused;

/** Asked again after this at the latest: what is at work may end any moment. */
const ASK_AGAIN_MS = 10_000;

/** Unknown under catch_up, within its window: a person has to say run before it is handed out. */
export function isUnconfirmed(ledger: Ledger, row: Row, t: Instant): boolean {
  if (row.state !== 'unknown' || row.confirmed || ledger.settings.missedRuns !== 'catch_up') return false;
  return t < rowTerms(ledger, row).usefulUntil;
}

/** What a person's decision is about: wanted or unconfirmed, due, and still useful. */
const isUndecided = (ledger: Ledger, row: Row, t: Instant): boolean =>
  row.scheduledFor <= t && (isUnconfirmed(ledger, row, t) || (row.wanted && t < rowTerms(ledger, row).usefulUntil));

/** A runner is at work by this claim, whatever has become of its occurrence: its lease lasts and its run has no end. */
const holds = ({ endedAt, leaseUntil, run }: Claim, t: Instant): boolean =>
  endedAt === null && run.endedAt === null && lasts(leaseUntil, t);

/** Nothing is left to do: completed, by a later one too, or skipped. Coalesced by the clock it may still be completed. */
const isDone = (row: Row | undefined): boolean =>
  row !== undefined && isFinished(row.state) && (row.state !== 'coalesced' || row.coveredBy !== null);

/** Whether a claim still holds its occurrence. */
const isLive = (ledger: Ledger, claim: Claim, t: Instant): boolean =>
  holds(claim, t) && !isDone(ledger.rows.get(claim.scheduledFor));

/** A run that was claimed is at work while its lease lasts; any other one while it is in progress. */
function isAtWork(ledger: Ledger, run: Run, t: Instant): boolean {
  const claim = ledger.claims.find((one) => one.run === run);
  return claim ? holds(claim, t) : inProgress(run, ledger.settings, t);
}

/** Somebody is at work on this occurrence. */
const isWorkedOn = (ledger: Ledger, row: Row, t: Instant): boolean =>
  runsOf(ledger, row).some((run) => isAtWork(ledger, run, t));

/** A runner has it, begun or not: an edit or a pause leaves it, as it leaves a running one. */
export const isClaimed = (ledger: Ledger, row: Row, t: Instant): boolean =>
  ledger.claims.some((claim) => claim.scheduledFor === row.scheduledFor && isLive(ledger, claim, t));

/** Hands one occurrence to the run `rid`, of a job that has been advanced to `now`, or says why not. */
export function applyClaim(ledger: Ledger, rid: string, now: Instant): Claimed {
  skipDue(ledger, now);
  const thread = `rid:${rid}`;
  const own = ledger.claims.find((claim) => claim.run.thread === thread && isLive(ledger, claim, now));
  if (own) return { kind: 'given', claim: own, again: true };
  const known = ledger.threads.get(thread);
  if (known?.run) return { kind: 'rid_used' };
  const chosen = choose(ledger, now);
  if (chosen.kind === 'refused') return chosen;
  const claim = give(ledger, chosen.at, { rid, thread }, now);
  settleIncidents(ledger, now);
  skipRecorded(ledger);
  return { kind: 'given', claim, again: false };
}

function give(
  ledger: Ledger,
  at: Instant,
  { rid, thread }: Pick<Run, 'thread'> & { rid: string },
  now: Instant,
): Claim {
  const row = rowAt(ledger, at, now);
  if (isOpen(row.state)) judge(ledger, row, now);
  if (ledger.settings.overlap === 'replace') replaceOthers(ledger, now);
  ledger.newIds -= 1;
  const run: Run = {
    id: ledger.newIds,
    thread,
    rid,
    scheduledFor: at,
    startedAt: null,
    supersededAt: null,
    endedAt: null,
    verdict: null,
    exitCode: null,
    durationMs: null,
    heardAt: now,
  };
  ledger.runs.push(run);
  ledger.changedRuns.add(run);
  ledger.threads.set(thread, { last: ledger.threads.get(thread)?.last ?? null, run });
  const lease = { claimedAt: now, leaseUntil: now + LEASE_MS, endedAt: null, outcome: null };
  const claim: Claim = { id: ledger.newIds, scheduledFor: at, run, ...lease };
  ledger.claims.push(claim);
  ledger.changedClaims.add(claim);
  ledger.lastHandOut = now;
  return claim;
}

/** The newest run takes over: the older ones' occurrences are covered by what comes. */
function replaceOthers(ledger: Ledger, now: Instant): void {
  for (const claim of ledger.claims) {
    if (!holds(claim, now)) continue;
    Object.assign(claim, { endedAt: now, outcome: 'replaced' });
    ledger.changedClaims.add(claim);
    const row = ledger.rows.get(claim.scheduledFor);
    if (!row || !isOpen(row.state)) continue;
    coverByCompleted(ledger, row);
    coalesceNow(ledger, row, now);
  }
}

type Chosen = { readonly kind: 'chosen'; readonly at: Instant; readonly owed: boolean };

function choose(ledger: Ledger, now: Instant): Chosen | Refused {
  if (ledger.pausedAt !== null) return refused('paused');
  if (isHeartbeat(ledger)) return refused('off_schedule');
  if (ledger.incidents.has('backlog')) return refused('backlog');
  const chosen = oldestOwed(ledger, now) ?? currentOne(ledger, now);
  if (chosen.kind === 'refused') return chosen;
  const isInTheWay = (run: Run) => ledger.settings.overlap === 'forbid' || run.scheduledFor === chosen.at;
  const busy = ledger.runs.filter((run) => isAtWork(ledger, run, now) && isInTheWay(run));
  const [first] = busy;
  if (first) return refused('in_progress', first.scheduledFor, waitFor(ledger, busy, now));
  const wait = (ledger.lastHandOut ?? Number.NEGATIVE_INFINITY) + throttleMs(ledger) - now;
  // A rest longer than the throttle is void: the clock went back.
  const isVoid = wait > throttleMs(ledger) + CLOCK_SKEW_MS;
  if (chosen.owed && wait > 0 && !isVoid) return refused('not_yet', chosen.at, Math.min(wait, throttleMs(ledger)));
  return chosen;
}

export const throttleMs = ({ settings }: Pick<Ledger, 'settings'>): number =>
  1000 * (settings.throttle ?? DEFAULT_THROTTLE_S);

function refused(why: Refused['why'], about: Instant | null = null, retryAfterMs: number | null = null): Refused {
  return { kind: 'refused', why, retryAfterMs, about };
}

/** Until a lease in the way ends, but not long: a run may end any moment. */
function waitFor(ledger: Ledger, busy: readonly Run[], now: Instant): number {
  const leases = ledger.claims.filter(({ run }) => busy.includes(run)).map(({ leaseUntil }) => leaseUntil - now);
  return Math.min(ASK_AGAIN_MS, ...leases);
}

/** catch_up: the oldest one that is wanted, still useful and not worked on. */
function oldestOwed(ledger: Ledger, now: Instant): Chosen | null {
  if (ledger.settings.missedRuns !== 'catch_up') return null;
  const wanted = byDue(ledger).filter((row) => row.wanted && now < rowTerms(ledger, row).usefulUntil);
  const oldest = wanted.find((row) => !isWorkedOn(ledger, row, now));
  return oldest ? { kind: 'chosen', at: oldest.scheduledFor, owed: true } : null;
}

/** The one that a ping without a key would be about now. */
function currentOne(ledger: Ledger, now: Instant): Chosen | Refused {
  const { rule, scheduledFor: at } = matchClock(ledger, now, now);
  if (at === null) return refused('off_schedule');
  if (rule === 'again') return refused('completed', at);
  if (ledger.settings.missedRuns === 'coalesce' && isCovered(ledger, at)) return refused('completed', at);
  const row = ledger.rows.get(at);
  const terms = row ? rowTerms(ledger, row) : termsAt(ledger, at, versionDueAt(ledger, at));
  if (now >= terms.usefulUntil) return refused('off_schedule', at);
  if (row && isUnconfirmed(ledger, row, now)) return refused('backlog', at);
  return { kind: 'chosen', at, owed: row?.wanted ?? false };
}

/** A later one is completed. */
const isCovered = (ledger: Ledger, at: Instant): boolean =>
  [...ledger.rows.values()].some((row) => row.scheduledFor > at && isCompleted(row.state));

export type Extended = 'extended' | 'completed' | 'replaced' | 'lease_lost';

/** Renews a lease, of a job that has been advanced to `now`, or says what became of the occurrence. */
export function applyExtend(ledger: Ledger, claim: Claim, now: Instant): Extended {
  if (claim.outcome === 'replaced') return 'replaced';
  skipDue(ledger, now);
  if (isDone(ledger.rows.get(claim.scheduledFor))) return 'completed';
  if (!holds(claim, now)) return 'lease_lost';
  claim.leaseUntil = now + LEASE_MS;
  ledger.changedClaims.add(claim);
  // Its run id stays known for as long as it is extended.
  claim.run.heardAt = now;
  ledger.changedRuns.add(claim.run);
  return 'extended';
}

/** The runner gives its occurrence back. */
export function applyRelease(ledger: Ledger, claim: Claim, now: Instant): void {
  if (claim.endedAt !== null) return;
  Object.assign(claim, { endedAt: now, outcome: 'released' });
  ledger.changedClaims.add(claim);
}

/** What a person's decision at `now` is about and due after `after`, as far as it is loaded, the oldest first. */
export function undecidedRows(ledger: Ledger, after: Instant, now: Instant): Row[] {
  skipDue(ledger, now);
  return byDue(ledger).filter((row) => row.scheduledFor > after && isUndecided(ledger, row, now));
}

/**
 * A person's *run* or *skip* for what is loaded and due by `now` (rule 44); returns how many it concerned. Call
 * `endDecision` when all of it has been.
 */
export function applyBacklogDecision(
  ledger: Ledger,
  decision: 'run' | 'skip',
  rows: readonly Row[],
  now: Instant,
): number {
  let count = 0;
  for (const row of rows) {
    if (!isUndecided(ledger, row, now)) continue;
    if (decision === 'skip') {
      if (isWorkedOn(ledger, row, now)) continue;
      const unsaid = { completedAt: null, completedBy: null, wanted: false, checkAt: null };
      changeRow(ledger, row, { state: 'skipped', reason: 'operator', settledAt: now, ...unsaid });
    } else if (isUnconfirmed(ledger, row, now)) {
      changeRow(ledger, row, { confirmed: true });
      judgeWanted(ledger, row, now);
    }
    count += 1;
  }
  return count;
}

/** From now on what becomes owed counts anew. Every wanted row due after `now` is loaded. */
export function endDecision(ledger: Ledger, now: Instant): void {
  ledger.decidedUntil = now;
  recountBacklog(ledger);
  const backlog = ledger.incidents.get('backlog');
  if (backlog) end(ledger, backlog, now, false);
  settleIncidents(ledger, now);
}
