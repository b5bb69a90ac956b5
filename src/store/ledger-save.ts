import type { Ledger, Row } from '../core/ledger.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { saveBacklogs, saveClaims } from './ledger-owed.ts';

/** One job as this transaction leaves it. */
export type Outcome = {
  readonly jobId: number;
  readonly ledger: Ledger;
  readonly nextCheckAt: Instant | null;
  readonly version: number;
  readonly deferred: number;
};

const iso = (at: Instant | null): string | null => (at === null ? null : new Date(at).toISOString());

/**
 * Writes what the transaction did to these jobs. Afterwards every new run and incident has its real id, in the objects
 * themselves. Rows, cursor and incidents of a job go together: the caller holds the lock of its cursor.
 */
export async function save(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  await Promise.all([saveRuns(tx, outcomes), saveIncidents(tx, outcomes)]);
  await Promise.all([
    saveRows(tx, outcomes),
    saveMembers(tx, outcomes),
    saveCursors(tx, outcomes),
    saveClaims(tx, outcomes),
  ]);
  await saveCovers(tx, outcomes);
  await saveBacklogs(tx, outcomes);
}

async function saveRuns(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const runs = outcomes.flatMap(({ jobId, ledger }) => [...ledger.changedRuns].map((run) => ({ jobId, run })));
  if (runs.length === 0) return;
  const columns = runs.map(({ jobId, run }, ord) => ({
    ord,
    id: run.id > 0 ? run.id : null,
    job_id: jobId,
    thread: run.thread,
    rid: run.rid,
    scheduled_for: iso(run.scheduledFor),
    started_at: iso(run.startedAt),
    superseded_at: iso(run.supersededAt),
    ended_at: iso(run.endedAt),
    verdict: run.verdict,
    exit_code: run.exitCode,
    duration_ms: run.durationMs,
    heard_at: iso(run.heardAt),
  }));
  const record = tx.sql`jsonb_to_recordset(${JSON.stringify(columns)}::jsonb) n(ord int, id bigint, job_id bigint,
    thread text, rid uuid, scheduled_for timestamptz, started_at timestamptz, superseded_at timestamptz,
    ended_at timestamptz, verdict text, exit_code smallint, duration_ms bigint, heard_at timestamptz)`;
  const known = runs.some(({ run }) => run.id > 0);
  // Identities are drawn in the order of the rows, so that they can be given back to the objects in that order.
  const [added] = await Promise.all([
    tx.sql<{ id: number }[]>`
      insert into runs (job_id, thread, rid, scheduled_for, started_at, superseded_at, ended_at, verdict, exit_code,
        duration_ms, heard_at)
      select job_id, thread, rid, scheduled_for, started_at, superseded_at, ended_at, verdict, exit_code, duration_ms,
        heard_at
      from ${record} where n.id is null order by n.ord returning id`,
    known &&
      tx.sql`
        update runs r set scheduled_for = n.scheduled_for, started_at = n.started_at, superseded_at = n.superseded_at,
          ended_at = n.ended_at, verdict = n.verdict, exit_code = n.exit_code, duration_ms = n.duration_ms,
          heard_at = n.heard_at
        from ${record} where r.id = n.id`,
  ]);
  const ids = added.map(({ id }) => id).sort((a, b) => a - b);
  for (const { run } of runs) if (run.id < 0) run.id = ids.shift() ?? run.id;
}

