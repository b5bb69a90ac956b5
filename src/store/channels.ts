import type { NoticeMessage } from '../core/message.ts';
import { formatInstant, type Instant, type Seconds } from '../core/time.ts';
import type { Tx } from './database.ts';
import { enqueueNotice, WORTH_MS } from './outbox.ts';
import type { ToldKind } from './routing.ts';

/** Incidents of these kinds (null: all) of jobs with one of these tags (null: any); at least one of the two is set. */
export type Routes = { readonly kinds: readonly ToldKind[] | null; readonly tags: readonly string[] | null };

/** A channel as stored. `settings` holds secrets: show them through `redact` of notify/registry.ts only. */
export type ChannelRow = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly kind: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly operator: boolean;
  /** An open incident is told again after this; null: never. */
  readonly remindEvery: Seconds | null;
  /** What it gets beside what jobs send it; null: nothing. */
  readonly routes: Routes | null;
  readonly createdAt: Instant;
  readonly deadSince: Instant | null;
  readonly lastFailure: string | null;
};

const columns = ({ sql }: Tx) => sql`
  id, project_id as "projectId", slug, kind, settings, operator, remind_every as "remindEvery",
  case when route_kinds is not null or route_tags is not null
    then jsonb_build_object('kinds', route_kinds, 'tags', route_tags) end as routes,
  created_at as "createdAt", dead_since as "deadSince", last_failure as "lastFailure"`;

export type NewChannel = Pick<ChannelRow, 'projectId' | 'slug' | 'kind' | 'settings'> & {
  /** Not said: true where the project has no other such channel, so that somebody hears of a dead one. */
  readonly operator: boolean | undefined;
} & Partial<Pick<ChannelRow, 'remindEvery' | 'routes'>>;

/** Creates or replaces a channel. Changed settings make it alive again, and what waits for it goes out at once. */
export async function upsertChannel(
  tx: Tx,
  { projectId, slug, kind, settings, operator, remindEvery = null, routes = null }: NewChannel,
): Promise<{ readonly channel: ChannelRow; readonly created: boolean }> {
  const old = await getChannel(tx, projectId, slug);
  const [row] = await tx.sql<(ChannelRow & { created: boolean })[]>`
    insert into channels (project_id, slug, kind, settings, operator, remind_every, route_kinds, route_tags, created_at)
    values (${projectId}, ${slug}, ${kind}, ${JSON.stringify(settings)}::jsonb, coalesce(${operator ?? null}::boolean,
      not exists (select from channels where project_id = ${projectId} and slug <> ${slug} and operator)),
      ${remindEvery}, ${texts(routes?.kinds)}::text[], ${texts(routes?.tags)}::text[], ${tx.now})
    on conflict (project_id, slug) do update
    set kind = excluded.kind, settings = excluded.settings, operator = excluded.operator,
      remind_every = excluded.remind_every, route_kinds = excluded.route_kinds, route_tags = excluded.route_tags
    returning ${columns(tx)}, xmax = 0 as created`;
  if (!row) throw new Error('an upsert returned no row');
  const { created, ...channel } = row;
  if (!old || isSameTarget(old, channel)) return { channel, created };
  await tx.sql`update channels set dead_since = null, last_failure = null where id = ${channel.id}`;
  await tx.sql`
    update outbox set not_before = ${tx.now}, lease_until = null
    where channel_id = ${channel.id} and state = 'waiting' and not_before > ${tx.now} and attempts > 0
      and (lease is null or lease_until <= ${tx.now})`;
  return { channel: { ...channel, deadSince: null, lastFailure: null }, created };
}

const texts = (list: readonly string[] | null | undefined): string[] | null => (list ? [...list] : null);

type Target = Pick<ChannelRow, 'kind' | 'settings'>;

function isSameTarget(a: Target, b: Target): boolean {
  return (
    a.kind === b.kind &&
    Object.keys({ ...a.settings, ...b.settings }).every((name) => a.settings[name] === b.settings[name])
  );
}

export async function getChannel(tx: Tx, projectId: number, slug: string): Promise<ChannelRow | null> {
  const [row] = await tx.sql<ChannelRow[]>`
    select ${columns(tx)} from channels where project_id = ${projectId} and slug = ${slug}`;
  return row ?? null;
}

/** The channels of a project by slug, those after `after` only. */
export async function listChannels(
  tx: Tx,
  projectId: number,
  { after = '', limit = 500 }: { readonly after?: string; readonly limit?: number } = {},
): Promise<readonly ChannelRow[]> {
  return tx.sql<ChannelRow[]>`
    select ${columns(tx)} from channels where project_id = ${projectId} and slug > ${after} order by slug limit ${limit}`;
}

/** What waits for it goes with it. False: there was none. */
export async function deleteChannel(tx: Tx, projectId: number, slug: string): Promise<boolean> {
  const rows = await tx.sql`delete from channels where project_id = ${projectId} and slug = ${slug} returning id`;
  return rows.length === 1;
}

