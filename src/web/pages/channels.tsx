import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import { channelKinds } from '../../notify/registry.ts';
import { readChannelUses } from '../../store/channel-uses.ts';
import { getChannel, operatorChannels } from '../../store/channels.ts';
import type { attemptSchema, channelSchema } from '../api/schemas.ts';
import { channelBody, readTyped, secretsOf, secretsToType, typedOf } from './channel-draft.ts';
import {
  AttemptTable,
  ChannelFacts,
  ChannelForm,
  ChannelTable,
  KindChoice,
  type ShownChannel,
} from './channel-parts.tsx';
import { ChannelRemoval } from './channel-removal.tsx';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { Refusal, type Typed } from './form.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { RoutingDryRun, readDryRun } from './routing-dry-run.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

type Channels = { readonly channels: readonly z.infer<typeof channelSchema>[]; readonly next_cursor: string | null };
type Attempts = { readonly attempts: readonly z.infer<typeof attemptSchema>[]; readonly next_cursor: string | null };
type PageContext = Context<PageEnv>;

/** Where messages go: the channels of a project, each with what became of its messages, and who would be told what. */
export function channelPages(deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>()
    .get('/channels', (c) => showList(deps, c))
    .get('/channels/+new', (c) => showNew(deps, c))
    .post('/channels/+new', (c) => create(deps, c))
    .get('/channels/:slug', (c) => showOne(deps, c))
    .get('/channels/:slug/edit', (c) => showEdit(deps, c))
    .post('/channels/:slug/edit', (c) => replace(deps, c))
    .post('/channels/:slug/test', (c) => tryOut(c))
    .get('/channels/:slug/delete', (c) => askToRemove(deps, c))
    .post('/channels/:slug/delete', (c) => remove(deps, c));
}

const frame = (deps: PageDeps, c: PageContext) => ({
  assets: deps.assets,
  viewer: c.var.viewer,
  project: c.var.project,
  section: 'channels' as const,
});
const pathOf = (c: PageContext, rest = ''): string => `/projects/${c.var.project.slug}/channels${rest}`;
const mayEdit = (c: PageContext): boolean => mayAs(c.var.project.role, 'editor');
const forbidden = (deps: PageDeps, c: PageContext) =>
  notePage(deps, c, 403, 'Not allowed', 'You are a viewer of this project: an owner can make you an editor.');
const noSuchChannelPage = (deps: PageDeps, c: PageContext) =>
  notePage(deps, c, 404, 'Nothing here', 'There is no such channel in this project.');

