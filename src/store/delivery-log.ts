import { groupBy } from '../core/group.ts';
import type { IncidentKind, IncidentMessage, NoticeMessage } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { isHeld } from './withholding.ts';

/** One event of an incident to one channel, and what became of it. */
export type Notification = {
  readonly id: number;
  readonly channel: string;
  readonly event: number;
  readonly type: IncidentMessage['type'];
  /** Of a reminder without news, why it came; null: something happened. */
  readonly again: NonNullable<IncidentMessage['again']> | null;
  /** `withheld` with `notBefore`: for now. */
  readonly state: 'waiting' | 'delivered' | 'rejected' | 'withheld' | 'expired';
  readonly reason: string | null;
  readonly attempts: number;
  readonly messageId: string | null;
  /** Not to be tried before; null: it is over. */
  readonly notBefore: Instant | null;
  readonly deliveredAt: Instant | null;
};

/** Where a page begins, by id, and how many it may have. */
type Page = { readonly from: number | null; readonly limit: number };

/** Everything that was to be said of an incident, oldest first, after id `from`; null: the project has no such incident. */
export async function pageOfNotifications(
  tx: Tx,
  { projectId, incidentId }: { readonly projectId: number; readonly incidentId: number },
  { from, limit }: Page,
): Promise<readonly Notification[] | null> {
  const known = await tx.sql`
    select 1 from incidents i join jobs j on j.id = i.job_id where i.id = ${incidentId} and j.project_id = ${projectId}`;
  if (known.length === 0) return null;
  return tx.sql<Notification[]>`
    select o.id, c.slug as channel, o.event, o.payload ->> 'type' as type, o.payload ->> 'again' as again,
      case when o.state = 'waiting' and ${isHeld(tx)} and o.not_before > ${tx.now} then 'withheld' else o.state end as state,
      o.reason, o.attempts, o.message_id as "messageId",
      case when o.state = 'waiting' then o.not_before end as "notBefore", o.delivered_at as "deliveredAt"
    from outbox o join channels c on c.id = o.channel_id
    where o.incident_id = ${incidentId} and o.id > ${from ?? 0} order by o.id limit ${limit}`;
}

/** One attempt to send a message, and what it was about. */
export type Attempt = {
  readonly id: number;
  readonly at: Instant;
  readonly outcome: 'delivered' | 'retry' | 'rejected';
  readonly reason: string | null;
  readonly messageId: string;
  readonly incidents: readonly { readonly id: number; readonly kind: IncidentKind; readonly job: string }[];
  /** What it said beside. Neither an incident nor a notice: it was a test. */
  readonly notices: readonly {
    readonly id: number;
    readonly kind: NoticeMessage['notice']['kind'];
    readonly text: string;
  }[];
};

const SHOWN = 100;

/** Attempts of a channel, newest first, with an id below `from`. */
export async function pageOfAttempts(tx: Tx, channelId: number, { from, limit }: Page): Promise<readonly Attempt[]> {
  const older = from === null ? tx.sql`` : tx.sql`and id < ${from}`;
  const found = await tx.sql<Omit<Attempt, 'incidents' | 'notices'>[]>`
    select id, at, outcome, reason, message_id as "messageId" from attempts
    where channel_id = ${channelId} ${older} order by id desc limit ${limit}`;
  const about = await tx.sql<{ messageId: string; id: number; kind: IncidentKind; job: string }[]>`
    select "messageId", id, kind, job from (
      select o.message_id as "messageId", i.id, i.kind, j.slug as job,
        row_number() over (partition by o.message_id order by i.id) as place
      from (select distinct message_id, incident_id from outbox
        where channel_id = ${channelId} and message_id = any(${found.map(({ messageId }) => messageId)}::text[])) o
      join incidents i on i.id = o.incident_id join jobs j on j.id = i.job_id) numbered
    where place <= ${SHOWN} order by "messageId", id`;
  const said = await tx.sql<(Attempt['notices'][number] & { messageId: string })[]>`
    select o.message_id as "messageId", n.id, n.kind, n.text from outbox o join notices n on n.id = o.notice_id
    where o.channel_id = ${channelId} and o.message_id = any(${found.map(({ messageId }) => messageId)}::text[])
    order by n.id`;
  const byMessage = groupBy(about, ({ messageId }) => messageId);
  const notices = groupBy(said, ({ messageId }) => messageId);
  return found.map((one) => ({
    ...one,
    incidents: (byMessage.get(one.messageId) ?? []).map(({ id, kind, job }) => ({ id, kind, job })),
    notices: (notices.get(one.messageId) ?? []).slice(0, SHOWN).map(({ id, kind, text }) => ({ id, kind, text })),
  }));
}
