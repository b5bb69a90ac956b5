import type { Tx } from './database.ts';

/** What hangs on a channel, as far as its end changes it. */
export type ChannelUses = {
  /** Slugs of jobs that name it. */
  readonly jobs: readonly string[];
  /** Slugs of reports that go to it. */
  readonly reports: readonly string[];
  /** Messages that wait to be sent to it. */
  readonly waiting: number;
  /** It hears about Rollcall itself, and no other channel of the project does. */
  readonly isLastOperator: boolean;
  /** The project has no other channel. */
  readonly isLast: boolean;
};

/** What hangs on a channel of this project. One statement. */
export async function readChannelUses(tx: Tx, projectId: number, slug: string): Promise<ChannelUses> {
  const name = JSON.stringify(slug);
  const [row] = await tx.sql<ChannelUses[]>`
    select
      array(select j.slug from jobs j where j.project_id = ${projectId}
        and j.definition->'channels' @> ${name}::jsonb order by j.slug) as jobs,
      array(select r.slug from reports r where r.project_id = ${projectId}
        and r.definition->'channels' @> ${name}::jsonb order by r.slug) as reports,
      (select count(*)::int from outbox o join channels c on c.id = o.channel_id
        where c.project_id = ${projectId} and c.slug = ${slug} and o.state = 'waiting') as waiting,
      coalesce((select operator from channels where project_id = ${projectId} and slug = ${slug}), false)
        and not exists (select from channels where project_id = ${projectId} and slug <> ${slug} and operator)
        as "isLastOperator",
      not exists (select from channels where project_id = ${projectId} and slug <> ${slug}) as "isLast"`;
  if (!row) throw new Error('a select without a table returned no row');
  return row;
}
