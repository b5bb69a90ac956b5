import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createHttpReceiver, type HttpReply } from '../support/receivers.ts';
import { verifiedBody, type WebhookBody } from './crontab-messages.ts';
import { query } from './promises.ts';
import type { Figures } from './stress-checks.ts';

export const SECRET = `whsec_${Buffer.from('thirty-two bytes of the stressed').toString('base64')}`;
export const CHANNELS = ['first', 'second'] as const;

type Delivery = WebhookBody & { readonly channel: string };

/** The people at the other end: every message is looked at as it comes, and its signature checked. */
export type Mailbox = {
  readonly url: string;
  readonly deliveries: readonly Delivery[];
  readonly forged: readonly string[];
  reply(...replies: HttpReply[]): void;
  close(): Promise<void>;
};

export async function openMailbox(): Promise<Mailbox> {
  const receiver = await createHttpReceiver();
  const deliveries: Delivery[] = [];
  const forged: string[] = [];
  const closing = new AbortController();
  const look = async (): Promise<void> => {
    for (let seen = 0; ; ) {
      for (; seen < receiver.requests.length; seen += 1) {
        const { path, headers, body } = receiver.requests[seen] ?? { path: '', headers: {}, body: '' };
        try {
          deliveries.push({ ...verifiedBody(headers, body, SECRET), channel: path.slice(1) });
        } catch (error) {
          forged.push(String(error));
        }
      }
      if (closing.signal.aborted) return;
      await sleep(50);
    }
  };
  const looking = look();
  return {
    url: receiver.url,
    deliveries,
    forged,
    reply: receiver.reply,
    async close() {
      closing.abort();
      await looking;
      await receiver.close();
    },
  };
}

type OutboxRow = {
  readonly channel: string;
  readonly incident: number;
  readonly event: number;
  readonly state: string;
  readonly type: string;
  readonly message: string;
};

/**
 * Every event of every incident was promised to every channel once; what was delivered came, in order, and whatever came
 * again came under the same id with all that it had said before.
 */
export async function expectTold(url: string, { deliveries, forged }: Mailbox): Promise<Figures> {
  expect(forged).toEqual([]);
  const gaps = await query(
    url,
    `select i.id, i.kind, i.events, count(o.id) as rows, max(o.event) as newest from incidents i
     left join outbox o on o.incident_id = i.id and o.event <= i.events group by i.id
     having count(o.id) <> i.events * ${CHANNELS.length} or coalesce(max(o.event), 0) <> i.events limit 10`,
  );
  expect(gaps, 'incidents with other rows than events').toEqual([]);
  // No event, but the end of one that ended without a word (its job was paused), for those who had heard of it.
  const extra = await query(
    url,
    `select i.id, i.kind, i.events, o.event, o.payload ->> 'type' as type from outbox o
     join incidents i on i.id = o.incident_id where o.event > i.events and not (
       i.silent and i.resolved_at is not null and o.event = i.events + 1 and o.payload ->> 'type' = 'incident.resolved'
       and exists (select from outbox t where t.incident_id = i.id and t.channel_id = o.channel_id
                   and t.event <= i.events and t.state = 'delivered')) limit 10`,
  );
  expect(extra, 'rows of no event').toEqual([]);
  const rows = (await query(
    url,
    `select c.slug as channel, o.incident_id as incident, o.event, o.state, o.message_id as message, o.payload ->> 'type' as type
     from outbox o join channels c on c.id = o.channel_id where o.incident_id is not null
     order by c.id, o.incident_id, o.event`,
  )) as unknown as readonly OutboxRow[];
  expect(rows.filter(({ state }) => !['delivered', 'withheld'].includes(state))).toEqual([]);
  for (const channel of CHANNELS) {
    const came = deliveries.filter((delivery) => delivery.channel === channel);
    expectInOrder(
      rows.filter((row) => row.channel === channel && row.state === 'delivered'),
      came,
    );
    expectSameAgain(came);
  }
  return {
    incidents: new Set(rows.map(({ incident }) => incident)).size,
    outbox_rows: rows.length,
    withheld: rows.filter(({ state }) => state === 'withheld').length,
    deliveries: deliveries.length,
    repeated: deliveries.length - new Set(deliveries.map(({ id, channel }) => `${channel} ${id}`)).size,
  };
}

/** By their first arrival. The rows of one incident stand together, oldest event first. */
function expectInOrder(rows: readonly OutboxRow[], came: readonly Delivery[]): void {
  const wrong: unknown[] = [];
  for (let i = 0; i < rows.length; ) {
    const { incident, message } = rows[i] ?? { incident: 0, message: '' };
    const together = rows.slice(i).findIndex((row) => row.incident !== incident || row.message !== message);
    const told = rows.slice(i, together === -1 ? undefined : i + together);
    const arrived = came.findIndex(({ id }) => id === message);
    // What joined it after a refusal came with a later try, and what ended without a word left it: one try said just this.
    const tries = came
      .filter(({ id }) => id === message)
      .map(({ events }) => events.filter((event) => event.incident?.id === incident).map(({ type }) => type));
    const types = JSON.stringify(told.map(({ type }) => type));
    if (!tries.some((said) => JSON.stringify(said) === types)) wrong.push({ told, tries });
    const before = rows[i - 1];
    if (before?.incident === incident && came.findIndex(({ id }) => id === before.message) >= arrived) {
      wrong.push({ told, arrived, before });
    }
    i += told.length;
  }
  expect(wrong.slice(0, 5), 'told otherwise than recorded, or out of order').toEqual([]);
}

/** Events may join a message that certainly did not arrive; none may leave it. */
function expectSameAgain(came: readonly Delivery[]): void {
  const said = new Map<string, readonly string[]>();
  const wrong: unknown[] = [];
  for (const { id, events } of came) {
    const now = events.map((event) => `${event.type} ${event.incident?.id}`);
    const before = said.get(id) ?? [];
    if (before.some((event) => !now.includes(event)) && now.some((event) => !before.includes(event))) {
      wrong.push({ id, before, now });
    }
    if (now.length >= before.length) said.set(id, now);
  }
  expect(wrong.slice(0, 5), 'one id, two messages').toEqual([]);
}
