import type { JobDefinition } from '../core/definition.ts';
import type { Incident, Row, Silence } from '../core/ledger.ts';
import type { Run } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import { readSilences } from './beats.ts';
import type { Tx } from './database.ts';
import type { StoredVersion } from './jobs.ts';
import { owedRows, readClaims, type StoredClaim } from './ledger-owed.ts';

/** A job whose cursor this transaction holds. */
export type LockedJob = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly uuid: string;
  readonly definition: JobDefinition;
  readonly pausedAt: Instant | null;
  readonly version: number;
  /** Of the tz database by which that version is read now; null: the version is not there. */
  readonly tzVersion: string | null;
  readonly nextUnrecorded: Instant | null;
  readonly openIncidents: number;
  readonly deferred: number;
  readonly failures: number;
  readonly constantRid: boolean;
  readonly backlog: number;
  readonly decidedUntil: Instant | null;
  readonly lastHandOut: Instant | null;
};

/**
 * Locks the cursors of these jobs in id order. `wait`: for as long as it takes; otherwise a locked one is left out, so that
 * a stopped process cannot hold a fleet. The jobs are as whoever held them last has left them.
 */
export async function lockJobs(tx: Tx, jobIds: readonly number[], wait: boolean): Promise<LockedJob[]> {
  if (jobIds.length === 0) return [];
  const { sql } = tx;
  const ids = jobIds as number[];
  // Two statements, sent together: one that waits for a lock goes on with the new cursor but with what it saw of all other
  // tables before, so an edit would be judged by the definition that another edit has just replaced.
  const [held, jobs] = await Promise.all([
    sql<{ id: number }[]>`
      select job_id as id from cursors where job_id = any(${ids}::bigint[]) order by job_id
      for update ${wait ? sql`` : sql`skip locked`}`,
    readUnlocked(tx, ids),
  ]);
  const own = new Set(held.map(({ id }) => id));
  return jobs.filter(({ id }) => own.has(id));
}

function readUnlocked(tx: Tx, ids: number[]): Promise<LockedJob[]> {
  return tx.sql<LockedJob[]>`
    select j.id, j.project_id as "projectId", j.slug, j.uuid, j.definition, j.paused_at as "pausedAt", c.version,
      v.tz_version as "tzVersion", c.next_unrecorded as "nextUnrecorded", c.open_incidents as "openIncidents", c.deferred, c.failures,
      c.constant_rid as "constantRid", c.backlog, c.decided_until as "decidedUntil", c.last_hand_out as "lastHandOut"
    from cursors c join jobs j on j.id = c.job_id
    left join schedule_versions v on v.job_id = c.job_id and v.number = c.version
    where c.job_id = any(${ids}::bigint[])
    order by c.job_id`;
}

export async function versionsOf(tx: Tx, jobIds: readonly number[]): Promise<(StoredVersion & { jobId: number })[]> {
  if (jobIds.length === 0) return [];
  return tx.sql<(StoredVersion & { jobId: number })[]>`
    select job_id as "jobId", number, zone, tz_version as "tzVersion", schedules, starts_after as "startsAfter",
      ends_at as "endsAt"
    from schedule_versions where job_id = any(${jobIds as number[]}::bigint[])
    order by job_id, number`;
}

