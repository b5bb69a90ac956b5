import type { IncidentKind } from '../core/message.ts';
import type { Run, State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { TableName } from './zone-tables.ts';

/** A recorded occurrence, with the zone tables by which its key and that of the covering one are written. */
export type StoredOccurrence = TableName & {
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly reason: string | null;
  readonly wanted: boolean;
  readonly completions: number;
  readonly standsFor: number;
  readonly startedAt: Instant | null;
  readonly completedAt: Instant | null;
  /** When it came to its state, of a run the instant of its end; null: it is open. */
  readonly settledAt: Instant | null;
  readonly durationMs: number | null;
  readonly coveredBy: Instant | null;
  readonly coveredByZone: string | null;
  readonly coveredByTz: string | null;
  readonly matchedBy: string | null;
  readonly note: string | null;
};

export type StoredPing = {
  readonly id: number;
  readonly kind: 'start' | 'success' | 'fail' | 'log';
  readonly exitCode: number | null;
  readonly rid: string | null;
  readonly receivedAt: Instant;
  readonly at: Instant;
  readonly scheduledFor: Instant | null;
  /** The zone table by which the key of the recorded occurrence is written; null where it has no row. */
  readonly zone: string | null;
  readonly tzVersion: string | null;
  readonly matchedBy: string;
  readonly source: string | null;
  readonly userAgent: string | null;
  readonly bodyBytes: number;
  readonly truncated: boolean;
};

/** With the zone table by which its key is written. */
type StoredMember = TableName & { readonly scheduledFor: Instant; readonly state: State };

export type StoredIncident = {
  readonly id: number;
  readonly job: string;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly ackedAt: Instant | null;
  readonly ackedBy: string | null;
  readonly snoozedUntil: Instant | null;
  readonly snoozedBy: string | null;
  readonly resolvedAt: Instant | null;
  readonly occurrenceCount: number;
  /** Oldest first, the first 100. */
  readonly members: readonly StoredMember[];
};

/** Which recorded occurrences: due in (after, until], in one of `states` if given. */
export type OccurrenceWindow = {
  readonly after: Instant;
  readonly until: Instant;
  readonly states: readonly State[] | null;
};

/** Which of those that are settled although due later than now: due at `dueUntil` or before, settled in (after, until]. */
export type SettledAhead = {
  readonly dueUntil: Instant;
  readonly after: Instant;
  readonly until: Instant;
};

const MEMBERS_SHOWN = 100;

/** Recorded occurrences of a window, newest first. */
export async function pageOfOccurrences(
  tx: Tx,
  jobId: number,
  { after, until, states }: OccurrenceWindow,
  limit: number,
): Promise<readonly StoredOccurrence[]> {
  const inState = states === null ? tx.sql`` : tx.sql`and o.state in ${tx.sql(states)}`;
  return tx.sql<StoredOccurrence[]>`
    ${selectOccurrences(tx)}
    where o.job_id = ${jobId} and o.scheduled_for > ${after} and o.scheduled_for <= ${until} ${inState}
    order by o.scheduled_for desc limit ${limit}`;
}

/**
 * Occurrences due after now, and after the window, that are settled already, newest first: a heartbeat is done long before
 * it is due, and a cron occurrence may be completed `early`.
 */
export async function pageOfSettledAhead(
  tx: Tx,
  jobId: number,
  { after, until, states }: OccurrenceWindow,
  { ahead, limit }: { readonly ahead: SettledAhead; readonly limit: number },
): Promise<readonly StoredOccurrence[]> {
  const inState = states === null ? tx.sql`` : tx.sql`and o.state in ${tx.sql(states)}`;
  return tx.sql<StoredOccurrence[]>`
    ${selectOccurrences(tx)}
    where o.job_id = ${jobId} and o.scheduled_for > ${Math.max(tx.now, after, until)}
      and o.scheduled_for <= ${ahead.dueUntil} and o.state not in ('expected', 'running', 'overdue') ${inState}
      and o.settled_at > ${ahead.after} and o.settled_at <= ${ahead.until}
    order by o.scheduled_for desc limit ${limit}`;
}

/** Recorded occurrences at these instants, oldest first. */
export async function occurrencesAt(
  tx: Tx,
  jobId: number,
  instants: readonly Instant[],
): Promise<readonly StoredOccurrence[]> {
  if (instants.length === 0) return [];
  return tx.sql<StoredOccurrence[]>`
    ${selectOccurrences(tx)}
    where o.job_id = ${jobId} and o.scheduled_for in ${tx.sql(instants.map(isoText))}
    order by o.scheduled_for`;
}

/** The first recorded occurrence after an instant. */
export async function firstOccurrenceAfter(tx: Tx, jobId: number, after: Instant): Promise<StoredOccurrence | null> {
  const rows = await tx.sql<StoredOccurrence[]>`
    ${selectOccurrences(tx)}
    where o.job_id = ${jobId} and o.scheduled_for > ${after}
    order by o.scheduled_for limit 1`;
  return rows[0] ?? null;
}

/** Those of these instants that have a row, with its state. */
export async function recordedAmong(
  tx: Tx,
  jobId: number,
  instants: readonly Instant[],
): Promise<ReadonlyMap<Instant, State>> {
  if (instants.length === 0) return new Map();
  const rows = await tx.sql<{ at: Instant; state: State }[]>`
    select scheduled_for as at, state from occurrences
    where job_id = ${jobId} and scheduled_for in ${tx.sql(instants.map(isoText))}`;
  return new Map(rows.map(({ at, state }) => [at, state]));
}

/** Runs without an end of these occurrences. */
export async function unendedRuns(tx: Tx, jobId: number, instants: readonly Instant[]): Promise<readonly Run[]> {
  if (instants.length === 0) return [];
  return tx.sql<Run[]>`
    select id, thread, rid, scheduled_for as "scheduledFor", started_at as "startedAt",
      superseded_at as "supersededAt", ended_at as "endedAt", verdict, exit_code as "exitCode",
      duration_ms as "durationMs", heard_at as "heardAt"
    from runs
    where job_id = ${jobId} and ended_at is null and scheduled_for in ${tx.sql(instants.map(isoText))}`;
}

function selectOccurrences(tx: Tx) {
  return tx.sql`
    select o.scheduled_for as "scheduledFor", v.zone, v.tz_version as "tzVersion", o.state, o.reason, o.wanted, o.completions,
      o.stands_for as "standsFor", o.started_at as "startedAt", o.completed_at as "completedAt",
      o.settled_at as "settledAt", o.duration_ms as "durationMs",
      case when o.state in ('coalesced', 'failed') then o.covered_by end as "coveredBy", cv.zone as "coveredByZone",
      cv.tz_version as "coveredByTz", o.matched_by as "matchedBy", o.note
    from occurrences o
    join schedule_versions v on v.job_id = o.job_id and v.number = o.version
    left join occurrences co on co.job_id = o.job_id and co.scheduled_for = o.covered_by
    left join schedule_versions cv on cv.job_id = co.job_id and cv.number = co.version`;
}

/** In a list of parameters nothing tells the driver that a number is an instant. */
function isoText(at: Instant): string {
  return new Date(at).toISOString();
}

/** Pings of a job, newest first, with an id below `before`. */
export async function pageOfPings(
  tx: Tx,
  jobId: number,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<readonly StoredPing[]> {
  const older = before === null ? tx.sql`` : tx.sql`and p.id < ${before}`;
  return tx.sql<StoredPing[]>`
    select p.id, p.kind, p.exit_code as "exitCode", p.rid, p.received_at as "receivedAt", p.at,
      p.scheduled_for as "scheduledFor", v.zone, v.tz_version as "tzVersion", p.matched_by as "matchedBy", p.source,
      p.user_agent as "userAgent", p.body_bytes as "bodyBytes", p.truncated
    from pings p
    left join occurrences o on o.job_id = p.job_id and o.scheduled_for = p.scheduled_for
    left join schedule_versions v on v.job_id = o.job_id and v.number = o.version
    where p.job_id = ${jobId} ${older}
    order by p.id desc limit ${limit}`;
}

/** What a ping of this job said; null: no such ping. Empty where it said nothing. */
export async function readPingBody(tx: Tx, jobId: number, pingId: number): Promise<Uint8Array | null> {
  const rows = await tx.sql<{ body: Uint8Array | null }[]>`
    select body from pings where job_id = ${jobId} and id = ${pingId}`;
  const [row] = rows;
  return row ? (row.body ?? new Uint8Array()) : null;
}

/** Which incidents: of one job or of all, open, resolved or both, with an id below `before`. */
export type IncidentFilter = {
  readonly jobId: number | null;
  readonly state: 'open' | 'resolved' | null;
  readonly before: number | null;
  readonly limit: number;
};

/** Incidents of a project, newest first. */
export async function pageOfIncidents(
  tx: Tx,
  projectId: number,
  { jobId, state, before, limit }: IncidentFilter,
): Promise<readonly StoredIncident[]> {
  const wanted = {
    job: jobId === null ? tx.sql`` : tx.sql`and i.job_id = ${jobId}`,
    open: tx.sql`and i.resolved_at is null`,
    resolved: tx.sql`and i.resolved_at is not null`,
    older: before === null ? tx.sql`` : tx.sql`and i.id < ${before}`,
  };
  const rows = await tx.sql<IncidentRow[]>`
    ${selectIncidents(tx)}
    where j.project_id = ${projectId} ${wanted.job} ${state === null ? tx.sql`` : wanted[state]} ${wanted.older}
    order by i.id desc limit ${limit}`;
  return withMembers(tx, rows);
}

/** One incident of a project. */
export async function readIncident(tx: Tx, projectId: number, id: number): Promise<StoredIncident | null> {
  const rows = await tx.sql<IncidentRow[]>`
    ${selectIncidents(tx)} where j.project_id = ${projectId} and i.id = ${id}`;
  const [incident] = await withMembers(tx, rows);
  return incident ?? null;
}

type IncidentRow = Omit<StoredIncident, 'members'>;

function selectIncidents(tx: Tx) {
  return tx.sql`
    select i.id, j.slug as job, i.kind, i.opened_at as "openedAt", i.acked_at as "ackedAt",
      i.acked_by as "ackedBy", i.snoozed_until as "snoozedUntil", i.snoozed_by as "snoozedBy",
      i.resolved_at as "resolvedAt", i.occurrence_count as "occurrenceCount"
    from incidents i join jobs j on j.id = i.job_id`;
}

/** A member without a row has been rolled up or never left the clock: its zone is that of the version in force then. */
async function withMembers(tx: Tx, incidents: readonly IncidentRow[]): Promise<readonly StoredIncident[]> {
  if (incidents.length === 0) return [];
  const members = await tx.sql<(StoredMember & { incidentId: number })[]>`
    select i.id as "incidentId", m.scheduled_for as "scheduledFor", coalesce(o.state, 'expected') as state, v.zone,
      v.tz_version as "tzVersion"
    from incidents i
    cross join lateral (
      select io.scheduled_for from incident_occurrences io
      where io.incident_id = i.id and not io.moved
      order by io.scheduled_for limit ${MEMBERS_SHOWN}) m
    left join occurrences o on o.job_id = i.job_id and o.scheduled_for = m.scheduled_for
    cross join lateral (
      select sv.zone, sv.tz_version from schedule_versions sv
      where sv.job_id = i.job_id
      order by (sv.number = o.version) desc nulls last, (sv.starts_after < m.scheduled_for) desc, sv.number desc
      limit 1) v
    where i.id in ${tx.sql(incidents.map(({ id }) => id))}
    order by i.id, m.scheduled_for`;
  const byIncident = new Map<number, StoredMember[]>(incidents.map(({ id }) => [id, []]));
  for (const { incidentId, ...member } of members) byIncident.get(incidentId)?.push(member);
  return incidents.map((incident) => ({ ...incident, members: byIncident.get(incident.id) ?? [] }));
}
