import { followingInstant, isHeartbeat, latestInstant, nextDue, previousDue } from '../core/instants.ts';
import type { Version } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';
import type { Upstream } from '../core/upstream.ts';
import type { Tx } from '../store/database.ts';
import { readUpstreamJobs, readUpstreamRows, type UpstreamJob } from '../store/upstream.ts';
import type { OpenJob, VersionCache } from './working-set.ts';

/** Which instants of a job are looked at beside its rows: those around these, and so many that have no row yet. */
type Around = { readonly instants: readonly Instant[]; readonly steps: number };

/**
 * Gives the ledgers of jobs with `after` what goes first for every instant that this transaction may judge. Others cost
 * nothing. The upstream jobs are read as they are, not locked: what they have completed is committed with its ping.
 */
export async function readUpstream(
  tx: Tx,
  cache: VersionCache,
  open: readonly OpenJob[],
  around: (jobId: number) => Around,
): Promise<void> {
  const waiting = open.filter(({ job }) => job.definition.after.length > 0);
  if (waiting.length === 0) return;
  const names = waiting.flatMap(({ job }) => job.definition.after.map((slug) => ({ projectId: job.projectId, slug })));
  const jobs = await readUpstreamJobs(tx, names);
  const versions = await cache.read(tx, jobs);
  const dues = new Map(waiting.map((one) => [one, duesOf(one, around(one.job.id), tx.now)]));
  const asked = waiting.flatMap((one) =>
    upstreamOf(one, jobs).flatMap(({ id }) => (dues.get(one) ?? []).map((at) => ({ job: id, at }))),
  );
  const rows = new Map((await readUpstreamRows(tx, asked)).map((row) => [`${row.job} ${row.at}`, row]));
  for (const one of waiting) {
    const own = upstreamOf(one, jobs);
    one.ledger.upstream = (due) =>
      own.flatMap((job) => {
        const compiled = versions.get(job.id);
        return latestOf(job, Array.isArray(compiled) ? compiled : [], due, rows.get(`${job.id} ${due}`)) ?? [];
      });
  }
}

const upstreamOf = ({ job }: OpenJob, jobs: readonly UpstreamJob[]): readonly UpstreamJob[] =>
  jobs.filter(({ projectId, slug }) => projectId === job.projectId && job.definition.after.includes(slug));

/** Instants whose deadlines this transaction may ask for. */
function duesOf({ ledger }: OpenJob, { instants, steps }: Around, now: Instant): Instant[] {
  const dues = new Set<Instant>(ledger.rows.keys());
  for (const at of [...instants, now]) {
    for (const due of [latestInstant(ledger, at), followingInstant(ledger, at)]) if (due !== null) dues.add(due);
  }
  let due = isHeartbeat(ledger) ? null : ledger.nextUnrecorded;
  for (let left = steps; due !== null && due <= now && left > 0; left -= 1) {
    dues.add(due);
    due = nextDue(ledger, due);
  }
  return [...dues];
}

/** The latest occurrence of an upstream job: recorded, or known by the clock alone. */
function latestOf(
  { id, pausedAt }: UpstreamJob,
  versions: readonly Version[],
  due: Instant,
  row: { readonly due: Instant; readonly doneAt: Instant | null } | undefined,
): Upstream | null {
  const clock = previousDue(versions, due);
  if (row && (clock === null || row.due >= clock)) return { jobId: id, due: row.due, doneAt: row.doneAt };
  if (clock === null) return null;
  // What became due while it is paused is skipped, though no row says so yet.
  return { jobId: id, due: clock, doneAt: pausedAt !== null && clock > pausedAt ? clock : null };
}