async function showList(deps: PageDeps, c: PageContext): Promise<Response> {
  const cursor = c.req.query('cursor');
  const list = await c.var.call<Channels>(
    'GET',
    `/channels?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
  );
  if (!list.ok) return notePage(deps, c, 400, 'Not possible', list.detail);
  const dryRun = await readDryRun(deps, c);
  const { channels, next_cursor: next } = list.value;
  return answerPage(
    c,
    <Page title="Channels" {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>Channels</h1>
        {mayEdit(c) ? (
          <a class="button main" href={pathOf(c, '/+new')}>
            Add a channel
          </a>
        ) : null}
      </div>
      {channels.length === 0 ? (
        <div class="empty stack-s">
          <h2>Nobody is told yet</h2>
          <p>
            Rollcall records every run all the same, but no message leaves before there is a channel: Slack, e-mail,
            PagerDuty, a webhook and more.
          </p>
        </div>
      ) : (
        <ChannelTable channels={channels} zone={c.var.viewerZone} href={(slug) => pathOf(c, `/${slug}`)} />
      )}
      {next === null ? null : (
        <nav class="pager" aria-label="Pages">
          <a href={pathOf(c, `?cursor=${encodeURIComponent(next)}`)}>More channels</a>
        </nav>
      )}
      <RoutingDryRun {...dryRun} />
    </Page>,
  );
}

async function showNew(deps: PageDeps, c: PageContext): Promise<Response> {
  const operators = await deps.database.transaction((tx) => operatorChannels(tx, c.var.project.id));
  // Somebody has to hear of Rollcall itself: the API takes the first channel for that too.
  const typed: Typed = operators.length === 0 ? { operator: 'on' } : {};
  return newPage(deps, c, { kind: c.req.query('kind') ?? '', typed });
}

type NewForm = { readonly kind: string; readonly typed: Typed; readonly refused?: Refused };

function newPage(deps: PageDeps, c: PageContext, { kind, typed, refused }: NewForm): Response | Promise<Response> {
  const known = channelKinds.get(kind);
  const cannot = known?.cannot?.(deps.channelContext) ?? null;
  return answerPage(
    c,
    <Page title="Add a channel" {...frame(deps, c)}>
      <h1>Add a channel</h1>
      {cannot === null ? (
        <>
          <Refusal detail={refused?.detail} />
          {known ? (
            <ChannelForm kind={kind} typed={typed} errors={refused?.errors ?? []} isNew back={pathOf(c)} />
          ) : (
            <KindChoice href={(name) => pathOf(c, `/+new?kind=${name}`)} />
          )}
        </>
      ) : (
        <>
          <p class="notice">
            No {known?.label} channel can be added: {cannot}. <a href={`/docs/channels/${kind}`}>How to set it up</a>
          </p>
          <p>
            <a href={pathOf(c, '/+new')}>Another kind of channel</a>
          </p>
        </>
      )}
    </Page>,
    refused ? 400 : 200,
  );
}

async function create(deps: PageDeps, c: PageContext): Promise<Response> {
  const typed = await readTyped(c);
  const kind = typed['kind'] ?? '';
  const slug = (typed['slug'] ?? '').trim();
  const taken = await c.var.call('GET', `/channels/${encodeURIComponent(slug || '-')}`);
  const { operator, ...rest } = channelBody(kind, typed);
  // Not ticked is not said: the first channel of a project hears of Rollcall itself all the same.
  const body = operator ? { ...rest, operator } : rest;
  const put = taken.ok
    ? refusedSlug('there is a channel of this slug already: choose another one, or edit that one')
    : slug === ''
      ? refusedSlug('is required: 1 to 100 of a-z, 0-9, "-" and "_"')
      : await c.var.call('PUT', `/channels/${encodeURIComponent(slug)}`, body);
  if (put.ok) return goTo(c, pathOf(c, `/${slug}`), 'The channel is there. Send it a test message.');
  return newPage(deps, c, { kind, typed, refused: put });
}

const refusedSlug = (message: string) => ({
  ok: false as const,
  status: 400,
  type: '/problems/validation',
  detail: `slug: ${message}`,
  errors: [{ path: 'slug', message }],
});

async function showOne(deps: PageDeps, c: PageContext): Promise<Response> {
  const slug = c.req.param('slug') ?? '';
  const found = await c.var.call<ShownChannel>('GET', `/channels/${encodeURIComponent(slug)}`);
  if (!found.ok) return noSuchChannelPage(deps, c);
  const cursor = c.req.query('cursor');
  const log = await c.var.call<Attempts>(
    'GET',
    `/channels/${slug}/attempts?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
  );
  if (!log.ok) return notePage(deps, c, 400, 'Not possible', log.detail);
  const { attempts, next_cursor: next } = log.value;
  return answerPage(
    c,
    <Page title={slug} {...frame(deps, c)} flash={takeFlash(c)}>
      <div class="row spread">
        <h1>{slug}</h1>
        {mayEdit(c) ? (
          <div class="row">
            <form method="post" action={pathOf(c, `/${slug}/test`)}>
              <button type="submit" class="main">
                Send a test message
              </button>
            </form>
            <a class="button" href={pathOf(c, `/${slug}/edit`)}>
              Edit
            </a>
            <a class="button danger" href={pathOf(c, `/${slug}/delete`)}>
              Delete
            </a>
          </div>
        ) : null}
      </div>
      <ChannelFacts channel={found.value} zone={c.var.viewerZone} />
      <section class="stack-s">
        <h2>Attempts</h2>
        <AttemptTable
          attempts={attempts}
          zone={c.var.viewerZone}
          incidentHref={(id) => `/projects/${c.var.project.slug}/incidents/${id}`}
        />
        {next === null ? null : <a href={pathOf(c, `/${slug}?cursor=${encodeURIComponent(next)}`)}>Earlier attempts</a>}
      </section>
    </Page>,
  );
}

