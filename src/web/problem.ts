import type { Context, ErrorHandler, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { DatabaseUnavailable } from '../store/database.ts';
import type { Trouble } from '../store/unavailable.ts';

/** What a caller reads about one wrong field; `path` as in `schedules.0.cron`. */
type ProblemError = { readonly path: string; readonly message: string };

export type ProblemDetails = {
  /** One word for programs, as in `/problems/completed`; without it the status says all (`about:blank`). */
  readonly type?: string;
  /** Defaults to the words of the status. */
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly ProblemError[];
  /** Further members, for programs; null: there are none. */
  readonly members?: Readonly<Record<string, unknown>> | null;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Seconds after which a client should try again when the database is away. */
export const RETRY_AFTER_SECONDS = 5;

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Content too large',
  415: 'Unsupported media type',
  422: 'Unprocessable content',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Service unavailable',
};

/**
 * An RFC 9457 answer: application/problem+json with `type`, `title`, `status`, and `detail`, `errors` and further members
 * where given.
 */
export function problem(
  status: number,
  { type, title, detail, errors, members, headers }: ProblemDetails = {},
): Response {
  const body = {
    type: type === undefined ? 'about:blank' : `/problems/${type}`,
    title: title ?? TITLES[status] ?? 'Problem',
    status,
    ...(detail === undefined ? {} : { detail }),
    ...(errors === undefined ? {} : { errors }),
    ...members,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...headers },
  });
}

const TROUBLES: Readonly<Record<Trouble, string>> = {
  away: 'The database is not available right now. Please send the request again.',
  slow: 'The database took too long over this, and it was given up. Please send the request again: what is done already stays done.',
  behind: 'This job is far behind, and has to be judged first. Please send the request again in a minute.',
};

/** 503 with Retry-After: nothing is known to have been stored, and the same request may be sent again. */
export function databaseAway(trouble: Trouble = 'away'): Response {
  return problem(503, {
    detail: TROUBLES[trouble],
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });
}

/** The answer to what a handler threw. Only a lost database and Hono's own refusals are expected; the rest is a bug. */
export function onError(log: { error(fields: object, message: string): void }): ErrorHandler {
  return (error, c) => {
    if (error instanceof DatabaseUnavailable) return databaseAway(error.trouble);
    if (error instanceof HTTPException) return problem(error.status, { detail: error.message });
    log.error({ error, method: c.req.method, path: pathForLog(c.req.path) }, 'a request failed unexpectedly');
    return problem(500, { detail: 'Something went wrong inside Rollcall; its log says what.' });
  };
}

/** Ping URLs carry keys and uuids, links of messages a token: these are secrets (SEC-003). */
function pathForLog(path: string): string {
  if (path.startsWith('/a/')) return '/a/…';
  return path.startsWith('/ping') ? '/ping/…' : path;
}

const METHODS = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'] as const;

/** The answer where no route fits: 405 with Allow when another method would have, else 404. */
export function onNotFound(app: Hono): (c: Context) => Response {
  return (c) => {
    const allowed = METHODS.filter((method) => hasRoute(app, method, c.req.path));
    if (allowed.length === 0) return problem(404, { detail: 'There is nothing at this address.' });
    const allow = allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    return problem(405, { detail: `${c.req.method} is not possible here: use ${allow}.`, headers: { Allow: allow } });
  };
}

function hasRoute(app: Hono, method: string, path: string): boolean {
  const [handlers] = app.router.match(method, path);
  // Middleware is registered for ALL methods and answers nothing itself.
  return handlers.some(([[, route]]) => route.method === method);
}
