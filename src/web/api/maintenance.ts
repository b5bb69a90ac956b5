import type { Context } from 'hono';
import type { MaintenanceDefinition, When } from '../../core/maintenance.ts';
import { floorToSecond, formatInstant, type Instant } from '../../core/time.ts';
import { readJobSlugs } from '../../store/jobs.ts';
import { findWindow, jobsLeft, listWindows, type StoredWindow } from '../../store/maintenance.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { LONGEST_WINDOW, parseWindow, type SentWhen, windowJson } from './maintenance-definition.ts';
import { windowRequestSchema, windowSchema } from './maintenance-schema.ts';
import { LIST_SIZE, limitParameter, pageOf, readQuery, slugCursor } from './query.ts';
import { invalid, notFound, unreadable } from './refusal.ts';
import { listOf, listQuery } from './schemas.ts';
import { isSlug } from './slug.ts';

const WINDOW = { description: 'The window.', schema: windowSchema };
const NO_WINDOW = problemAnswer('There is no such window.');
const COMMON = { tag: 'Maintenance', path: '/maintenance/{slug}' };
/** A calendar of 1 MB, and what JSON makes of its line ends. */
const MOST_BYTES = 3 * 1024 * 1024;

/** Maintenance windows and calendars. */
export function maintenanceEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [put(deps), list(deps), get(deps), remove(deps)];
}

function put(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'put',
    id: 'putWindow',
    summary: 'Creates a maintenance window or a calendar, or replaces it',
    description:
      'What nobody ran in its past is skipped before this answers; where that takes more than some seconds, jobs_left says for how many jobs it goes on.',
    body: windowRequestSchema,
    answers: {
      200: { ...WINDOW, description: 'The window, replaced.' },
      201: { ...WINDOW, description: 'The window, created.' },
      400: problemAnswer('Everything that is wrong with the window, or why its calendar cannot be read.'),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => putWindow(deps, c, caller),
  };
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/maintenance',
    method: 'get',
    id: 'listWindows',
    summary: 'Maintenance windows and calendars by slug',
    query: listQuery(LIST_SIZE),
    answers: {
      200: { description: 'A page of windows.', schema: listOf('maintenance', windowSchema) },
      400: problemAnswer('A parameter is wrong.'),
    },
    run: (c, caller) => answerList(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getWindow',
    summary: 'One maintenance window or calendar',
    answers: { 200: WINDOW, 404: NO_WINDOW },
    async run(c, { projectId }) {
      const slug = slugOf(c);
      if (!isSlug(slug)) return noSuchWindow();
      const found = await deps.database.transaction(async (tx) => {
        const window = await findWindow(tx, projectId, slug);
        return window && { window, now: tx.now, left: await jobsLeft(tx, window) };
      });
      if (!found) return noSuchWindow();
      return Response.json({ ...fullJson(deps, found.window, found.now), jobs_left: found.left });
    },
  };
}

function remove({ maintenance }: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'delete',
    id: 'endWindow',
    summary: 'Ends a window from now on; what was due in it stays skipped',
    answers: { 204: { description: 'It has ended.' }, 404: NO_WINDOW },
    async run(c, { projectId, actor }) {
      const slug = slugOf(c);
      const isEnded = isSlug(slug) && (await maintenance.end({ projectId, slug, actor }));
      return isEnded ? new Response(null, { status: 204 }) : noSuchWindow();
    },
  };
}

