import { wakeReleased } from './blocked.ts';
import { coverByLater } from './cover.ts';
import { endIncidents, settleBacklog } from './incident.ts';
import { isHeartbeat, nextDue } from './instants.ts';
import { coalesceNow, judge } from './judge.ts';
import type { Ledger, Row } from './ledger.ts';
import { isOpen } from './occurrence.ts';
import { rowAt } from './rows.ts';
import { firstCheck } from './terms.ts';
import type { Instant } from './time.ts';

/** The loaded row whose check comes first: by instant, then by due instant. */
function firstPending(ledger: Ledger): Row | null {
  let first: Row | null = null;
  for (const row of ledger.rows.values()) {
    if (row.checkAt === null) continue;
    const firstAt = first?.checkAt ?? Number.POSITIVE_INFINITY;
    if (row.checkAt < firstAt || (row.checkAt === firstAt && first && row.scheduledFor < first.scheduledFor))
      first = row;
  }
  return first;
}

/** The next instant at which the clock changes this job; null: none (paused, or nothing to come). */
export function nextCheckOf(ledger: Ledger): Instant | null {
  if (ledger.pausedAt !== null) return null;
  const next = Math.min(nextStep(ledger).at, ledger.loadedUntil);
  return Number.isFinite(next) ? next : null;
}

/**
 * Judges the job up to and including `until`, in time order, by at most `steps` checks. False: not there yet (call again
 * with a freshly loaded ledger). A paused job is not judged.
 */
export function advance(ledger: Ledger, until: Instant, steps: number): boolean {
  if (ledger.pausedAt !== null) return true;
  wakeReleased(ledger);
  let left = steps;
  let judged: Instant | null = null;
  for (;;) {
    const { at, row } = nextStep(ledger);
    const due = ledger.nextUnrecorded;
    // Incidents end when all that is due at one instant is judged; some of it may not be loaded yet.
    if (judged !== null && judged < at && judged < ledger.loadedUntil) {
      settleIncidents(ledger, judged);
      judged = null;
      continue;
    }
    if (at > until && ledger.loadedUntil > until) return true;
    if (at > ledger.loadedUntil || left === 0 || (due !== null && due >= ledger.knownUntil)) return false;
    if (row) judge(ledger, row, at);
    else if (due !== null) record(ledger, due, at);
    judged = at;
    left -= 1;
  }
}

/** The next check: of a row, or (null) of the first instant without one; at one instant the older one first. */
function nextStep(ledger: Ledger): { readonly at: Instant; readonly row: Row | null } {
  const row = firstPending(ledger);
  const due = ledger.nextUnrecorded;
  const pendingAt = row?.checkAt ?? Number.POSITIVE_INFINITY;
  const freshAt = due === null ? Number.POSITIVE_INFINITY : firstCheck(ledger, due);
  const isPending = row && (pendingAt < freshAt || (pendingAt === freshAt && row.scheduledFor < (due ?? 0)));
  return isPending ? { at: pendingAt, row } : { at: freshAt, row: null };
}

/** Ends the incidents that are over; what one of them lets go, still open, may belong to another one now. */
export function settleIncidents(ledger: Ledger, at: Instant): void {
  for (let ended = endIncidents(ledger, at); ended.length > 0; ended = endIncidents(ledger, at)) {
    const ids = new Set(ended.map(({ id }) => id));
    const freed = [...ledger.rows.values()].filter(({ incidentId }) => incidentId !== null && ids.has(incidentId));
    freed.sort((a, b) => a.scheduledFor - b.scheduledFor);
    for (const row of freed) if (isOpen(row.state)) judge(ledger, row, at);
  }
  settleBacklog(ledger, at);
}

/** Gives the first instant without a row its row, and moves on. */
function record(ledger: Ledger, due: Instant, at: Instant): void {
  ledger.nextUnrecorded = isHeartbeat(ledger) ? null : nextDue(ledger, due);
  if (ledger.rows.has(due)) return;
  const row = rowAt(ledger, due, at);
  coverByLater(ledger, row);
  if (row.coveredBy !== null && isOpen(row.state)) coalesceNow(ledger, row, at);
  else judge(ledger, row, at);
}
