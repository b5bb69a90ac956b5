import type { JobDefinition } from '../core/definition.ts';
import { inProgress, lasts } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import type { StoredJob } from '../store/jobs.ts';
import { claimsAmong, type StoredClaim } from '../store/owed.ts';
import { unendedRuns } from '../store/reading.ts';

/** Those of these wanted occurrences that are owed now: still useful, and nobody is at work on them (docs/ledger.md, 41). */
export async function owedAmong(tx: Tx, job: StoredJob, wanted: readonly Instant[]): Promise<ReadonlySet<Instant>> {
  const since = usefulSince(job.definition, tx.now);
  const useful = wanted.filter((at) => at > since);
  const claims = await claimsAmong(tx, job.id, useful);
  const runs = await unendedRuns(tx, job.id, useful);
  // A claimed run is at work while its lease lasts: a runner that died gives its occurrence back with it.
  const claimed = new Set(claims.map(({ runId }) => runId));
  const atWork: ReadonlySet<Instant | null> = new Set([
    ...claims.filter((claim) => isLive(claim, tx.now)).map(({ scheduledFor }) => scheduledFor),
    ...runs
      .filter((run) => !claimed.has(run.id) && inProgress(run, job.definition, tx.now))
      .map(({ scheduledFor }) => scheduledFor),
  ]);
  return new Set(useful.filter((at) => !atWork.has(at)));
}

/** What can be owed at all, and was due at this instant or before, is past its window. */
export function usefulSince({ usefulFor }: JobDefinition, now: Instant): Instant {
  return usefulFor === null ? Number.NEGATIVE_INFINITY : now - usefulFor * 1000;
}

const isLive = ({ endedAt, leaseUntil }: StoredClaim, now: Instant): boolean =>
  endedAt === null && lasts(leaseUntil, now);
