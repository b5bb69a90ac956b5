import { changeRow } from './incident.ts';
import { coalesceNow } from './judge.ts';
import type { Ledger, Row } from './ledger.ts';
import { isCompleted, isOpen, type State } from './occurrence.ts';
import { recordDue } from './record.ts';
import type { Instant } from './time.ts';
import { judgeWanted } from './wanted.ts';

/** Settled by absence or failure: a later completion is noted on them, for the case that they fail in the end. */
const yieldsToCover: ReadonlySet<State> = new Set(['failed', 'missed', 'unknown']);

/**
 * A completion covers the earlier ones that nobody completed (rule 23): under coalesce every one that has a row or is due,
 * under another policy what was coalesced before.
 */
export function coverEarlier(ledger: Ledger, completed: Row, at: Instant): void {
  const coalesce = ledger.settings.missedRuns === 'coalesce';
  const isPaused = ledger.pausedAt !== null;
  ledger.covers.push({ by: completed.scheduledFor, failed: coalesce });
  if (coalesce && !isPaused) recordDue(ledger, at, (due) => due <= at && due < completed.scheduledFor);
  for (const row of ledger.rows.values()) {
    if (row.scheduledFor >= completed.scheduledFor || row.coveredBy !== null) continue;
    if (row.state !== 'coalesced' && !(coalesce && (isOpen(row.state) || yieldsToCover.has(row.state)))) continue;
    changeRow(ledger, row, { coveredBy: completed.scheduledFor });
    if (row.state === 'failed') judgeWanted(ledger, row, at);
    else if (yields(row) && !isPaused) coalesceNow(ledger, row, at);
  }
}

/** Under coalesce one that a later completion preceded is covered already: one that fails, or gets its row, after it. */
export function coverByLater(ledger: Ledger, row: Row): void {
  if (ledger.settings.missedRuns === 'coalesce') coverByCompleted(ledger, row);
}

/** The first later completion, if there is one already. */
export function coverByCompleted(ledger: Ledger, row: Row): void {
  if (row.coveredBy !== null) return;
  const later = completed(ledger).find(({ scheduledFor }) => scheduledFor > row.scheduledFor);
  if (later) changeRow(ledger, row, { coveredBy: later.scheduledFor });
}

/** A job that coalesces from now on: what was completed before covers what is older, in the order of completion. */
export function coverByKnown(ledger: Ledger, at: Instant): void {
  if (ledger.settings.missedRuns !== 'coalesce') return;
  for (const row of completed(ledger)) coverEarlier(ledger, row, at);
  if (ledger.pausedAt !== null) return;
  // Those that were covered while the job was paused.
  for (const row of ledger.rows.values()) if (yields(row) && row.coveredBy !== null) coalesceNow(ledger, row, at);
}

/** Open, and not left to a run. */
const yields = (row: Row): boolean => isOpen(row.state) && row.state !== 'running';

/** In the order of completion. */
function completed(ledger: Ledger): Row[] {
  const done = [...ledger.rows.values()].filter(({ state }) => isCompleted(state));
  return done.sort((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0) || a.scheduledFor - b.scheduledFor);
}
