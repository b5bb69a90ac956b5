import { randomBytes, randomUUID } from 'node:crypto';
import type { IncidentMessage, Message, NoticeMessage } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import { doubtOf, readLife } from './clock-doubt.ts';
import type { Tx } from './database.ts';
import { isRouted } from './routing.ts';
import { isHeld, LONGEST_HOLD_MS } from './withholding.ts';

/** A message leaves this long after the first row that waits for it. */
export const GROUPING_MS = 5000;
/** How long a sender may hold a message: three times what one attempt takes. */
export const LEASE_MS = 30_000;
/** How long a row is worth sending. */
export const WORTH_MS = 24 * 3_600_000;
/** How long a notice of unknown occurrences waits, at most, for jobs that may have more of them. */
const GATHERING_MS = 120_000;
/** Rows of one channel looked at together, and so the most in one message; the rest follows in the next. */
const MOST_ROWS = 10_000;
const MOST_OCCURRENCES = 1000;

export type NewRow = {
  readonly channelId: number;
  readonly incidentId: number;
  readonly event: number;
  readonly payload: IncidentMessage;
};

/** Promises to tell these channels. A row that exists is left alone, so saying it twice is saying it once. */
export async function enqueue(tx: Tx, rows: readonly NewRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.sql`
    insert into outbox (channel_id, incident_id, event, payload, created_at, not_before)
    select "channelId", "incidentId", event, payload, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
    from jsonb_to_recordset(${jsonText(rows)}::jsonb)
      as given ("channelId" bigint, "incidentId" bigint, event integer, payload jsonb)
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
    on conflict do nothing`;
}

/** JSON that PostgreSQL takes: it refuses NUL and halves of characters, which a job's output may hold. */
function jsonText(value: unknown): string {
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
        from channels where id = any(${channelIds as number[]}::bigint[])
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

/** The channels for which something may be due. What exactly, and whether, is decided under the channel's lock. */
export async function channelsWithWork(tx: Tx): Promise<readonly number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select c.id from channels c
    where exists (select from outbox o where o.channel_id = c.id and o.state = 'waiting'
        and (o.not_before <= ${tx.now} or o.created_at > ${tx.now}
          or case when ${isHeld(tx)} then o.not_before > ${tx.now + LONGEST_HOLD_MS}
            else o.not_before > ${tx.now + WORTH_MS} or o.created_at <= ${tx.now - WORTH_MS} end))
      or (exists (select from outbox o where o.channel_id = c.id and o.state = 'waiting')
        and (select a.at from attempts a where a.channel_id = c.id order by a.id desc limit 1) > ${tx.now})
    order by c.id`;
  return rows.map(({ id }) => id);
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
      o.payload ? 'report' as "isAlone"
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
function freshSince(tx: Tx) {
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
