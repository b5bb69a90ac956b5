import { statusOf } from '../../src/core/status.ts';
import type { Instant } from '../../src/core/time.ts';
import { listOccurrences, readableJob, type ZoneSource } from '../../src/engine/reading.ts';
import { type OwedCursor, type OwedPage, readOwed } from '../../src/engine/reading-owed.ts';
import type { Tx } from '../../src/store/database.ts';
import { readJobs, type StoredJob } from '../../src/store/jobs.ts';
import type { Answer, History, Input, LedgerView } from './history.ts';
import { uuidOf } from './year-service.ts';

type OccurrenceView = LedgerView['occurrences'][number];
type IncidentView = LedgerView['incidents'][number];
type EventView = IncidentView['events'][number];
type PingInput = Extract<Input, { type: 'ping' }>;

/**
 * The ledger of one job as the database has it at `tx.now`: its rows, and what only the clock knows, and what is owed, as
 * the API lists it. `answers`: what was said to its claims.
 */
export async function readView(
  tx: Tx,
  slug: string,
  zones: ZoneSource,
  answers: readonly Answer[] = [],
): Promise<LedgerView> {
  const [found] = await tx.sql<{ id: number }[]>`select id from jobs where slug = ${slug}`;
  const [job] = await readJobs(tx, found ? [found.id] : []);
  if (!job) throw new Error(`no job ${slug}`);
  const { pausedAt, openKinds, newestSettled } = job;
  return {
    occurrences: await readOccurrences(tx, job, zones),
    pings: await tx.sql<LedgerView['pings']>`
      select matched_by as "matchedBy", scheduled_for as "scheduledFor" from pings where job_id = ${job.id} order by id`,
    incidents: await readIncidents(tx, job.id),
    status: statusOf({ blocked: false, paused: pausedAt !== null, openKinds, newestSettled }),
    answers,
    owed: await readOwedView(tx, job, zones),
  };
}

/** Page by page, as a client reads it. */
async function readOwedView(tx: Tx, job: StoredJob, zones: ZoneSource): Promise<LedgerView['owed']> {
  const owed: LedgerView['owed'][number][] = [];
  for (let from: OwedCursor | null = null; ; ) {
    const page: OwedPage = await readOwed(tx, job, { from, limit: 3, zones });
    for (const { scheduledFor, state, unconfirmed, runAfter } of page.owed)
      owed.push({ scheduledFor, state, unconfirmed, runAfter });
    if (page.next === null) return owed;
    from = page.next;
  }
}

async function readOccurrences(tx: Tx, job: StoredJob, zones: ZoneSource): Promise<OccurrenceView[]> {
  const rows = await tx.sql<OccurrenceView[]>`
    select scheduled_for as "scheduledFor", state, reason,
      case when reason = 'maintenance' then split_part(note, ' (', 1) end as note, stands_for as "standsFor", completions,
      completed_at as "completedAt", case when state in ('coalesced', 'failed') then covered_by end as "coveredBy", wanted,
      confirmed
    from occurrences where job_id = ${job.id} order by scheduled_for`;
  const recorded = new Set(rows.map(({ scheduledFor }) => scheduledFor));
  const window = { after: job.createdAt - 1, until: tx.now, states: null };
  const listed = await listOccurrences(tx, await readableJob(tx, job, zones), window, { limit: 20_000, zones });
  const fromClock = listed.filter(({ scheduledFor }) => !recorded.has(scheduledFor));
  const views = fromClock.map(({ scheduledFor, state, reason, standsFor, completions, completedAt, owed }) => {
    const fromClock = { note: null, coveredBy: null, wanted: owed, confirmed: false };
    return { scheduledFor, state, reason, standsFor, completions, completedAt, ...fromClock };
  });
  return [...rows, ...views].sort((a, b) => a.scheduledFor - b.scheduledFor);
}

