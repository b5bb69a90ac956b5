import type { Context } from 'hono';
import { formatKey } from '../../core/key.ts';
import { formatInstant } from '../../core/time.ts';
import { type ZoneSource, zoneNamed } from '../../engine/reading.ts';
import { dueJobIds, findJobId } from '../../store/jobs.ts';
import { pageOfIncidents, readIncident, type StoredIncident } from '../../store/reading.ts';
import type { Caller } from './auth.ts';
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
  const jobId =
    slug !== null && isSlug(slug) ? await deps.database.transaction((tx) => findJobId(tx, projectId, slug)) : null;
  if (slug !== null && jobId === null) query.errors.push({ path: 'job', message: 'there is no job of this slug' });
  if (query.errors.length > 0) return invalid(query.errors);
  await catchUpDue(deps, projectId, jobId);
  const filter = { jobId, state, before, limit: limit + 1 };
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
  await catchUpDue(deps, projectId, null);
  const incident = await deps.database.transaction((tx) => readIncident(tx, projectId, Number(text)));
  return incident ? Response.json(incidentJson(incident, deps.zones)) : noSuchIncident();
}

function noSuchIncident(): Response {
  return notFound('there is no incident of this id in the project: GET /api/v1/incidents lists them');
}

/** Brings one job, or every job of the project that the clock has something to say about, to now. */
async function catchUpDue({ database, catchUp }: ApiDeps, projectId: number, jobId: number | null): Promise<void> {
  const ids = jobId === null ? await database.transaction((tx) => dueJobIds(tx, projectId, MOST_CAUGHT_UP)) : [jobId];
  if (ids.length > 0) await catchUp(ids);
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
