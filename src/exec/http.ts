/** What became of one request. */
export type HttpAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Headers;
      /** Parsed where it is JSON, else null. */
      readonly json: unknown;
    }
  | { readonly kind: 'away'; readonly reason: string };

export type HttpRequest = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  /** In milliseconds; 10 s where it is left out. */
  readonly timeoutMs?: number;
  /** Gives up early: the person at the keyboard wants to go. */
  readonly signal?: AbortSignal;
};

/** No request of a run takes longer, whatever the other side does: a job waits for it. */
const TIMEOUT_MS = 10_000;

/** So much of an answer is read; the longest that Rollcall gives, 500 owed occurrences, is a quarter of it. */
const LONGEST_ANSWER_BYTES = 512 * 1024;

/**
 * One request, answered or not within its time. Never throws. Redirects are not followed: they turn a POST into a GET. An
 * answer that does not end is read to a limit, and its JSON is null.
 */
export async function request(asked: HttpRequest): Promise<HttpAnswer> {
  const { method, url, headers, body, signal, timeoutMs = TIMEOUT_MS } = asked;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
      ...(body === undefined ? {} : { body }),
    });
    const text = await readText(response);
    return { kind: 'answer', status: response.status, headers: response.headers, json: parseJson(text) };
  } catch (error) {
    return { kind: 'away', reason: timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error) };
  }
}

/** How long the other side asks us to wait, in milliseconds; null: it does not say, or in a way that means nothing. */
export function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after') ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : null;
}

/**
 * Whether Rollcall itself refused, and not something between it and us: its API answers with problem+json, and every
 * answer to a ping says how long a body may be.
 */
export function isRollcalls(headers: Headers): boolean {
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  return isProblem || headers.has('rollcall-match') || headers.has('ping-body-limit');
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early hangs up.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LONGEST_ANSWER_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Of a failed fetch the cause says what happened: `connect ECONNREFUSED 192.0.2.1:3000`. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  if (cause instanceof Error && cause.message !== '') return cause.message;
  return message;
}
