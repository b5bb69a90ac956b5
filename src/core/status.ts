import type { Ledger } from './ledger.ts';
import type { IncidentKind } from './message.ts';
import { isOpen, type State } from './occurrence.ts';

/** Status of a job (DESIGN section 8). */
export type JobStatus = 'paused' | 'down' | 'late' | 'blocked' | 'new' | 'unknown' | 'up';

const down: ReadonlySet<IncidentKind> = new Set([
  'missing',
  'not_started',
  'overrun',
  'failed',
  'expired',
  'backlog',
  'schedule_error',
]);

/** `newestSettled`: state of the newest (by due instant) settled occurrence of any kind, null when nothing is settled yet. */
export function statusOf(job: {
  readonly paused: boolean;
  readonly openKinds: readonly IncidentKind[];
  readonly newestSettled: State | null;
  /** An open occurrence waits for what goes first. */
  readonly blocked: boolean;
}): JobStatus {
  if (job.paused) return 'paused';
  if (job.openKinds.some((kind) => down.has(kind))) return 'down';
  if (job.openKinds.includes('late')) return 'late';
  if (job.blocked) return 'blocked';
  if (job.newestSettled === null) return 'new';
  return job.newestSettled === 'unknown' ? 'unknown' : 'up';
}

/** Status of a ledger whose newest settled row is loaded. */
export function jobStatus(ledger: Ledger): JobStatus {
  let newest: { at: number; state: State } | null = null;
  for (const { scheduledFor: at, state } of ledger.rows.values()) {
    if (!isOpen(state) && (!newest || at > newest.at)) newest = { at, state };
  }
  return statusOf({
    paused: ledger.pausedAt !== null,
    openKinds: [...ledger.incidents.keys()],
    newestSettled: newest?.state ?? null,
    blocked: [...ledger.rows.values()].some((row) => isOpen(row.state) && row.blockedOn !== null),
  });
}
