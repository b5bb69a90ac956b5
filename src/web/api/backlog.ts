import type { Context } from 'hono';
import { formatInstant } from '../../core/time.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, JOB_BROKEN, problemAnswer } from './endpoint.ts';
import { fieldValue, readFields, refuseField } from './fields.ts';
import { invalid, noSuchJob, unreadable } from './refusal.ts';
import { backlogRequestSchema, backlogSchema } from './schemas.ts';
import { isSlug } from './slug.ts';

/** A person's word on what has piled up. */
export function backlogEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      tag: 'Owed',
      method: 'post',
      path: '/jobs/{slug}/backlog',
      id: 'decideBacklog',
      summary: 'Says run or skip about everything that is owed or unconfirmed now; later ones count anew',
      body: backlogRequestSchema,
      answers: {
        200: { description: 'The decision.', schema: backlogSchema },
        400: problemAnswer('The decision cannot be read, or the job is not catch_up.'),
        404: problemAnswer('There is no such job.'),
        409: JOB_BROKEN,
        413: problemAnswer('The body is too large.'),
      },
      run: (c, caller) => decide(deps, c, caller),
    },
  ];
}

const NOT_CATCH_UP =
  'nothing to decide: only missed_runs catch_up keeps a backlog; coalesce owes at most the newest occurrence, skip and a heartbeat owe none';

async function decide({ claims }: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const fields = readFields(body.value, ['decision']);
  const decision = (['run', 'skip'] as const).find((known) => known === fieldValue(fields, 'decision'));
  if (decision === undefined) refuseField(fields, 'decision', 'must be "run" or "skip"');
  if (decision === undefined || fields.errors.length > 0) return invalid(fields.errors);
  const slug = slugOf(c);
  if (!isSlug(slug)) return noSuchJob();
  const answer = await claims.decide({ projectId, slug, actor }, decision);
  if (answer.outcome === 'no_job') return noSuchJob();
  if (answer.outcome === 'no_backlog') return invalid([{ path: 'decision', message: NOT_CATCH_UP }]);
  return Response.json({ decision, until: formatInstant(answer.until), count: answer.count });
}
