import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { type IncidentKind, incidentKinds } from '../../core/message.ts';
import { countText } from '../../core/report-words.ts';
import type { Instant } from '../../core/time.ts';
import { type IncidentLine, readIncidentLine, readIncidentLines } from '../../store/dashboard-incidents.ts';
import { readMarks } from '../../store/dashboard-mark.ts';
import { dueJobs } from '../../store/jobs.ts';
import { orUtc } from '../../store/version-zones.ts';
import { bringToNow } from '../api/bring-to-now.ts';
import { isSlug } from '../api/slug.ts';
import { Answers, IncidentSentence } from './dashboard/incidents.tsx';
import { Live, liveAttributes } from './dashboard/live.tsx';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { incidentIdOf, showIncident } from './incidents-one.tsx';
import { type Snooze, snoozeUntil } from './incidents-snooze.ts';
import { KIND_WORDS } from './job/words.ts';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

/** Open and past problems: a list, each with what was told to whom, and a person's word on it. */
export function incidentPages(deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>()
    .get('/incidents', (c) => showList(deps, c))
    .get('/incidents/:id', (c) => showIncident(deps, c))
    .post('/incidents/:id/ack', (c) => acknowledge(deps, c))
    .post('/incidents/:id/snooze', (c) => snooze(deps, c));
}

type Filter = {
  readonly state: 'open' | 'resolved' | null;
  readonly slug: string | null;
  readonly kind: IncidentKind | null;
  readonly page: number;
};

const PAGE_SIZE = 50;
const MOST_CAUGHT_UP = 25;

function readFilter(c: Context): Filter {
  const { state, job, kind, page } = c.req.query();
  return {
    state: state === 'open' || state === 'resolved' ? state : null,
    slug: job !== undefined && isSlug(job) ? job : null,
    kind: incidentKinds.find((known) => known === kind) ?? null,
    page: page !== undefined && /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
  };
}

function pathOf(project: string, { state, slug, kind, page }: Filter): string {
  const query = new URLSearchParams({
    ...(state === null ? {} : { state }),
    ...(slug === null ? {} : { job: slug }),
    ...(kind === null ? {} : { kind }),
    ...(page === 1 ? {} : { page: String(page) }),
  }).toString();
  return `/projects/${project}/incidents${query === '' ? '' : `?${query}`}`;
}

async function showList(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const { project, viewer, viewerZone } = c.var;
  const filter = readFilter(c);
  await bringToNow(deps, await deps.database.transaction((tx) => dueJobs(tx, project.id, MOST_CAUGHT_UP)));
  const found = await deps.database.transaction(async (tx) => {
    const mark = (await readMarks(tx, [project.id])).get(project.id) ?? '';
    const page = { ...filter, offset: (filter.page - 1) * PAGE_SIZE, limit: PAGE_SIZE };
    return { mark, now: tx.now, ...(await readIncidentLines(tx, project.id, page)) };
  });
  const flash = c.req.header('HX-Request') ? undefined : takeFlash(c);
  const isEditor = mayAs(project.role, 'editor');
  const frame = { project: project.slug, now: found.now, viewerZone, isEditor, from: 'incidents' as const };
  return answerPage(
    c,
    <Page
      title="Incidents"
      assets={deps.assets}
      now={found.now}
      viewer={viewer}
      project={project}
      section="incidents"
      flash={flash}
      isLive
    >
      <Live project={project.slug} mark={found.mark} />
      <h1>Incidents</h1>
      <FilterForm project={project.slug} filter={filter} />
      <div id="incidents" class="stack" {...liveAttributes(pathOf(project.slug, filter), 'incidents')}>
        {found.lines.length === 0 ? (
          <p class="empty">{emptyText(filter)}</p>
        ) : (
          <ul class="bare lines card flush">
            {found.lines.map((line) => (
              <li id={`incident-${line.id}`} class="row spread">
                <span class={`badge ${line.resolvedAt === null ? 'open' : 'resolved'}`}>
                  {line.resolvedAt === null ? 'open' : 'resolved'}
                </span>
                <IncidentSentence incident={{ ...line, jobZone: orUtc(deps.zones.get(line.zone)) }} frame={frame} />
                <Answers incident={line} frame={frame} />
              </li>
            ))}
          </ul>
        )}
        <Pager project={project.slug} filter={filter} total={found.total} />
      </div>
    </Page>,
  );
}

