import { coalesceNow, judgeWanted } from './advance.ts';
import { changeRow } from './incident.ts';
import type { Ledger, Row } from './ledger.ts';
import { isCompleted, isOpen, type State } from './occurrence.ts';
import { recordDue } from './record.ts';
import type { Instant } from './time.ts';

/** Settled by absence or failure: a later completion is noted on them, for the case that they fail in the end. */
const yieldsToCover: ReadonlySet<State> = new Set(['failed', 'missed', 'unknown']);

/**
 * A completion covers the earlier ones that nobody completed (rule 23): under coalesce every one, under another policy what
 * was coalesced before.
 */
export function coverEarlier(ledger: Ledger, completed: Row, at: Instant): void {
  const coalesce = ledger.settings.missedRuns === 'coalesce';
  ledger.covers.push({ by: completed.scheduledFor, failed: coalesce });
  if (coalesce) recordDue(ledger, at, (due) => due < completed.scheduledFor);
  for (const row of ledger.rows.values()) {
    if (row.scheduledFor >= completed.scheduledFor || row.coveredBy !== null) continue;
    if (row.state !== 'coalesced' && !(coalesce && (isOpen(row.state) || yieldsToCover.has(row.state)))) continue;
    changeRow(ledger, row, { coveredBy: completed.scheduledFor });
    if (row.state === 'failed') judgeWanted(ledger, row, at);
    // A running one is left to its run; a paused job's are judged at resume.
    else if (isOpen(row.state) && row.state !== 'running' && ledger.pausedAt === null) coalesceNow(ledger, row, at);
  }
}

/** Under coalesce a failed one that a later completion preceded is covered already. */
export function coverByLater(ledger: Ledger, row: Row): void {
  if (ledger.settings.missedRuns !== 'coalesce' || row.coveredBy !== null) return;
  const later = completed(ledger).find(({ scheduledFor }) => scheduledFor > row.scheduledFor);
  if (later) changeRow(ledger, row, { coveredBy: later.scheduledFor });
}

/** A job that coalesces from now on: what was completed before covers what is older, in the order of completion. */
export function coverByKnown(ledger: Ledger, at: Instant): void {
  if (ledger.settings.missedRuns !== 'coalesce') return;
  for (const row of completed(ledger)) coverEarlier(ledger, row, at);
}

/** In the order of completion. */
function completed(ledger: Ledger): Row[] {
  const done = [...ledger.rows.values()].filter(({ state }) => isCompleted(state));
  return done.sort((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0) || a.scheduledFor - b.scheduledFor);
}
