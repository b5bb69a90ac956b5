import { type Context, Hono } from 'hono';
import { UTC_TABLE, type Zone, zoneOf } from '../../core/zone.ts';
import type { Tx } from '../../store/database.ts';
import { readJobSlugs } from '../../store/jobs.ts';
import { findWindow, jobsLeft, listWindows, readRevisions, type StoredWindow } from '../../store/maintenance.ts';
import type { MaintenanceBook } from '../../store/maintenance-book.ts';
import { isSlug } from '../api/slug.ts';
import { Asking } from './asking.tsx';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { type Draft, slugFrom, textOf } from './job-editor/draft.ts';
import { StillWrong } from './job-editor/live-flaws.tsx';
import {
  newWindowDraft,
  readWindowDraft,
  type ShownWindow,
  windowBody,
  windowDraftOf,
  windowFlaws,
} from './maintenance/draft.ts';
import { WindowForm } from './maintenance/form.tsx';
import { type ListedWindow, PastTable, WindowTable } from './maintenance/list.tsx';
import { WindowPreviewPart } from './maintenance/preview.tsx';
import { clocksOf, comingStretches, readWindowPreview } from './maintenance/stretches.ts';
import { WindowView } from './maintenance/window.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { mayAs, type PageEnv } from './viewer.ts';
import { ChosenZone } from './zone-field.tsx';

type MaintenanceContext = Context<PageEnv>;
type Deps = PageDeps & { readonly book: MaintenanceBook };

const MOST_WINDOWS = 500;
const PAST_SHOWN = 50;

/** Windows and calendars. */
export function maintenancePages(pageDeps: PageDeps): Hono<PageEnv> {
  const deps: Deps = { ...pageDeps, book: pageDeps.versions.book };
  return new Hono<PageEnv>()
    .get('/maintenance', (c) => showList(deps, c))
    .get('/maintenance/+new', (c) =>
      mayEdit(c) ? showForm(deps, c, { stored: null, draft: newDraft(c) }) : forbidden(deps, c),
    )
    .post('/maintenance/+new', (c) => createWindow(deps, c))
    .post('/maintenance/preview', (c) => preview(deps, c))
    .get('/maintenance/:slug', (c) => showWindow(deps, c, c.req.param('slug')))
    .get('/maintenance/:slug/edit', async (c) => {
      if (!mayEdit(c)) return forbidden(deps, c);
      const stored = await readStored(c, c.req.param('slug'));
      return stored
        ? showForm(deps, c, { stored, draft: windowDraftOf(stored, c.var.viewerZone) })
        : noSuchWindow(deps, c);
    })
    .post('/maintenance/:slug/edit', (c) => saveWindow(deps, c, c.req.param('slug')))
    .get('/maintenance/:slug/end', (c) => (mayEdit(c) ? askToEnd(deps, c, c.req.param('slug')) : forbidden(deps, c)))
    .post('/maintenance/:slug/end', (c) => endWindow(deps, c, c.req.param('slug')));
}

const pathOf = (c: MaintenanceContext): string => `/projects/${c.var.project.slug}/maintenance`;
const mayEdit = (c: MaintenanceContext): boolean => mayAs(c.var.project.role, 'editor');
const forbidden = (deps: PageDeps, c: MaintenanceContext) =>
  notePage(deps, c, 403, 'Not allowed', 'You are a viewer of this project: an owner can make you an editor.');
const noSuchWindow = (deps: PageDeps, c: MaintenanceContext) =>
  notePage(deps, c, 404, 'Nothing here', 'There is no such maintenance window in this project, or it has ended.');

/** A link may say which jobs or tags it is about. */
const newDraft = (c: MaintenanceContext): Draft =>
  newWindowDraft(c.req.queries('jobs') ?? [], c.req.queries('tags') ?? [], c.var.viewerZone);

