import type { IncidentKind } from '../../core/message.ts';
import type { State } from '../../core/occurrence.ts';

export const jobStatuses = ['paused', 'down', 'late', 'new', 'unknown', 'up'] as const;
export type JobStatus = (typeof jobStatuses)[number];

const DOWN: readonly IncidentKind[] = [
  'missing',
  'not_started',
  'overrun',
  'failed',
  'expired',
  'backlog',
  'schedule_error',
];

/** How a job is doing (DESIGN section 8, docs/ledger.md rule 40). Open duplicates and unscheduled runs change nothing. */
export function jobStatus({
  pausedAt,
  openKinds,
  newestSettled,
}: {
  readonly pausedAt: number | null;
  readonly openKinds: readonly IncidentKind[];
  readonly newestSettled: State | null;
}): JobStatus {
  if (pausedAt !== null) return 'paused';
  if (openKinds.some((kind) => DOWN.includes(kind))) return 'down';
  if (openKinds.includes('late')) return 'late';
  if (newestSettled === null) return 'new';
  return newestSettled === 'unknown' ? 'unknown' : 'up';
}
