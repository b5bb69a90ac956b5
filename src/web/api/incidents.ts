import type { Context } from 'hono';
import { formatKey } from '../../core/key.ts';
import { formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import type { Tx } from '../../store/database.ts';
import { dueJobs, type FoundJob, findJob } from '../../store/jobs.ts';
import { pageOfIncidents, readIncident, type StoredIncident } from '../../store/reading.ts';
import { readKeyZones, type ZoneSource } from '../../store/version-zones.ts';
import type { TableName } from '../../store/zone-tables.ts';
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
  const found = await deps.database.transaction(async (tx) =>
    incidentsJson(tx, await pageOfIncidents(tx, projectId, filter), deps.zones),
  );
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => id);
  return Response.json({ incidents: page, next_cursor: nextCursor });
}

async function get(deps: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  await bringDueToNow(deps, projectId, null);
  return incidentAnswer(deps, projectId, incidentIdOf(c));
}

/** The incident as it is stored; 404 where there is none. */
export async function incidentAnswer({ database, zones }: ApiDeps, projectId: number, id: number | null) {
  if (id === null) return noSuchIncident();
  const incident = await database.transaction(async (tx) => {
    const found = await readIncident(tx, projectId, id);
    return found && (await incidentsJson(tx, [found], zones))[0];
  });
  return incident ? Response.json(incident) : noSuchIncident();
}

/** The id in the path of a request; null: that is none. */
export function incidentIdOf(c: Context): number | null {
  const text = c.req.param('id') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function noSuchIncident(): Response {
  return notFound('there is no incident of this id in the project: GET /api/v1/incidents lists them');
}

/** Brings one job, or every due one of the project, to now. */
export async function bringDueToNow(deps: ApiDeps, projectId: number, job: FoundJob | null): Promise<void> {
  const jobs = job ? [job] : await deps.database.transaction((tx) => dueJobs(tx, projectId, MOST_CAUGHT_UP));
  await bringToNow(deps, jobs);
}

async function incidentsJson(tx: Tx, incidents: readonly StoredIncident[], zones: ZoneSource) {
  const members = incidents.flatMap((incident) => incident.members);
  const zoneOf = await readKeyZones(tx, zones, members);
  return incidents.map((incident) => incidentJson(incident, zoneOf));
}

function incidentJson(incident: StoredIncident, zoneOf: (version: TableName) => Zone) {
  return {
    id: incident.id,
    job: incident.job,
    kind: incident.kind,
    state: incident.resolvedAt === null ? ('open' as const) : ('resolved' as const),
    opened_at: formatInstant(incident.openedAt),
    acked_at: instantOrNull(incident.ackedAt),
    acked_by: incident.ackedBy,
    snoozed_until: instantOrNull(incident.snoozedUntil),
    snoozed_by: incident.snoozedBy,
    resolved_at: instantOrNull(incident.resolvedAt),
    occurrence_count: incident.occurrenceCount,
    occurrences: incident.members.map((member) => ({
      key: formatKey(member.scheduledFor, zoneOf(member)),
      scheduled_for: formatInstant(member.scheduledFor),
      state: member.state,
    })),
  };
}

/** An instant as an answer shows it. */
export function instantOrNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}
