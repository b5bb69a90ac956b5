import { currentVersion, dueAt } from './instants.ts';
import type { Ledger, Row } from './ledger.ts';
import { isVerdict, type Run } from './occurrence.ts';
import type { Instant } from './time.ts';

/** The row of an instant of the ledger, made if it has none. `now` tells whether a pause already skipped it. */
export function rowAt(ledger: Ledger, at: Instant, now: Instant): Row {
  const known = ledger.rows.get(at);
  if (known) return known;
  const due = dueAt(ledger, at);
  const version = due?.version ?? currentVersion(ledger);
  const row: Row = {
    scheduledFor: at,
    version: version.number,
    standsFor: due?.standsFor ?? 1,
    state: 'expected',
    reason: null,
    settledAt: null,
    completions: 0,
    startedAt: null,
    completedAt: null,
    durationMs: null,
    completedBy: null,
    coveredBy: null,
    matchedBy: null,
    wanted: false,
    incidentId: null,
    doubled: false,
    confirmed: false,
    counted: 0,
    blockedOn: null,
    blockedFor: null,
    checkAt: null,
    note: null,
  };
  ledger.rows.set(at, row);
  ledger.changed.add(row);
  if (due && at <= now && inPause(ledger, at))
    Object.assign(row, { state: 'skipped', reason: 'paused', settledAt: at });
  return row;
}

export const runsOf = (ledger: Ledger, row: Row): Run[] =>
  ledger.runs.filter((run) => run.scheduledFor === row.scheduledFor);

/** Whether `at` lies in a pause; one that lasts counts up to `now`. */
export function inPause(ledger: Ledger, at: Instant): boolean {
  if (ledger.pausedAt !== null && at > ledger.pausedAt) return true;
  return ledger.pauses.some((pause) => pause.after < at && at <= pause.until);
}

/** The newest row with a verdict (of those that `has` takes), by due instant. */
export function newestVerdict(ledger: Ledger, has: (row: Row) => boolean = () => true): Row | null {
  let newest: Row | null = null;
  for (const row of ledger.rows.values()) {
    if (!isVerdict(row.state) || (newest && row.scheduledFor < newest.scheduledFor)) continue;
    if (has(row)) newest = row;
  }
  return newest;
}

/** The loaded rows, the oldest first. */
export const byDue = (ledger: Ledger): Row[] =>
  [...ledger.rows.values()].sort((a, b) => a.scheduledFor - b.scheduledFor);
