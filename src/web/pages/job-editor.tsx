import { type Context, Hono } from 'hono';
import { type ReplayDeps, replayDefinition } from '../../engine/replay.ts';
import { readChannelSlugs, readJobSlugs } from '../../store/jobs.ts';
import { parseDefinition } from '../api/definition.ts';
import { slugFlaw } from '../api/slug.ts';
import { type ApiFlaw, pageWords } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import {
  bodyOf,
  copyOf,
  type Draft,
  draftOf,
  flawsByField,
  NEW_DRAFT,
  ownFlaws,
  readDraft,
  type ShownJob,
  slugFrom,
  textOf,
} from './job-editor/draft.ts';
import { JobForm } from './job-editor/form.tsx';
import { LiveFlaws, StillWrong } from './job-editor/live-flaws.tsx';
import { readPreview } from './job-editor/preview.ts';
import { SchedulePreview } from './job-editor/preview-parts.tsx';
import { ReplayPanel, type ShownReplay } from './job-editor/replay-panel.tsx';
import { DeadlineLine } from './job-editor/time-line.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { mayAs, type PageEnv } from './viewer.ts';
import { ChosenZone } from './zone-field.tsx';

type EditorContext = Context<PageEnv>;
type Answer = Response | Promise<Response>;

/** What a page of the editor shows beside the form as it was typed. */
type Shown = {
  readonly stored: ShownJob | null;
  readonly draft: Draft;
  readonly errors?: readonly ApiFlaw[];
  readonly refusal?: string;
  readonly replay?: ShownReplay;
  readonly status?: 200 | 400 | 409;
};

/** Making and changing jobs. */
export function jobEditorPages(deps: PageDeps): Hono<PageEnv> {
  const replays: ReplayDeps = {
    database: deps.database,
    zones: deps.zones,
    versions: deps.versions,
    settleMs: deps.settleMs,
    monotonic: () => performance.now(),
  };
  return new Hono<PageEnv>()
    .get('/jobs/+new', async (c) => {
      if (!mayEdit(c)) return forbidden(deps, c);
      const from = c.req.query('from');
      if (from === undefined) return showEditor(deps, c, { stored: null, draft: NEW_DRAFT });
      const original = await readStored(c, from);
      return original ? showEditor(deps, c, { stored: null, draft: copyOf(original) }) : noSuchJob(deps, c);
    })
    .post('/jobs/+new', (c) => createJob(deps, c))
    .post('/jobs/preview', (c) => preview(deps, c))
    .get('/jobs/:slug/edit', async (c) => {
      if (!mayEdit(c)) return forbidden(deps, c);
      const stored = await readStored(c, c.req.param('slug'));
      return stored ? showEditor(deps, c, { stored, draft: draftOf(stored) }) : noSuchJob(deps, c);
    })
    .post('/jobs/:slug/edit', (c) => saveJob(deps, c, c.req.param('slug')))
    .post('/jobs/:slug/replay', (c) => showReplay(deps, replays, c, c.req.param('slug')));
}

const mayEdit = (c: EditorContext): boolean => mayAs(c.var.project.role, 'editor');

const forbidden = (deps: PageDeps, c: EditorContext): Answer =>
  notePage(deps, c, 403, 'Not allowed', 'You are a viewer of this project: an owner can make you an editor.');

const noSuchJob = (deps: PageDeps, c: EditorContext): Answer =>
  notePage(deps, c, 404, 'Nothing here', 'There is no such job in this project.');

async function readStored(c: EditorContext, slug: string): Promise<ShownJob | null> {
  if (slug === '') return null;
  const job = await c.var.call<ShownJob>('GET', `/jobs/${encodeURIComponent(slug)}`);
  return job.ok ? job.value : null;
}

async function createJob(deps: PageDeps, c: EditorContext): Promise<Response> {
  const draft = await readDraft(c);
  const { slug, isTaken, slugFlaws } = await newSlug(c, draft);
  const flaws = [...slugFlaws, ...ownFlaws(draft)];
  if (flaws.length > 0)
    return showEditor(deps, c, {
      stored: null,
      draft,
      errors: [...flaws, ...(await flawsOf(deps, c, slug, draft))],
      status: isTaken ? 409 : 400,
    });
  return put(deps, c, { stored: null, draft, slug });
}

/** What a new job would be called, and what is wrong with that. */
async function newSlug(c: EditorContext, draft: Draft) {
  const slug = textOf(draft, 'slug').trim() || slugFrom(textOf(draft, 'name'));
  // PUT would replace it.
  const isTaken = slugFlaw(slug) === null && (await readStored(c, slug)) !== null;
  const taken = { path: 'slug', message: `${slug} is the slug of another job: choose one that is free` };
  return { slug, isTaken, slugFlaws: [...(slug === '' ? [NO_NAME] : []), ...(isTaken ? [taken] : [])] };
}

const NO_NAME: ApiFlaw = { path: 'slug', message: 'Write a name, or a slug: a-z, 0-9, - and _.' };

async function saveJob(deps: PageDeps, c: EditorContext, slug: string): Promise<Response> {
  const draft = await readDraft(c);
  const stored = await readStored(c, slug);
  if (!stored) return noSuchJob(deps, c);
  const flaws = ownFlaws(draft);
  if (flaws.length > 0)
    return showEditor(deps, c, {
      stored,
      draft,
      errors: [...flaws, ...(await flawsOf(deps, c, slug, draft))],
      status: 400,
    });
  return put(deps, c, { stored, draft, slug });
}

