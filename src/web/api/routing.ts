import type { Context } from 'hono';
import { readRouting } from '../../engine/routing.ts';
import type { Caller } from './auth.ts';
import { caughtUpJob } from './bring-to-now.ts';
import { toldKinds } from './channel-fields.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { type Query, readQuery, textParameter, wordParameter } from './query.ts';
import { invalid, noSuchJob } from './refusal.ts';
import { listOf, previewQuery, routeSchema, textParameterOf } from './schemas.ts';

/** Who would be told what, and why. */
export function routingEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      tag: 'Channels',
      method: 'get',
      path: '/routing',
      id: 'readRouting',
      summary: 'Which channels would be told if an incident of a kind opened for a job now, and why',
      description: 'The same decision that routes messages, with what would withhold them now. Nothing is sent.',
      query: previewQuery({
        job: textParameterOf('The slug of the job. Required.'),
        kind: textParameterOf(`One of ${toldKinds.join(', ')}. Required.`),
      }),
      answers: {
        200: { description: 'Every channel of the project, by slug.', schema: listOf('routing', routeSchema) },
        400: problemAnswer('A parameter is wrong or missing.'),
        404: problemAnswer('There is no such job.'),
      },
      run: (c, caller) => answerRouting(deps, c, caller),
    },
  ];
}

async function answerRouting(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['job', 'kind']);
  const slug = textParameter(query, 'job') ?? missing(query, 'job', 'the slug of a job');
  const kind = wordParameter(query, 'kind', toldKinds);
  if (textParameter(query, 'kind') === null) missing(query, 'kind', `one of ${toldKinds.join(', ')}`);
  if (query.errors.length > 0 || kind === null) return invalid(query.errors);
  const jobId = await caughtUpJob(deps, caller, slug);
  if (jobId === null) return noSuchJob();
  const routing = await deps.database.transaction((tx) => readRouting(tx, { jobId, kind }, deps.readMaintenance));
  return routing ? Response.json({ routing, next_cursor: null }) : noSuchJob();
}

function missing({ errors }: Query, path: string, what: string): string {
  errors.push({ path, message: `is required: give ${what}` });
  return '';
}
