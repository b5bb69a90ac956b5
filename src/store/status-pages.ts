import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** Which jobs a group shows: those named, in this order, or every job with a tag, by name. */
export type StatusGroup = {
  readonly name: string;
  readonly shows:
    | { readonly kind: 'jobs'; readonly jobs: readonly NamedJob[] }
    | { readonly kind: 'tag'; readonly tag: string };
};

/** A job by its slug, and what the page calls it; null: as the project does. */
export type NamedJob = { readonly job: string; readonly name: string | null };

/** A status page as PUT defines it, parsed; stored as JSON. */
export type StatusPageDefinition = {
  readonly title: string;
  readonly text: string;
  /** Times are shown in it. */
  readonly zone: string;
  readonly groups: readonly StatusGroup[];
  /** Names and reasons of maintenance windows are shown. */
  readonly showReasons: boolean;
  /** Search engines may list it. */
  readonly indexable: boolean;
};

export type StoredStatusPage = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly definition: StatusPageDefinition;
  /** Lower case, without a port. */
  readonly host: string | null;
  /** null: everybody may see it. */
  readonly passwordHash: string | null;
  readonly createdAt: Instant;
};

const columns = ({ sql }: Tx) => sql`
  id, project_id as "projectId", slug, definition, host, password_hash as "passwordHash", created_at as "createdAt"`;

export type NewStatusPage = Pick<StoredStatusPage, 'projectId' | 'slug' | 'definition' | 'host'> & {
  /** undefined: it stays as it is. */
  readonly passwordHash: string | null | undefined;
};

export type PutStatusPage =
  | { readonly outcome: 'put'; readonly page: StoredStatusPage; readonly created: boolean }
  /** The slug or the host is another page's, of whatever project. */
  | { readonly outcome: 'taken'; readonly field: 'slug' | 'host' };

/** Creates or replaces a page of this project. */
export async function putStatusPage(tx: Tx, page: NewStatusPage): Promise<PutStatusPage> {
  try {
    return await tx.savepoint(() => upsert(tx, page));
  } catch (error) {
    // Its slug is no conflict here, whoever has it: only the host can be in the way.
    if ((error as { readonly code?: string }).code === '23505') return { outcome: 'taken', field: 'host' };
    throw error;
  }
}

async function upsert(
  tx: Tx,
  { projectId, slug, definition, host, passwordHash }: NewStatusPage,
): Promise<PutStatusPage> {
  const password = passwordHash === undefined ? tx.sql`p.password_hash` : tx.sql`excluded.password_hash`;
  const [row] = await tx.sql<(StoredStatusPage & { created: boolean })[]>`
    insert into status_pages as p (project_id, slug, definition, host, password_hash, created_at)
    values (${projectId}, ${slug}, ${JSON.stringify(definition)}::jsonb, ${host}, ${passwordHash ?? null}, ${tx.now})
    on conflict (slug) do update
    set definition = excluded.definition, host = excluded.host, password_hash = ${password}
    where p.project_id = excluded.project_id
    returning ${columns(tx)}, xmax = 0 as created`;
  if (!row) return { outcome: 'taken', field: 'slug' };
  const { created, ...page } = row;
  return { outcome: 'put', page, created };
}

/** A page of this project. */
export async function getStatusPage(tx: Tx, projectId: number, slug: string): Promise<StoredStatusPage | null> {
  const [row] = await tx.sql<StoredStatusPage[]>`
    select ${columns(tx)} from status_pages where project_id = ${projectId} and slug = ${slug}`;
  return row ?? null;
}

/** The page of this slug, of whatever project. */
export async function findStatusPage(tx: Tx, slug: string): Promise<StoredStatusPage | null> {
  const [row] = await tx.sql<StoredStatusPage[]>`select ${columns(tx)} from status_pages where slug = ${slug}`;
  return row ?? null;
}

/** The pages of a project by slug, those after `after` only. */
export async function listStatusPages(
  tx: Tx,
  projectId: number,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly StoredStatusPage[]> {
  return tx.sql<StoredStatusPage[]>`
    select ${columns(tx)} from status_pages
    where project_id = ${projectId} and slug collate "C" > ${after ?? ''} order by slug collate "C" limit ${limit}`;
}

/** False: there was none. */
export async function deleteStatusPage(tx: Tx, projectId: number, slug: string): Promise<boolean> {
  const rows = await tx.sql`delete from status_pages where project_id = ${projectId} and slug = ${slug} returning id`;
  return rows.length === 1;
}

/** The host names that lead to a page, with its slug. */
export async function readStatusHosts(tx: Tx): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.sql<{ host: string; slug: string }[]>`
    select host, slug from status_pages where host is not null`;
  return new Map(rows.map(({ host, slug }) => [host, slug]));
}
