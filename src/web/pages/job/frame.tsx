import type { Context } from 'hono';
import type { Child, FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { Live, liveAttributes } from '../dashboard/live.tsx';
import type { PageDeps } from '../deps.ts';
import { takeFlash } from '../flash.ts';
import { notePage } from '../note.tsx';
import { answerPage, Page } from '../page.tsx';
import { mayAs, type PageEnv } from '../viewer.ts';
import { JobHead } from './head.tsx';
import type { LoadedJob } from './load.ts';

/** What the parts of a job's pages are made with. */
export type JobView = {
  readonly job: LoadedJob;
  /** The address of the job's page; its other pages are below. */
  readonly base: string;
  readonly projectPath: string;
  /** May change it, and see its ping URL. */
  readonly mayEdit: boolean;
  readonly viewerZone: Zone;
};

export function jobView(c: Context<PageEnv>, job: LoadedJob): JobView {
  const { project, viewerZone } = c.var;
  const projectPath = `/projects/${project.slug}`;
  return {
    job,
    projectPath,
    base: `${projectPath}/jobs/${job.stored.slug}`,
    mayEdit: mayAs(project.role, 'editor'),
    viewerZone,
  };
}

type JobTab = 'overview' | 'occurrences' | 'pings' | 'snippets';

const TABS: readonly (readonly [JobTab, string, string])[] = [
  ['overview', 'Overview', ''],
  ['occurrences', 'Occurrences', '/occurrences'],
  ['pings', 'Pings', '/pings'],
  ['snippets', 'How to ping', '/snippets'],
];

const Tabs: FC<{ base: string; tab: JobTab | undefined }> = ({ base, tab }) => (
  <nav class="tabs" aria-label="Job">
    {TABS.map(([name, text, path]) => (
      <a href={base + path} {...(name === tab ? { 'aria-current': 'page' as const } : {})}>
        {text}
      </a>
    ))}
  </nav>
);

type JobPageFrame = {
  readonly tab?: JobTab;
  readonly title?: string;
  readonly status?: 200 | 400 | 409;
  /** It reads itself again from `path` when something of the project has changed since `mark`. */
  readonly live?: { readonly path: string; readonly mark: string };
};

/** A page of a job: its head, its tabs, and what the page is about. */
export function jobPage(
  deps: PageDeps,
  c: Context<PageEnv>,
  view: JobView,
  { tab, title, status, live }: JobPageFrame,
  children: Child,
): Response | Promise<Response> {
  const { job, base } = view;
  const { name } = job.json;
  // A page that reads itself again must not take what is meant for the person's next page.
  const flash = c.req.header('HX-Request') ? undefined : takeFlash(c);
  return answerPage(
    c,
    <Page
      title={title === undefined ? name : `${title} · ${name}`}
      assets={deps.assets}
      now={job.now}
      viewer={c.var.viewer}
      project={c.var.project}
      section="jobs"
      flash={flash}
      isLive={live !== undefined}
    >
      {live ? <Live project={c.var.project.slug} mark={live.mark} /> : null}
      <div id="job" class="stack" {...(live ? liveAttributes(live.path, 'job') : {})}>
        <JobHead view={view} isWhole={tab === 'overview'} />
        <Tabs base={base} tab={tab} />
        {children}
      </div>
    </Page>,
    status,
  );
}

/** 404 for a job's pages. */
export function noSuchJobPage(deps: PageDeps, c: Context<PageEnv>): Response | Promise<Response> {
  return notePage(deps, c, 404, 'Nothing here', 'There is no job of this name in the project.');
}