async function showList(deps: Deps, c: MaintenanceContext): Promise<Response> {
  const { project, viewer, viewerZone } = c.var;
  const { now, windows, past } = await deps.database.transaction(async (tx) => ({
    now: tx.now,
    windows: await listWindows(tx, project.id, { after: null, limit: MOST_WINDOWS }),
    past: (await readRevisions(tx, [project.id])).filter(({ knownUntil }) => knownUntil !== null),
  }));
  const listed = windows.map((window) => listedWindow(deps, window, { now, viewerZone, limit: 3 }));
  const current = listed.filter(({ active }) => active);
  const coming = listed.filter(({ active, stretches }) => !active && stretches.length > 0);
  const over = listed.filter(({ stretches }) => stretches.length === 0);
  const shown = { now, viewerZone, path: pathOf(c) };
  return answerPage(
    c,
    <Page
      title="Maintenance"
      assets={deps.assets}
      now={now}
      viewer={viewer}
      project={project}
      section="maintenance"
      flash={takeFlash(c)}
    >
      <div class="row spread">
        <h1>Maintenance</h1>
        {mayEdit(c) ? (
          <a class="button main" href={`${pathOf(c)}/+new`}>
            New window
          </a>
        ) : null}
      </div>
      <p class="soft">
        What is due in a window and nobody runs is recorded as skipped, with who said so and why, and nobody is called.{' '}
        <a href="/docs/maintenance">How windows work</a>
      </p>
      {listed.length === 0 ? (
        <div class="empty stack-s">
          <p>There is no window, now or to come.</p>
          {mayEdit(c) ? (
            <p>
              <a href={`${pathOf(c)}/+new`}>Make the first one</a>: a deploy, a weekend, or a calendar of public
              holidays.
            </p>
          ) : null}
        </div>
      ) : null}
      {[
        ['Now', current],
        ['Coming', coming],
        ['Over', over],
      ].map(([title, some]) =>
        (some as readonly ListedWindow[]).length === 0 ? null : (
          <section class="stack-s">
            <h2>{title as string}</h2>
            <WindowTable windows={some as readonly ListedWindow[]} {...shown} />
          </section>
        ),
      )}
      {past.length === 0 ? null : (
        <details>
          <summary>Past revisions ({past.length})</summary>
          <PastTable revisions={past.slice(0, PAST_SHOWN)} {...shown} />
        </details>
      )}
    </Page>,
  );
}

type Seen = { readonly now: number; readonly viewerZone: Zone; readonly limit: number };

function listedWindow({ book, zones }: Deps, window: StoredWindow, { now, viewerZone, limit }: Seen): ListedWindow {
  const { when } = window.definition;
  const compiled = book.compiled(window);
  const named = when.kind === 'once' ? null : zones.get(when.zone);
  const zone = named === null ? viewerZone : named.ok ? named.value : zoneOf(UTC_TABLE);
  const active = compiled.around(now) !== null;
  return { window, zone, active, stretches: comingStretches(compiled, now, limit) };
}

async function showWindow(deps: Deps, c: MaintenanceContext, slug: string): Promise<Response> {
  const { project, viewer, viewerZone } = c.var;
  const read = isSlug(slug) ? await deps.database.transaction((tx) => readWindow(tx, project.id, slug)) : null;
  if (!read) return noSuchWindow(deps, c);
  const { now, window, left } = read;
  const listed = listedWindow(deps, window, { now, viewerZone, limit: 8 });
  const title = window.definition.name;
  return answerPage(
    c,
    <Page
      title={title}
      assets={deps.assets}
      now={now}
      viewer={viewer}
      project={project}
      section="maintenance"
      flash={takeFlash(c)}
    >
      <h1>{title}</h1>
      <WindowView
        listed={listed}
        clocks={clocksOf(window.definition.when, listed.zone, now)}
        jobsLeft={left}
        viewerZone={viewerZone}
        now={now}
        path={pathOf(c)}
        mayEdit={mayEdit(c)}
      />
    </Page>,
  );
}

async function readWindow(tx: Tx, projectId: number, slug: string) {
  const window = await findWindow(tx, projectId, slug);
  return window && { now: tx.now, window, left: await jobsLeft(tx, window) };
}

async function readStored(c: MaintenanceContext, slug: string): Promise<ShownWindow | null> {
  if (slug === '') return null;
  const window = await c.var.call<ShownWindow>('GET', `/maintenance/${encodeURIComponent(slug)}`);
  return window.ok ? window.value : null;
}

async function createWindow(deps: Deps, c: MaintenanceContext): Promise<Response> {
  const draft = await readWindowDraft(c);
  const slug = textOf(draft, 'slug').trim() || slugFrom(textOf(draft, 'name'));
  const missing = slug === '' ? [{ path: 'slug', message: 'Write a name, or a slug: a-z, 0-9, - and _.' }] : [];
  // PUT would replace it.
  const isTaken = isSlug(slug) && (await readStored(c, slug)) !== null;
  const taken = isTaken
    ? [{ path: 'slug', message: `${slug} is the slug of another window: choose one that is free` }]
    : [];
  return put(deps, c, { stored: null, draft, slug, own: [...missing, ...taken] });
}

