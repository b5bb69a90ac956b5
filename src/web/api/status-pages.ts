import { hashPassword } from 'better-auth/crypto';
import type { Context } from 'hono';
import { formatInstant } from '../../core/time.ts';
import { recordAudit } from '../../store/job-writing.ts';
import { readJobSlugs } from '../../store/jobs.ts';
import {
  deleteStatusPage,
  getStatusPage,
  listStatusPages,
  putStatusPage,
  type StatusGroup,
  type StoredStatusPage,
} from '../../store/status-pages.ts';
import { problem } from '../problem.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { refuseField } from './fields.ts';
import { LIST_SIZE, limitParameter, pageOf, readQuery, slugCursor } from './query.ts';
import { invalid, notFound, unreadable } from './refusal.ts';
import { listOf, listQuery } from './schemas.ts';
import { isSlug } from './slug.ts';
import { readStatusPage } from './status-pages-definition.ts';
import { statusPageDefinitionSchema, statusPageSchema } from './status-pages-schemas.ts';

const NO_PAGE = problemAnswer('There is no such status page.');
const COMMON = { tag: 'Status pages', path: '/status-pages/{slug}' };

/** What the rest of the company sees. */
export function statusPageEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [put(deps), list(deps), get(deps), remove(deps)];
}

function put(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'put',
    id: 'putStatusPage',
    summary: 'Creates a status page, or replaces it',
    description:
      'It is public at /status/{slug} at once, unless it has a password. Slugs and hosts are unique over all projects. A password that is left out stays as it is.',
    body: statusPageDefinitionSchema,
    answers: {
      200: { description: 'The page, replaced.', schema: statusPageSchema },
      201: { description: 'The page, created.', schema: statusPageSchema },
      400: problemAnswer('Everything that is wrong with the page.'),
      409: problemAnswer('taken: the slug or the host is in use already.'),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => answerPut(deps, c, caller),
  };
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/status-pages',
    method: 'get',
    id: 'listStatusPages',
    summary: 'Status pages by slug',
    query: listQuery(LIST_SIZE),
    answers: {
      200: { description: 'A page of status pages.', schema: listOf('status_pages', statusPageSchema) },
      400: problemAnswer('A parameter is wrong.'),
    },
    run: (c, caller) => answerList(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getStatusPage',
    summary: 'One status page',
    answers: { 200: { description: 'The page.', schema: statusPageSchema }, 404: NO_PAGE },
    async run(c, { projectId }) {
      const slug = slugOf(c);
      if (!isSlug(slug)) return noSuchPage();
      const found = await deps.database.transaction(async (tx) => {
        const page = await getStatusPage(tx, projectId, slug);
        return page && { page, jobs: await readJobSlugs(tx, projectId) };
      });
      return found ? Response.json(jsonOf(found.page, found.jobs, deps.publicUrl)) : noSuchPage();
    },
  };
}

function remove({ database }: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'delete',
    id: 'deleteStatusPage',
    summary: 'Deletes a status page; its address is free again',
    answers: { 204: { description: 'It is gone.' }, 404: NO_PAGE },
    async run(c, { projectId, actor }) {
      const slug = slugOf(c);
      const deleted =
        isSlug(slug) &&
        (await database.transaction(async (tx) => {
          if (!(await deleteStatusPage(tx, projectId, slug))) return false;
          await recordAudit(tx, { projectId, actor, action: 'status_page.delete', subject: slug });
          return true;
        }));
      return deleted ? new Response(null, { status: 204 }) : noSuchPage();
    },
  };
}

async function answerPut(deps: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const { database, zones, publicUrl } = deps;
  const slug = slugOf(c);
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const jobs = await database.transaction((tx) => readJobSlugs(tx, projectId));
  const { fields, page: sent } = readStatusPage(body.value, { zones, jobs, publicUrl });
  if (!isSlug(slug)) refuseField(fields, 'slug', 'a slug is 1 to 100 of a-z, 0-9, "-" and "_"');
  if (fields.errors.length > 0) return invalid(fields.errors);
  const { definition, host, password } = sent;
  const passwordHash = typeof password === 'string' ? await hashPassword(password) : password;
  const done = await database.transaction(async (tx) => {
    const put = await putStatusPage(tx, { projectId, slug, definition, host, passwordHash });
    if (put.outcome === 'taken') return put;
    const detail = { definition, host, password: passwordHash === undefined ? 'kept' : passwordHash ? 'set' : 'none' };
    const action = put.created ? 'status_page.create' : 'status_page.edit';
    await recordAudit(tx, { projectId, actor, action, subject: slug, detail });
    return put;
  });
  if (done.outcome === 'taken') return taken(done.field);
  return Response.json(jsonOf(done.page, jobs, publicUrl), { status: done.created ? 201 : 200 });
}

/** 409, without a word about who has it. */
function taken(field: 'slug' | 'host'): Response {
  const message =
    field === 'slug' ? 'is taken: choose another slug' : 'is the host of another page: choose another one';
  return problem(409, { type: 'taken', detail: `${field}: ${message}`, errors: [{ path: field, message }] });
}

async function answerList({ database, publicUrl }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const after = slugCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const { found, jobs } = await database.transaction(async (tx) => ({
    found: await listStatusPages(tx, projectId, { after, limit: limit + 1 }),
    jobs: await readJobSlugs(tx, projectId),
  }));
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug);
  return Response.json({ status_pages: page.map((one) => jsonOf(one, jobs, publicUrl)), next_cursor: nextCursor });
}

function noSuchPage(): Response {
  return notFound('there is no status page of this slug in the project: GET /api/v1/status-pages lists them');
}

function jsonOf(page: StoredStatusPage, jobs: ReadonlySet<string>, publicUrl: string) {
  const { slug, definition, host, passwordHash, createdAt } = page;
  const { title, text, zone, groups, showReasons, indexable } = definition;
  const named = groups.flatMap(({ shows }) => (shows.kind === 'jobs' ? shows.jobs.map(({ job }) => job) : []));
  const lost = [...new Set(named)].filter((job) => !jobs.has(job));
  return {
    slug,
    title,
    text,
    zone,
    groups: groups.map(groupJson),
    show_reasons: showReasons,
    indexable,
    host,
    has_password: passwordHash !== null,
    url: statusPageUrl(page, publicUrl),
    created_at: formatInstant(createdAt),
    warnings: lost.map((job) => `there is no job ${job} any more: the page does not show it`),
  };
}

function groupJson({ name, shows }: StatusGroup) {
  return shows.kind === 'tag' ? { name, jobs: null, tag: shows.tag } : { name, jobs: shows.jobs, tag: null };
}

/** Where a page is: at its own host, if it has one. Without a slash at its end. */
export function statusPageUrl({ slug, host }: Pick<StoredStatusPage, 'slug' | 'host'>, publicUrl: string): string {
  if (host === null) return `${publicUrl}/status/${slug}`;
  const { protocol, port } = new URL(publicUrl);
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`;
}