async function saveIncidents(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const all = outcomes.flatMap(({ jobId, ledger }) =>
    [...ledger.changedIncidents].map((incident) => ({ jobId, ledger, incident })),
  );
  if (all.length === 0) return;
  const columns = all.map(({ jobId, incident }, ord) => ({
    ord,
    id: incident.id > 0 ? incident.id : null,
    job_id: jobId,
    kind: incident.kind,
    opened_at: iso(incident.openedAt),
    resolved_at: iso(incident.resolvedAt),
    silent: incident.silent,
    events: incident.events,
    last_told: iso(incident.lastTold),
    last_run_at: iso(incident.lastRunAt),
    occurrence_count: incident.occurrenceCount,
    troubled_count: incident.troubledCount,
    detail: incident.detail,
  }));
  const record = tx.sql`jsonb_to_recordset(${JSON.stringify(columns)}::jsonb) n(ord int, id bigint, job_id bigint, kind text,
    opened_at timestamptz, resolved_at timestamptz, silent boolean, events int, last_told timestamptz,
    last_run_at timestamptz, occurrence_count int, troubled_count int, detail text)`;
  // Known ones first: a job may end an incident and open another of the same kind in one transaction.
  if (all.some(({ incident }) => incident.id > 0)) {
    await tx.sql`
      update incidents i set resolved_at = n.resolved_at, silent = n.silent, events = n.events, last_told = n.last_told,
        last_run_at = n.last_run_at, occurrence_count = n.occurrence_count, troubled_count = n.troubled_count, detail = n.detail
      from ${record} where i.id = n.id`;
  }
  const fresh = all.filter(({ incident }) => incident.id < 0);
  if (fresh.length === 0) return;
  // Identities are drawn in the order of the rows, so that they can be given back to the objects in that order.
  const added = await tx.sql<{ id: number }[]>`
    insert into incidents (job_id, kind, opened_at, resolved_at, silent, events, last_told, last_run_at, occurrence_count,
      troubled_count, detail)
    select job_id, kind, opened_at, resolved_at, silent, events, last_told, last_run_at, occurrence_count, troubled_count, detail
    from ${record} where n.id is null order by n.ord returning id`;
  const ids = added.map(({ id }) => id).sort((x, y) => x - y);
  for (const { ledger, incident } of fresh) {
    const id = ids.shift();
    if (id === undefined) throw new Error('an incident was not stored');
    for (const one of ledger.rows.values()) if (one.incidentId === incident.id) one.incidentId = id;
    incident.id = id;
  }
}

async function saveRows(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const rows = outcomes.flatMap(({ jobId, ledger }) => [...ledger.changed].map((row) => rowColumns(jobId, row)));
  for (let from = 0; from < rows.length; from += 2000) {
    await tx.sql`
      insert into occurrences (job_id, scheduled_for, version, stands_for, state, reason, settled_at, completions,
        started_at, completed_at, duration_ms, completed_by, covered_by, matched_by, wanted, incident_id, doubled,
        confirmed, counted, blocked_on, blocked_for, check_at, note)
      select * from jsonb_to_recordset(${JSON.stringify(rows.slice(from, from + 2000))}::jsonb) n(job_id bigint,
        scheduled_for timestamptz, version int, stands_for smallint, state text, reason text, settled_at timestamptz,
        completions int, started_at timestamptz, completed_at timestamptz, duration_ms bigint, completed_by bigint,
        covered_by timestamptz, matched_by text, wanted boolean, incident_id bigint, doubled boolean,
        confirmed boolean, counted smallint, blocked_on bigint, blocked_for timestamptz, check_at timestamptz, note text)
      on conflict (job_id, scheduled_for) do update set state = excluded.state, reason = excluded.reason,
        settled_at = excluded.settled_at, completions = excluded.completions, started_at = excluded.started_at,
        completed_at = excluded.completed_at, duration_ms = excluded.duration_ms, completed_by = excluded.completed_by,
        covered_by = excluded.covered_by, matched_by = excluded.matched_by, wanted = excluded.wanted,
        incident_id = excluded.incident_id, doubled = excluded.doubled, confirmed = excluded.confirmed,
        counted = excluded.counted, blocked_on = excluded.blocked_on, blocked_for = excluded.blocked_for,
        check_at = excluded.check_at, note = excluded.note`;
  }
}