async function saveWindow(deps: Deps, c: MaintenanceContext, slug: string): Promise<Response> {
  const draft = await readWindowDraft(c);
  const stored = await readStored(c, slug);
  return stored ? put(deps, c, { stored, draft, slug, own: [] }) : noSuchWindow(deps, c);
}

async function put(
  deps: Deps,
  c: MaintenanceContext,
  asked: {
    readonly stored: ShownWindow | null;
    readonly draft: Draft;
    readonly slug: string;
    readonly own: readonly ApiFlaw[];
  },
): Promise<Response> {
  const { stored, draft, slug, own } = asked;
  const { body, flaws } = windowBody(draft, deps.zones);
  const errors = [...own, ...flaws];
  if (errors.length > 0) return showForm(deps, c, { stored, draft, errors, status: 400 });
  const answer = await c.var.call<ShownWindow>('PUT', `/maintenance/${encodeURIComponent(slug)}`, body);
  if (answer.ok) return goTo(c, `${pathOf(c)}/${slug}`, `${answer.value.name} is ${stored ? 'saved' : 'made'}.`);
  const refusal = answer.errors.length > 0 ? {} : { refusal: answer.detail };
  return showForm(deps, c, { stored, draft, errors: answer.errors, status: 400, ...refusal });
}

async function askToEnd(deps: Deps, c: MaintenanceContext, slug: string): Promise<Response> {
  const stored = await readStored(c, slug);
  if (!stored) return noSuchWindow(deps, c);
  const { project, viewer } = c.var;
  return answerPage(
    c,
    <Page title={`End ${stored.name}`} assets={deps.assets} viewer={viewer} project={project} section="maintenance">
      <Asking title={`End ${stored.name}?`} verb="End this window" back={`${pathOf(c)}/${slug}`}>
        <p>
          What is due from now on is expected again, and people are called if nobody runs it. What was due in the window
          and was skipped stays skipped. To have it again, make a new window.
        </p>
      </Asking>
    </Page>,
  );
}

async function endWindow(deps: Deps, c: MaintenanceContext, slug: string): Promise<Response> {
  const stored = await readStored(c, slug);
  const answer = stored && (await c.var.call('DELETE', `/maintenance/${encodeURIComponent(slug)}`));
  return answer?.ok ? goTo(c, pathOf(c), `${stored?.name ?? slug} has ended.`) : noSuchWindow(deps, c);
}

async function preview(deps: Deps, c: MaintenanceContext): Promise<Response> {
  const typed = await readWindowDraft(c);
  const chosen = typed['use_zone'];
  const draft = chosen === undefined ? typed : { ...typed, zone: chosen };
  if (c.req.header('hx-request') !== 'true') {
    return showForm(deps, c, { stored: await readStored(c, textOf(draft, 'window')), draft });
  }
  const now = await deps.database.transaction(async (tx) => tx.now);
  return answerPage(
    c,
    <>
      <WindowPreviewPart preview={readFormPreview(deps, draft, now)} viewerZone={c.var.viewerZone} />
      {chosen === undefined ? null : <ChosenZone value={textOf(draft, 'zone')} />}
    </>,
  );
}

const readFormPreview = ({ zones }: Deps, draft: Draft, now: number) =>
  readWindowPreview(draft, { zones, now, monotonic: () => performance.now() });

type ShownForm = {
  readonly stored: ShownWindow | null;
  readonly draft: Draft;
  readonly errors?: readonly ApiFlaw[];
  readonly refusal?: string;
  readonly status?: 200 | 400;
};

async function showForm(deps: Deps, c: MaintenanceContext, shown: ShownForm): Promise<Response> {
  const { stored, draft, errors = [], refusal, status = 200 } = shown;
  const { project, viewer, viewerZone } = c.var;
  const { now, jobs } = await deps.database.transaction(async (tx) => ({
    now: tx.now,
    jobs: [...(await readJobSlugs(tx, project.id))],
  }));
  const title = stored ? `Edit ${stored.name}` : 'New window';
  return answerPage(
    c,
    <Page
      title={title}
      assets={deps.assets}
      now={now}
      viewer={viewer}
      project={project}
      section="maintenance"
      flash={takeFlash(c)}
      isLive
    >
      <h1>{title}</h1>
      {errors.length === 0 ? null : <StillWrong count={errors.length} />}
      <WindowForm
        path={pathOf(c)}
        stored={stored}
        draft={draft}
        flaws={windowFlaws(draft, errors)}
        refusal={refusal}
        preview={readFormPreview(deps, draft, now)}
        viewerZone={viewerZone}
        jobs={jobs}
      />
    </Page>,
    status,
  );
}
