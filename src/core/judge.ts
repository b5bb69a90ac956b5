import { BLOCKED_MS, blockerOf, noteBlocker } from './blocked.ts';
import { anchorHeartbeat, isBeat } from './heartbeat.ts';
import { changeRow, incidentOf, join } from './incident.ts';
import type { Ledger, Row, Silence } from './ledger.ts';
import {
  deadlineOf,
  isOpen,
  progressEnd,
  type Run,
  runLimit,
  type State,
  type Terms,
  timedLimits,
} from './occurrence.ts';
import { runsOf } from './rows.ts';
import { actsAt, coalesceInstant, rowTerms, touching } from './terms.ts';
import type { Instant } from './time.ts';
import { judgeWanted, wantsOverdue } from './wanted.ts';

/** An open occurrence with all that decides about it. */
type Case = {
  readonly row: Row;
  readonly terms: Terms;
  readonly runs: readonly Run[];
  readonly deadline: Instant;
  /** What goes first is not done yet. */
  readonly blocked: boolean;
  /** End of the settle time of the blind windows that touch it; null: none does. */
  readonly held: { readonly until: Instant; readonly window: Silence } | null;
  /** The next one's due + grace, where the policy is coalesce. */
  readonly coalesceAt: Instant | null;
};

/** As of `t`: a blind window that begins at `t` or later is not there yet. */
function caseOf(ledger: Ledger, row: Row, t: Instant): Case {
  const terms = rowTerms(ledger, row);
  const runs = runsOf(ledger, row);
  const blocked = blockerOf(ledger, row, t) !== undefined;
  const deadline = blocked ? Number.POSITIVE_INFINITY : deadlineOf(terms, runs);
  const windows = touching(ledger, terms.opensAt, deadline).filter(({ after }) => after < t);
  const told = incidentOf(ledger, row);
  const window = (blocked || (told && told.kind !== 'not_started') ? [] : windows).reduce<Silence | null>(
    (last, one) => (last && last.until > one.until ? last : one),
    null,
  );
  const held = window && { until: window.until + ledger.settleMs, window };
  return { row, terms, runs, deadline, blocked, held, coalesceAt: coalesceInstant(ledger, row) };
}

/** In progress, before its limit as that acts. */
function isWithinLimit(ledger: Ledger, run: Run, terms: Terms, t: Instant): boolean {
  if (run.endedAt !== null || run.startedAt === null || run.startedAt > t) return false;
  const limits = [runLimit(run.startedAt, terms), progressEnd(run.startedAt, run, ledger.settings)];
  return limits.every((limit) => t < actsAt(ledger, limit));
}

/** A run of it is in progress, before its limit (docs/ledger.md, rule 10). */
export function isRunning(ledger: Ledger, row: Row, t: Instant): boolean {
  const terms = rowTerms(ledger, row);
  return runsOf(ledger, row).some((run) => isWithinLimit(ledger, run, terms, t));
}

/** State of an open occurrence at `t`: the clock and its runs decide. */
function openStateAt(ledger: Ledger, { row, deadline, held }: Case, t: Instant): State {
  if (isRunning(ledger, row, t)) return 'running';
  return held === null && t >= actsAt(ledger, deadline) ? 'overdue' : 'expected';
}

/**
 * Judges one occurrence as of `t`: every rule whose instant has come, in the order of docs/ledger.md rule 3, and the next
 * instant at which the clock may change it. Of a settled one only whether it is still wanted. Idempotent.
 */
export function judge(ledger: Ledger, row: Row, t: Instant): void {
  if (isOpen(row.state)) judgeOpen(ledger, row, t);
  else judgeWanted(ledger, row, t);
}

function judgeOpen(ledger: Ledger, row: Row, t: Instant): void {
  const matter = caseOf(ledger, row, t);
  const window = row.startedAt === null ? ledger.maintenance(row.scheduledFor, t) : null;
  // Of a deadline that waits for a gap between beats, the end of its usefulness may act first.
  const endsAt = matter.held ? Number.POSITIVE_INFINITY : actsAt(ledger, windowEnd(matter));
  if (window && t >= Math.min(actsAt(ledger, matter.deadline), endsAt)) {
    skipNow(ledger, row, window, t);
    return;
  }
  if (matter.held && t >= actsAt(ledger, Math.max(matter.held.until, matter.deadline))) {
    settleUnknown(ledger, matter, t);
    return;
  }
  const state = openStateAt(ledger, matter, t);
  const wanted = state === 'overdue' && wantsOverdue(ledger);
  if (state !== row.state || wanted !== row.wanted) changeRow(ledger, row, { state, wanted });
  const blocker = noteBlocker(ledger, row, t);
  if (!matter.held && !window && !blocker) joinTimed(ledger, matter, t);
  if (settleByClock(ledger, matter, t)) return;
  const checkAt = nextCheck(ledger, matter, t, { window: window !== null, blocker });
  if (checkAt !== row.checkAt) changeRow(ledger, row, { checkAt });
}

