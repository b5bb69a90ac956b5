import type { IncidentKind } from '../core/message.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import { lockJobs } from './locking.ts';
import { LONGEST_HOLD_MS, lookAgainAtIncident } from './withholding.ts';

/** Who says something about which incident. `actor` goes into the audit and is shown with the incident. */
export type Word = { readonly projectId: number; readonly incidentId: number; readonly actor: string };

/** `past`, `far`: no instant from now on, or more than 366 days away. */
export type SnoozeAnswer = 'done' | 'no_incident' | 'past' | 'far';

type OpenIncident = {
  readonly jobId: number;
  readonly job: string;
  readonly kind: IncidentKind;
  readonly isOpen: boolean;
  readonly ackedAt: Instant | null;
  readonly snoozedUntil: Instant | null;
};

/**
 * Somebody knows of the incident: nobody is reminded of it any more, and its end is told as ever. One that has ended, or
 * is acknowledged already, stays as it is. False: the project has no such incident.
 */
export async function acknowledge(tx: Tx, word: Word): Promise<boolean> {
  const found = await lockIncident(tx, word);
  if (!found) return false;
  if (!found.isOpen || found.ackedAt !== null) return true;
  await tx.sql`
    update incidents set acked_at = ${tx.now}, acked_by = ${word.actor} where id = ${word.incidentId}`;
  await audit(tx, word, found, 'incident.ack');
  return true;
}

/**
 * Nothing of the incident goes out until then; null: from now on everything does again. One that has ended stays as it is.
 */
export async function snooze(tx: Tx, word: Word, until: Instant | null): Promise<SnoozeAnswer> {
  if (until !== null && until <= tx.now) return 'past';
  if (until !== null && until - tx.now > LONGEST_HOLD_MS) return 'far';
  const found = await lockIncident(tx, word);
  if (!found) return 'no_incident';
  if (!found.isOpen || found.snoozedUntil === until) return 'done';
  await tx.sql`
    update incidents set snoozed_until = ${until}, snoozed_by = ${until === null ? null : word.actor}
    where id = ${word.incidentId}`;
  await lookAgainAtIncident(tx, word.incidentId);
  await audit(tx, word, found, 'incident.snooze', { until: until === null ? null : formatInstant(until) });
  return 'done';
}

/** Behind the lock of its job's cursor, so that it does not end at the same moment. */
async function lockIncident(tx: Tx, { projectId, incidentId }: Word): Promise<OpenIncident | null> {
  const read = () => tx.sql<OpenIncident[]>`
    select i.job_id as "jobId", j.slug as job, i.kind, i.resolved_at is null as "isOpen", i.acked_at as "ackedAt",
      i.snoozed_until as "snoozedUntil"
    from incidents i join jobs j on j.id = i.job_id where i.id = ${incidentId} and j.project_id = ${projectId}`;
  const [seen] = await read();
  if (!seen) return null;
  await lockJobs(tx, [seen.jobId], true);
  const [locked] = await read();
  return locked ?? null;
}

async function audit(
  tx: Tx,
  { projectId, incidentId, actor }: Word,
  { job, kind }: OpenIncident,
  action: 'incident.ack' | 'incident.snooze',
  detail: object = {},
): Promise<void> {
  await recordAudit(tx, { projectId, actor, action, subject: job, detail: { incident: incidentId, kind, ...detail } });
}

/** What a signed link is about, as its page needs it. */
export type LinkSubject = {
  readonly projectId: number;
  /** The slug of the project. */
  readonly project: string;
  readonly channel: string;
  readonly jobName: string;
  readonly zone: string;
};

/** null: the incident or the channel is gone. */
export async function readLinkSubject(
  tx: Tx,
  { incidentId, channelId }: { readonly incidentId: number; readonly channelId: number },
): Promise<LinkSubject | null> {
  const [row] = await tx.sql<LinkSubject[]>`
    select j.project_id as "projectId", p.slug as project, c.slug as channel, j.definition ->> 'name' as "jobName",
      j.definition ->> 'zone' as zone
    from incidents i join jobs j on j.id = i.job_id join projects p on p.id = j.project_id
      join channels c on c.project_id = j.project_id
    where i.id = ${incidentId} and c.id = ${channelId}`;
  return row ?? null;
}
