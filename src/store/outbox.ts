import type { IncidentMessage, NoticeMessage } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { isRouted } from './routing.ts';

/** A message leaves this long after the first row that waits for it. */
export const GROUPING_MS = 5000;
/** How long a row is worth sending. */
export const WORTH_MS = 24 * 3_600_000;

export type NewRow = {
  readonly channelId: number;
  readonly incidentId: number;
  readonly event: number;
  readonly payload: IncidentMessage;
};

// `for key share`, as the foreign key will: a channel that is being deleted is waited for here and then left out. Found gone
// only by the key, it would take the whole transaction with it, and a ping that happened to fail would be lost.

/** Promises to tell these channels. A row that exists is left alone, so saying it twice is saying it once. */
export async function enqueue(tx: Tx, rows: readonly NewRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.sql`
    insert into outbox (channel_id, incident_id, event, payload, created_at, not_before)
    select c.id, "incidentId", event, payload, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
    from jsonb_to_recordset(${jsonText(rows)}::jsonb)
      as given ("channelId" bigint, "incidentId" bigint, event integer, payload jsonb)
    join channels c on c.id = "channelId"
    order by "incidentId", event, c.id
    for key share of c
    on conflict do nothing`;
}

/**
 * The same for the channels that each job tells of this kind now (store/routing.ts). The end of an incident goes also to
 * those that were promised more of it before: who was told of a problem is told that it is over.
 */
export async function enqueueForJobs(
  tx: Tx,
  rows: readonly (Omit<NewRow, 'channelId'> & { readonly jobId: number })[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.sql`
    insert into outbox (channel_id, incident_id, event, payload, created_at, not_before)
    select c.id, "incidentId", event, payload, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
    from jsonb_to_recordset(${jsonText(rows)}::jsonb)
      as given ("jobId" bigint, "incidentId" bigint, event integer, payload jsonb)
    join jobs j on j.id = "jobId"
    join channels c on c.project_id = j.project_id
      and (${isRouted(tx, tx.sql`(payload -> 'incident' ->> 'kind')`)}
        or payload ->> 'type' = 'incident.resolved' and exists (
          select from outbox o where o.incident_id = "incidentId" and o.channel_id = c.id))
    order by "incidentId", event, c.id
    for key share of c
    on conflict do nothing`;
}

/** The same for the channels to which something of the incident was delivered. */
export async function enqueueWhereTold(tx: Tx, rows: readonly Omit<NewRow, 'channelId'>[]): Promise<void> {
  await tx.sql`
    insert into outbox (channel_id, incident_id, event, payload, created_at, not_before)
    select c.id, "incidentId", event, payload, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
    from jsonb_to_recordset(${jsonText(rows)}::jsonb) as given ("incidentId" bigint, event integer, payload jsonb)
    join channels c on exists (
      select from outbox o where o.incident_id = "incidentId" and o.channel_id = c.id and o.state = 'delivered')
    order by "incidentId", event, c.id
    for key share of c
    on conflict do nothing`;
}

/** JSON that PostgreSQL takes: it refuses NUL and halves of characters, which a job's output may hold. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, it: unknown) =>
    typeof it === 'string' ? it.replace(/[\0\p{Cs}]/gu, '\ufffd') : it,
  );
}

export type NewNotice = {
  readonly kind: 'unknown' | 'operator';
  /** Two notices of one subject are one. */
  readonly subject: string;
  readonly text: string;
  readonly at: Instant;
};
export type NoticeAbout = { readonly jobId: number; readonly scheduledFor: Instant };

/**
 * Promises to tell these channels something that is not about one incident. Called again with the same subject it adds
 * channels and occurrences; once the notice is on its way, occurrences not in it yet get a notice of their own.
 */
export async function enqueueNotice(
  tx: Tx,
  { kind, subject, text, at }: NewNotice,
  channelIds: readonly number[],
  occurrences: readonly NoticeAbout[] = [],
): Promise<void> {
  const about = jsonText(
    occurrences.map(({ jobId, scheduledFor }) => ({ jobId, scheduledFor: new Date(scheduledFor).toISOString() })),
  );
  for (let part = 1; ; part++) {
    const id = await noticeId(tx, { kind, subject: part === 1 ? subject : `${subject}#${part}`, text, at });
    if (await isOpenFor(tx, id, about)) {
      const payload = jsonText({ type: 'notice', notice: { id, kind, text, at } } satisfies NoticeMessage);
      await tx.sql`
        insert into notice_occurrences (notice_id, job_id, scheduled_for)
        select ${id}, "jobId", "scheduledFor"
        from jsonb_to_recordset(${about}::jsonb) as given ("jobId" bigint, "scheduledFor" timestamptz)
        on conflict do nothing`;
      await tx.sql`
        insert into outbox (channel_id, notice_id, payload, created_at, not_before)
        select id, ${id}, ${payload}::jsonb, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
        from channels where id = any(${channelIds as number[]}::bigint[]) order by id for key share
        on conflict do nothing`;
      return;
    }
  }
}

async function noticeId(tx: Tx, { kind, subject, text, at }: NewNotice): Promise<number> {
  const [made] = await tx.sql<{ id: number }[]>`
    insert into notices (kind, subject, text, at) values (${kind}, ${subject}, ${text}, ${at})
    on conflict do nothing returning id`;
  // A second statement: one that waited for another transaction's row does not see it in its own snapshot.
  const [found] = made ? [made] : await tx.sql<{ id: number }[]>`select id from notices where subject = ${subject}`;
  if (!found) throw new Error(`no notice ${subject}`);
  return found.id;
}

/** Not on its way yet, or already about all of these. The share lock keeps a sender from taking it until we commit. */
async function isOpenFor(tx: Tx, noticeId: number, about: string): Promise<boolean> {
  const rows = await tx.sql<{ begun: boolean }[]>`
    select message_id is not null or state <> 'waiting' as begun from outbox where notice_id = ${noticeId} for share`;
  if (!rows.some(({ begun }) => begun)) return true;
  const fresh = await tx.sql`
    select 1 from jsonb_to_recordset(${about}::jsonb) as given ("jobId" bigint, "scheduledFor" timestamptz)
    where not exists (select from notice_occurrences n
      where n.notice_id = ${noticeId} and n.job_id = "jobId" and n.scheduled_for = "scheduledFor") limit 1`;
  return fresh.length === 0;
}
