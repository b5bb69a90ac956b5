import type { Hono } from 'hono';
import type { Caller } from '../api/auth.ts';

/** What the API answered: of a refusal `detail` and `errors` say what was wrong. */
export type ApiAnswer<T> =
  | { readonly ok: true; readonly status: number; readonly value: T }
  | {
      readonly ok: false;
      readonly status: number;
      readonly type: string;
      readonly detail: string;
      readonly errors: readonly ApiFlaw[];
    };

export type ApiFlaw = { readonly path: string; readonly message: string };

/** One call of the API: `path` below /api/v1, already encoded. T is what its document promises. */
export type Call = <T = unknown>(method: string, path: string, body?: unknown) => Promise<ApiAnswer<T>>;

/**
 * The API without the network, as a person: whatever pages do goes through the same door as the calls of programs, so that
 * both refuse the same things in the same words, and the audit says who.
 */
export function createCall(api: Hono, caller: Caller): Call {
  return async <T>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>> => {
    const init = {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    };
    const response = await api.request(path, init, { caller });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const value: unknown = isJson && text !== '' ? JSON.parse(text) : text;
    if (response.ok) return { ok: true, status: response.status, value: value as T };
    return { ok: false, status: response.status, ...readProblem(value) };
  };
}

function readProblem(value: unknown): {
  readonly type: string;
  readonly detail: string;
  readonly errors: readonly ApiFlaw[];
} {
  const { type, title, detail, errors } = value as {
    readonly type?: string;
    readonly title?: string;
    readonly detail?: string;
    readonly errors?: readonly ApiFlaw[];
  };
  return {
    type: type ?? 'about:blank',
    detail: pageWords(detail ?? title ?? 'Something went wrong.'),
    errors: (errors ?? []).map((error) => ({ ...error, message: pageWords(error.message) })),
  };
}

/** What the API says, without the calls it advises: people have pages for them. */
export function pageWords(text: string): string {
  return text
    .replace(/: (?:GET|POST) \/api\/\S+ (?:lists them|makes one)/g, '')
    .replace(/ with (?:PUT|POST) \/api\/[^\s,;]+/g, '');
}
