import { currentVersion } from './instants.ts';
import type { Ledger, Row } from './ledger.ts';
import { isOpen } from './occurrence.ts';
import { floorToSecond, type Instant } from './time.ts';

/** An occurrence of the heartbeat that the job is; what is left from schedules before it is none. */
export const isBeat = (ledger: Ledger, row: Row): boolean =>
  ledger.versions.every((version) => version.number < row.version || version.periodMs !== null);

/** The one open occurrence of a heartbeat that has a row, if any. */
export function openBeat(ledger: Ledger): Row | null {
  for (const row of ledger.rows.values()) if (isOpen(row.state) && isBeat(ledger, row)) return row;
  return null;
}

/** A heartbeat's anchor: its next occurrence is one period later, on a second that has no row yet; never an earlier one. */
export function anchorHeartbeat(ledger: Ledger, at: Instant): void {
  const { periodMs } = currentVersion(ledger);
  if (periodMs === null || ledger.pausedAt !== null || openBeat(ledger)) return;
  let due = floorToSecond(at) + periodMs;
  while (ledger.rows.has(due)) due += 1000;
  ledger.nextUnrecorded = Math.max(due, ledger.nextUnrecorded ?? due);
}
