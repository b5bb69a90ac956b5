import { changeRow } from './incident.ts';
import { versionOf } from './instants.ts';
import type { Ledger, Row } from './ledger.ts';
import { isOpen } from './occurrence.ts';
import { rowTerms } from './terms.ts';
import type { Instant } from './time.ts';

/**
 * What goes first and is not done at `t`; one that has begun waits for nothing. Done when the window of the one that waits
 * has ended, in the very instant too, it releases nothing.
 */
export function blockerOf(ledger: Ledger, row: Row, t: Instant) {
  // Nor does a heartbeat, or what other schedules have left of one.
  if (row.startedAt !== null || versionOf(ledger, row.version).periodMs !== null) return undefined;
  const upstream = ledger.upstream(row.scheduledFor);
  if (upstream.length === 0) return undefined;
  const { usefulUntil } = rowTerms(ledger, row);
  return upstream.find(({ doneAt }) => doneAt === null || doneAt > t || doneAt >= usefulUntil);
}

/** The row says what it waits for. */
export function noteBlocker(ledger: Ledger, row: Row, t: Instant): boolean {
  const blocker = blockerOf(ledger, row, t);
  const { jobId: blockedOn, due: blockedFor } = blocker ?? { jobId: null, due: null };
  if (row.blockedOn !== blockedOn || row.blockedFor !== blockedFor) changeRow(ledger, row, { blockedOn, blockedFor });
  return blocker !== undefined;
}

/** A blocked one is looked at again after this. */
export const BLOCKED_MS = 10_000;

/**
 * What goes first is another job's, and nothing says here that it was done: since a blocked one was looked at last, it may
 * have been. Then that is an instant to judge it at.
 */
export function wakeReleased(ledger: Ledger): void {
  for (const row of ledger.rows.values()) {
    if (row.blockedOn === null || row.checkAt === null || !isOpen(row.state)) continue;
    const lookedAt = row.checkAt - BLOCKED_MS;
    const done = ledger.upstream(row.scheduledFor).flatMap(({ doneAt }) => (doneAt === null ? [] : [doneAt]));
    const checkAt = Math.min(row.checkAt, ...done.map((at) => Math.max(at, lookedAt)));
    if (checkAt < row.checkAt) changeRow(ledger, row, { checkAt });
  }
}
