import type { Context } from 'hono';
import { formatInstant } from '../../core/time.ts';
import type { ClaimAnswer, GivenClaim, Refusal } from '../../engine/claims.ts';
import { problem } from '../problem.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, JOB_BROKEN, problemAnswer } from './endpoint.ts';
import { type Fields, fieldValue, readFields, refuseField } from './fields.ts';
import { invalid, noSuchJob, notFound, unreadable } from './refusal.ts';
import { claimRequestSchema, claimSchema } from './schemas.ts';
import { isSlug, isUuid } from './slug.ts';

const CLAIM = { description: 'The claim.', schema: claimSchema };
const NO_CLAIM = problemAnswer('There is no such claim.');

/** Hands occurrences to runners, each to one, under a lease. */
export function claimEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [claim(deps), extend(deps), release(deps)];
}

function claim(deps: ApiDeps): Endpoint {
  return {
    tag: 'Owed',
    method: 'post',
    path: '/jobs/{slug}/claims',
    id: 'claim',
    summary: 'Asks for the occurrence to run now: it is handed to one runner, under a lease of 60 s',
    description:
      'What is owed first, the oldest first under catch_up; else the current one. The pings of the run then carry this rid. Retry-After says when asking again may help; without it, it does not.',
    body: claimRequestSchema,
    answers: {
      200: { description: 'The claim that this rid already has.', schema: claimSchema },
      201: CLAIM,
      400: problemAnswer('The rid is missing, no UUID, or has been used.'),
      404: problemAnswer('There is no such job.'),
      409: problemAnswer(
        'Nothing is handed out: paused, backlog, not_yet, in_progress, completed, off_schedule or schedule_error, and what to do.',
      ),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => answerClaim(deps, c, caller),
  };
}

function extend({ claims }: ApiDeps): Endpoint {
  return {
    tag: 'Owed',
    method: 'post',
    path: '/claims/{id}/extend',
    id: 'extendClaim',
    summary: 'Renews the lease of a claim: 60 s from now',
    answers: {
      200: CLAIM,
      404: NO_CLAIM,
      409: problemAnswer('It is over: completed, replaced or lease_lost; or schedule_error.'),
    },
    run: async (c, { projectId }) => {
      const id = claimId(c);
      const answer = id === null ? ({ outcome: 'no_claim' } as const) : await claims.extend(projectId, id);
      if (answer.outcome === 'no_claim') return noSuchClaim();
      if (answer.outcome === 'over') return problem(409, answer);
      return Response.json(claimJson(answer.claim));
    },
  };
}

function release({ claims }: ApiDeps): Endpoint {
  return {
    tag: 'Owed',
    method: 'delete',
    path: '/claims/{id}',
    id: 'releaseClaim',
    summary: 'Gives a claim back: its occurrence can be handed out again at once',
    answers: { 204: { description: 'It is over, or was already.' }, 404: NO_CLAIM, 409: JOB_BROKEN },
    run: async (c, { projectId }) => {
      const id = claimId(c);
      const released = id !== null && (await claims.release(projectId, id));
      return released ? new Response(null, { status: 204 }) : noSuchClaim();
    },
  };
}

async function answerClaim({ claims }: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const fields = readFields(body.value, ['rid']);
  const rid = ridField(fields);
  if (fields.errors.length > 0) return invalid(fields.errors);
  const slug = slugOf(c);
  return isSlug(slug) ? claimResponse(slug, await claims.claim({ projectId, slug }, rid)) : noSuchJob();
}

function claimResponse(slug: string, answer: ClaimAnswer): Response {
  switch (answer.outcome) {
    case 'given':
      return Response.json(claimJson(answer.claim), { status: answer.again ? 200 : 201 });
    case 'no_job':
      return noSuchJob();
    case 'rid_used':
      return invalid([{ path: 'rid', message: RID_USED }]);
    case 'refused':
      return notHandedOut(slug, answer);
  }
}

const RID_USED =
  'a run or an earlier claim of this job has had this run id: make a new one for each run, such as $(uuidgen)';

/** What whoever asked can do about it. */
const WHAT_TO_DO: Readonly<Record<Refusal, (slug: string, isPast: boolean) => string>> = {
  paused: (slug) => `to resume it: POST /api/v1/jobs/${slug}/resume, or rollcall resume ${slug}`,
  backlog: (slug) =>
    `to say so: POST /api/v1/jobs/${slug}/backlog {"decision": "run" or "skip"}, or rollcall backlog ${slug} run or skip`,
  not_yet: () => 'ask again after Retry-After',
  in_progress: () => 'ask again after Retry-After',
  completed: () => 'there is nothing to run now',
  // Of a heartbeat, and of a run by hand, nothing is claimed.
  off_schedule: (_, isPast) =>
    isPast ? 'there is nothing to run now' : 'whatever is run now needs no claim, and its pings no key',
};

type NotHandedOut = Extract<ClaimAnswer, { readonly outcome: 'refused' }>;

function notHandedOut(slug: string, { type, detail, retryAfterMs, past }: NotHandedOut): Response {
  return problem(409, {
    type,
    detail: `${detail}; ${WHAT_TO_DO[type](slug, past !== null)}`,
    // Whole seconds, and none too early.
    headers: retryAfterMs === null ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
    members: past && { past: { key: past.key, useful_until: formatInstant(past.usefulUntil) } },
  });
}

function claimJson({ id, key, scheduledFor, usefulUntil, leaseUntil }: GivenClaim) {
  return {
    id,
    key,
    scheduled_for: formatInstant(scheduledFor),
    useful_until: usefulUntil === null ? null : formatInstant(usefulUntil),
    lease_until: formatInstant(leaseUntil),
  };
}

/** A run id as pings spell it: upper and lower case are the same. */
function ridField(fields: Fields): string {
  const value = fieldValue(fields, 'rid');
  if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
  const hint = 'make a UUID for each run, such as $(uuidgen), and send it with the pings of that run too';
  refuseField(fields, 'rid', value === undefined ? `rid is required: ${hint}` : `must be a UUID: ${hint}`);
  return '';
}

function claimId(c: Context): number | null {
  const text = c.req.param('id') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function noSuchClaim(): Response {
  return notFound('there is no claim of this id in the project: POST /api/v1/jobs/{slug}/claims makes one');
}
