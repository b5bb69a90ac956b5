import { createHmac, timingSafeEqual } from 'node:crypto';
import { formatInstant } from '../core/time.ts';
import { readAckSecret } from './ack-link.ts';
import { type ChannelRow, lockChannel, operatorChannels } from './channels.ts';
import type { Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import { enqueueNotice } from './outbox.ts';

/** 128 bits of the signature, in hex. */
const MAC_CHARACTERS = 32;

/**
 * The address at which whoever gets the messages of a channel ends them, for as long as they go to this address. It works
 * on POST only (RFC 8058), and does not grow old: a mail from last year ends what still comes.
 */
export function unsubscribeLink(
  secret: string,
  publicUrl: string,
  { channelId, address }: { readonly channelId: number; readonly address: string },
): string {
  return `${publicUrl.replace(/\/+$/, '')}/u/${channelId.toString(36)}.${macOf(secret, channelId, address)}`;
}

function macOf(secret: string, channelId: number, address: string): string {
  const said = `rollcall unsubscribe ${channelId} ${address}`;
  return createHmac('sha256', secret).update(said).digest('hex').slice(0, MAC_CHARACTERS);
}

/** What a link of unsubscribeLink is about. `isOver`: the address is out already. */
export type Subscription = {
  readonly channel: Pick<ChannelRow, 'id' | 'projectId' | 'slug'>;
  readonly address: string;
  readonly isOver: boolean;
};

/** null: the link was not made here, or the channel is gone or goes to another address by now. */
export async function readSubscription(tx: Tx, token: string): Promise<Subscription | null> {
  const [, id = '', mac = ''] = /^([0-9a-z]{1,10})\.([0-9a-f]{32})$/.exec(token) ?? [];
  if (mac === '') return null;
  const [channel] = await tx.sql<Pick<ChannelRow, 'id' | 'projectId' | 'slug' | 'settings'>[]>`
    select id, project_id as "projectId", slug, settings from channels where id = ${Number.parseInt(id, 36)}`;
  if (!channel) return null;
  const { to = '', unsubscribed } = channel.settings;
  const address = unsubscribed ?? to;
  const isRight = timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(await readAckSecret(tx), channel.id, address)));
  return isRight && address !== '' ? { channel, address, isOver: unsubscribed !== undefined } : null;
}

/**
 * Takes the address out of its channel. That leaves the channel without any, so it is dead: what waits for it is rejected
 * when its turn comes, and the project's other operator channels hear of it. A new address makes it alive again. Answers as
 * readSubscription does.
 */
export async function unsubscribe(tx: Tx, token: string): Promise<Subscription | null> {
  const seen = await readSubscription(tx, token);
  if (!seen || seen.isOver) return seen;
  // Only now: nobody holds up a channel with links that were made up.
  await lockChannel(tx, seen.channel.id, { wait: true });
  const subscribed = await readSubscription(tx, token);
  if (subscribed && !subscribed.isOver) await takeOut(tx, subscribed);
  return subscribed;
}

async function takeOut(tx: Tx, { channel, address }: Subscription): Promise<void> {
  const { id, projectId, slug } = channel;
  const settings = JSON.stringify({ to: '', unsubscribed: address });
  const reason = `${address} unsubscribed, and no address is left`;
  await tx.sql`
    update channels set settings = ${settings}::jsonb, dead_since = coalesce(dead_since, ${tx.now}), last_failure = ${reason}
    where id = ${id}`;
  // What waits need not wait for its next attempt to be rejected.
  await tx.sql`
    update outbox set not_before = ${tx.now}, lease_until = null
    where channel_id = ${id} and state = 'waiting' and lease is null and not_before > ${tx.now} and attempts > 0`;
  await recordAudit(tx, {
    projectId,
    actor: address,
    action: 'channel.unsubscribe',
    subject: slug,
    detail: { address },
  });
  const others = (await operatorChannels(tx, projectId)).filter((other) => other !== id);
  const text =
    `${address} unsubscribed from channel ${slug}, which has no other address: nobody hears what is sent to it. ` +
    'Give it an address, or delete it.';
  const subject = `unsubscribed:${id}:${formatInstant(tx.now)}`;
  await enqueueNotice(tx, { kind: 'operator', subject, text, at: tx.now }, others);
}
