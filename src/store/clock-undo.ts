import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** As `next_unrecorded`: what is due first after this instant is to be found. No schedule has instants within a second. */
export const markAt = (at: Instant): Instant => Math.floor(at / 1000) * 1000 + 1;

/** `after`: the first instant that was only jumped to. `backMs`: how far the clock went back. */
type Undone = { readonly after: Instant; readonly backMs: number };

/**
 * The clock ran ahead of real time, and came back: what the ledger holds of the time beyond `after` did not come to pass.
 * Its rows go, so that each instant is expected when it really comes; its pings, moved back by as much as the clock, wait
 * to be applied to what was due when they really came. A failure was told already, and is not told again.
 */
export async function undoFuture(tx: Tx, { after, backMs }: Undone): Promise<void> {
  await endIncidents(tx, after);
  await dropRows(tx, after);
  await keepPings(tx, after, backMs);
  await countAgain(tx);
  const { sql, now } = tx;
  await sql`
    update cursors c set next_unrecorded = ${markAt(after)}, next_check_at = ${now}
    from jobs j where j.id = c.job_id and c.next_unrecorded > ${after}
      and not j.definition -> 'schedules' -> 0 ? 'heartbeat'`;
}

/** Those that opened beyond it end without a word; the others keep what is theirs. */
async function endIncidents({ sql, now }: Tx, after: Instant): Promise<void> {
  await sql`
    update incidents set resolved_at = ${now}, silent = true
    where resolved_at is null and opened_at > ${after} and kind <> 'schedule_error'`;
  await sql`
    delete from incident_occurrences m using incidents i
    where i.id = m.incident_id and i.resolved_at is null and m.scheduled_for > ${after}`;
}

/** All but what was touched before, by a ping that came early or by a person. */
async function dropRows({ sql }: Tx, after: Instant): Promise<void> {
  // Job by job: only then an index leads there.
  await sql`
    delete from occurrences o using cursors c
    cross join lateral (
      select f.scheduled_for from occurrences f
      where f.job_id = c.job_id and f.scheduled_for > ${after} and f.reason is distinct from 'operator'
        and coalesce(least(f.started_at, f.completed_at, case when f.state = 'failed' then f.settled_at end) > ${after}, true)
      offset 0) f
    where o.job_id = c.job_id and o.scheduled_for = f.scheduled_for`;
  await sql`
    delete from runs r using cursors c
    cross join lateral (
      select f.id from runs f
      where f.job_id = c.job_id and (f.scheduled_for > ${after} or f.scheduled_for is null)
        and coalesce(f.started_at, f.ended_at, f.heard_at) > ${after}
      offset 0) f
    where r.id = f.id`;
}

async function keepPings({ sql, now }: Tx, after: Instant, backMs: number): Promise<void> {
  const back = `${backMs} ms`;
  await sql`
    with moved as (
      update pings set matched_by = 'deferred', counted = false, run_id = null, scheduled_for = null,
        received_at = received_at - ${back}::interval,
        own_at = case when own_at <= received_at - ${back}::interval then own_at end,
        at = case when own_at <= received_at - ${back}::interval then own_at else received_at - ${back}::interval end,
        notes = notes || jsonb_build_array('arrived while the clock was ahead: it said '
          || to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
      where id > coalesce((select max(id) from pings where received_at <= ${after}), 0) and received_at > ${after}
        and kind <> 'fail' and matched_by not in ('unmatched', 'deferred')
        and (scheduled_for is null or scheduled_for > ${after})
      returning job_id),
    counted as (select job_id, count(*)::int as n from moved group by job_id)
    update cursors c set deferred = c.deferred + counted.n, next_check_at = ${now}
    from counted where c.job_id = counted.job_id`;
}

/** Cursors and incidents count what is left. */
async function countAgain({ sql }: Tx): Promise<void> {
  await sql`
    update incidents i set
      occurrence_count = (select count(*) from incident_occurrences m where m.incident_id = i.id and not m.moved),
      troubled_count = (select count(*) from occurrences o where o.job_id = i.job_id and o.incident_id = i.id
        and case when i.kind = 'not_started' then o.state in ('expected', 'running', 'overdue') and o.started_at is null
          else o.state in ('overdue', 'running') or o.wanted end)
    where i.resolved_at is null and i.kind not in ('duplicate', 'unscheduled', 'backlog', 'schedule_error')`;
  await sql`
    update cursors c set
      open_incidents = (select count(*) from incidents i where i.job_id = c.job_id and i.resolved_at is null),
      backlog = (select count(*) from occurrences o where o.job_id = c.job_id and o.wanted and c.backlog > 0
        and (c.decided_until is null or o.scheduled_for > c.decided_until))
    where c.open_incidents > 0 or c.backlog > 0`;
}
