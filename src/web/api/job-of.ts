import type { Context } from 'hono';
import { findJobId } from '../../store/jobs.ts';
import type { Caller } from './auth.ts';
import type { ApiDeps } from './deps.ts';
import { isSlug } from './slug.ts';

/** The id of the job in the path, brought to now so that what is read next is what a tick would have written. */
export async function caughtUpJob(
  { database, catchUp }: Pick<ApiDeps, 'database' | 'catchUp'>,
  { projectId }: Caller,
  c: Context,
): Promise<number | null> {
  const slug = c.req.param('slug') ?? '';
  if (!isSlug(slug)) return null;
  const id = await database.transaction((tx) => findJobId(tx, projectId, slug));
  if (id !== null) await catchUp([id]);
  return id;
}
