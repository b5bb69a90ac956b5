import { z } from 'zod';
import { type Remote, readRemote } from '../config.ts';
import { type HttpAnswer, request } from '../exec/http.ts';
import { isSlug } from '../web/api/slug.ts';
import { EXIT, type ExitCode, type Output } from './exit-codes.ts';

/** An answer of the API that a command did not hope for: what it ends with, and why. */
export type Unwelcome = {
  readonly ok: false;
  readonly exit: ExitCode;
  /** One line for people. */
  readonly reason: string;
  /** What the API said, as it said it; undefined where nothing of it was heard. */
  readonly json?: unknown;
};

/** `value` is what the shape made of the answer, `json` the answer as it came. */
export type RemoteAnswer<T> = { readonly ok: true; readonly value: T; readonly json: unknown } | Unwelcome;

type Call<T> = {
  /** GET where it is left out. */
  readonly method?: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /api/v1. */
  readonly path: string;
  readonly body?: object;
  /** What is read of the answer; whatever else a newer Rollcall says is left alone. */
  readonly shape: z.ZodType<T>;
};

/** A pause or an edit of a job that owes a hundred thousand occurrences takes Rollcall longer than a job would wait. */
const PATIENCE_MS = 60_000;

/** Asks a running Rollcall, for a minute at most. Never throws for what the network or the other side does. */
export type Ask = <T>(call: Call<T>) => Promise<RemoteAnswer<T>>;

export type CommandDeps = Output & { readonly ask: Ask };

const problemShape = z.object({ type: z.string(), detail: z.string() });

/** Calls the API at `url` with this key. */
function createAsk({ url, apiKey }: Remote): Ask {
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  return async ({ method = 'GET', path, body, shape }) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await request({ method, url: `${url}/api/v1${path}`, headers, timeoutMs: PATIENCE_MS, ...sent });
    if (answer.kind === 'away') return unreachable(`cannot reach Rollcall at ${url}: ${answer.reason}`);
    if (answer.status < 200 || answer.status > 299) return unwelcome(url, answer);
    const read = shape.safeParse(answer.json);
    if (read.success) return { ok: true, value: read.data, json: answer.json };
    return unreachable(`what answers at ${url} is not the API of Rollcall: look at ROLLCALL_URL`);
  };
}

/** Runs a command against the Rollcall that the environment names. */
export async function withRemote(
  env: NodeJS.ProcessEnv,
  output: Output,
  command: (deps: CommandDeps) => Promise<ExitCode>,
): Promise<ExitCode> {
  const remote = readRemote(env);
  if (remote.ok) return command({ ...output, ask: createAsk(remote.value) });
  output.err(`rollcall: ${remote.reason}\n`);
  return EXIT.cannotStart;
}

/** Says why a command ends without what was asked for; with --json also what the API said. */
export function giveUp({ out, err }: Output, { exit, reason, json }: Unwelcome, asJson = false): ExitCode {
  if (asJson && json !== undefined) out(`${JSON.stringify(json)}\n`);
  err(`rollcall: ${reason}\n`);
  return exit;
}

/** The path of a job below /api/v1, or why this names none: `..` would lead elsewhere. */
export function jobPath(slug: string): { readonly ok: true; readonly path: string } | Unwelcome {
  if (isSlug(slug)) return { ok: true, path: `/jobs/${slug}` };
  return refusedCall(`no job is called ${JSON.stringify(slug)}: a slug is 1 to 100 of a-z, 0-9, "-" and "_"`);
}

/** What was asked for makes no sense; nobody was asked. */
export function refusedCall(reason: string): Unwelcome {
  return { ok: false, exit: EXIT.refused, reason };
}

function unreachable(reason: string): Unwelcome {
  return { ok: false, exit: EXIT.unreachable, reason };
}

function unwelcome(url: string, { status, headers, json }: Extract<HttpAnswer, { kind: 'answer' }>): Unwelcome {
  const location = headers.get('location');
  if (location !== null) return unreachable(`${url} leads to ${location}: write in ROLLCALL_URL where it leads to`);
  const problem = problemShape.safeParse(json);
  if (!problem.success) {
    return unreachable(`${url} answered with status ${status}, and not as Rollcall does: look at ROLLCALL_URL`);
  }
  const { detail } = problem.data;
  if (status === 401) {
    return {
      ok: false,
      exit: EXIT.cannotStart,
      reason: `Rollcall does not know this ROLLCALL_API_KEY: ${detail}`,
      json,
    };
  }
  const refusal = status === 404 ? EXIT.notFound : EXIT.refused;
  return { ok: false, exit: status >= 500 ? EXIT.unreachable : refusal, reason: detail, json };
}
