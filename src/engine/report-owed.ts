import { groupBy } from '../core/group.ts';
import { formatKey } from '../core/key.ts';
import { inProgress, LEASE_MS } from '../core/occurrence.ts';
import type { OwedLine } from '../core/report.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { jobsInBacklog, type ReportedJob, type RunAtWork, runsAtWork, wantedOf } from '../store/report-numbers.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';

/** What jobs owe now, those that need a decision first, then those that owe most. By four statements. */
export async function owedLines(tx: Tx, jobs: readonly ReportedJob[], zones: ZoneSource): Promise<readonly OwedLine[]> {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ids = [...byId.keys()];
  const wanted = await wantedOf(tx, ids);
  const runs = groupBy(await runsAtWork(tx, ids), ({ jobId }) => jobId);
  const backlogs = await jobsInBacklog(tx, ids);
  const zoneOf = await readKeyZones(
    tx,
    zones,
    wanted.flatMap(({ oldest }) => oldest),
  );
  const lines = wanted.flatMap(({ jobId, oldest, ...one }): OwedLine[] => {
    const job = byId.get(jobId);
    if (!job) return [];
    const atWork = atWorkNow(runs.get(jobId) ?? [], job, tx.now);
    const count = one.wanted - atWork.size;
    const first = oldest.find(({ at }) => !atWork.has(at));
    const needsDecision = backlogs.has(jobId);
    if (count === 0 && one.unconfirmed === 0) return [];
    return [
      {
        job: job.slug,
        count,
        oldest: first ? formatKey(first.at, zoneOf(first)) : null,
        unconfirmed: one.unconfirmed,
        needs_decision: needsDecision,
        is_paused: job.pausedAt !== null,
      },
    ];
  });
  return lines.sort(mostPressing);
}

/** What somebody is at work on is not owed (docs/ledger.md, rule 41): a run in progress, or of a claim while its lease lasts. */
function atWorkNow(runs: readonly RunAtWork[], { definition }: ReportedJob, now: Instant): ReadonlySet<Instant> {
  const isAtWork = ({ claim, startedAt, supersededAt }: RunAtWork): boolean => {
    if (claim) return !claim.isOver && now < claim.leaseUntil && claim.leaseUntil - now <= LEASE_MS;
    return inProgress({ ...UNENDED, startedAt, supersededAt }, definition, now);
  };
  return new Set(runs.filter(isAtWork).map(({ at }) => at));
}

const UNENDED = {
  id: 0,
  thread: '',
  rid: null,
  scheduledFor: null,
  endedAt: null,
  verdict: null,
  exitCode: null,
  durationMs: null,
  heardAt: 0,
};

function mostPressing(a: OwedLine, b: OwedLine): number {
  const decision = Number(b.needs_decision) - Number(a.needs_decision);
  return decision || b.count - a.count || b.unconfirmed - a.unconfirmed || (a.job < b.job ? -1 : 1);
}
