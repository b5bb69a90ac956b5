import type { Message } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import { doubtOf, readLife } from './clock-doubt.ts';
import type { Tx } from './database.ts';
import { jsonText, WORTH_MS } from './outbox.ts';
import { isHeld, LONGEST_HOLD_MS } from './withholding.ts';

/** How long a sender may hold a message: three times what one attempt takes. */
export const LEASE_MS = 30_000;
/** How long a notice of unknown occurrences waits, at most, for jobs that may have more of them. */
const GATHERING_MS = 120_000;
/** Rows of one channel looked at together, and so the most in one message; the rest follows in the next. */
const MOST_ROWS = 10_000;

/** Failed attempts after which a message holds up only what must stay behind it. */
export const STUCK_AFTER = 3;

export type ChannelWithWork = { readonly id: number; readonly kind: string };

/**
 * The channels for which something may be due. What exactly, and whether, is decided under the channel's lock. A channel that is
 * being sent to, or asked to be left alone, is left out, and so is one where all that is due stands behind a message that is
 * not due: it would be read again and again until then.
 */
export async function channelsWithWork(tx: Tx): Promise<readonly ChannelWithWork[]> {
  const { sql, now } = tx;
  const waits = sql`w.channel_id = c.id and w.state = 'waiting'`;
  const isTaken = sql`w.lease_until > ${now} and (w.lease is null or w.lease_until <= ${now + LEASE_MS})`;
  return sql<ChannelWithWork[]>`
    select c.id, c.kind from channels c
    cross join lateral (
      select (select a.at from attempts a where a.channel_id = c.id order by a.id desc limit 1) > ${now} as is_back) clock
    cross join lateral (
      select count(distinct w.message_id) as messages, max(w.attempts) as attempts,
        coalesce(bool_or(${isTaken}), false) as is_taken
      from outbox w where ${waits} and w.message_id is not null) tried
    where exists (select from outbox w where ${waits}) and (clock.is_back
      or not tried.is_taken
        and exists (select from outbox o where o.channel_id = c.id and o.state = 'waiting' and ${mayGo(tx)}))
    order by c.id`;
}

/** Whether row `o` may be sent or ended now; `tried`: how many messages of channel `c` were tried, and how often. */
function mayGo(tx: Tx) {
  const { sql, now } = tx;
  const isOver = sql`case when ${isHeld(tx)} then o.not_before > ${now + LONGEST_HOLD_MS}
    else o.not_before > ${now + WORTH_MS} or o.created_at <= ${now - WORTH_MS} end`;
  // A message nobody wants any more must not hold up the rest.
  const isMoot = sql`o.message_id is not null and exists (
    select from incidents i where i.id = o.incident_id and i.silent and i.resolved_at is not null)`;
  const isFree = sql`o.message_id is not null or (
    (tried.messages = 0 or tried.messages = 1 and tried.attempts >= ${STUCK_AFTER})
    and (o.incident_id is null or not exists (select from outbox w where w.incident_id = o.incident_id
      and w.channel_id = o.channel_id and w.state = 'waiting' and w.message_id is not null)))`;
  return sql`(${isOver} or ${isMoot} or (o.not_before <= ${now} or o.created_at > ${now}) and (${isFree}))`;
}

/** A row that waits, without its payload: what the choice of the next message needs. */
export type WaitingRow = {
  readonly id: number;
  readonly incidentId: number | null;
  readonly type: Message['type'];
  /** When it was promised; of one that was withheld, when that ended. Its worth counts from here. */
  readonly createdAt: Instant;
  readonly notBefore: Instant;
  /**
   * With a lease: until when its holder has it; a lease left behind means that nobody knows whether the message went
   * out. Without one: until when the receiver asked to be left alone.
   */
  readonly lease: string | null;
  readonly leaseUntil: Instant | null;
  readonly messageId: string | null;
  readonly attempts: number;
  /** The incident ended without a message. */
  readonly endedSilently: boolean;
  /** An event of the incident was delivered to this channel; `thread` is the receipt of the first that was. */
  readonly told: boolean;
  readonly thread: string | null;
  /** A notice of unknown occurrences, while jobs that may have more of them are not judged yet. */
  readonly isGathering?: boolean;
  /** A report is a message of its own. */
  readonly isAlone?: boolean;
  /** A report, while the channel is no e-mail channel any more. */
  readonly isMisplaced?: boolean;
};

/** What waits for a channel. `isDoubted`: the clock is in doubt, so that nobody knows how long. */
export type Waiting = {
  readonly rows: readonly WaitingRow[];
  readonly lastAttemptAt: Instant | null;
  readonly isDoubted?: boolean;
};

/**
 * Everything that waits for a locked channel, oldest first, and when it was last tried. What is withheld is left out, unless
 * its incident has ended meanwhile.
 */
export async function waitingRows(tx: Tx, channelId: number): Promise<Waiting> {
  const rows = await tx.sql<WaitingRow[]>`
    select o.id, o.incident_id as "incidentId", o.payload ->> 'type' as type, ${freshSince(tx)} as "createdAt",
      o.not_before as "notBefore", o.lease, o.lease_until as "leaseUntil", o.message_id as "messageId", o.attempts,
      coalesce(i.silent and i.resolved_at is not null, false) as "endedSilently",
      coalesce(first.told, false) as told, first.receipt as thread,
      exists (select from notices n where n.id = o.notice_id and n.kind = 'unknown' and o.attempts = 0
        and o.created_at > ${tx.now - GATHERING_MS} and exists (
          select from cursors c where c.next_check_at <= n.at and (c.retry_at is null or c.retry_at <= ${tx.now})))
        as "isGathering",
      o.payload ? 'report' as "isAlone",
      o.payload ? 'report' and not exists (select from channels c where c.id = o.channel_id and c.kind = 'email')
        as "isMisplaced"
    from outbox o left join incidents i on i.id = o.incident_id
    left join lateral (
      select true as told, d.receipt from outbox d
      where d.incident_id = o.incident_id and d.channel_id = o.channel_id and d.state = 'delivered'
      order by d.event limit 1
    ) first on true
    where o.channel_id = ${channelId} and o.state = 'waiting'
      and not (${isHeld(tx)} and o.not_before > ${tx.now} and o.not_before <= ${tx.now + LONGEST_HOLD_MS}
        and i.resolved_at is null)
    order by o.id limit ${MOST_ROWS}`;
  const [last] = await tx.sql<{ at: Instant }[]>`
    select at from attempts where channel_id = ${channelId} order by id desc limit 1`;
  const doubt = await doubtOf(tx, (await readLife(tx)).last);
  return { rows, lastAttemptAt: last?.at ?? null, isDoubted: doubt !== null };
}

/** What was withheld for a month is worth as much afterwards as what is new. */
export function freshSince(tx: Tx) {
  return tx.sql`case when ${isHeld(tx)} then greatest(o.created_at, least(o.not_before, ${tx.now})) else o.created_at end`;
}

/** Ends rows that wait, without a message; the reason stays with them. */
export async function giveUp(
  tx: Tx,
  rows: readonly { readonly id: number; readonly state: 'withheld' | 'expired'; readonly reason: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.sql`
    update outbox o
    set state = given.state, lease = null, lease_until = null,
      reason = given.reason || case when given.state = 'expired' and o.reason is not null then ': ' || o.reason else '' end
    from jsonb_to_recordset(${jsonText(rows)}::jsonb) as given (id bigint, state text, reason text)
    where o.id = given.id and o.state = 'waiting'`;
}
