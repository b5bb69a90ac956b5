import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** Name of the fact that holds the key by which links are signed, in hex. */
const SECRET = 'ack_secret';
const LIFETIME_MS = 30 * 86_400_000;
/** 128 bits of the signature, in hex: nobody guesses that, and a line of a mail has room for it. */
const MAC_CHARACTERS = 32;

/** What a link is about: an incident, and the channel it went to. */
export type AckTarget = { readonly incidentId: number; readonly channelId: number };

/** The key by which links are signed: made once for an installation, and kept. */
export async function readAckSecret(tx: Tx): Promise<string> {
  const find = () => tx.sql<{ value: string }[]>`select value from facts where name = ${SECRET}`;
  const [known] = await find();
  if (known) return known.value;
  const made = randomBytes(32).toString('hex');
  await tx.sql`insert into facts (name, value) values (${SECRET}, ${made}) on conflict do nothing`;
  // Another process may have been first.
  const [kept] = await find();
  if (!kept) throw new Error('the key of signed links was not kept');
  return kept.value;
}

/** The address at which whoever got a message acknowledges or snoozes its incident, for 30 days from `now`. */
export function ackLink(
  secret: string,
  publicUrl: string,
  { now, ...target }: AckTarget & { readonly now: Instant },
): string {
  return `${publicUrl}/a/${signToken(secret, target, now + LIFETIME_MS)}`;
}

function signToken(secret: string, { incidentId, channelId }: AckTarget, until: Instant): string {
  const said = [incidentId, channelId, Math.floor(until / 1000)].map((part) => part.toString(36)).join('.');
  return `${said}.${macOf(secret, said)}`;
}

/** What a token is about, or why it is none: it was not made here, or it is too old. */
export function readAckToken(
  secret: string,
  token: string,
  now: Instant,
): { readonly ok: true; readonly value: AckTarget } | { readonly ok: false; readonly reason: 'wrong' | 'old' } {
  const parts = /^(([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11}))\.([0-9a-f]{32})$/.exec(token);
  if (!parts) return { ok: false, reason: 'wrong' };
  const [, said = '', incident = '', channel = '', until = '', mac = ''] = parts;
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(secret, said)))) return { ok: false, reason: 'wrong' };
  if (Number.parseInt(until, 36) * 1000 <= now) return { ok: false, reason: 'old' };
  return { ok: true, value: { incidentId: Number.parseInt(incident, 36), channelId: Number.parseInt(channel, 36) } };
}

function macOf(secret: string, said: string): string {
  return createHmac('sha256', secret).update(`rollcall ack ${said}`).digest('hex').slice(0, MAC_CHARACTERS);
}
