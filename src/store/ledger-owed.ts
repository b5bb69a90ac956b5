import type { Claim } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { iso, rowColumns, type StoredRow } from './ledger-rows.ts';
import { runColumns, type StoredRun } from './ledger-runs.ts';
import type { Outcome } from './ledger-save.ts';
import type { Wish } from './ledger-wish.ts';

export type StoredClaim = Omit<Claim, 'run'> & { readonly jobId: number; readonly run: StoredRun };

/** The rows that a claim or a decision looks at: the oldest ones. */
export async function owedRows(tx: Tx, wishes: readonly Wish[]): Promise<StoredRow[]> {
  const wanted = wishes.flatMap(({ jobId: job, wanted: limit }) => (limit > 0 ? [{ job, limit }] : []));
  const undecided = wishes.flatMap(({ jobId: job, undecided: one }) =>
    one ? [{ job, after: iso(one.after), until: iso(one.until), limit: one.limit }] : [],
  );
  const { sql } = tx;
  const parts = [
    wanted.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)} from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) w(job bigint, "limit" int)
        cross join lateral (
          select * from occurrences a where a.job_id = w.job and a.wanted and not exists (
            select from claims c join runs r on r.id = c.run_id
            where r.job_id = a.job_id and r.scheduled_for = a.scheduled_for and r.ended_at is null
              and c.ended_at is null and c.lease_until > ${tx.now}::timestamptz)
          order by a.scheduled_for limit w."limit") o`,
    undecided.length > 0 &&
      sql<StoredRow[]>`
        select ${rowColumns(tx)}
        from jsonb_to_recordset(${JSON.stringify(undecided)}::jsonb)
          w(job bigint, after timestamptz, until timestamptz, "limit" int)
        cross join lateral (
          (select * from occurrences a where a.job_id = w.job and a.wanted
            and a.scheduled_for > w.after and a.scheduled_for <= w.until order by a.scheduled_for limit w."limit")
          union all
          (select * from occurrences u where u.job_id = w.job and u.state = 'unknown' and not u.confirmed
            and u.scheduled_for > w.after and u.scheduled_for <= w.until order by u.scheduled_for limit w."limit")) o`,
  ];
  return (await Promise.all(parts.filter((part) => part !== false))).flat();
}

type ClaimRow = StoredRun & {
  readonly claimId: number;
  readonly claimedAt: Instant;
  readonly leaseUntil: Instant;
  readonly claimEndedAt: Instant | null;
  readonly outcome: Claim['outcome'];
};

/**
 * Claims of unended runs: those that may be live, and those of runs in progress, which are at work only while their claim
 * lives; and the claim that is asked for by its id.
 */
export async function readClaims(tx: Tx, wishes: readonly Wish[]): Promise<StoredClaim[]> {
  const asked = wishes.flatMap(({ jobId: job, claims, runsSince }) =>
    claims ? [{ job, id: claims.id, since: iso(runsSince) }] : [],
  );
  if (asked.length === 0) return [];
  const rows = await tx.sql<ClaimRow[]>`
    select ${runColumns(tx)}, c.id as "claimId", c.claimed_at as "claimedAt", c.lease_until as "leaseUntil",
      c.ended_at as "claimEndedAt", c.outcome
    from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) w(job bigint, id bigint, since timestamptz)
    cross join lateral (
      select u.* from runs u where u.job_id = w.job and u.ended_at is null
        and (u.started_at is null or u.started_at > w.since)
      union
      select n.* from claims i join runs n on n.id = i.run_id where i.id = w.id and i.job_id = w.job) r
    join claims c on c.run_id = r.id
    where c.id = w.id or r.started_at is not null or c.lease_until > ${tx.now}::timestamptz`;
  return rows.map(({ claimId, claimedAt, leaseUntil, claimEndedAt, outcome, ...run }) => ({
    id: claimId,
    jobId: run.jobId,
    scheduledFor: run.scheduledFor ?? claimedAt,
    run,
    claimedAt,
    leaseUntil,
    endedAt: claimEndedAt,
    outcome,
  }));
}

/** The job of a claim, in this project; null: no such claim. */
export async function jobOfClaim(tx: Tx, projectId: number, claimId: number): Promise<number | null> {
  const [row] = await tx.sql<{ id: number }[]>`
    select j.id from claims c join jobs j on j.id = c.job_id where c.id = ${claimId} and j.project_id = ${projectId}`;
  return row?.id ?? null;
}

/** Writes new and changed claims; the new ones have their real ids afterwards. Their runs are stored already. */
export async function saveClaims(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  for (const { jobId, ledger } of outcomes) {
    for (const claim of ledger.changedClaims) {
      const { scheduledFor, run, claimedAt, leaseUntil, endedAt, outcome } = claim;
      if (claim.id > 0) {
        await tx.sql`
          update claims set lease_until = ${leaseUntil}, ended_at = ${endedAt}, outcome = ${outcome} where id = ${claim.id}`;
        continue;
      }
      const [row] = await tx.sql<{ id: number }[]>`
        insert into claims (job_id, scheduled_for, rid, run_id, claimed_at, lease_until)
        values (${jobId}, ${scheduledFor}, ${run.rid}, ${run.id}, ${claimedAt}, ${leaseUntil}) returning id`;
      claim.id = row?.id ?? claim.id;
    }
  }
}

/** What counts for a backlog is listed in it: when it opens all of it, loaded or not; each once. After the rows are stored. */
export async function saveBacklogs(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  for (const { jobId, ledger } of outcomes) {
    const listed = ledger.members.filter(({ incident }) => incident.kind === 'backlog');
    for (const incident of new Set(listed.map((member) => member.incident))) {
      const own = listed
        .filter((member) => member.incident === incident)
        .map(({ scheduledFor }) => ({ at: iso(scheduledFor) }));
      const opened = ledger.backlogs.find((one) => one.incident === incident);
      const since = iso(opened?.since ?? 0);
      // What is loaded has said by itself whether it counted; what is not has not changed.
      const loaded = opened ? [...ledger.rows.keys()].map((at) => ({ at: iso(at) })) : [];
      const added = await tx.sql`
        insert into incident_occurrences (incident_id, scheduled_for)
        select ${incident.id}::bigint, at from jsonb_to_recordset(${JSON.stringify(own)}::jsonb) l(at timestamptz)
        union
        select ${incident.id}::bigint, scheduled_for from occurrences o
        where ${opened !== undefined}::boolean and job_id = ${jobId} and wanted and scheduled_for > ${since}::timestamptz
          and not exists (
            select from jsonb_to_recordset(${JSON.stringify(loaded)}::jsonb) k(at timestamptz) where k.at = o.scheduled_for)
        on conflict do nothing`;
      incident.occurrenceCount = opened ? added.count : incident.occurrenceCount + added.count;
      await tx.sql`update incidents set occurrence_count = ${incident.occurrenceCount} where id = ${incident.id}`;
    }
  }
}