async function putWindow(deps: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const { database, zones, maintenance } = deps;
  const slug = slugOf(c);
  const body = await readJsonObject(c, MOST_BYTES);
  if (!body.ok) return unreadable(body.status, body.detail);
  const slugErrors = isSlug(slug) ? [] : [{ path: 'slug', message: 'a slug is 1 to 100 of a-z, 0-9, "-" and "_"' }];
  const known = await database.transaction(async (tx) => ({ now: tx.now, jobs: await readJobSlugs(tx, projectId) }));
  const parsed = parseWindow(slug, body.value, { zones, ...known });
  if (!parsed.ok) return invalid([...slugErrors, ...parsed.errors]);
  if (slugErrors.length > 0) return invalid(slugErrors);
  const when = await readWhen(deps, parsed.value.when);
  if (!when.ok) return invalid([{ path: when.path, message: when.reason }]);
  const {
    window,
    created,
    jobsLeft: left,
  } = await maintenance.put({ projectId, slug, actor }, (old, now) => ({
    ...parsed.value,
    when: when.value.kind === 'once' ? onceAt(when.value, old?.definition, now) : when.value,
  }));
  const now = await database.transaction(async (tx) => tx.now);
  return Response.json({ ...fullJson(deps, window, now), jobs_left: left }, { status: created ? 201 : 200 });
}

type ReadWhen = Exclude<When, { readonly kind: 'once' }> | Extract<SentWhen, { readonly kind: 'once' }>;

/** What was sent, with the events of its calendar. */
async function readWhen(
  { maintenance }: ApiDeps,
  when: SentWhen,
): Promise<
  | { readonly ok: true; readonly value: ReadWhen }
  | { readonly ok: false; readonly path: string; readonly reason: string }
> {
  if (when.kind !== 'calendar') return { ok: true, value: when };
  const { kind, zone, source } = when;
  const events = await maintenance.readCalendar(source, zone);
  if (!events.ok) return { ok: false, path: 'ics' in source ? 'ics' : 'ics_url', reason: events.reason };
  const [url, ics] = 'ics' in source ? [null, source.ics] : [source.url, null];
  return { ok: true, value: { kind, zone, url, ics, events: events.value } };
}

/** Without `from` it begins now; one that is under way keeps its beginning, or what was due in it would fall out. */
function onceAt(
  { from, until, duration }: Extract<SentWhen, { readonly kind: 'once' }>,
  old: MaintenanceDefinition | undefined,
  now: Instant,
): When {
  const was = old?.when.kind === 'once' && old.when.from <= now && now < old.when.until ? old.when.from : null;
  const begin = from ?? was ?? floorToSecond(now);
  // From now on, and not from where it began: who says two hours more means from now.
  const end = until ?? (from ?? floorToSecond(now)) + (duration ?? 0) * 1000;
  return { kind: 'once', from: begin, until: Math.min(Math.max(end, begin), begin + LONGEST_WINDOW * 1000) };
}

async function answerList(deps: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const after = slugCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const { page, nextCursor } = await deps.database.transaction(async (tx) => {
    const found = pageOf(await listWindows(tx, projectId, { after, limit: limit + 1 }), limit, ({ slug }) => slug);
    const shown: object[] = [];
    for (const window of found.page) {
      shown.push({ ...shortJson(deps, window, tx.now), jobs_left: await jobsLeft(tx, window) });
    }
    return { page: shown, nextCursor: found.nextCursor };
  });
  return Response.json({ maintenance: page, next_cursor: nextCursor });
}

function noSuchWindow(): Response {
  return notFound('there is no maintenance window of this slug in the project: GET /api/v1/maintenance lists them');
}

function fullJson(deps: ApiDeps, window: StoredWindow, now: Instant) {
  const { when } = window.definition;
  return { ...shortJson(deps, window, now), ics: when.kind === 'calendar' ? when.ics : null };
}

function shortJson({ maintenance }: ApiDeps, window: StoredWindow, now: Instant) {
  const { when } = window.definition;
  const { active, next } = maintenance.stretchOf(window, now);
  const instantOrNull = (at: Instant | null): string | null => (at === null ? null : formatInstant(at));
  return {
    slug: window.slug,
    ...windowJson(window.definition),
    active,
    next: next && { from: formatInstant(next.from), until: formatInstant(next.until) },
    changed_at: formatInstant(window.knownFrom),
    changed_by: window.actor,
    events: when.kind === 'calendar' ? when.events.length : null,
    fetched_at: instantOrNull(window.fetchedAt),
    fetch_failure: window.fetchFailure,
  };
}