/** What one job's part of a transaction will look at, beside what its clock needs. */
export type Wish = {
  readonly jobId: number;
  /** Instants of pings: their neighbours are loaded. */
  readonly around: readonly Instant[];
  /** Occurrences named by keys. */
  readonly named: readonly Instant[];
  /** Days named by keys, (after, until]. */
  readonly days: readonly { readonly after: Instant; readonly until: Instant }[];
  readonly threads: readonly string[];
  /** Every open row (heartbeats: at most a few). */
  readonly open: boolean;
  /** Every open and every wanted row (edit, pause, resume). */
  readonly all: boolean;
  /** Completed ones later than the oldest that they may cover, the first 1,000 (edit to coalesce). */
  readonly completed: boolean;
  /** The oldest wanted ones, at most so many. */
  readonly wanted: number;
  /** What a decision is about: wanted and unconfirmed ones in (after, until], the oldest `limit`. */
  readonly undecided: { readonly after: Instant; readonly until: Instant; readonly limit: number } | null;
  /** Thresholds: the newest ones that counted for a kind of trouble (by its bit), and as many that ended well. */
  readonly recent: readonly { readonly bit: number; readonly of: number }[];
  /** Claims whose runs have not ended, and the claim with this id. */
  readonly claims: { readonly id: number | null } | null;
  /** Rows from here on exist as evidence, ahead of the clock; null: none can. */
  readonly aheadFrom: Instant | null;
  readonly aheadLimit: number;
  /** A run may fail: the runs that completed the rows in question, and (coalesces) what covered them, are loaded. */
  readonly fails: boolean;
  readonly coalesces: boolean;
  /** Unended runs begun after this may be in progress. */
  readonly runsSince: Instant;
  readonly withWells: boolean;
};

export type StoredRow = Row & { readonly jobId: number };
type StoredThread = {
  readonly jobId: number;
  readonly thread: string;
  readonly fingerprint: string | null;
  readonly receivedAt: Instant | null;
  readonly scheduledFor: Instant | null;
  readonly lastRunId: number | null;
  readonly runId: number | null;
};

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

/** Rows with a check instant loaded at once; more wait for the next transaction. */
const PENDING_LIMIT = 1000;
const WELLS = 200;
const SILENCE_MEMORY_MS = 400 * 86_400_000;

export const rowColumns = (tx: Tx) => tx.sql`
  o.job_id as "jobId", o.scheduled_for as "scheduledFor", o.version, o.stands_for as "standsFor", o.state, o.reason,
  o.settled_at as "settledAt", o.completions, o.started_at as "startedAt", o.completed_at as "completedAt",
  o.duration_ms as "durationMs", o.completed_by as "completedBy", o.covered_by as "coveredBy", o.matched_by as "matchedBy",
  o.wanted, o.incident_id as "incidentId", o.doubled, o.confirmed,
  o.counted, o.blocked_on as "blockedOn", o.blocked_for as "blockedFor", o.check_at as "checkAt", o.note`;

export const runColumns = (tx: Tx) => tx.sql`
  r.id, r.job_id as "jobId", r.thread, r.rid, r.scheduled_for as "scheduledFor", r.started_at as "startedAt",
  r.superseded_at as "supersededAt", r.ended_at as "endedAt", r.verdict, r.exit_code as "exitCode",
  r.duration_ms as "durationMs", r.heard_at as "heardAt"`;

export const iso = (at: Instant): string => new Date(at).toISOString();

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

async function rowsAhead(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const from = wishes.flatMap(({ jobId: job, aheadFrom, aheadLimit }) =>
    aheadFrom === null ? [] : [{ job, at: iso(aheadFrom), limit: aheadLimit + 1 }],
  );
  if (from.length === 0) return [];
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)}
    from jsonb_to_recordset(${JSON.stringify(from)}::jsonb) w(job bigint, at timestamptz, "limit" int)
    cross join lateral (
      select * from occurrences a where a.job_id = w.job and a.scheduled_for >= w.at
      order by a.scheduled_for limit w."limit") o
    order by o.job_id, o.scheduled_for`;
}

async function pendingRows(tx: Tx, jobIds: readonly number[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from unnest(${jobIds as number[]}::bigint[]) j(id)
    cross join lateral (
      select * from occurrences p where p.job_id = j.id and p.check_at is not null
      order by p.check_at, p.scheduled_for limit ${PENDING_LIMIT + 1}) o
    order by o.job_id, o.check_at, o.scheduled_for`;
}

