import type { Tx } from './database.ts';

/**
 * A mark of everything the list of jobs and the incidents show, for each of these projects: it differs when something was
 * written. Whatever changes a job writes its cursor, in the same transaction; what people do is in the audit.
 */
export async function readMarks(tx: Tx, projectIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
  // xmin is the transaction that wrote a row: the sum grows with each change, in whatever order transactions commit.
  const rows = await tx.sql<{ projectId: number; mark: string }[]>`
    select p.id as "projectId", concat_ws('-',
      (select count(*) || '-' || coalesce(sum(c.xmin::text::bigint), 0)
        from jobs j join cursors c on c.job_id = j.id where j.project_id = p.id),
      (select coalesce(max(a.id), 0) from audit a where a.project_id = p.id)) as mark
    from unnest(${projectIds as number[]}::bigint[]) p(id)`;
  return new Map(rows.map(({ projectId, mark }) => [projectId, mark]));
}