function rowColumns(jobId: number, row: Row) {
  return {
    job_id: jobId,
    scheduled_for: iso(row.scheduledFor),
    version: row.version,
    stands_for: row.standsFor,
    state: row.state,
    reason: row.reason,
    settled_at: iso(row.settledAt),
    completions: row.completions,
    started_at: iso(row.startedAt),
    completed_at: iso(row.completedAt),
    duration_ms: row.durationMs,
    completed_by:
      row.completedBy === null || typeof row.completedBy === 'number' ? row.completedBy : row.completedBy.id,
    covered_by: iso(row.coveredBy),
    matched_by: row.matchedBy,
    wanted: row.wanted,
    incident_id: row.incidentId,
    doubled: row.doubled,
    confirmed: row.confirmed,
    counted: row.counted,
    blocked_on: row.blockedOn,
    blocked_for: iso(row.blockedFor),
    check_at: iso(row.checkAt),
    note: row.note,
  };
}

async function saveMembers(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const members = new Map<string, { incident_id: number; scheduled_for: string | null; moved: boolean }>();
  for (const { ledger } of outcomes) {
    for (const { incident, scheduledFor, moved } of ledger.members) {
      if (incident.kind === 'backlog') continue;
      const member = { incident_id: incident.id, scheduled_for: iso(scheduledFor), moved };
      members.set(`${incident.id} ${scheduledFor}`, member);
    }
  }
  if (members.size === 0) return;
  await tx.sql`
    insert into incident_occurrences (incident_id, scheduled_for, moved)
    select * from jsonb_to_recordset(${JSON.stringify([...members.values()])}::jsonb)
      n(incident_id bigint, scheduled_for timestamptz, moved boolean)
    on conflict (incident_id, scheduled_for) do update set moved = excluded.moved`;
}

async function saveCursors(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const cursors = outcomes.map(({ jobId, ledger, nextCheckAt, version, deferred }) => ({
    job_id: jobId,
    version,
    next_unrecorded: iso(ledger.nextUnrecorded),
    open_incidents: ledger.incidents.size,
    next_check_at: iso(nextCheckAt),
    deferred,
    constant_rid: ledger.constantRid,
    backlog: ledger.backlog,
    decided_until: iso(ledger.decidedUntil),
    last_hand_out: iso(ledger.lastHandOut),
  }));
  await tx.sql`
    update cursors c set version = n.version, next_unrecorded = n.next_unrecorded, open_incidents = n.open_incidents,
      next_check_at = n.next_check_at, deferred = n.deferred, constant_rid = n.constant_rid, backlog = n.backlog,
      decided_until = n.decided_until, last_hand_out = n.last_hand_out, failures = 0, retry_at = null
    from jsonb_to_recordset(${JSON.stringify(cursors)}::jsonb) n(job_id bigint, version int, next_unrecorded timestamptz,
      open_incidents int, next_check_at timestamptz, deferred int, constant_rid boolean, backlog int,
      decided_until timestamptz, last_hand_out timestamptz)
    where c.job_id = n.job_id`;
}

/** The first later completion covers what nobody covered yet, loaded or not; one statement for all jobs but the busiest. */
async function saveCovers(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const rounds = Math.max(0, ...outcomes.map(({ ledger }) => ledger.covers.length));
  for (let round = 0; round < rounds; round += 1) {
    const covers = outcomes.flatMap(({ jobId, ledger }) => {
      const cover = ledger.covers[round];
      return cover ? [{ job: jobId, by: iso(cover.by), failed: cover.failed }] : [];
    });
    await tx.sql`
      update occurrences o set covered_by = c.by
      from jsonb_to_recordset(${JSON.stringify(covers)}::jsonb) c(job bigint, by timestamptz, failed boolean)
      where o.job_id = c.job and o.scheduled_for < c.by and o.covered_by is null
        and o.state in ('coalesced', 'failed', 'missed', 'unknown') and (o.state = 'coalesced' or c.failed)`;
  }
}
