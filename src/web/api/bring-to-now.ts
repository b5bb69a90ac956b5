import type { Context } from 'hono';
import { DatabaseUnavailable } from '../../store/database.ts';
import { type FoundJob, findJob } from '../../store/jobs.ts';
import type { Caller } from './auth.ts';
import type { ApiDeps } from './deps.ts';
import { isSlug } from './slug.ts';

type BringDeps = Pick<ApiDeps, 'database' | 'catchUp' | 'log'>;

/**
 * Brings the due ones of these jobs to now, so that what is read next is what a tick would have written. A job that
 * cannot be judged is shown as far as it was: it must not hide the others.
 */
export async function bringToNow({ catchUp, log }: BringDeps, jobs: readonly FoundJob[]): Promise<void> {
  for (const { id, slug, isDue } of jobs) {
    if (!isDue) continue;
    try {
      await catchUp([id]);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      log.error({ error, job: slug }, 'a job could not be brought to now before it was read');
    }
  }
}

/** The id of the job of this slug, brought to now; null: there is none. */
export async function caughtUpJob(deps: BringDeps, { projectId }: Caller, slug: string): Promise<number | null> {
  const job = isSlug(slug) ? await deps.database.transaction((tx) => findJob(tx, projectId, slug)) : null;
  if (job === null) return null;
  await bringToNow(deps, [job]);
  return job.id;
}

/** The slug in the path of a request, as it was sent: it may be none. */
export function slugOf(c: Context): string {
  return c.req.param('slug') ?? '';
}
