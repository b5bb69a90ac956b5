import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import { countText } from '../../../core/report-words.ts';
import { formatInstant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { ApiFlaw, Call } from '../call.ts';
import type { PageDeps } from '../deps.ts';
import { goTo } from '../flash.ts';
import { answerPage, Page } from '../page.tsx';
import type { PageEnv } from '../viewer.ts';
import type { BulkState } from './controls.tsx';
import { filterQuery, readFilter } from './filter.ts';
import { localInstant } from './local-instant.ts';
import { readMatchingSlugs } from './read.ts';

/** What was asked for, as the form sent it. */
type Asked = Pick<BulkState, 'until' | 'reason' | 'isAll'> & {
  readonly action: string;
  readonly slugs: readonly string[];
};

type Failure = { readonly slug: string; readonly detail: string };

/** Why nothing was done: the list is shown again with everything that was typed and ticked. */
export type BulkRefusal = { readonly state: BulkState; readonly ticked: ReadonlySet<string> };

/** As many as one maintenance window may name. */
const MOST_JOBS = 1000;
/** Jobs that are changed at the same time: most connections stay free for others. */
const AT_ONCE = 4;

const VERBS = { pause: 'Paused', resume: 'Resumed' } as const;

/** Does to the chosen jobs what the form asks for; what fails for one job hinders no other. */
export async function changeJobs(deps: PageDeps, c: Context<PageEnv>): Promise<Response | BulkRefusal> {
  const { project, call, viewerZone } = c.var;
  const filter = readFilter((name) => c.req.query(name));
  const asked = await readAsked(c);
  const slugs = asked.isAll ? await readMatchingSlugs(deps, project.id, filter) : asked.slugs;
  if (slugs.length === 0) return refused(asked, 'Nothing was done: tick the jobs that it is about.');
  if (slugs.length > MOST_JOBS)
    return refused(
      asked,
      `Nothing was done: ${countText(slugs.length)} jobs are too many, ${countText(MOST_JOBS)} at most. Search for fewer.`,
    );
  const back = `/projects/${project.slug}${filterQuery(filter)}`;
  if (asked.action === 'maintenance') return putUnderMaintenance(c, { asked, slugs, back, viewerZone, deps });
  if (asked.action !== 'pause' && asked.action !== 'resume')
    return refused(asked, 'Nothing was done: choose what to do.');
  const failures = await changeEach(call, asked.action, slugs);
  const done = `${VERBS[asked.action]} ${jobsText(slugs.length - failures.length)}.`;
  if (failures.length === 0) return goTo(c, back, done);
  return answerPage(c, <Result deps={deps} c={c} done={done} failures={failures} back={back} />);
}

async function readAsked(c: Context): Promise<Asked> {
  const body = await c.req.parseBody({ all: true });
  const texts = (name: string): readonly string[] =>
    [body[name] ?? []].flat().filter((value): value is string => typeof value === 'string');
  const text = (name: string): string => texts(name).at(-1) ?? '';
  return {
    action: text('action'),
    slugs: [...new Set(texts('job'))],
    until: text('until'),
    reason: text('reason'),
    isAll: text('all') === '1',
  };
}

function refused(asked: Asked, detail: string | undefined, errors: readonly ApiFlaw[] = []): BulkRefusal {
  const { until, reason, isAll, slugs } = asked;
  return { state: { detail, errors, until, reason, isAll }, ticked: new Set(slugs) };
}

async function changeEach(call: Call, verb: 'pause' | 'resume', slugs: readonly string[]): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  for (let i = 0; i < slugs.length; i += AT_ONCE) {
    const some = slugs.slice(i, i + AT_ONCE).map(async (slug) => {
      const answer = await call('POST', `/jobs/${encodeURIComponent(slug)}/${verb}`);
      if (!answer.ok) failures.push({ slug, detail: answer.detail });
    });
    await Promise.all(some);
  }
  return failures.sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

type Maintenance = {
  readonly asked: Asked;
  readonly slugs: readonly string[];
  readonly back: string;
  readonly viewerZone: Zone;
  readonly deps: PageDeps;
};

/** One window about all of them, from now on. */
async function putUnderMaintenance(
  c: Context<PageEnv>,
  { asked, slugs, back, viewerZone, deps }: Maintenance,
): Promise<Response | BulkRefusal> {
  const until = localInstant(asked.until, viewerZone);
  if (until === null) {
    return refused(asked, undefined, [{ path: 'until', message: 'say until when, as a date and a time' }]);
  }
  const now = await deps.database.transaction(async (tx) => tx.now);
  const name = slugs.length === 1 ? `Maintenance of ${slugs[0]}` : `Maintenance of ${jobsText(slugs.length)}`;
  const slug = `list-${formatInstant(now)
    .toLowerCase()
    .replace(/[^0-9tz]/g, '-')}`;
  const body = { name, reason: asked.reason, jobs: slugs, until: formatInstant(until) };
  const answer = await c.var.call('PUT', `/maintenance/${slug}`, body);
  if (answer.ok)
    return goTo(
      c,
      back,
      `${jobsText(slugs.length)} under maintenance until ${asked.until.replace('T', ' ')} (${viewerZone.name}).`,
    );
  const known = answer.errors.filter(({ path }) => path === 'until' || path === 'reason');
  // A job that was deleted in between is told by its own words.
  const others = answer.errors
    .filter((error) => !known.includes(error))
    .map(({ path, message }) => `${path}: ${message}`);
  return refused(
    asked,
    others.length > 0 || known.length === 0 ? [answer.detail, ...others].join('; ') : undefined,
    known,
  );
}

const jobsText = (count: number): string => `${countText(count)} ${count === 1 ? 'job' : 'jobs'}`;

const Result: FC<{
  deps: PageDeps;
  c: Context<PageEnv>;
  done: string;
  failures: readonly Failure[];
  back: string;
}> = ({ deps, c, done, failures, back }) => (
  <Page title="What was done" assets={deps.assets} viewer={c.var.viewer} project={c.var.project} section="jobs">
    <h1>What was done</h1>
    <p>{done}</p>
    <section class="trouble stack-s" role="alert">
      <p>Not done for {jobsText(failures.length)}:</p>
      <ul>
        {failures.map(({ slug, detail }) => (
          <li>
            <a href={`/projects/${c.var.project.slug}/jobs/${encodeURIComponent(slug)}`}>{slug}</a>: {detail}
          </li>
        ))}
      </ul>
    </section>
    <p>
      <a class="button" href={back}>
        Back to the jobs
      </a>
    </p>
  </Page>
);
