import type { Incident, Silence } from '../core/ledger.ts';
import type { Run } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import { readSilences } from './beats.ts';
import type { Tx } from './database.ts';
import type { StoredVersion } from './jobs.ts';
import { owedRows, readClaims, type StoredClaim } from './ledger-owed.ts';
import {
  iso,
  nextCompleted,
  PENDING_LIMIT,
  pendingRows,
  recentRows,
  rowsAhead,
  rowsAt,
  type StoredRow,
  verdictRows,
  wishedRows,
} from './ledger-rows.ts';
import {
  completingRuns,
  readOwnRuns,
  readThreads,
  type StoredRun,
  type StoredThread,
  unendedRuns,
} from './ledger-runs.ts';
import type { Wish } from './ledger-wish.ts';

export async function versionsOf(tx: Tx, jobIds: readonly number[]): Promise<(StoredVersion & { jobId: number })[]> {
  if (jobIds.length === 0) return [];
  return tx.sql<(StoredVersion & { jobId: number })[]>`
    select job_id as "jobId", number, zone, tz_version as "tzVersion", schedules, starts_after as "startsAfter",
      ends_at as "endsAt"
    from schedule_versions where job_id = any(${jobIds as number[]}::bigint[])
    order by job_id, number`;
}

export type Loaded = {
  readonly rows: readonly StoredRow[];
  /** Jobs that have more pending rows than were loaded, and the check instant from which on they are missing. */
  readonly loadedUntil: ReadonlyMap<number, Instant>;
  /** Jobs that have more evidence ahead than was loaded, and the due instant from which on it is missing. */
  readonly knownUntil: ReadonlyMap<number, Instant>;
  readonly runs: readonly (Run & { readonly jobId: number })[];
  readonly threads: readonly StoredThread[];
  readonly incidents: readonly (Incident & { readonly jobId: number })[];
  readonly wells: readonly { readonly jobId: number; readonly at: Instant; readonly doubled: boolean }[];
  readonly pauses: readonly { readonly jobId: number; readonly after: Instant; readonly until: Instant }[];
  readonly silences: readonly Silence[];
  readonly claims: readonly StoredClaim[];
};

const WELLS = 200;
const SILENCE_MEMORY_MS = 400 * 86_400_000;

/** Reads the working sets that core/ledger.ts promises, for all wishes: what they name, then what that points to. */
export async function load(tx: Tx, wishes: readonly Wish[]): Promise<Loaded> {
  const jobIds = wishes.map(({ jobId }) => jobId);
  const troubled = wishes.filter(({ withWells }) => withWells).map(({ jobId }) => jobId);
  const [pending, ahead, wished, owed, recent, verdicts, threads, own, claims, incidents, wells, pauses, silences] =
    await Promise.all([
      pendingRows(tx, jobIds),
      rowsAhead(tx, wishes),
      wishedRows(tx, wishes),
      owedRows(tx, wishes),
      recentRows(tx, wishes),
      verdictRows(tx, wishes),
      readThreads(tx, wishes),
      readOwnRuns(tx, wishes),
      readClaims(tx, wishes),
      openIncidents(tx, jobIds),
      newestWells(tx, troubled),
      pausesWithoutRows(tx, jobIds),
      readSilences(tx, tx.now - SILENCE_MEMORY_MS),
    ]);
  const due = cut(
    pending,
    () => PENDING_LIMIT,
    ({ checkAt }) => checkAt ?? 0,
  );
  const limits = new Map(wishes.map(({ jobId, aheadLimit }) => [jobId, aheadLimit]));
  const evidence = cut(
    ahead,
    (jobId) => limits.get(jobId) ?? 0,
    ({ scheduledFor }) => scheduledFor,
  );
  const rows = new Map<string, StoredRow>();
  const ownRuns = [...own, ...claims.map(({ run }) => run)];
  for (const row of [...verdicts, ...wished, ...owed, ...recent, ...evidence.rows, ...due.rows])
    rows.set(nameOf(row), row);
  const more = await pointedTo(tx, wishes, [...rows.values()], ownRuns);
  for (const row of more.rows) rows.set(nameOf(row), row);
  const runs = new Map([...ownRuns, ...more.runs].map((run) => [run.id, run]));
  return {
    rows: [...rows.values()],
    loadedUntil: due.missingFrom,
    knownUntil: evidence.missingFrom,
    runs: [...runs.values()].sort((a, b) => a.id - b.id),
    threads,
    incidents,
    wells,
    pauses,
    silences,
    claims,
  };
}

