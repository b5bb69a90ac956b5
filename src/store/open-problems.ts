import type { IncidentKind } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** An open incident as a list names it. */
export type OpenProblem = {
  readonly slug: string;
  readonly zone: string;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly isAcked: boolean;
  readonly snoozedUntil: Instant | null;
};

/** The worst few of `count`. */
export type OpenProblems = { readonly count: number; readonly worst: readonly OpenProblem[] };

/** Named in a message at most. */
const MOST_NAMED = 5;

/**
 * The open incidents of a project beside those given, by kind in the order of `worstFirst`, the oldest first. One that was
 * never told, because its threshold is not reached, is no problem yet.
 */
export async function otherProblems(
  tx: Tx,
  projectId: number,
  { except, worstFirst }: { readonly except: readonly number[]; readonly worstFirst: readonly string[] },
): Promise<OpenProblems> {
  const rows = await tx.sql<(OpenProblem & { readonly count: number })[]>`
    select j.slug, j.definition ->> 'zone' as zone, i.kind, i.opened_at as "openedAt", i.acked_at is not null as "isAcked",
      case when i.snoozed_until > ${tx.now} then i.snoozed_until end as "snoozedUntil", count(*) over ()::integer as count
    from incidents i join jobs j on j.id = i.job_id
    where i.resolved_at is null and j.project_id = ${projectId} and i.events > 0
      and i.id <> all(${except as number[]}::bigint[])
    order by array_position(${worstFirst as string[]}::text[], i.kind), i.opened_at, j.slug limit ${MOST_NAMED}`;
  return { count: rows[0]?.count ?? 0, worst: rows.map(({ count: _, ...problem }) => problem) };
}

/** What a channel and an incident have been through by now. */
export type Known = {
  readonly acked: { readonly by: string; readonly at: Instant } | null;
  /** How often the channel was reminded at its interval, with the one that is about to leave. */
  readonly reminders: number;
};

/** By incident. */
export async function knownSoFar(
  tx: Tx,
  channelId: number,
  incidentIds: readonly number[],
): Promise<ReadonlyMap<number, Known>> {
  const rows = await tx.sql<{ id: number; ackedAt: Instant | null; ackedBy: string | null; reminders: number }[]>`
    select i.id, i.acked_at as "ackedAt", i.acked_by as "ackedBy", (
      select count(*)::integer from outbox o where o.incident_id = i.id and o.channel_id = ${channelId}
        and o.payload ->> 'again' = 'interval' and o.state in ('delivered', 'waiting')) as reminders
    from incidents i where i.id = any(${incidentIds as number[]}::bigint[])`;
  return new Map(
    rows.map(({ id, ackedAt, ackedBy, reminders }) => {
      const acked = ackedAt === null ? null : { by: ackedBy ?? 'somebody', at: ackedAt };
      return [id, { acked, reminders }];
    }),
  );
}
