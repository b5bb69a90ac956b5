import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import type { z } from 'zod';
import { readJobSlugs } from '../../store/jobs.ts';
import { toldKinds } from '../api/channel-fields.ts';
import type { routeSchema } from '../api/schemas.ts';
import type { PageDeps } from './deps.ts';
import { JobSlugs } from './job-slugs.tsx';
import type { PageEnv } from './viewer.ts';

type Route = z.infer<typeof routeSchema>;
type DryRun = {
  readonly job: string;
  readonly kind: string;
  readonly routes: readonly Route[] | null;
  readonly problem: string | null;
  /** Slugs to choose from. */
  readonly jobs: ReadonlySet<string>;
};

/** Who would be told, as the query (`job`, `kind`) asks; nothing where it does not. */
export async function readDryRun({ database }: Pick<PageDeps, 'database'>, c: Context<PageEnv>): Promise<DryRun> {
  const [job, kind] = [c.req.query('job') ?? '', c.req.query('kind') ?? ''];
  const jobs = await database.transaction((tx) => readJobSlugs(tx, c.var.project.id));
  if (job === '') return { job, kind, jobs, routes: null, problem: null };
  const answer = await c.var.call<{ readonly routing: readonly Route[] }>(
    'GET',
    `/routing?job=${encodeURIComponent(job)}&kind=${encodeURIComponent(kind)}`,
  );
  return answer.ok
    ? { job, kind, jobs, routes: answer.value.routing, problem: null }
    : { job, kind, jobs, routes: null, problem: answer.detail };
}

/** A question and its answer: nothing is sent. */
export const RoutingDryRun: FC<DryRun> = ({ job, kind, jobs, routes, problem }) => (
  <section class="card stack-s" id="dry-run">
    <h2>Who would be told?</h2>
    <form method="get" action="#dry-run" class="row">
      <label for="dry-job">If job</label>
      <input id="dry-job" name="job" value={job} placeholder="nightly-backup" required size={20} list="job-slugs" />
      <JobSlugs slugs={jobs} />
      <label for="dry-kind">is</label>
      <select id="dry-kind" name="kind">
        {toldKinds.map((name) => (
          <option value={name} {...(name === kind ? { selected: true } : {})}>
            {name.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
      <button type="submit">Ask</button>
    </form>
    {problem === null ? null : <p class="wrong">{problem}</p>}
    {routes === null ? (
      <p class="soft">The same decision that routes messages. Nothing is sent.</p>
    ) : (
      <ul class="stack-s">
        {routes.map((route) => (
          <li>
            <strong>{route.channel}</strong>: {route.told ? 'is told' : 'is not told'}, because {route.reason}
          </li>
        ))}
      </ul>
    )}
  </section>
);
