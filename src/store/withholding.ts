import type { Message } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

// A row that is withheld for now waits like any other, has no message yet, and has a reason: which, and until when.

/** What withholds a message ends by itself; a rest longer than this is a clock that was set back, and void. */
export const LONGEST_HOLD_MS = 366 * 86_400_000;

/** Whether row `o`, which waits, is withheld for now, or was until its `not_before`. */
export function isHeld({ sql }: Tx) {
  return sql`(o.message_id is null and o.reason is not null)`;
}

/** What decides whether a row that waits may go out: how its incident stands, and what withheld it so far. */
export type Standing = {
  readonly id: number;
  readonly incidentId: number;
  readonly jobId: number;
  readonly type: Message['type'];
  readonly resolvedAt: Instant | null;
  readonly snoozedUntil: Instant | null;
  /** It was withheld until then, for this reason; null: it was not. */
  readonly heldUntil: Instant | null;
  readonly heldFor: string | null;
};

/**
 * How the incidents of these rows stand. Rows of a message that the receiver may have already are left out: what went out
 * cannot be withheld, and the next attempt must be the same message.
 */
export async function standings(tx: Tx, rowIds: readonly number[]): Promise<readonly Standing[]> {
  return tx.sql<Standing[]>`
    select o.id, o.incident_id as "incidentId", i.job_id as "jobId", o.payload ->> 'type' as type,
      i.resolved_at as "resolvedAt", i.snoozed_until as "snoozedUntil",
      case when ${isHeld(tx)} then o.not_before end as "heldUntil", case when ${isHeld(tx)} then o.reason end as "heldFor"
    from outbox o join incidents i on i.id = o.incident_id
    where o.id = any(${rowIds as number[]}::bigint[]) and o.state = 'waiting' and o.lease is null`;
}

export type Hold = { readonly id: number; readonly until: Instant; readonly reason: string };

/** Keeps rows back until then. One that was tried and certainly not received leaves its message, and begins anew. */
export async function hold(tx: Tx, rows: readonly Hold[]): Promise<void> {
  if (rows.length === 0) return;
  const given = rows.map(({ id, until, reason }) => ({ id, until: new Date(until).toISOString(), reason }));
  await tx.sql`
    update outbox o set not_before = given.until, reason = given.reason, message_id = null, attempts = 0, lease_until = null
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (id bigint, until timestamptz, reason text)
    where o.id = given.id and o.state = 'waiting' and o.lease is null
      and (o.not_before, o.reason) is distinct from (given.until, given.reason)`;
}

/** What withholds messages has changed: those about this incident are looked at again now. */
export async function lookAgainAtIncident(tx: Tx, incidentId: number): Promise<void> {
  await tx.sql`
    update outbox o set not_before = ${tx.now}
    where o.incident_id = ${incidentId} and o.state = 'waiting' and ${isHeld(tx)} and o.not_before > ${tx.now}`;
}

/** The same for all messages of a project: call it when a maintenance window is made, changed or removed. */
export async function lookAgain(tx: Tx, projectId: number): Promise<void> {
  await tx.sql`
    update outbox o set not_before = ${tx.now}
    where o.channel_id in (select id from channels where project_id = ${projectId})
      and o.state = 'waiting' and ${isHeld(tx)} and o.not_before > ${tx.now}`;
}

/** A window in which a job's messages are withheld. */
export type MaintenanceNow = { readonly until: Instant; readonly slug: string };

/** Which of these jobs are in maintenance at the instant of the transaction. */
export type ReadMaintenance = (tx: Tx, jobIds: readonly number[]) => Promise<ReadonlyMap<number, MaintenanceNow>>;