/** The channels that hear about Rollcall itself: of one project, or (null) of all. */
export async function operatorChannels(tx: Tx, projectId: number | null): Promise<readonly number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select id from channels where operator and (${projectId}::bigint is null or project_id = ${projectId}::bigint) order by id`;
  return rows.map(({ id }) => id);
}

/** What a person sees who tries a channel out. */
export function createTestMessage(slug: string, now: Instant): NoticeMessage {
  const text = `This is a test of channel ${slug}. If you can read it, messages of Rollcall get through.`;
  return { type: 'notice', notice: { id: 0, kind: 'operator', text, at: now } };
}

/** The channel, locked against other senders but not against rows being promised to it; null: another one has it. */
export async function lockChannel(
  tx: Tx,
  channelId: number,
  { wait }: { readonly wait: boolean },
): Promise<ChannelRow | null> {
  // `no key update`: a plain `for update` would make every transaction that enqueues a row wait (its foreign key).
  const [row] = await tx.sql<ChannelRow[]>`
    select ${columns(tx)} from channels where id = ${channelId}
    for no key update ${wait ? tx.sql`` : tx.sql`skip locked`}`;
  return row ?? null;
}

/** How one attempt ended: a Delivery of notify/channel.ts. */
type AttemptOutcome =
  | { readonly outcome: 'delivered' }
  | { readonly outcome: 'retry'; readonly reason: string }
  | { readonly outcome: 'rejected'; readonly reason: string; readonly permanent: boolean };

/** One attempt to tell `to`, the channel as it was then. */
export type NewAttempt = {
  readonly to: Pick<ChannelRow, 'id' | 'kind' | 'settings'>;
  readonly messageId: string;
  readonly rows: number;
  readonly delivery: AttemptOutcome;
};

/**
 * Keeps an attempt, and what it says about the channel: dead, alive again, or neither. False: the channel has other settings by
 * now, about which it says nothing, or is gone.
 */
export async function recordAttempt(tx: Tx, { to, messageId, rows, delivery }: NewAttempt): Promise<boolean> {
  const channelId = to.id;
  const channel = await lockChannel(tx, channelId, { wait: true });
  if (!channel) return false;
  const reason = delivery.outcome === 'delivered' ? null : delivery.reason;
  await tx.sql`
    insert into attempts (channel_id, message_id, at, outcome, reason, rows)
    values (${channelId}, ${messageId}, ${tx.now}, ${delivery.outcome}, ${reason}, ${rows})`;
  if (!isSameTarget(to, channel)) return false;
  await tx.sql`
    update channels set last_failure = ${reason}, dead_since = case when ${reason}::text is null then null else dead_since end
    where id = ${channelId} and (last_failure is distinct from ${reason} or dead_since is not null)`;
  if (delivery.outcome === 'delivered' || channel.deadSince !== null) return true;
  const isGone = delivery.outcome === 'rejected' && delivery.permanent;
  if (isGone || (await hasFailedLong(tx, channelId))) await declareDead(tx, channel, delivery.reason);
  return true;
}

/** Rows ran out of time after all their attempts failed: if nothing else got through either, the channel is dead. */
export async function recordExpiry(
  tx: Tx,
  channel: ChannelRow,
  { since, reason }: { readonly since: Instant; readonly reason: string },
): Promise<void> {
  if (channel.deadSince !== null) return;
  const delivered = await tx.sql`
    select 1 from attempts where channel_id = ${channel.id} and outcome = 'delivered' and at >= ${since} limit 1`;
  if (delivered.length === 0) await declareDead(tx, channel, reason);
}

/** Three messages in a row refused, or a whole day without one that got through. */
async function hasFailedLong(tx: Tx, channelId: number): Promise<boolean> {
  const last = await tx.sql<{ outcome: string }[]>`
    select outcome from attempts where channel_id = ${channelId} order by id desc limit 3`;
  if (last.length === 3 && last.every(({ outcome }) => outcome === 'rejected')) return true;
  const [first] = await tx.sql<{ at: Instant | null }[]>`
    select min(at) as at from attempts where channel_id = ${channelId}
      and id > coalesce((select max(id) from attempts where channel_id = ${channelId} and outcome = 'delivered'), 0)`;
  return first !== undefined && first.at !== null && tx.now - first.at >= WORTH_MS;
}

/** Never through the dead one itself; one that is dead as well is tried, because silence would be worse. */
async function declareDead(tx: Tx, { id, projectId, slug, kind }: ChannelRow, reason: string): Promise<void> {
  await tx.sql`update channels set dead_since = ${tx.now} where id = ${id}`;
  const others = (await operatorChannels(tx, projectId)).filter((other) => other !== id);
  const text =
    `Channel ${slug} (${kind}) is dead: its messages do not get through (${reason}). ` +
    'Whoever relies on it hears nothing. Set it right and send a test.';
  await enqueueNotice(
    tx,
    { kind: 'operator', subject: `dead:${id}:${formatInstant(tx.now)}`, text, at: tx.now },
    others,
  );
}