async function showEdit(deps: PageDeps, c: PageContext, typed?: Typed, refused?: Refused): Promise<Response> {
  const slug = c.req.param('slug') ?? '';
  const found = await c.var.call<ShownChannel>('GET', `/channels/${encodeURIComponent(slug)}`);
  if (!found.ok) return noSuchChannelPage(deps, c);
  return answerPage(
    c,
    <Page title={`Edit ${slug}`} {...frame(deps, c)}>
      <h1>Edit {slug}</h1>
      <Refusal detail={refused?.detail} />
      <ChannelForm
        kind={found.value.kind}
        typed={typed ?? typedOf(found.value)}
        errors={refused?.errors ?? []}
        back={pathOf(c, `/${slug}`)}
      />
    </Page>,
    refused ? 400 : 200,
  );
}

type Refused = {
  readonly detail: string;
  readonly errors: readonly { readonly path: string; readonly message: string }[];
};

async function replace(deps: PageDeps, c: PageContext): Promise<Response> {
  const slug = c.req.param('slug') ?? '';
  const typed = await readTyped(c);
  const stored = await deps.database.transaction((tx) => getChannel(tx, c.var.project.id, slug));
  if (!stored) return noSuchChannelPage(deps, c);
  const again = secretsToType(stored, typed);
  if (again.length > 0) {
    const errors = again.map((path) => ({ path, message: 'type it again: it was given for another server' }));
    return showEdit(deps, c, typed, { detail: 'Nothing is saved: another server would get the secrets.', errors });
  }
  // Secrets are never shown, so a field left empty means the one that is there.
  const kept = Object.fromEntries(
    secretsOf(stored.kind).map((name) => [name, typed[name] || (stored.settings[name] ?? '')]),
  );
  const put = await c.var.call(
    'PUT',
    `/channels/${encodeURIComponent(slug)}`,
    channelBody(stored.kind, { ...typed, ...kept }),
  );
  if (put.ok) return goTo(c, pathOf(c, `/${slug}`), 'Saved.');
  return showEdit(deps, c, typed, put);
}

async function tryOut(c: PageContext): Promise<Response> {
  const slug = c.req.param('slug') ?? '';
  const sent = await c.var.call('POST', `/channels/${encodeURIComponent(slug)}/test`);
  return goTo(c, pathOf(c, `/${encodeURIComponent(slug)}`), sent.ok ? 'The test message was delivered.' : sent.detail);
}

async function askToRemove(deps: PageDeps, c: PageContext): Promise<Response> {
  if (!mayEdit(c)) return forbidden(deps, c);
  const slug = c.req.param('slug') ?? '';
  const uses = await deps.database.transaction(async (tx) =>
    (await getChannel(tx, c.var.project.id, slug)) ? readChannelUses(tx, c.var.project.id, slug) : null,
  );
  if (!uses) return noSuchChannelPage(deps, c);
  return answerPage(
    c,
    <Page title={`Delete ${slug}`} {...frame(deps, c)}>
      <ChannelRemoval slug={slug} uses={uses} base={`/projects/${c.var.project.slug}`} />
    </Page>,
  );
}

async function remove(deps: PageDeps, c: PageContext): Promise<Response> {
  const slug = c.req.param('slug') ?? '';
  const gone = await c.var.call('DELETE', `/channels/${encodeURIComponent(slug)}`);
  return gone.ok
    ? goTo(c, pathOf(c), `Channel ${slug} is deleted.`)
    : notePage(deps, c, 404, 'Nothing here', gone.detail);
}