/** Nobody ran it in a window: a recorded decision. */
export function skipNow(
  ledger: Ledger,
  row: Row,
  window: NonNullable<ReturnType<Ledger['maintenance']>>,
  t: Instant,
): void {
  const wasOpen = isOpen(row.state);
  changeRow(ledger, row, { state: 'skipped', ...window, settledAt: t, wanted: false, checkAt: null });
  if (wasOpen && isBeat(ledger, row)) anchorHeartbeat(ledger, t);
}

/** not_started, overrun, missing, late: the first that applies; an occurrence is in one of them. */
function joinTimed(ledger: Ledger, { row, terms, runs, deadline }: Case, t: Instant): void {
  const inOne = incidentOf(ledger, row);
  const begun = row.startedAt !== null;
  if (inOne && !(inOne.kind === 'not_started' && begun)) return;
  if (!begun && isStartOverdue(ledger, row, terms, t)) join(ledger, row, 'not_started', t);
  else if (timedLimits(terms, runs).some((limit) => t >= actsAt(ledger, limit))) join(ledger, row, 'overrun', t);
  else if (t >= actsAt(ledger, deadline)) join(ledger, row, begun ? 'late' : 'missing', t);
}

/** Not where a window was known when the start was due: one that is taken back later gives nothing back. */
function isStartOverdue(ledger: Ledger, row: Row, { startBy }: Terms, t: Instant): boolean {
  const check = startBy === null ? Number.POSITIVE_INFINITY : actsAt(ledger, startBy);
  return t >= check && ledger.maintenance(row.scheduledFor, check) === null;
}

const windowEnd = ({ terms, deadline, blocked }: Case): Instant =>
  blocked ? terms.usefulUntil : Math.max(terms.usefulUntil, deadline);

/** missed or coalesced, if their instant has come; in a blind window only a later completion settles it. */
function settleByClock(ledger: Ledger, matter: Case, t: Instant): boolean {
  const { row, coalesceAt, held } = matter;
  if (!held && t >= actsAt(ledger, windowEnd(matter))) {
    changeRow(ledger, row, { state: 'missed', settledAt: t, wanted: false, checkAt: null });
    return true;
  }
  if (row.state === 'running') return false;
  const covered = ledger.settings.missedRuns === 'coalesce' && row.coveredBy !== null;
  if (!covered && (held || coalesceAt === null || t < actsAt(ledger, coalesceAt))) return false;
  coalesceNow(ledger, row, t);
  return true;
}

/** A later one covers it. */
export function coalesceNow(ledger: Ledger, row: Row, at: Instant): void {
  changeRow(ledger, row, { state: 'coalesced', settledAt: at, wanted: false, checkAt: null });
}

function settleUnknown(ledger: Ledger, { row, held }: Case, t: Instant): void {
  changeRow(ledger, row, { state: 'unknown', reason: 'blind_window', settledAt: t, wanted: false, checkAt: null });
  if (held) ledger.unknown.push({ scheduledFor: row.scheduledFor, at: t, window: held.window });
  if (isBeat(ledger, row)) anchorHeartbeat(ledger, t);
}

function nextCheck(
  ledger: Ledger,
  matter: Case,
  t: Instant,
  { window, blocker }: { readonly window: boolean; readonly blocker: boolean },
): Instant | null {
  const { terms, runs, deadline, held, coalesceAt } = matter;
  const checks = held ? [] : [terms.startBy, deadline, windowEnd(matter), coalesceAt];
  for (const run of runs) {
    if (run.startedAt === null || run.endedAt !== null) continue;
    checks.push(runLimit(run.startedAt, terms), progressEnd(run.startedAt, run, ledger.settings));
  }
  if (held) checks.push(Math.max(held.until, deadline));
  if (held && window) checks.push(deadline);
  if (blocker && !held) checks.push(terms.usefulUntil);
  const candidates = checks.flatMap((at) => (at === null ? [] : [actsAt(ledger, at)]));
  // Of what goes first nothing is judged here: it needs no gap to be over.
  if (blocker)
    for (const u of ledger.upstream(matter.row.scheduledFor)) if (u.doneAt !== null) candidates.push(u.doneAt);
  if (blocker) candidates.push(Math.max(t, ledger.now) + BLOCKED_MS);
  const next = Math.min(...candidates.filter((at) => at > t));
  return Number.isFinite(next) ? next : null;
}
