import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Instant } from '../../../core/time.ts';
import { readMarks } from '../../../store/dashboard-mark.ts';
import { findJob } from '../../../store/jobs.ts';
import { pageOfPings, type StoredPing } from '../../../store/reading.ts';
import { isSlug } from '../../api/slug.ts';
import type { ApiFlaw } from '../call.ts';
import type { PageDeps } from '../deps.ts';
import { goTo, takeFlash } from '../flash.ts';
import { flawOf, Refusal, TextField } from '../form.tsx';
import { Copy } from '../job/copy.tsx';
import { CURL } from '../job/pay.ts';
import { notePage } from '../note.tsx';
import { answerPage, Page } from '../page.tsx';
import { Ago, Time } from '../time.tsx';
import { mayAs, type PageEnv } from '../viewer.ts';
import { Live, liveAttributes } from './live.tsx';

/** What the form for the first job has in it. */
export type FirstJob = {
  readonly name: string;
  readonly every: string;
  readonly detail?: string | undefined;
  readonly errors: readonly ApiFlaw[];
};

export const NO_FIRST_JOB: FirstJob = { name: '', every: '1d', errors: [] };

/** Makes a heartbeat of a name and a period; the refusal is what the form is shown again with. */
export async function makeFirstJob(c: Context<PageEnv>): Promise<Response | FirstJob> {
  const body = await c.req.parseBody();
  const text = (name: string): string => (typeof body[name] === 'string' ? body[name].trim() : '');
  const asked = { name: text('name'), every: text('every') };
  const slug = slugOfName(asked.name);
  if (slug === '')
    return { ...asked, errors: [{ path: 'name', message: 'a name needs a letter from a to z or a number' }] };
  const known = await c.var.call('GET', `/jobs/${slug}`);
  if (known.ok)
    return { ...asked, errors: [{ path: 'name', message: `there is a job ${slug} already: take another name` }] };
  const definition = { name: asked.name, zone: 'UTC', schedules: [{ heartbeat: asked.every }] };
  const answer = await c.var.call('PUT', `/jobs/${slug}`, definition);
  if (answer.ok) return goTo(c, `/projects/${c.var.project.slug}/first-ping/${slug}`);
  return { ...asked, ...refusalOf(answer.errors, answer.detail) };
}

/** The API's words, at the two fields there are. */
function refusalOf(errors: readonly ApiFlaw[], detail: string): Pick<FirstJob, 'detail' | 'errors'> {
  const placed = errors.map((error) =>
    error.path.startsWith('schedules') ? { ...error, path: 'every' } : { ...error, path: 'name' },
  );
  return { errors: placed, detail: placed.length === 0 ? detail : undefined };
}

/** A slug that looks like the name: `Nightly backup (db-3)` is `nightly-backup-db-3`. */
export function slugOfName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '');
  return plain
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 100);
}

/** A project without jobs: one step from here to the first ping. */
export const EmptyProject: FC<{ project: string; isEditor: boolean; isEmpty: boolean; typed: FirstJob }> = ({
  project,
  isEditor,
  isEmpty,
  typed,
}) => (
  <section class="empty stack">
    <h2>{isEmpty ? 'No jobs yet' : 'A new job'}</h2>
    {isEditor ? (
      <>
        <p>
          Give your first job a name and say how often it runs. You get a line to put at the end of the job, and
          Rollcall tells you when it does not come, or comes with a failure.
        </p>
        <form class="stack first-job" method="post" action={`/projects/${project}/first-job`}>
          <Refusal detail={typed.detail} />
          <div class="fields">
            <TextField
              name="name"
              label="Name"
              value={typed.name}
              placeholder="Nightly backup"
              flaw={flawOf(typed.errors, 'name')}
              required
            />
            <TextField
              name="every"
              label="At least every"
              value={typed.every}
              hint="Such as 15m, 6h or 1d, counted from its last run."
              flaw={flawOf(typed.errors, 'every')}
              required
            />
          </div>
          <div class="row">
            <button class="main" type="submit">
              Make the job
            </button>
            <a href={`/projects/${project}/jobs/+new`}>It runs by a crontab: give its schedule</a>
          </div>
        </form>
      </>
    ) : (
      <p>You are a viewer of this project: jobs are made by its editors.</p>
    )}
  </section>
);

/** `/first-ping/{slug}`: the URL of a job with what to type, waiting for its first ping. */
export function firstPingPages(deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>().get('/first-ping/:slug', async (c) => {
    const { project, viewer } = c.var;
    const slug = c.req.param('slug');
    const found = isSlug(slug) ? await readFirstPing(deps, project.id, slug) : null;
    if (found === null) return notePage(deps, c, 404, 'Nothing here', 'There is no such job in this project.');
    const isEditor = mayAs(project.role, 'editor');
    const job = isEditor ? await c.var.call<{ ping_url: string }>('GET', `/jobs/${slug}`) : null;
    const path = `/projects/${project.slug}/first-ping/${slug}`;
    return answerPage(
      c,
      <Page
        title={`First ping of ${slug}`}
        assets={deps.assets}
        now={found.now}
        viewer={viewer}
        project={project}
        section="jobs"
        flash={takeFlash(c)}
        isLive
      >
        <h1>First ping of {slug}</h1>
        {job?.ok ? <HowToPing url={job.value.ping_url} /> : <p>Its ping URL is shown to editors of the project.</p>}
        <Live project={project.slug} mark={found.mark} />
        <div id="first-ping" {...liveAttributes(path, 'first-ping')}>
          <FirstPing {...found} path={`/projects/${project.slug}/jobs/${slug}`} viewerZone={c.var.viewerZone} />
        </div>
      </Page>,
    );
  });
}

async function readFirstPing({ database }: PageDeps, projectId: number, slug: string) {
  return database.transaction(async (tx) => {
    const job = await findJob(tx, projectId, slug);
    if (job === null) return null;
    const mark = (await readMarks(tx, [projectId])).get(projectId) ?? '';
    const [ping] = await pageOfPings(tx, job.id, { before: null, limit: 1 });
    return { mark, ping: ping ?? null, now: tx.now };
  });
}

const HowToPing: FC<{ url: string }> = ({ url }) => (
  <section class="stack-s">
    <p>Run this now, to see that it comes:</p>
    <Copy id="curl" text={`${CURL} ${url}`} label="the line to run now" />
    <p>
      Then put this behind the job's command, on its line of the crontab; in a script, on the next line and without the
      first <code>;</code>. <code>$?</code> is the exit code of the command: without <code>/$?</code> a run that fails
      counts as a success, and after <code>&amp;&amp;</code> it is not heard of at all.
    </p>
    <Copy id="in-job" text={`; ${CURL} ${url}/$?`} label="the end of the job's line" />
    <p class="small soft">The URL is a secret: whoever knows it can report runs of this job.</p>
  </section>
);

const FirstPing: FC<{
  ping: StoredPing | null;
  now: Instant;
  path: string;
  viewerZone: PageEnv['Variables']['viewerZone'];
}> = ({ ping, now, path, viewerZone }) =>
  ping === null ? (
    <p class="notice" role="status">
      Waiting for the first ping. This page shows it as soon as it comes; without JavaScript, reload it.
    </p>
  ) : (
    <section class="flash stack-s" role="status">
      <p>
        <strong>It came.</strong> The last ping, a {ping.kind}, arrived <Ago at={ping.receivedAt} now={now} /> (
        <Time at={ping.receivedAt} zone={viewerZone} />
        ).
      </p>
      <p>
        <a href={path}>Go to the job</a>: set its schedule, its tolerances and who is told.
      </p>
    </section>
  );
