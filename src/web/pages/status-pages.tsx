import { type Context, Hono } from 'hono';
import { createReadStatusView, type ReadStatusView } from '../../engine/status-pages.ts';
import { readJobSlugs } from '../../store/jobs.ts';
import { getStatusPage } from '../../store/status-pages.ts';
import { keyOf } from '../status/password.ts';
import { Asking } from './asking.tsx';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { Refusal } from './form.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import {
  bodyOf,
  draftOf,
  flawsOfRows,
  newDraft,
  readDraft,
  type ShownStatusPage,
  type StatusDraft,
} from './status-pages-draft.ts';
import { StatusPageForm } from './status-pages-form.tsx';
import { type BadgeChoice, StatusPageLinks } from './status-pages-links.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

type PageContext = Context<PageEnv>;
type List = { readonly status_pages: readonly ShownStatusPage[]; readonly next_cursor: string | null };

/** What the rest of the company sees: the status pages of a project, and how they are made. */
export function statusPageEditor(deps: PageDeps): Hono<PageEnv> {
  const readView = createReadStatusView(deps);
  return new Hono<PageEnv>()
    .get('/status-pages', (c) => showList(deps, c))
    .get('/status-pages/+new', (c) =>
      mayEdit(c) ? showForm(deps, c, { stored: null, draft: newDraft(c.var.viewerZone.name) }) : forbidden(deps, c),
    )
    .post('/status-pages/+new', (c) => create(deps, c))
    .get('/status-pages/:slug', (c) => showOne(deps, readView, c))
    .get('/status-pages/:slug/edit', async (c) => {
      if (!mayEdit(c)) return forbidden(deps, c);
      const stored = await readStored(c);
      return stored ? showForm(deps, c, { stored, draft: draftOf(stored) }) : noSuchPage(deps, c);
    })
    .post('/status-pages/:slug/edit', (c) => save(deps, c))
    .get('/status-pages/:slug/delete', (c) => (mayEdit(c) ? askToRemove(deps, c) : forbidden(deps, c)))
    .post('/status-pages/:slug/delete', (c) => remove(deps, c));
}

const frame = (deps: PageDeps, c: PageContext) => ({
  assets: deps.assets,
  viewer: c.var.viewer,
  project: c.var.project,
  section: 'status-pages' as const,
});
const pathOf = (c: PageContext, rest = ''): string => `/projects/${c.var.project.slug}/status-pages${rest}`;
const mayEdit = (c: PageContext): boolean => mayAs(c.var.project.role, 'editor');
const forbidden = (deps: PageDeps, c: PageContext) =>
  notePage(deps, c, 403, 'Not allowed', 'You are a viewer of this project: an owner can make you an editor.');
const noSuchPage = (deps: PageDeps, c: PageContext) =>
  notePage(deps, c, 404, 'Nothing here', 'There is no such status page in this project.');

async function readStored(c: PageContext): Promise<ShownStatusPage | null> {
  const slug = encodeURIComponent(c.req.param('slug') ?? '');
  const found = await c.var.call<ShownStatusPage>('GET', `/status-pages/${slug}`);
  return found.ok ? found.value : null;
}