async function put(
  deps: PageDeps,
  c: EditorContext,
  { stored, draft, slug }: { readonly stored: ShownJob | null; readonly draft: Draft; readonly slug: string },
): Promise<Response> {
  const answer = await c.var.call<ShownJob>('PUT', `/jobs/${encodeURIComponent(slug)}`, bodyOf(draft));
  if (answer.ok)
    return goTo(
      c,
      `/projects/${c.var.project.slug}/jobs/${slug}`,
      stored ? `${answer.value.name} is saved.` : `${answer.value.name} is made.`,
    );
  const refusal = answer.errors.length > 0 ? undefined : { refusal: answer.detail };
  return showEditor(deps, c, {
    stored,
    draft,
    errors: answer.errors,
    status: answer.status === 409 ? 409 : 400,
    ...refusal,
  });
}

/** What the API would have against the form. */
async function flawsOf(deps: PageDeps, c: EditorContext, slug: string, draft: Draft): Promise<readonly ApiFlaw[]> {
  const read = await readDefinition(deps, c, slug, draft);
  return read.ok ? [] : read.errors.map((error) => ({ ...error, message: pageWords(error.message) }));
}

/** All that is wrong with a form as it stands, by its fields. */
async function flawsNow(deps: PageDeps, c: EditorContext, { stored, draft }: Pick<Shown, 'stored' | 'draft'>) {
  const { slug, slugFlaws } = stored ? { slug: stored.slug, slugFlaws: [] } : await newSlug(c, draft);
  return flawsByField(draft, [...slugFlaws, ...ownFlaws(draft), ...(await flawsOf(deps, c, slug, draft))]);
}

async function readDefinition({ database, zones }: PageDeps, c: EditorContext, slug: string, draft: Draft) {
  const known = await database.transaction(async (tx) => ({
    channels: await readChannelSlugs(tx, c.var.project.id),
    jobs: await readJobSlugs(tx, c.var.project.id),
  }));
  return parseDefinition(slug, bodyOf(draft), { zones, ...known });
}

/** The previews while somebody types; without JavaScript the whole page, with everything that was typed. */
async function preview(deps: PageDeps, c: EditorContext): Promise<Response> {
  const typed = await readDraft(c);
  const chosen = typed['use_zone'];
  const draft = chosen === undefined ? typed : { ...typed, zone: chosen };
  const stored = await readStored(c, textOf(draft, 'job'));
  if (c.req.header('hx-request') !== 'true') return showEditor(deps, c, { stored, draft, status: 200 });
  const now = await deps.database.transaction(async (tx) => tx.now);
  const shown = readPreview(draft, { zones: deps.zones, now, stored });
  const told = textOf(draft, 'told');
  return answerPage(
    c,
    <>
      <SchedulePreview preview={shown} viewerZone={c.var.viewerZone} />
      <hx-partial hx-target="#deadline-line" hx-swap="outerMorph">
        <DeadlineLine deadlines={shown.deadlines} zone={shown.zone} />
      </hx-partial>
      {chosen === undefined ? null : <ChosenZone value={textOf(draft, 'zone')} />}
      {told === '' ? null : <LiveFlaws told={told} flaws={await flawsNow(deps, c, { stored, draft })} />}
    </>,
  );
}

async function showReplay(deps: PageDeps, replays: ReplayDeps, c: EditorContext, slug: string): Promise<Response> {
  const draft = await readDraft(c);
  const stored = await readStored(c, slug);
  if (!stored) return noSuchJob(deps, c);
  const isLive = c.req.header('hx-request') === 'true';
  const read = await readDefinition(deps, c, slug, draft);
  if (!read.ok) {
    if (isLive)
      return answerPage(
        c,
        <p class="wrong">Something in the form cannot be read yet: {pageWords(read.errors[0]?.message ?? '')}</p>,
      );
    return showEditor(deps, c, { stored, draft, errors: read.errors, status: 400 });
  }
  // The API has brought the job to now in reading it.
  const replay = await replayDefinition(replays, { projectId: c.var.project.id, slug }, read.value);
  const zone = deps.zones.get(read.value.zone);
  if (!replay || !zone.ok) return noSuchJob(deps, c);
  const shown = { replay, zone: zone.value, incidentPath: `/projects/${c.var.project.slug}/incidents` };
  if (isLive) return answerPage(c, <ReplayPanel {...shown} viewerZone={c.var.viewerZone} />);
  return showEditor(deps, c, { stored, draft, replay: shown });
}

async function showEditor(deps: PageDeps, c: EditorContext, shown: Shown): Promise<Response> {
  const { stored, draft, errors = [], refusal, replay = null, status = 200 } = shown;
  const { project, viewer, viewerZone } = c.var;
  const { now, channels, jobs } = await deps.database.transaction(async (tx) => ({
    now: tx.now,
    channels: [...(await readChannelSlugs(tx, project.id))].sort(),
    jobs: [...(await readJobSlugs(tx, project.id))].filter((slug) => slug !== stored?.slug).sort(),
  }));
  const title = stored ? `Edit ${stored.name}` : 'New job';
  const flaws = flawsByField(draft, errors);
  return answerPage(
    c,
    <Page
      title={title}
      assets={deps.assets}
      now={now}
      viewer={viewer}
      project={project}
      section="jobs"
      flash={takeFlash(c)}
      isLive
    >
      <h1>{title}</h1>
      {flaws.size === 0 ? null : <StillWrong count={flaws.size} />}
      <JobForm
        projectPath={`/projects/${project.slug}`}
        stored={stored}
        draft={draft}
        flaws={flaws}
        refusal={refusal}
        preview={readPreview(draft, { zones: deps.zones, now, stored })}
        viewerZone={viewerZone}
        channels={channels}
        jobs={jobs}
        replay={replay}
      />
    </Page>,
    status,
  );
}
