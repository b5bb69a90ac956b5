import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { countText } from '../../core/report-words.ts';
import { type BulkRefusal, changeJobs } from './dashboard/bulk.tsx';
import { BulkForm, FilterForm } from './dashboard/controls.tsx';
import { type Filter, filterPath, readFilter } from './dashboard/filter.ts';
import { EmptyProject, type FirstJob, firstPingPages, makeFirstJob, NO_FIRST_JOB } from './dashboard/first-ping.tsx';
import { OpenIncidents } from './dashboard/incidents.tsx';
import { JobTable } from './dashboard/list.tsx';
import { Live, liveAttributes } from './dashboard/live.tsx';
import { type Board, readBoard } from './dashboard/read.ts';
import { createRecentShares, type ReadRecentShares } from './dashboard/recent-shares.ts';
import type { PageDeps } from './deps.ts';
import { eventPages } from './events.ts';
import { takeFlash } from './flash.ts';
import { answerPage, Page } from './page.tsx';
import { RollLegend } from './roll.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

/** The jobs of a project, trouble first; what is done to many of them at once; and the way to the first ping. */
export function dashboardPages(pageDeps: PageDeps): Hono<PageEnv> {
  const deps = { ...pageDeps, recentShares: createRecentShares() };
  return new Hono<PageEnv>()
    .get('/', (c) => show(deps, c, {}))
    .post('/bulk', async (c) => {
      const answer = await changeJobs(deps, c);
      return answer instanceof Response ? answer : show(deps, c, { refusal: answer });
    })
    .post('/first-job', async (c) => {
      const answer = await makeFirstJob(c);
      return answer instanceof Response ? answer : show(deps, c, { firstJob: answer });
    })
    .route('/', firstPingPages(deps))
    .route('/', eventPages(deps));
}

/** A form of the list that was refused, as it was sent. */
type Refused = { readonly refusal?: BulkRefusal; readonly firstJob?: FirstJob };

async function show(
  deps: PageDeps & { readonly recentShares: ReadRecentShares },
  c: Context<PageEnv>,
  { refusal, firstJob }: Refused,
): Promise<Response> {
  const { project, viewer } = c.var;
  const filter = readFilter((name) => c.req.query(name));
  const board = await readBoard(deps, project.id, filter);
  // A list that reads itself again must not take what is meant for the person's next page.
  const flash = c.req.header('HX-Request') ? undefined : takeFlash(c);
  // What was typed and ticked stays until it is sent again.
  const isRefused = refusal !== undefined || firstJob !== undefined;
  const page = (
    <Page
      title={`Jobs of ${project.name}`}
      assets={deps.assets}
      now={board.now}
      viewer={viewer}
      project={project}
      section="jobs"
      flash={flash}
      isLive={!isRefused}
    >
      {isRefused ? null : <Live project={project.slug} mark={board.mark} />}
      <JobList board={board} filter={filter} c={c} refusal={refusal} firstJob={firstJob} />
    </Page>
  );
  return answerPage(c, page, isRefused ? 400 : 200);
}

const JobList: FC<{
  board: Board;
  filter: Filter;
  c: Context<PageEnv>;
  refusal: BulkRefusal | undefined;
  firstJob: FirstJob | undefined;
}> = ({ board, filter, c, refusal, firstJob }) => {
  const { project, viewerZone } = c.var;
  const isEditor = mayAs(project.role, 'editor');
  const frame = { project: project.slug, filter, now: board.now, viewerZone, isEditor };
  const path = filterPath(project.slug, filter, { page: filter.page });
  return (
    <div id="jobs" class="stack" {...liveAttributes(path, 'jobs')}>
      <div class="row spread baseline">
        <h1>{project.name}</h1>
        {isEditor && board.total > 0 ? (
          <a class="button" href={`/projects/${project.slug}/jobs/+new`}>
            New job
          </a>
        ) : null}
      </div>
      {board.total === 0 || firstJob !== undefined ? (
        <EmptyProject
          project={project.slug}
          isEditor={isEditor}
          isEmpty={board.total === 0}
          typed={firstJob ?? NO_FIRST_JOB}
        />
      ) : (
        <>
          <Summary board={board} project={project.slug} filter={filter} />
          <OpenIncidents incidents={board.incidents} count={board.incidentCount} frame={{ ...frame, from: 'jobs' }} />
          <FilterForm project={project.slug} filter={filter} tags={board.tags} />
          {board.rows.length === 0 ? (
            <p class="empty">No job matches.</p>
          ) : (
            <JobTable rows={board.rows} frame={{ ...frame, ticked: refusal?.ticked ?? new Set() }} />
          )}
          <Pager board={board} project={project.slug} filter={filter} />
          {isEditor && board.rows.length > 0 ? (
            <BulkForm
              project={project.slug}
              filter={{ ...filter, page: board.page }}
              matching={board.matching}
              viewerZone={viewerZone}
              state={refusal?.state}
            />
          ) : null}
          <RollLegend />
        </>
      )}
    </div>
  );
};

/** `2 of 12 jobs are in trouble; 1 owes runs.` Each number leads to what it counts. */
const Summary: FC<{ board: Board; project: string; filter: Filter }> = ({ board, project, filter }) => {
  const { total, troubled, owing } = board;
  const whole = { ...filter, q: '', tag: '', status: '' } as const;
  const jobs = `${countText(total)} ${total === 1 ? 'job' : 'jobs'}`;
  return (
    <p class="summary" role="status">
      {troubled === 0 ? (
        <span class="ok">{total === 1 ? 'The one job is not in trouble' : `None of ${jobs} is in trouble`}</span>
      ) : (
        <a class="bad" href={filterPath(project, whole, { status: 'trouble' })}>
          {countText(troubled)} of {jobs} {troubled === 1 ? 'is' : 'are'} in trouble
        </a>
      )}
      {owing === 0 ? null : (
        <>
          ;{' '}
          <a href={filterPath(project, whole, { status: 'owing' })}>
            {countText(owing)} {owing === 1 ? 'owes' : 'owe'} runs
          </a>
        </>
      )}
      .
    </p>
  );
};

const Pager: FC<{ board: Board; project: string; filter: Filter }> = ({ board, project, filter }) => {
  const { page, pages, matching } = board;
  if (pages === 1) return null;
  const link = (to: number, text: string) => <a href={filterPath(project, filter, { page: to })}>{text}</a>;
  return (
    <nav class="pager" aria-label="Pages">
      <span>{page > 1 ? link(page - 1, 'Previous page') : null}</span>
      <span class="soft">
        Page {countText(page)} of {countText(pages)}, {countText(matching)} jobs
      </span>
      <span>{page < pages ? link(page + 1, 'Next page') : null}</span>
    </nav>
  );
};
