import type { Context } from 'hono';
import { formatKey } from '../../core/key.ts';
import { formatInstant } from '../../core/time.ts';
import { type ZoneSource, zoneNamed } from '../../engine/reading.ts';
import { dueJobs, type FoundJob, findJob } from '../../store/jobs.ts';
import { pageOfIncidents, readIncident, type StoredIncident } from '../../store/reading.ts';
import type { Caller } from './auth.ts';
import { bringToNow } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { LIST_SIZE, limitParameter, numberCursor, pageOf, readQuery, textParameter, wordParameter } from './query.ts';
import { invalid, notFound } from './refusal.ts';
import { incidentSchema, listOf, listQuery, textParameterOf } from './schemas.ts';
import { isSlug } from './slug.ts';

/** So many due jobs are brought to now before incidents are read; more are waiting only while the evaluator is down. */
const MOST_CAUGHT_UP = 1000;

/** The problems of a project. */
export function incidentEndpoints(deps: ApiDeps): readonly Endpoint[] {
  const tag = 'Incidents';
  return [
    {
      tag,
      method: 'get',
      path: '/incidents',
      id: 'listIncidents',
      summary: 'Incidents, newest first',
      query: listQuery(LIST_SIZE, {
        state: textParameterOf('open or resolved; both by default.'),
        job: textParameterOf('Only of the job of this slug.'),
      }),
      answers: {
        200: { description: 'A page of incidents.', schema: listOf('incidents', incidentSchema) },
        400: problemAnswer('A parameter is wrong.'),
      },
      run: (c, caller) => list(deps, c, caller),
    },
    {
      tag,
      method: 'get',
      path: '/incidents/{id}',
      id: 'getIncident',
      summary: 'One incident',
      answers: {
        200: { description: 'The incident.', schema: incidentSchema },
        404: problemAnswer('There is no such incident.'),
      },
      run: (c, caller) => get(deps, c, caller),
    },
  ];
}

async function list(deps: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['state', 'job', 'limit', 'cursor']);
  const state = wordParameter(query, 'state', ['open', 'resolved']);
  const limit = limitParameter(query);
  const before = numberCursor(query);
  const slug = textParameter(query, 'job');
  const job =
    slug !== null && isSlug(slug) ? await deps.database.transaction((tx) => findJob(tx, projectId, slug)) : null;
  if (slug !== null && job === null) query.errors.push({ path: 'job', message: 'there is no job of this slug' });
  if (query.errors.length > 0) return invalid(query.errors);
  await bringDueToNow(deps, projectId, job);
  const filter = { jobId: job?.id ?? null, state, before, limit: limit + 1 };
  const found = await deps.database.transaction((tx) => pageOfIncidents(tx, projectId, filter));
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return Response.json({
    incidents: page.map((incident) => incidentJson(incident, deps.zones)),
    next_cursor: nextCursor,
  });
}

async function get(deps: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const text = c.req.param('id') ?? '';
  if (!/^\d{1,15}$/.test(text)) return noSuchIncident();
  await bringDueToNow(deps, projectId, null);
  const incident = await deps.database.transaction((tx) => readIncident(tx, projectId, Number(text)));
  return incident ? Response.json(incidentJson(incident, deps.zones)) : noSuchIncident();
}

function noSuchIncident(): Response {
  return notFound('there is no incident of this id in the project: GET /api/v1/incidents lists them');
}

/** Brings one job, or every due one of the project, to now. */
async function bringDueToNow(deps: ApiDeps, projectId: number, job: FoundJob | null): Promise<void> {
  const jobs = job ? [job] : await deps.database.transaction((tx) => dueJobs(tx, projectId, MOST_CAUGHT_UP));
  await bringToNow(deps, jobs);
}

function incidentJson(incident: StoredIncident, zones: ZoneSource) {
  return {
    id: incident.id,
    job: incident.job,
    kind: incident.kind,
    state: incident.resolvedAt === null ? ('open' as const) : ('resolved' as const),
    opened_at: formatInstant(incident.openedAt),
    acked_at: incident.ackedAt === null ? null : formatInstant(incident.ackedAt),
    resolved_at: incident.resolvedAt === null ? null : formatInstant(incident.resolvedAt),
    occurrence_count: incident.occurrenceCount,
    occurrences: incident.members.map(({ scheduledFor, zone, state }) => ({
      key: formatKey(scheduledFor, zoneNamed(zones, zone)),
      scheduled_for: formatInstant(scheduledFor),
      state,
    })),
  };
}
