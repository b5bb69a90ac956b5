import { randomBytes, randomUUID } from 'node:crypto';
import type { Message } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { isRouted } from './routing.ts';
import { freshSince, LEASE_MS } from './waiting.ts';

/** Occurrences of one notice in one message. */
const MOST_OCCURRENCES = 1000;

/** Ids of messages are the same on every attempt; nothing can be read from them. */
export function newMessageId(): string {
  return `msg_${randomBytes(15).toString('hex')}`;
}

export type Lease = { readonly id: string; readonly messageId: string; readonly rowIds: readonly number[] };

/** Takes these rows of a locked channel for one attempt, as one message. */
export async function lease(tx: Tx, rowIds: readonly number[], messageId: string): Promise<Lease> {
  const id = randomUUID();
  const taken = await tx.sql<{ id: number }[]>`
    update outbox o set lease = ${id}, lease_until = ${tx.now + LEASE_MS}, message_id = ${messageId},
      attempts = attempts + 1, created_at = ${freshSince(tx)}
    where id = any(${rowIds as number[]}::bigint[]) and state = 'waiting' returning id`;
  return { id, messageId, rowIds: taken.map((row) => row.id) };
}

export type NoticeLine = {
  readonly noticeId: number;
  readonly slug: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly zone: string;
  readonly missedRuns: string | null;
  readonly scheduledFor: Instant;
  readonly state: string;
  /** Lines of this notice for this channel, also those beyond the first 1,000. */
  readonly total: number;
};

/** Payloads of a leased message in order, and what its notices are about for this channel, as it stands now. */
export async function leasedPayloads(
  tx: Tx,
  { rowIds }: Lease,
): Promise<{ readonly payloads: readonly Message[]; readonly lines: readonly NoticeLine[] }> {
  const ids = rowIds as number[];
  const rows = await tx.sql<{ payload: Message }[]>`
    select payload from outbox where id = any(${ids}::bigint[]) order by id`;
  const lines = await tx.sql<NoticeLine[]>`
    select * from (
      select n.notice_id as "noticeId", j.slug, j.definition ->> 'name' as name, j.definition -> 'tags' as tags,
        coalesce(v.zone, j.definition ->> 'zone') as zone, j.definition ->> 'missedRuns' as "missedRuns", n.scheduled_for as "scheduledFor",
        coalesce(s.state, 'unknown') as state, count(*) over (partition by n.notice_id) as total,
        row_number() over (partition by n.notice_id order by n.scheduled_for, j.slug) as place
      from outbox o
      join channels c on c.id = o.channel_id
      join notice_occurrences n on n.notice_id = o.notice_id
      join jobs j on j.id = n.job_id and j.project_id = c.project_id and ${isRouted(tx, tx.sql`'unknown'`)}
      left join occurrences s on s.job_id = n.job_id and s.scheduled_for = n.scheduled_for
      left join schedule_versions v on v.job_id = s.job_id and v.number = s.version
      where o.id = any(${ids}::bigint[])
    ) numbered where place <= ${MOST_OCCURRENCES} order by "noticeId", place`;
  return { payloads: rows.map(({ payload }) => payload), lines };
}

/** The one message that told all of these incidents first on this channel, or null when there are several or none. */
export async function firstMessage(
  tx: Tx,
  channelId: number,
  incidentIds: readonly number[],
): Promise<{ readonly id: string; readonly receipt: string | null } | null> {
  const rows = await tx.sql<{ id: string; receipt: string | null }[]>`
    select distinct on (incident_id) message_id as id, receipt from outbox
    where channel_id = ${channelId} and incident_id = any(${incidentIds as number[]}::bigint[]) and state = 'delivered'
    order by incident_id, event`;
  const [first] = rows;
  const isShared = rows.length === incidentIds.length && rows.every(({ id }) => id === first?.id);
  return isShared && first ? first : null;
}

export type Settlement =
  | { readonly outcome: 'delivered'; readonly receipt?: string }
  | { readonly outcome: 'rejected'; readonly reason: string }
  | {
      readonly outcome: 'retry';
      readonly reason: string;
      readonly delayMs: number;
      readonly quietMs: number;
      readonly uncertain: boolean;
    };

/** Writes down what became of a message. Only a delivery counts although the lease was lost meanwhile: it did happen. */
export async function settle(tx: Tx, { id, messageId, rowIds }: Lease, settlement: Settlement): Promise<void> {
  const ids = rowIds as number[];
  if (settlement.outcome === 'delivered') {
    await tx.sql`
      update outbox set state = 'delivered', reason = null, delivered_at = ${tx.now}, lease = null, lease_until = null,
        receipt = ${settlement.receipt ?? null}
      where id = any(${ids}::bigint[]) and message_id = ${messageId} and state = 'waiting'`;
  } else if (settlement.outcome === 'rejected') {
    await tx.sql`
      update outbox set state = 'rejected', reason = ${settlement.reason}, lease = null, lease_until = null
      where id = any(${ids}::bigint[]) and lease = ${id} and state = 'waiting'`;
  } else {
    const { reason, delayMs, quietMs, uncertain } = settlement;
    await tx.sql`
      update outbox set reason = ${reason}, not_before = ${tx.now + delayMs},
        lease = ${uncertain ? id : null}, lease_until = ${tx.now + (uncertain ? 0 : quietMs)}
      where id = any(${ids}::bigint[]) and lease = ${id} and state = 'waiting'`;
  }
}