async function readIncidents(tx: Tx, jobId: number): Promise<IncidentView[]> {
  const incidents = await tx.sql<(Omit<IncidentView, 'members' | 'events'> & { id: number })[]>`
    select id, kind, opened_at as "openedAt", resolved_at as "resolvedAt", silent from incidents
    where job_id = ${jobId} order by opened_at, kind collate "C", id`;
  const members = await tx.sql<{ id: number; scheduledFor: Instant; left: boolean }[]>`
    select m.incident_id as id, m.scheduled_for as "scheduledFor", m.moved as left
    from incident_occurrences m join incidents i on i.id = m.incident_id
    where i.job_id = ${jobId} order by m.scheduled_for`;
  const events = await tx.sql<(EventView & { id: number })[]>`
    select distinct on (o.incident_id, o.event) o.incident_id as id, split_part(o.payload ->> 'type', '.', 2) as type,
      (o.payload -> 'occurrences' -> 0 ->> 'scheduledFor')::bigint as first, o.payload -> 'facts' ->> 'before' as before
    from outbox o join incidents i on i.id = o.incident_id where i.job_id = ${jobId} order by o.incident_id, o.event`;
  return incidents.map(({ id, ...incident }) => ({
    ...incident,
    members: members.filter((one) => one.id === id).map(({ scheduledFor, left }) => ({ scheduledFor, left })),
    events: events
      .filter((one) => one.id === id)
      .map(({ type, first, before }) => {
        const at = { opened: incident.openedAt, reminded: 0, resolved: incident.resolvedAt ?? 0 }[type];
        // A backlog tells of all it lists.
        const isOfOne = type !== 'resolved' && incident.kind !== 'backlog';
        return { type, at, first: isOfOne ? first : null, before };
      }),
  }));
}

/**
 * What of a ledger a database with an outbox can answer for. When a reminder, or an opening told late, was due is not kept; an occurrence that left
 * its incident in the same transaction is not in the message any more; a job without channels has no messages.
 */
export function comparable(view: LedgerView, { hasChannels }: { readonly hasChannels: boolean }): LedgerView {
  const incidents = view.incidents.map((incident) => {
    const left = new Set(incident.members.filter((member) => member.left).map(({ scheduledFor }) => scheduledFor));
    const isAllThere = left.size === 0;
    const events = incident.events.map(({ type, at, first, before }) => ({
      type,
      at: { opened: incident.openedAt, reminded: 0, resolved: at }[type],
      first: isAllThere ? first : null,
      before,
    }));
    return { ...incident, events: hasChannels ? events : [] };
  });
  return { ...view, incidents };
}

/** The history with its pings of one instant in the order in which the database accepted them. */
export async function asAccepted(tx: Tx, slug: string, history: History): Promise<History> {
  const rows = await tx.sql<{ id: number; receivedAt: Instant; name: string }[]>`
    select p.id, p.received_at as "receivedAt", concat_ws('|', p.kind, p.exit_code, coalesce(p.rid, '-'),
      coalesce(p.source, '-'), coalesce(p.occ, '-'), coalesce((extract(epoch from p.own_at) * 1000)::bigint::text, '-'),
      coalesce(convert_from(p.body, 'UTF8'), '')) as name
    from pings p join jobs j on j.id = p.job_id where j.slug = ${slug} order by p.id`;
  const pings: PingInput[] = history.inputs.filter((input) => input.type === 'ping');
  if (rows.length !== pings.length) throw new Error(`${slug}: ${pings.length} pings sent, ${rows.length} stored`);
  const left = new Map<string, PingInput[]>();
  for (const ping of pings) left.set(nameOf(ping), [...(left.get(nameOf(ping)) ?? []), ping]);
  const accepted = rows.map(({ receivedAt, name }) => {
    const ping = left.get(`${receivedAt} ${name}`)?.shift();
    if (!ping) throw new Error(`${slug}: stored ping ${receivedAt} ${name} was never sent`);
    return ping;
  });
  const inputs = history.inputs.map((input) => (input.type === 'ping' ? (accepted.shift() ?? input) : input));
  return { ...history, inputs };
}

function nameOf({ at, kind, exitCode, rid, source, occ, ownAt, body }: PingInput): string {
  const parts = [kind, exitCode, rid === null ? '-' : uuidOf(rid), source, occ ?? '-', ownAt ?? '-', body];
  return `${at} ${parts.filter((part) => part !== null).join('|')}`;
}
