import type { IncidentKind } from '../core/message.ts';
import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import type { TableName } from './zone-tables.ts';

/** An incident as a list shows it. */
export type IncidentLine = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  /** The zone of the job, as its definition has it now. */
  readonly zone: string;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly resolvedAt: Instant | null;
  readonly ackedAt: Instant | null;
  readonly ackedBy: string | null;
  /** Only while it lasts. */
  readonly snoozedUntil: Instant | null;
  readonly snoozedBy: string | null;
  readonly occurrenceCount: number;
  /** How many messages about it were promised; 0: too few occurrences so far for anybody to be told. */
  readonly events: number;
};

/** Which incidents of a project, and from which place of the list on. */
export type IncidentQuery = {
  readonly state: 'open' | 'resolved' | null;
  readonly slug: string | null;
  readonly kind: IncidentKind | null;
  readonly offset: number;
  readonly limit: number;
};

/** A page of incidents with how many there are in all: open ones first, those nobody knows of before the others, then newest. */
export async function readIncidentLines(
  tx: Tx,
  projectId: number,
  { state, slug, kind, offset, limit }: IncidentQuery,
): Promise<{ readonly total: number; readonly lines: readonly IncidentLine[] }> {
  const isOpen = tx.sql`i.resolved_at is null`;
  const inState = state === null ? tx.sql`` : state === 'open' ? tx.sql`and ${isOpen}` : tx.sql`and not ${isOpen}`;
  const ofJob = slug === null ? tx.sql`` : tx.sql`and j.slug = ${slug}`;
  const ofKind = kind === null ? tx.sql`` : tx.sql`and i.kind = ${kind}`;
  const from = tx.sql`
    from incidents i join jobs j on j.id = i.job_id where j.project_id = ${projectId} ${inState} ${ofJob} ${ofKind}`;
  const [counted] = await tx.sql<{ total: number }[]>`select count(*) as total ${from}`;
  const lines = await tx.sql<IncidentLine[]>`
    ${selectLine(tx)} ${from}
    order by i.resolved_at is null desc, (i.resolved_at is null and i.acked_at is null) desc, i.opened_at desc, i.id desc
    limit ${limit} offset ${offset}`;
  return { total: counted?.total ?? 0, lines };
}

/** One incident of a project with what became of it; null: there is none. */
export async function readIncidentLine(tx: Tx, projectId: number, id: number): Promise<IncidentLine | null> {
  const [line] = await tx.sql<IncidentLine[]>`
    ${selectLine(tx)} from incidents i join jobs j on j.id = i.job_id where j.project_id = ${projectId} and i.id = ${id}`;
  return line ?? null;
}

function selectLine(tx: Tx) {
  return tx.sql`
    select i.id, j.slug, j.definition ->> 'name' as name, j.definition ->> 'zone' as zone, i.kind,
      i.opened_at as "openedAt", i.resolved_at as "resolvedAt", i.acked_at as "ackedAt", i.acked_by as "ackedBy",
      case when i.resolved_at is null and i.snoozed_until > ${tx.now} then i.snoozed_until end as "snoozedUntil",
      i.snoozed_by as "snoozedBy", i.occurrence_count as "occurrenceCount", i.events`;
}

/** An occurrence an incident is or was about. */
export type IncidentMember = TableName & {
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly completedAt: Instant | null;
  /** It has left for another incident. */
  readonly moved: boolean;
};

/** The first `limit` occurrences of an incident, oldest first, those that left it included. */
export async function readIncidentMembers(tx: Tx, id: number, limit: number): Promise<readonly IncidentMember[]> {
  return tx.sql<IncidentMember[]>`
    select m.scheduled_for as "scheduledFor", coalesce(o.state, 'expected') as state, o.completed_at as "completedAt",
      m.moved, v.zone, v.tz_version as "tzVersion"
    from incidents i
    join incident_occurrences m on m.incident_id = i.id
    left join occurrences o on o.job_id = i.job_id and o.scheduled_for = m.scheduled_for
    cross join lateral (
      select sv.zone, sv.tz_version from schedule_versions sv where sv.job_id = i.job_id
      order by (sv.number = o.version) desc nulls last, (sv.starts_after < m.scheduled_for) desc, sv.number desc
      limit 1) v
    where i.id = ${id} order by m.scheduled_for limit ${limit}`;
}

/** What people did about an incident: the audit, oldest first. */
export type IncidentDeed = {
  readonly at: Instant;
  readonly actor: string;
  readonly action: 'incident.ack' | 'incident.snooze';
  /** Of a snooze: until when, RFC 3339; null: it was ended. */
  readonly until: string | null;
};

export async function readIncidentDeeds(
  tx: Tx,
  projectId: number,
  { id, slug }: Pick<IncidentLine, 'id' | 'slug'>,
): Promise<readonly IncidentDeed[]> {
  return tx.sql<IncidentDeed[]>`
    select at, actor, action, detail ->> 'until' as until from audit
    where project_id = ${projectId} and subject = ${slug} and action in ('incident.ack', 'incident.snooze')
      and (detail ->> 'incident')::bigint = ${id}
    order by id`;
}