async function wishedRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const points = wishes.flatMap((wish) => wish.around.map((at) => ({ job: wish.jobId, at: iso(at) })));
  const named = wishes.flatMap((wish) => wish.named.map((at) => ({ job: wish.jobId, at: iso(at) })));
  const days = wishes.flatMap(({ jobId, days: spans }) =>
    spans.map(({ after, until }) => ({ job: jobId, after: iso(after), until: iso(until) })),
  );
  const all = wishes.filter((wish) => wish.all).map(({ jobId }) => jobId);
  const open = wishes.filter((wish) => wish.open && !wish.all).map(({ jobId }) => jobId);
  const completed = wishes.filter((wish) => wish.completed).map(({ jobId }) => jobId);
  const { sql } = tx;
  const parts = [
    points.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(points)}::jsonb) p(job bigint, at timestamptz)
        cross join lateral (
          (select * from occurrences b where b.job_id = p.job and b.scheduled_for <= p.at order by b.scheduled_for desc limit 1)
          union all
          (select * from occurrences a where a.job_id = p.job and a.scheduled_for > p.at order by a.scheduled_for limit 1)) o`,
    named.length > 0 && rowsAt(tx, named),
    days.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)}
        from jsonb_to_recordset(${JSON.stringify(days)}::jsonb) p(job bigint, after timestamptz, until timestamptz)
        cross join lateral (
          select * from occurrences d where d.job_id = p.job and d.scheduled_for > p.after and d.scheduled_for <= p.until
          order by d.scheduled_for limit 2) o`,
    all.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from occurrences o
        where o.job_id = any(${all}::bigint[])
          and (o.state in ('expected', 'running', 'overdue') or o.wanted)`,
    open.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from occurrences o
        where o.job_id = any(${open}::bigint[]) and o.state in ('expected', 'running', 'overdue')`,
    completed.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from unnest(${completed}::bigint[]) j(id)
        cross join lateral (
          select * from occurrences d where d.job_id = j.id and d.state in ('on_time', 'late', 'expired')
            and d.scheduled_for > (
              select min(w.scheduled_for) from occurrences w where w.job_id = j.id
                and (w.state in ('expected', 'running', 'overdue') or w.wanted
                  or (w.covered_by is null and w.state in ('coalesced', 'failed', 'missed', 'unknown'))))
          order by d.scheduled_for limit 1000) o`,
  ];
  return (await Promise.all(parts.filter((part) => part !== false))).flat();
}

/** The newest ones; where many may be skipped at once, also the newest that no decision and no window is about. */
async function verdictRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const jobs = wishes.map(({ jobId: job, undecided, all, named }) => ({
    job,
    deep: undecided !== null || all || named.length > 1,
    named: named.map(iso),
  }));
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(jobs)}::jsonb) j(job bigint, deep boolean, named jsonb)
    cross join lateral (
      (select * from occurrences v where v.job_id = j.job
        and v.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced')
      order by v.scheduled_for desc limit 2)
      union
      (select * from occurrences u where j.deep and u.job_id = j.job
        and u.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced') and not u.wanted
      order by u.scheduled_for desc limit 1)
      union
      (select * from occurrences n where j.deep and n.job_id = j.job
        and n.state in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced') and not n.wanted
        and not exists (select from jsonb_array_elements_text(j.named) x where x::timestamptz = n.scheduled_for)
      order by n.scheduled_for desc limit 1)) o`;
}

async function recentRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const asked = wishes.flatMap(({ jobId: job, recent }) => recent.map(({ bit, of }) => ({ job, bit, of })));
  if (asked.length === 0) return [];
  return tx.sql<StoredRow[]>`
    select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) w(job bigint, bit int, "of" int)
    cross join lateral (
      (select * from occurrences a where a.job_id = w.job and a.counted <> 0 and (a.counted & w.bit) <> 0
        and a.state not in ('skipped', 'unknown')
        order by a.scheduled_for desc limit w."of")
      union
      (select * from occurrences b where b.job_id = w.job and b.state in ('on_time', 'late')
        order by b.scheduled_for desc limit w."of")) o`;
}

