import type { IncidentKind } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** What a message to a channel is about: an incident of a kind, or runs of which Rollcall could not hear. */
export type ToldKind = IncidentKind | 'unknown';

/**
 * Why a channel is told of a kind of a job, or is not. `every_channel`: the job names no channels; `matches`: the channel's
 * own routes; `nobody`: the job's `channels` is []; `other_kind`, `other_tags`: the channel's routes do not match.
 */
type RouteReason = 'named' | 'every_channel' | 'matches' | 'nobody' | 'not_named' | 'other_kind' | 'other_tags';

/** The one decision, about job `j` and channel `c` of its project, as SQL: a RouteReason. `kind` is text. */
function routeReason({ sql }: Tx, kind: ReturnType<Tx['sql']>) {
  return sql`
    case
      when j.definition -> 'channels' = '[]' then 'nobody'
      when j.definition -> 'channels' @> to_jsonb(c.slug) then 'named'
      when c.route_kinds is null and c.route_tags is null then
        case when coalesce(j.definition -> 'channels', 'null') = 'null' then 'every_channel' else 'not_named' end
      when not coalesce(${kind} = any(c.route_kinds), true) then 'other_kind'
      when not coalesce(j.definition -> 'tags' ?| c.route_tags, true) then 'other_tags'
      else 'matches'
    end`;
}

/** Whether job `j` tells channel `c` of this kind. */
export function isRouted(tx: Tx, kind: ReturnType<Tx['sql']>) {
  return tx.sql`${routeReason(tx, kind)} in ('named', 'every_channel', 'matches')`;
}

/** Which channels each of these jobs tells of this kind. */
export async function routedChannels(
  tx: Tx,
  jobIds: readonly number[],
  kind: ToldKind,
): Promise<readonly { readonly jobId: number; readonly channelId: number }[]> {
  return tx.sql<{ jobId: number; channelId: number }[]>`
    select j.id as "jobId", c.id as "channelId" from jobs j join channels c on c.project_id = j.project_id
    where j.id = any(${jobIds as number[]}::bigint[]) and ${isRouted(tx, tx.sql`${kind}::text`)} order by j.id, c.id`;
}

/** The decision about one channel, as routedChannels takes it. */
export type Route = {
  readonly channel: string;
  readonly channelKind: string;
  readonly reason: RouteReason;
  readonly routeKinds: readonly string[] | null;
  readonly routeTags: readonly string[] | null;
  /** Nothing gets through it since then. */
  readonly deadSince: Instant | null;
};

/** Every channel of the job's project with the decision about it, by slug. */
export async function routesOf(tx: Tx, jobId: number, kind: ToldKind): Promise<readonly Route[]> {
  return tx.sql<Route[]>`
    select c.slug as channel, c.kind as "channelKind", ${routeReason(tx, tx.sql`${kind}::text`)} as reason,
      c.route_kinds as "routeKinds", c.route_tags as "routeTags", c.dead_since as "deadSince"
    from jobs j join channels c on c.project_id = j.project_id where j.id = ${jobId} order by c.slug collate "C"`;
}
