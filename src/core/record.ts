import { isBeat } from './heartbeat.ts';
import { changeRow } from './incident.ts';
import { isHeartbeat, nextDue } from './instants.ts';
import type { Ledger } from './ledger.ts';
import { isOpen } from './occurrence.ts';
import { byDue, rowAt } from './rows.ts';
import type { Instant } from './time.ts';

/** Rows for instants that have none yet, as long as `has` says so; whoever asks says what became of them. */
export function recordDue(ledger: Ledger, at: Instant, has: (due: Instant) => boolean): void {
  while (ledger.nextUnrecorded !== null && ledger.nextUnrecorded < ledger.knownUntil && has(ledger.nextUnrecorded)) {
    const due = ledger.nextUnrecorded;
    rowAt(ledger, due, at);
    ledger.nextUnrecorded = isHeartbeat(ledger) ? null : nextDue(ledger, due);
  }
}

/** Instants that got their row as evidence need no check of their own: a healthy job never comes due. */
export function skipRecorded(ledger: Ledger): void {
  while (ledger.nextUnrecorded !== null && ledger.rows.has(ledger.nextUnrecorded)) {
    ledger.nextUnrecorded = isHeartbeat(ledger) ? null : nextDue(ledger, ledger.nextUnrecorded);
  }
}

/** What became due while the job is paused is skipped as of then; a heartbeat's running one lives on. */
export function skipDue(ledger: Ledger, at: Instant): void {
  const since = ledger.pausedAt;
  if (since === null) return;
  for (const row of byDue(ledger)) {
    const { scheduledFor: settledAt } = row;
    if (!isOpen(row.state) || isBeat(ledger, row) || settledAt <= since || settledAt > at) continue;
    changeRow(ledger, row, { state: 'skipped', reason: 'paused', settledAt, wanted: false, checkAt: null });
  }
}
