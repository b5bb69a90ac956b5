import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** One change of a project, and who made it. */
export type AuditEntry = {
  readonly id: number;
  readonly at: Instant;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Newest first; those before entry `before` only. */
export async function readAudit(
  { sql }: Tx,
  projectId: number,
  { before = null, limit }: { readonly before?: number | null; readonly limit: number },
): Promise<readonly AuditEntry[]> {
  return sql<AuditEntry[]>`
    select id, at, actor, action, subject, detail from audit
    where project_id = ${projectId} and (${before}::bigint is null or id < ${before}::bigint)
    order by id desc limit ${limit}`;
}
