import { changeRow } from './incident.ts';
import type { Ledger, Row } from './ledger.ts';
import { isCompleted, isOpen } from './occurrence.ts';
import { actsAt, coalesceInstant, rowTerms } from './terms.ts';
import type { Instant } from './time.ts';

/** An overdue one is owed: not where a late run is worse than none. */
export const wantsOverdue = (ledger: Ledger): boolean =>
  ledger.settings.missedRuns === 'catch_up' || ledger.settings.missedRuns === 'coalesce';

/**
 * A failed one is wanted until its window ends and, under coalesce, until a later one covers it or its grace ends; under
 * catch_up an unknown one too, once a person said to run it.
 */
function wantedUntil(ledger: Ledger, row: Row): Instant {
  const { missedRuns } = ledger.settings;
  const isConfirmed = row.state === 'unknown' && row.confirmed && missedRuns === 'catch_up';
  if (missedRuns === null || missedRuns === 'skip') return Number.NEGATIVE_INFINITY;
  if (row.state !== 'failed' && !isConfirmed) return Number.NEGATIVE_INFINITY;
  const usefulUntil = actsAt(ledger, rowTerms(ledger, row).usefulUntil);
  if (missedRuns === 'catch_up') return usefulUntil;
  if (row.coveredBy !== null) return Number.NEGATIVE_INFINITY;
  const coalesceAt = coalesceInstant(ledger, row);
  return coalesceAt === null ? usefulUntil : Math.min(usefulUntil, actsAt(ledger, coalesceAt));
}

/** Whether a settled one is wanted at `t`; a paused job's row says how it was when the pause began. */
export const isStillWanted = (ledger: Ledger, row: Row, t: Instant): boolean =>
  row.wanted && t < wantedUntil(ledger, row);

/** While a duplicate is open: when it is known whether a completed one ran just once (its grace is over). */
function onceKnownAt(ledger: Ledger, row: Row, t: Instant): Instant | null {
  if (!ledger.incidents.has('duplicate') || !isCompleted(row.state)) return null;
  const { graceEnd } = rowTerms(ledger, row);
  return graceEnd > t ? graceEnd : null;
}

/** Whether the policy (still) wants one that is overdue or settled, as of `t`. */
export function judgeWanted(ledger: Ledger, row: Row, t: Instant): void {
  if (isOpen(row.state)) {
    changeRow(ledger, row, { wanted: row.state === 'overdue' && wantsOverdue(ledger) });
    return;
  }
  const until = wantedUntil(ledger, row);
  const wanted = t < until;
  const checkAt = wanted && Number.isFinite(until) ? until : onceKnownAt(ledger, row, t);
  if (wanted !== row.wanted || checkAt !== row.checkAt) changeRow(ledger, row, { wanted, checkAt });
}