const emptyText = ({ state, slug, kind }: Filter): string => {
  if (slug !== null || kind !== null) return 'No incident matches.';
  return state === 'open' ? 'Nothing is open: all is well.' : 'No incidents so far.';
};

const STATES = { '': 'Open and resolved', open: 'Open', resolved: 'Resolved' };

const FilterForm: FC<{ project: string; filter: Filter }> = ({ project, filter }) => (
  <search>
    <form class="row filter" method="get" action={`/projects/${project}/incidents`}>
      <input type="search" name="job" value={filter.slug ?? ''} placeholder="Slug of a job" aria-label="Job" />
      <select name="state" aria-label="State">
        {Object.entries(STATES).map(([value, text]) => (
          <option value={value} {...(value === (filter.state ?? '') ? { selected: true } : {})}>
            {text}
          </option>
        ))}
      </select>
      <select name="kind" aria-label="Kind">
        <option value="">Every kind</option>
        {incidentKinds.map((kind) => (
          <option value={kind} {...(kind === filter.kind ? { selected: true } : {})}>
            {kind.replaceAll('_', ' ')}: {KIND_WORDS[kind]}
          </option>
        ))}
      </select>
      <button type="submit">Show</button>
    </form>
  </search>
);

const Pager: FC<{ project: string; filter: Filter; total: number }> = ({ project, filter, total }) => {
  const pages = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (pages === 1) return null;
  const { page } = filter;
  const link = (to: number, text: string) => <a href={pathOf(project, { ...filter, page: to })}>{text}</a>;
  return (
    <nav class="pager" aria-label="Pages">
      <span>{page > 1 ? link(page - 1, 'Newer') : null}</span>
      <span class="soft">
        Page {countText(page)} of {countText(pages)}, {countText(total)} incidents
      </span>
      <span>{page < pages ? link(page + 1, 'Older') : null}</span>
    </nav>
  );
};

/** The incident a form is about, and now; null: there is none. */
async function readSubject(
  deps: PageDeps,
  c: Context<PageEnv>,
): Promise<{ readonly line: IncidentLine; readonly now: Instant } | null> {
  const id = incidentIdOf(c);
  if (id === null) return null;
  return deps.database.transaction(async (tx) => {
    const line = await readIncidentLine(tx, c.var.project.id, id);
    return line && { line, now: tx.now };
  });
}

const noIncident = (deps: PageDeps, c: Context<PageEnv>) =>
  notePage(deps, c, 404, 'Nothing here', 'There is no such incident in this project.');

async function acknowledge(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const subject = await readSubject(deps, c);
  if (subject === null) return noIncident(deps, c);
  const form = await c.req.parseBody();
  const answer = await c.var.call('POST', `/incidents/${subject.line.id}/ack`);
  if (!answer.ok) return notePage(deps, c, 409, 'Not done', answer.detail);
  return goTo(c, backPath(c, subject.line, form['from']), `Acknowledged: ${subject.line.name}.`);
}

async function snooze(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const subject = await readSubject(deps, c);
  if (subject === null) return noIncident(deps, c);
  const { line, now } = subject;
  const form = await c.req.parseBody();
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const typed = { wanted: text(form['for']), until: text(form['until']) };
  const asked: Snooze = snoozeUntil(typed, orUtc(deps.zones.get(line.zone)), now);
  if (!asked.ok) return showIncident(deps, c, { ...typed, flaw: asked.reason });
  const answer = await c.var.call('POST', `/incidents/${line.id}/snooze`, { until: asked.until });
  if (!answer.ok) {
    const flaw = answer.errors.map(({ message }) => message).join('; ') || answer.detail;
    return showIncident(deps, c, { ...typed, flaw });
  }
  const done = asked.until === null ? 'Messages go out again' : 'Snoozed';
  return goTo(c, backPath(c, line, form['from']), `${done}: ${line.name}.`);
}

/** Where the form was. */
function backPath(c: Context<PageEnv>, { id }: IncidentLine, from: unknown): string {
  const project = `/projects/${c.var.project.slug}`;
  if (from === 'jobs') return project;
  return from === 'incidents' ? `${project}/incidents` : `${project}/incidents/${id}`;
}
