import { anchorHeartbeat, openBeat } from '../core/heartbeat.ts';
import { changeRow } from '../core/incident.ts';
import { currentVersion, isHeartbeat, nextDue } from '../core/instants.ts';
import type { Ledger } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';

/** Transactions read the clock when they begin: what is this little ahead is of now. */
const SKEW_MS = 5000;

/** Whether a ping arrived in a time that the clock took back: none of now can be its retry. */
export const isTakenBack = (receivedAt: Instant, now: Instant): boolean => receivedAt > now + SKEW_MS;

/**
 * After a clock went back a cursor may hold a mark instead of an instant (markAt of store/clock-undo.ts): finds the first
 * instant after it. A heartbeat is anchored at the mark; what was left open for later than one period is unknown.
 */
export function findUnrecorded(ledger: Ledger): void {
  const mark = ledger.nextUnrecorded;
  if (mark === null || mark % 1000 === 0) return;
  if (!isHeartbeat(ledger)) {
    ledger.nextUnrecorded = nextDue(ledger, mark);
    return;
  }
  ledger.nextUnrecorded = null;
  const { periodMs } = currentVersion(ledger);
  const open = openBeat(ledger);
  if (open && open.scheduledFor > mark + (periodMs ?? 0)) {
    const unknown = { state: 'unknown', reason: 'blind_window', wanted: false, checkAt: null } as const;
    changeRow(ledger, open, { ...unknown, settledAt: mark - (mark % 1000) });
  }
  anchorHeartbeat(ledger, mark);
}
