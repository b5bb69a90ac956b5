import type { IncidentKind } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { NewPing } from './pings.ts';

/** A ping as the ledger reads it; `matchedBy`: what became of it. */
export type PastPing = Pick<
  NewPing,
  | 'kind'
  | 'exitCode'
  | 'rid'
  | 'thread'
  | 'fingerprint'
  | 'receivedAt'
  | 'at'
  | 'ownAt'
  | 'occ'
  | 'durationMs'
  | 'matchedBy'
>;

/** When the `nth` newest ping of a job arrived that came after `after`; null: there are not so many. */
export async function nthNewestPing(
  tx: Tx,
  jobId: number,
  { after, nth }: { readonly after: Instant; readonly nth: number },
): Promise<Instant | null> {
  const rows = await tx.sql<{ at: Instant }[]>`
    select received_at as at from pings where job_id = ${jobId} and received_at > ${after}::timestamptz
    order by id desc offset ${nth - 1} limit 1`;
  return rows[0]?.at ?? null;
}

/** The pings of a job that arrived at `after` or later, in the order in which they were accepted; without those that still wait. */
export async function pastPings(tx: Tx, jobId: number, after: Instant): Promise<readonly PastPing[]> {
  return tx.sql<PastPing[]>`
    select kind, exit_code as "exitCode", rid, thread, fingerprint, received_at as "receivedAt", at, own_at as "ownAt", occ,
      duration_ms as "durationMs", matched_by as "matchedBy"
    from pings where job_id = ${jobId} and received_at >= ${after}::timestamptz and matched_by <> 'deferred'
    order by id`;
}

/** A claim as it went: its lease lasted until `leaseUntil`, or until its runner gave it back. */
export type PastClaim = {
  readonly rid: string;
  readonly claimedAt: Instant;
  readonly leaseUntil: Instant;
  readonly releasedAt: Instant | null;
};

export async function pastClaims(tx: Tx, jobId: number, after: Instant): Promise<readonly PastClaim[]> {
  return tx.sql<PastClaim[]>`
    select rid, claimed_at as "claimedAt", lease_until as "leaseUntil",
      case when outcome = 'released' then ended_at end as "releasedAt"
    from claims where job_id = ${jobId} and claimed_at >= ${after}::timestamptz order by id`;
}

/** What a person said of a job: of one occurrence, or of all that was owed. */
export type PastDecision =
  | { readonly at: Instant; readonly scheduledFor: Instant; readonly state: 'skipped' | 'on_time' }
  | { readonly at: Instant; readonly decision: 'run' | 'skip' };

export async function pastDecisions(
  tx: Tx,
  { projectId, slug }: { readonly projectId: number; readonly slug: string },
  after: Instant,
): Promise<readonly PastDecision[]> {
  const rows = await tx.sql<{ at: Instant; subject: string; state: string | null; decision: string | null }[]>`
    select at, subject, detail ->> 'state' as state, detail ->> 'decision' as decision from audit
    where project_id = ${projectId} and at >= ${after}::timestamptz
      and ((action = 'occurrence.settle' and subject like ${`${slug.replaceAll('_', '\\_')} %`})
        or (action = 'job.backlog' and subject = ${slug}))
    order by id`;
  return rows.flatMap(({ at, subject, state, decision }): PastDecision[] => {
    if (decision === 'run' || decision === 'skip') return [{ at, decision }];
    const scheduledFor = Date.parse(subject.slice(slug.length + 1));
    return state === 'skipped' || state === 'on_time' ? [{ at, scheduledFor, state }] : [];
  });
}

/** The recorded occurrences of a job due after `after` and the last one before that, oldest first; when each was done (rule 62). */
export async function pastOccurrences(
  tx: Tx,
  jobId: number,
  { after, limit }: { readonly after: Instant; readonly limit: number },
): Promise<readonly { readonly due: Instant; readonly doneAt: Instant | null }[]> {
  const rows = await tx.sql<{ due: Instant; doneAt: Instant | null }[]>`
    select o.scheduled_for as due, case
        when o.state in ('on_time', 'late', 'expired') then coalesce(o.completed_at, o.settled_at)
        when o.state in ('skipped', 'unknown') then o.settled_at
        when o.state = 'coalesced' then (
          select coalesce(c.completed_at, c.settled_at) from occurrences c
          where c.job_id = o.job_id and c.scheduled_for = o.covered_by)
      end as "doneAt"
    from occurrences o where o.job_id = ${jobId} and o.scheduled_for >= coalesce((
      select l.scheduled_for from occurrences l where l.job_id = ${jobId} and l.scheduled_for <= ${after}::timestamptz
      order by l.scheduled_for desc limit 1), ${after}::timestamptz)
    order by o.scheduled_for desc limit ${limit}`;
  return [...rows].reverse();
}

/** An incident as people heard of it. `told`: how often a problem was told; `first`: the oldest occurrence it lists. */
export type PastIncident = {
  readonly id: number;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly silent: boolean;
  readonly occurrences: number;
  readonly told: number;
  readonly first: Instant | null;
};

/** The incidents of a job that opened at `after` or later, oldest first. */
export async function pastIncidents(tx: Tx, jobId: number, after: Instant): Promise<readonly PastIncident[]> {
  return tx.sql<PastIncident[]>`
    select i.id, i.kind, i.opened_at as "openedAt", i.resolved_at as "resolvedAt", i.silent,
      i.occurrence_count as occurrences,
      i.events - case when i.resolved_at is not null and not i.silent then 1 else 0 end as told,
      (select min(m.scheduled_for) from incident_occurrences m where m.incident_id = i.id) as first
    from incidents i where i.job_id = ${jobId} and i.opened_at >= ${after}::timestamptz
    order by i.opened_at, i.kind collate "C", i.id`;
}
