import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { TableName } from './zone-tables.ts';

/** A recorded occurrence that may be owed, with the zone table by which its key is written. */
export type OwedCandidate = TableName & {
  readonly scheduledFor: Instant;
  readonly state: State;
  /** Unknown, and nobody has said run: not wanted yet. */
  readonly unconfirmed: boolean;
};

/** Which candidates: the first `limit` due later than `after`. */
export type CandidateWindow = {
  readonly after: Instant;
  readonly limit: number;
  /** Also what is unknown and nobody has confirmed (catch_up). */
  readonly withUnconfirmed: boolean;
};

/** What the policy of a job wants or may want, oldest first; by two narrow indexes, however long the ledger is. */
export async function owedCandidates(
  tx: Tx,
  jobId: number,
  { after, limit, withUnconfirmed }: CandidateWindow,
): Promise<readonly OwedCandidate[]> {
  return tx.sql<OwedCandidate[]>`
    select o.scheduled_for as "scheduledFor", v.zone, v.tz_version as "tzVersion", o.state, o.unconfirmed
    from (
      (select job_id, scheduled_for, version, state, false as unconfirmed from occurrences
        where job_id = ${jobId} and wanted and scheduled_for > ${after}
        order by scheduled_for limit ${limit})
      union all
      (select job_id, scheduled_for, version, state, true from occurrences
        where ${withUnconfirmed} and job_id = ${jobId} and state = 'unknown' and not confirmed and not wanted
          and scheduled_for > ${after}
        order by scheduled_for limit ${limit})) o
    join schedule_versions v on v.job_id = o.job_id and v.number = o.version
    order by o.scheduled_for limit ${limit}`;
}

/** A claim of an occurrence. `endedAt`: it was given back, replaced, or its run has ended. */
export type StoredClaim = {
  readonly scheduledFor: Instant;
  readonly runId: number;
  readonly leaseUntil: Instant;
  readonly endedAt: Instant | null;
};

/** The claims of these occurrences. */
export async function claimsAmong(
  tx: Tx,
  jobId: number,
  instants: readonly Instant[],
): Promise<readonly StoredClaim[]> {
  if (instants.length === 0) return [];
  return tx.sql<StoredClaim[]>`
    select c.scheduled_for as "scheduledFor", c.run_id as "runId", c.lease_until as "leaseUntil",
      coalesce(c.ended_at, r.ended_at) as "endedAt"
    from runs r join claims c on c.run_id = r.id
    where r.job_id = ${jobId} and r.scheduled_for in ${tx.sql(instants.map((at) => new Date(at).toISOString()))}`;
}

/** When the last claim of a job was given; null: never. */
export async function readLastHandOut(tx: Tx, jobId: number): Promise<Instant | null> {
  const rows = await tx.sql<{ at: Instant | null }[]>`
    select last_hand_out as at from cursors where job_id = ${jobId}`;
  return rows[0]?.at ?? null;
}