async function readThreads(tx: Tx, wishes: readonly Wish[]): Promise<StoredThread[]> {
  const threads = wishes.flatMap((wish) => wish.threads.map((thread) => ({ job: wish.jobId, thread })));
  if (threads.length === 0) return [];
  return tx.sql<StoredThread[]>`
    select t.job as "jobId", t.thread, p.fingerprint, p.received_at as "receivedAt", p.scheduled_for as "scheduledFor",
      p.run_id as "lastRunId", r.id as "runId"
    from jsonb_to_recordset(${JSON.stringify(threads)}::jsonb) t(job bigint, thread text)
    left join lateral (
      select * from pings q where q.job_id = t.job and q.thread = t.thread and q.counted order by q.id desc limit 1) p on true
    left join lateral (
      select id from runs q where q.job_id = t.job and q.thread = t.thread order by q.id desc limit 1) r on true`;
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

/** Unended runs that may be in progress, and of each thread the newest run and the one of its last counted ping. */
async function readOwnRuns(tx: Tx, wishes: readonly Wish[]): Promise<StoredRun[]> {
  const recent = wishes.map(({ jobId, runsSince }) => ({ job: jobId, since: iso(runsSince) }));
  const threads = wishes.flatMap((wish) => wish.threads.map((thread) => ({ job: wish.jobId, thread })));
  const keyed = wishes.flatMap((wish) =>
    wish.named.flatMap((at) => wish.threads.map((thread) => ({ job: wish.jobId, thread, at: iso(at) }))),
  );
  const { sql } = tx;
  const parts = [
    keyed.length > 0 &&
      sql<StoredRun[]>`
        select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(keyed)}::jsonb) t(job bigint, thread text, at timestamptz)
        cross join lateral (
          select * from runs q where q.job_id = t.job and q.scheduled_for = t.at and q.thread = t.thread
          order by q.id desc limit 1) r`,
    sql<StoredRun[]>`
      select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(recent)}::jsonb) w(job bigint, since timestamptz)
      join runs r on r.job_id = w.job and r.ended_at is null and r.started_at > w.since`,
    threads.length > 0 &&
      sql<StoredRun[]>`
        select ${runColumns(tx)} from jsonb_to_recordset(${JSON.stringify(threads)}::jsonb) t(job bigint, thread text)
        cross join lateral (
          (select * from runs q where q.job_id = t.job and q.thread = t.thread order by q.id desc limit 1)
          union all
          (select q.* from runs q where q.id = (
            select p.run_id from pings p where p.job_id = t.job and p.thread = t.thread and p.counted
            order by p.id desc limit 1))) r`,
  ];
  return (await Promise.all(parts.filter((part) => part !== false))).flat();
}

export type StoredRun = Run & { readonly jobId: number };

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

type Point = { readonly job: number; readonly at: string };

const pointsOf = (tx: Tx, points: readonly Point[]) =>
  tx.sql`jsonb_to_recordset(${JSON.stringify(points)}::jsonb) p(job bigint, at timestamptz)`;

const rowsAt = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRow[]>`
  select ${rowColumns(tx)} from ${pointsOf(tx, points)} join occurrences o on o.job_id = p.job and o.scheduled_for = p.at`;

const nextCompleted = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRow[]>`
  select ${rowColumns(tx)} from ${pointsOf(tx, points)}
  cross join lateral (
    select * from occurrences c where c.job_id = p.job and c.scheduled_for > p.at
      and c.state in ('on_time', 'late', 'expired') order by c.scheduled_for limit 1) o`;

const unendedRuns = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRun[]>`
  select ${runColumns(tx)} from ${pointsOf(tx, points)}
  join runs r on r.job_id = p.job and r.scheduled_for = p.at and r.ended_at is null`;

const completingRuns = (tx: Tx, points: readonly Point[]) => tx.sql<StoredRun[]>`
  select ${runColumns(tx)} from ${pointsOf(tx, points)}
  join occurrences o on o.job_id = p.job and o.scheduled_for = p.at join runs r on r.id = o.completed_by`;