async function showList(deps: PageDeps, c: PageContext): Promise<Response> {
  const cursor = c.req.query('cursor');
  const list = await c.var.call<List>(
    'GET',
    `/status-pages?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
  );
  if (!list.ok) return notePage(deps, c, 400, 'Not possible', list.detail);
  const { status_pages: pages, next_cursor: next } = list.value;
  return answerPage(
    c,
    <Page title="Status pages" {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>Status pages</h1>
        {mayEdit(c) ? (
          <a class="button main" href={pathOf(c, '/+new')}>
            Make a status page
          </a>
        ) : null}
      </div>
      {pages.length === 0 ? (
        <div class="empty stack-s">
          <h2>Nobody outside sees anything yet</h2>
          <p>
            A status page tells the rest of the company how chosen jobs are doing, under names of your choice. It shows
            no output of jobs, no ping URL and nothing else of the project.
          </p>
        </div>
      ) : (
        <PageTable c={c} pages={pages} />
      )}
      {next === null ? null : (
        <nav class="pager" aria-label="Pages">
          <a href={pathOf(c, `?cursor=${encodeURIComponent(next)}`)}>More status pages</a>
        </nav>
      )}
    </Page>,
  );
}

const PageTable = ({ c, pages }: { c: PageContext; pages: readonly ShownStatusPage[] }) => (
  <div class="card flush">
    <table class="folds">
      <thead>
        <tr>
          <th>Title</th>
          <th>Address</th>
          <th>Shows</th>
          <th>For</th>
        </tr>
      </thead>
      <tbody>
        {pages.map((page) => (
          <tr>
            <th scope="row">
              <a href={pathOf(c, `/${page.slug}`)}>{page.title}</a>
            </th>
            <td>
              <a href={page.url}>{page.url.replace(/^https?:\/\//, '')}</a>
            </td>
            <td data-name="Shows">
              {showsText(page)}
              {page.warnings.length > 0 ? <span class="late"> ({page.warnings.length} gone)</span> : null}
            </td>
            <td>{page.has_password ? 'those with the password' : 'everybody'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

function showsText({ groups }: ShownStatusPage): string {
  const jobs = groups.reduce((sum, group) => sum + (group.jobs?.length ?? 0), 0);
  const tags = groups.flatMap(({ tag }) => (tag === null ? [] : [`tag ${tag}`]));
  return [...(jobs > 0 ? [`${jobs} ${jobs === 1 ? 'job' : 'jobs'}`] : []), ...tags].join(', ');
}

async function showOne(deps: PageDeps, readView: ReadStatusView, c: PageContext): Promise<Response> {
  const page = await readStored(c);
  const stored = await deps.database.transaction((tx) =>
    page === null ? Promise.resolve(null) : getStatusPage(tx, c.var.project.id, page.slug),
  );
  if (!page || !stored) return noSuchPage(deps, c);
  const { groups } = await readView(stored);
  const choices: readonly BadgeChoice[] = [
    { name: page.title, query: '' },
    ...groups.flatMap(({ id, name, jobs }) => [
      { name, query: `group=${encodeURIComponent(id)}` },
      ...jobs.map((job) => ({ name: job.name, query: `job=${encodeURIComponent(job.id)}` })),
    ]),
  ];
  // A key is for those who may decide who sees the page.
  const showsLinks = !page.has_password || mayEdit(c);
  return answerPage(
    c,
    <Page title={page.title} {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>{page.title}</h1>
        <div class="row">
          <a class="button main" href={page.url}>
            Open the page
          </a>
          {mayEdit(c) ? (
            <>
              <a class="button" href={pathOf(c, `/${page.slug}/edit`)}>
                Edit
              </a>
              <a class="button danger" href={pathOf(c, `/${page.slug}/delete`)}>
                Delete
              </a>
            </>
          ) : null}
        </div>
      </div>
      {page.warnings.map((warning) => (
        <p class="notice">{warning}</p>
      ))}
      <dl class="facts">
        <dt>Address</dt>
        <dd>
          <a href={page.url}>{page.url}</a>
        </dd>
        <dt>For</dt>
        <dd>{page.has_password ? 'those with the password' : 'everybody who has the address'}</dd>
        <dt>Shows</dt>
        <dd>{showsText(page)}</dd>
        <dt>Times in</dt>
        <dd>{page.zone}</dd>
        <dt>Search engines</dt>
        <dd>{page.indexable && !page.has_password ? 'may list it' : 'are sent away'}</dd>
        <dt>Maintenance</dt>
        <dd>{page.show_reasons ? 'with names and reasons' : 'without names and reasons'}</dd>
      </dl>
      {showsLinks ? (
        <StatusPageLinks
          url={page.url}
          title={page.title}
          keyQuery={keyOf(stored)}
          choices={choices}
          here={`/status/${page.slug}`}
        />
      ) : null}
    </Page>,
  );
}

type Form = {
  /** null: a new one. */
  readonly stored: ShownStatusPage | null;
  readonly draft: StatusDraft;
  readonly refused?: { readonly status: number; readonly detail: string; readonly errors: readonly ApiFlaw[] };
};

async function showForm(deps: PageDeps, c: PageContext, { stored, draft, refused }: Form): Promise<Response> {
  const jobs = await deps.database.transaction((tx) => readJobSlugs(tx, c.var.project.id));
  const title = stored ? `Edit ${stored.title}` : 'Make a status page';
  const action = pathOf(c, stored ? `/${stored.slug}/edit` : '/+new');
  return answerPage(
    c,
    <Page title={title} {...frame(deps, c)}>
      <h1>{title}</h1>
      <Refusal detail={refused?.detail} />
      <StatusPageForm
        draft={draft}
        errors={refused?.errors ?? []}
        action={action}
        back={pathOf(c, stored ? `/${stored.slug}` : '')}
        jobs={[...jobs].sort()}
        isNew={stored === null}
        hasPassword={stored?.has_password ?? false}
      />
    </Page>,
    refused === undefined ? 200 : refused.status === 409 ? 409 : 400,
  );
}

async function create(deps: PageDeps, c: PageContext): Promise<Response> {
  const form = await c.req.formData();
  const draft = readDraft(form);
  if (form.has('more')) return showForm(deps, c, { stored: null, draft });
  const there = draft.slug !== '' && (await c.var.call('GET', `/status-pages/${encodeURIComponent(draft.slug)}`)).ok;
  if (there) return showForm(deps, c, { stored: null, draft, refused: SLUG_TAKEN });
  return put(deps, c, { stored: null, draft });
}

async function save(deps: PageDeps, c: PageContext): Promise<Response> {
  const stored = await readStored(c);
  if (!stored) return noSuchPage(deps, c);
  const form = await c.req.formData();
  const draft = readDraft(form);
  return form.has('more') ? showForm(deps, c, { stored, draft }) : put(deps, c, { stored, draft });
}

/** PUT would replace a page that is there, which nobody who makes a new one means. */
const SLUG_TAKEN = {
  status: 409,
  detail: 'slug: is taken: choose another slug',
  errors: [{ path: 'slug', message: 'is taken: choose another slug' }],
};

async function put(deps: PageDeps, c: PageContext, { stored, draft }: Omit<Form, 'refused'>): Promise<Response> {
  const slug = stored?.slug ?? draft.slug;
  const sent = bodyOf(draft);
  const answer =
    sent.flaws.length > 0
      ? { ok: false as const, status: 400, detail: 'Some rows cannot be read: see below.', errors: [] }
      : await c.var.call('PUT', `/status-pages/${encodeURIComponent(slug === '' ? ' ' : slug)}`, sent.body);
  if (answer.ok) {
    const text = stored ? 'Saved. The page shows it within a few seconds.' : 'The page is there.';
    return goTo(c, pathOf(c, `/${slug}`), text);
  }
  const errors = flawsOfRows(answer.errors, sent);
  return showForm(deps, c, { stored, draft, refused: { status: answer.status, detail: answer.detail, errors } });
}

async function askToRemove(deps: PageDeps, c: PageContext): Promise<Response> {
  const page = await readStored(c);
  if (!page) return noSuchPage(deps, c);
  return answerPage(
    c,
    <Page title={`Delete ${page.title}`} {...frame(deps, c)}>
      <Asking title={`Delete ${page.title}?`} verb="Delete this status page" back={pathOf(c, `/${page.slug}`)}>
        <p>
          Its address <code>{page.url}</code>, its feeds and its badges lead nowhere then, for everybody who follows or
          embeds them. The jobs on it ({showsText(page)}) stay as they are. This cannot be taken back.
        </p>
      </Asking>
    </Page>,
  );
}

async function remove(deps: PageDeps, c: PageContext): Promise<Response> {
  const stored = await readStored(c);
  const gone = stored && (await c.var.call('DELETE', `/status-pages/${stored.slug}`)).ok;
  return stored && gone ? goTo(c, pathOf(c), `Status page ${stored.title} is deleted.`) : noSuchPage(deps, c);
}