const nameOf = ({ jobId, scheduledFor }: { readonly jobId: number; readonly scheduledFor: Instant | null }): string =>
  `${jobId} ${scheduledFor}`;

/** One row more than the limit was read of each job: it only says from where on rows are missing. */
function cut(all: readonly StoredRow[], limitOf: (jobId: number) => number, instantOf: (row: StoredRow) => Instant) {
  const rows: StoredRow[] = [];
  const missingFrom = new Map<number, Instant>();
  const counts = new Map<number, number>();
  for (const row of all) {
    const count = (counts.get(row.jobId) ?? 0) + 1;
    counts.set(row.jobId, count);
    if (count <= limitOf(row.jobId)) rows.push(row);
    else missingFrom.set(row.jobId, instantOf(row));
  }
  return { rows, missingFrom };
}

async function openIncidents(tx: Tx, jobIds: readonly number[]): Promise<(Incident & { jobId: number })[]> {
  return tx.sql<(Incident & { jobId: number })[]>`
    select job_id as "jobId", id, kind, opened_at as "openedAt", resolved_at as "resolvedAt", silent, events,
      last_told as "lastTold", last_run_at as "lastRunAt", occurrence_count as "occurrenceCount",
      troubled_count as "troubledCount", detail
    from incidents where job_id = any(${jobIds as number[]}::bigint[]) and resolved_at is null`;
}

async function newestWells(
  tx: Tx,
  jobIds: readonly number[],
): Promise<{ jobId: number; at: Instant; doubled: boolean }[]> {
  if (jobIds.length === 0) return [];
  return tx.sql<{ jobId: number; at: Instant; doubled: boolean }[]>`
    select o.job_id as "jobId", o.scheduled_for as "at", o.completions > o.stands_for as doubled from unnest(${jobIds as number[]}::bigint[]) j(id)
    cross join lateral (
      select * from occurrences w where w.job_id = j.id and w.state in ('on_time', 'late')
      order by w.scheduled_for desc limit ${WELLS}) o`;
}

async function pausesWithoutRows(tx: Tx, jobIds: readonly number[]) {
  return tx.sql<{ jobId: number; after: Instant; until: Instant }[]>`
    select p.job_id as "jobId", p.after, p.until from pauses p join cursors c on c.job_id = p.job_id
    where p.job_id = any(${jobIds as number[]}::bigint[])
      and p.until is not null and (c.next_unrecorded <= p.until or p.until > ${tx.now - 32 * 86_400_000}::timestamptz)`;
}

/** The rows of runs, the unended runs of open rows and, where a run may fail, what completed and what covered them. */
async function pointedTo(
  tx: Tx,
  wishes: readonly Wish[],
  rows: readonly StoredRow[],
  runs: readonly StoredRun[],
): Promise<{ readonly rows: StoredRow[]; readonly runs: StoredRun[] }> {
  const known = new Set(rows.map(nameOf));
  const missing = runs.flatMap((run) =>
    run.scheduledFor === null || known.has(nameOf(run)) ? [] : [{ job: run.jobId, at: iso(run.scheduledFor) }],
  );
  const open = rows.filter((row) => row.startedAt !== null && row.settledAt === null);
  const failing = new Set(wishes.filter(({ fails }) => fails).map(({ jobId }) => jobId));
  const covering = new Set(
    wishes.filter(({ fails, coalesces, claims }) => coalesces && (fails || claims)).map(({ jobId }) => jobId),
  );
  const point = ({ jobId, scheduledFor }: StoredRow) => ({ job: jobId, at: iso(scheduledFor) });
  const startedAt = [...open.map(point), ...missing];
  const mayFail = [...rows.filter(({ jobId }) => failing.has(jobId)).map(point), ...missing];
  const mayBeCovered = [...rows.map(point), ...missing].filter(({ job }) => covering.has(job));
  const [of, later, unended, completing] = await Promise.all([
    missing.length > 0 ? rowsAt(tx, missing) : [],
    mayBeCovered.length > 0 ? nextCompleted(tx, mayBeCovered) : [],
    startedAt.length > 0 ? unendedRuns(tx, startedAt) : [],
    failing.size > 0 && mayFail.length > 0 ? completingRuns(tx, mayFail) : [],
  ]);
  return { rows: [...later, ...of], runs: [...unended, ...completing] };
}
