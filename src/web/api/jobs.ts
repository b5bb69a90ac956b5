import type { Context } from 'hono';
import type { FieldError } from '../../core/schedule.ts';
import { pageOfJobs, readChannelSlugs, readJobSlugs, readJobs, readMinuteUse } from '../../store/jobs.ts';
import { createVersionZones } from '../../store/version-zones.ts';
import { type Caller, mayHavePingUrl } from './auth.ts';
import { readJsonObject } from './body.ts';
import { bringToNow, caughtUpJob, slugOf } from './bring-to-now.ts';
import { parseDefinition } from './definition.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, JOB_BROKEN, problemAnswer } from './endpoint.ts';
import { jobJson, tablesOf } from './job-json.ts';
import { LIST_SIZE, limitParameter, pageOf, readQuery, slugCursor } from './query.ts';
import { invalid, noSuchJob, unreadable } from './refusal.ts';
import { definitionSchema, jobSchema, listOf, listQuery } from './schemas.ts';
import { isSlug, slugFlaw } from './slug.ts';

const JOB = { description: 'The job.', schema: jobSchema };
const NO_JOB = problemAnswer('There is no such job.');

const COMMON = { tag: 'Jobs', path: '/jobs/{slug}' };

/** PUT, GET, DELETE, pause and resume of jobs. */
export function jobEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [put(deps), list(deps), get(deps), remove(deps), setPause(deps, 'pause'), setPause(deps, 'resume')];
}

function put(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'put',
    id: 'putJob',
    summary: 'Creates a job, or replaces its definition',
    description:
      'A field left out takes its default; pause, uuid and history stay. Sending what is stored already changes nothing.',
    body: definitionSchema,
    answers: {
      200: { description: 'The job, replaced.', schema: jobSchema },
      201: { description: 'The job, created.', schema: jobSchema },
      400: problemAnswer('Everything that is wrong with the definition.'),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => putJob(deps, c, caller),
  };
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/jobs',
    method: 'get',
    id: 'listJobs',
    summary: 'Jobs by slug',
    query: listQuery(LIST_SIZE),
    answers: {
      200: { description: 'A page of jobs.', schema: listOf('jobs', jobSchema) },
      400: problemAnswer('A parameter is wrong.'),
    },
    run: (c, caller) => listJobs(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getJob',
    summary: 'One job',
    answers: { 200: JOB, 404: NO_JOB },
    run: (c, caller) => answerJob(deps, caller, slugOf(c), 200),
  };
}

function remove({ changes }: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'delete',
    id: 'deleteJob',
    summary: 'Deletes a job with its history',
    answers: { 204: { description: 'It is gone.' }, 404: NO_JOB },
    run: async (c, { projectId, actor }) => {
      const slug = slugOf(c);
      const deleted = isSlug(slug) && (await changes.deleteJob(projectId, slug, actor));
      return deleted ? new Response(null, { status: 204 }) : noSuchJob();
    },
  };
}

function setPause(deps: ApiDeps, verb: 'pause' | 'resume'): Endpoint {
  const change = verb === 'pause' ? deps.changes.pauseJob : deps.changes.resumeJob;
  return {
    ...COMMON,
    path: `/jobs/{slug}/${verb}`,
    method: 'post',
    id: `${verb}Job`,
    summary: verb === 'pause' ? 'Pauses a job: what is due until it is resumed is skipped' : 'Resumes a paused job',
    answers: { 200: JOB, 404: NO_JOB, 409: JOB_BROKEN },
    run: async (c, caller) => {
      const slug = slugOf(c);
      const changed = isSlug(slug) && (await change(caller.projectId, slug, caller.actor));
      return changed ? answerJob(deps, caller, slug, 200) : noSuchJob();
    },
  };
}

const NONE: ReadonlySet<string> = new Set();

async function putJob(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const slug = slugOf(c);
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const known = await deps.database.transaction(async (tx) => ({
    channels: await readChannelSlugs(tx, caller.projectId),
    jobs: body.value['after'] === undefined ? NONE : await readJobSlugs(tx, caller.projectId),
  }));
  const definition = parseDefinition(slug, body.value, { zones: deps.zones, ...known });
  const flaw = slugFlaw(slug);
  const slugErrors: readonly FieldError[] = flaw === null ? [] : [{ path: 'slug', message: flaw }];
  if (!definition.ok) return invalid([...slugErrors, ...definition.errors]);
  if (slugErrors.length > 0) return invalid(slugErrors);
  const put = await deps.changes.putJob(caller.projectId, slug, definition.value, caller.actor);
  if ('cycle' in put) {
    return invalid([{ path: 'after', message: `would make a circle: ${put.cycle.join(' after ')}; take one out` }]);
  }
  return answerJob(deps, caller, slug, put.created ? 201 : 200);
}

async function answerJob(deps: ApiDeps, caller: Caller, slug: string, status: 200 | 201): Promise<Response> {
  const id = await caughtUpJob(deps, caller, slug);
  if (id === null) return noSuchJob();
  const [job] = await readJson(deps, caller, [id]);
  return job ? Response.json(job, { status }) : noSuchJob();
}

/** Three statements, however many jobs; a fourth where zone tables of other tz data are needed. */
async function readJson({ database, zones, publicUrl }: ApiDeps, caller: Caller, ids: readonly number[]) {
  const { projectId } = caller;
  return database.transaction(async (tx) => {
    const minuteUse = await readMinuteUse(tx, projectId);
    const channels = await readChannelSlugs(tx, projectId);
    const jobs = await readJobs(tx, ids);
    const zoneOf = await createVersionZones(zones).read(tx, jobs.flatMap(tablesOf));
    const context = { zoneOf, publicUrl, showsPingUrl: mayHavePingUrl(caller), minuteUse, channels, now: tx.now };
    return jobs.map((job) => jobJson(job, context));
  });
}

async function listJobs(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const after = slugCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const found = await deps.database.transaction((tx) => pageOfJobs(tx, caller.projectId, { after, limit: limit + 1 }));
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug);
  await bringToNow(deps, page);
  const jobs = await readJson(
    deps,
    caller,
    page.map(({ id }) => id),
  );
  return Response.json({ jobs, next_cursor: nextCursor });
}
