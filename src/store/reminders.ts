import type { IncidentMessage } from '../core/message.ts';
import type { Tx } from './database.ts';
import { isRouted } from './routing.ts';
import { LONGEST_HOLD_MS } from './withholding.ts';

/** An open incident of which somebody is to be told again: because its snooze is over, or at an interval. */
export type DueReminder = { readonly incidentId: number; readonly jobId: number; readonly isSnoozeOver: boolean };

/** All of them now. It looks at open incidents only, and at intervals only where a channel of the project has one. */
export async function dueReminders(tx: Tx): Promise<readonly DueReminder[]> {
  return tx.sql<DueReminder[]>`
    select i.id as "incidentId", i.job_id as "jobId", coalesce(${isSnoozeOver(tx)}, false) as "isSnoozeOver"
    from incidents i
    where i.resolved_at is null and (${isSnoozeOver(tx)} or ${isRemindable(tx)} and exists (
      select from jobs j join channels c on c.project_id = j.project_id and c.remind_every is not null
      where j.id = i.job_id and ${isRouted(tx, tx.sql`i.kind`)} and ${isReminderDue(tx)}))
    order by i.id`;
}

/** A snooze that ends later than any may is over as well: the clock was set back. */
function isSnoozeOver({ sql, now }: Tx) {
  return sql`(i.snoozed_until <= ${now} or i.snoozed_until > ${now + LONGEST_HOLD_MS})`;
}

function isRemindable({ sql }: Tx) {
  return sql`(i.acked_at is null and i.snoozed_until is null)`;
}

/**
 * Whether channel `c` was told of incident `i`, nothing about it waits for the channel, and the last of it is long enough ago.
 * A row that never got through counts from when it was made, so that a dead channel gathers no reminders; what lies in
 * the future was written before the clock went back, and holds nobody up.
 */
function isReminderDue({ sql, now }: Tx) {
  return sql`(
    select bool_or(o.state = 'delivered') and not bool_or(o.state = 'waiting')
      and coalesce(max(greatest(o.created_at, o.delivered_at)) filter (where greatest(o.created_at, o.delivered_at) <= ${now}),
        '-infinity') + make_interval(secs => c.remind_every) <= ${now}
    from outbox o where o.incident_id = i.id and o.channel_id = c.id)`;
}

/** The channels that are to be reminded of an incident now, among those that its job tells of it. */
export async function channelsToRemind(tx: Tx, incidentId: number): Promise<readonly number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select c.id from incidents i join jobs j on j.id = i.job_id
    join channels c on c.project_id = j.project_id and c.remind_every is not null and ${isRouted(tx, tx.sql`i.kind`)}
    where i.id = ${incidentId} and i.resolved_at is null and ${isRemindable(tx)} and ${isReminderDue(tx)} order by c.id`;
  return rows.map(({ id }) => id);
}

/** Ends the snooze of an open incident if it is over. False: it is not, or somebody else ended it. */
export async function endSnooze(tx: Tx, incidentId: number): Promise<boolean> {
  const rows = await tx.sql`
    update incidents i set snoozed_until = null, snoozed_by = null
    where i.id = ${incidentId} and i.resolved_at is null and ${isSnoozeOver(tx)} returning i.id`;
  return rows.length === 1;
}

/** The channels that know of an incident, or would if it had not been snoozed; only those that its job still tells of it. */
export async function channelsThatKnow(tx: Tx, incidentId: number): Promise<readonly number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select c.id from incidents i join jobs j on j.id = i.job_id
    join channels c on c.project_id = j.project_id and ${isRouted(tx, tx.sql`i.kind`)}
    where i.id = ${incidentId} and exists (select from outbox o
      where o.incident_id = i.id and o.channel_id = c.id and o.state in ('delivered', 'waiting')) order by c.id`;
  return rows.map(({ id }) => id);
}

/** The number of the next event of an incident; the caller holds the lock of its job's cursor. */
export async function nextEvent(tx: Tx, incidentId: number): Promise<number> {
  const [row] = await tx.sql<{ events: number }[]>`
    update incidents set events = events + 1 where id = ${incidentId} returning events`;
  if (!row) throw new Error(`no incident ${incidentId}`);
  return row.events;
}

/** What was last promised to be said of an incident; null: nothing ever was. */
export async function lastMessage(tx: Tx, incidentId: number): Promise<IncidentMessage | null> {
  const [row] = await tx.sql<{ payload: IncidentMessage }[]>`
    select payload from outbox where incident_id = ${incidentId} order by event desc limit 1`;
  return row?.payload ?? null;
}
