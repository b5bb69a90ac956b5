import type { OpenAPIHono, RouteConfig } from '@hono/zod-openapi';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { BlankEnv } from 'hono/types';
import { BrokenJob } from '../../engine/changing.ts';
import { ClockInDoubt, refuseInDoubt } from '../../store/clock-doubt.ts';
import { type Database, DatabaseUnavailable } from '../../store/database.ts';
import { databaseAway, problem } from '../problem.ts';
import { authenticate, beyondScope, type Caller, isAllowed, unauthorized } from './auth.ts';
import { brokenJob } from './refusal.ts';
import { problemSchema } from './schemas.ts';

/** What one status of an answer carries; no schema: nothing. */
export type AnswerDoc = {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** `application/json` where it is not said. */
  readonly type?: string;
};

/** One call of the API: its route and its description are made of the same thing. */
export type Endpoint = {
  readonly method: 'get' | 'put' | 'post' | 'patch' | 'delete';
  /** Below /api/v1, with `{name}` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A change that is possible although the clock is in doubt. */
  readonly isForDoubt?: boolean;
  /** What it answers beside 401, 403 and 503, which all do. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  readonly run: (c: Context, caller: Caller) => Promise<Response>;
};

/** An answer that is a problem. */
export function problemAnswer(description: string): AnswerDoc {
  return { description, schema: problemSchema, type: 'application/problem+json' };
}

/** What a call that changes a job answers where `brokenJob` refuses it. */
export const JOB_BROKEN = problemAnswer(
  'schedule_error: the stored schedules of the job make no sense, so it can only be defined anew (PUT) or deleted.',
);

/** Routes an endpoint, behind its key, and describes it in the document of the app. */
export function addEndpoint(app: OpenAPIHono<BlankEnv>, endpoint: Endpoint, database: Database): void {
  app.openAPIRegistry.registerPath(describe(endpoint));
  app.on(endpoint.method.toUpperCase(), endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (c) => {
    try {
      const caller = await authenticate(c, database);
      const answer = await answerCaller(c, { endpoint, caller, database });
      // What one key may see is nobody else's, and is true only now.
      if (!answer.headers.has('Cache-Control')) answer.headers.set('Cache-Control', 'private, no-store');
      return answer;
    } catch (error) {
      // A clock does not come back within seconds: no Retry-After.
      if (error instanceof ClockInDoubt) return problem(503, { type: 'clock_in_doubt', detail: error.message });
      if (error instanceof DatabaseUnavailable) return databaseAway(error.trouble);
      if (error instanceof BrokenJob) return brokenJob(error);
      throw error;
    }
  });
}

type Asked = { readonly endpoint: Endpoint; readonly caller: Caller | null; readonly database: Database };

async function answerCaller(c: Context, { endpoint, caller, database }: Asked): Promise<Response> {
  const { method, isForDoubt } = endpoint;
  if (!caller) return unauthorized();
  if (!isAllowed(caller, method)) return beyondScope(caller, method);
  if (method !== 'get' && !isForDoubt) await database.transaction(refuseInDoubt);
  return endpoint.run(c, caller);
}

const PARAMETERS: Readonly<Record<string, string>> = {
  slug: 'The slug: 1 to 100 of a-z, 0-9, "-" and "_".',
  key: 'An occurrence key in any spelling, percent-encoded: 2026-10-25T02:30%2B02:00, an RFC 3339 instant, Unix time, a local time, or a local date with just one occurrence.',
  id: 'The id, a number.',
};

function describe({ method, path, tag, id, summary, description, query, body, answers }: Endpoint): RouteConfig {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const params = z.object(Object.fromEntries(names.map((name) => [name, z.string().describe(PARAMETERS[name] ?? '')])));
  const all = {
    ...answers,
    401: problemAnswer('No valid API key.'),
    403: problemAnswer('scope: the API key may not do this.'),
    503: problemAnswer('The database is away, or (a change) its clock is in doubt.'),
  };
  return {
    method,
    path,
    tags: [tag],
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    security: [{ key: [] }],
    request: {
      ...(names.length === 0 ? {} : { params }),
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body: { required: true, content: { 'application/json': { schema: body } } } }),
    },
    responses: Object.fromEntries(Object.entries(all).map(([status, answer]) => [status, responseOf(answer)])),
  };
}

function responseOf({ description, schema, type = 'application/json' }: AnswerDoc) {
  return schema === undefined ? { description } : { description, content: { [type]: { schema } } };
}
