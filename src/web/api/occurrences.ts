import type { Context } from 'hono';
import { type KeySpelling, parseKey } from '../../core/key.ts';
import { type State, states } from '../../core/occurrence.ts';
import { formatInstant, type Instant } from '../../core/time.ts';
import { listOccurrences, type OccurrenceReading, readableJob } from '../../engine/reading.ts';
import { findOccurrence, type KeyLookup } from '../../engine/reading-key.ts';
import { readJob } from '../../store/jobs.ts';
import { problem } from '../problem.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { caughtUpJob, slugOf } from './bring-to-now.ts';
import { LIMITS } from './definition.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, JOB_BROKEN, problemAnswer } from './endpoint.ts';
import { fieldValue, readFields, refuseField, textField } from './fields.ts';
import {
  instantParameter,
  LIST_SIZE,
  limitParameter,
  listParameter,
  numberCursor,
  pageOf,
  type Query,
  readQuery,
} from './query.ts';
import { invalid, noSuchJob, unreadable } from './refusal.ts';
import { instantParameterOf, listOf, listQuery, occurrenceSchema, settleSchema, textParameterOf } from './schemas.ts';

const STATES_TEXT = `One or several of ${states.join(', ')}, separated by commas or repeated.`;
const OCCURRENCE = { description: 'The occurrence.', schema: occurrenceSchema };
const NOT_THERE = problemAnswer(
  'There is no such job, or its ledger has no such occurrence: then with the nearest ones.',
);

const EVER = { after: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

const COMMON = { tag: 'Occurrences', path: '/jobs/{slug}/occurrences/{key}' };

/** The ledger of a job: its occurrences, one of them, and a person's word on it. */
export function occurrenceEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [list(deps), get(deps), patch(deps)];
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/jobs/{slug}/occurrences',
    method: 'get',
    id: 'listOccurrences',
    summary: 'The occurrences of a job, newest first',
    description:
      'What is due and has no row yet is listed like the rest. Without `until`, what is settled already is listed too ' +
      'although it is due later: a heartbeat, which is done before it is due, or an occurrence completed `early`. What ' +
      'else is due later is listed only where `until` asks.',
    query: listQuery(LIST_SIZE, {
      after: instantParameterOf('Due later than this. Default: the creation of the job.'),
      until: instantParameterOf(
        'Due at this instant or before. Default: now, and what is settled already although due later.',
      ),
      state: textParameterOf(STATES_TEXT),
    }),
    answers: {
      200: { description: 'A page of occurrences.', schema: listOf('occurrences', occurrenceSchema) },
      400: problemAnswer('A parameter is wrong.'),
      404: problemAnswer('There is no such job.'),
    },
    run: (c, caller) => answerList(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getOccurrence',
    summary: 'One occurrence by its key: is 2026-08-04 done?',
    answers: { 200: OCCURRENCE, 400: problemAnswer('The key cannot be read.'), 404: NOT_THERE },
    run: async (c, caller) => {
      const found = await lookUp(deps, c, caller);
      return found instanceof Response ? found : Response.json(occurrenceJson(found));
    },
  };
}

function patch(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'patch',
    id: 'settleOccurrence',
    summary: 'A person settles an occurrence',
    body: settleSchema,
    answers: {
      200: OCCURRENCE,
      400: problemAnswer('The key or the decision cannot be read.'),
      404: NOT_THERE,
      409: JOB_BROKEN,
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => settle(deps, c, caller),
  };
}

/** An occurrence as the API answers with it. */
function occurrenceJson(occurrence: OccurrenceReading) {
  const at = (instant: Instant | null): string | null => (instant === null ? null : formatInstant(instant));
  return {
    key: occurrence.key,
    scheduled_for: formatInstant(occurrence.scheduledFor),
    state: occurrence.state,
    reason: occurrence.reason,
    owed: occurrence.owed,
    completions: occurrence.completions,
    stands_for: occurrence.standsFor,
    started_at: at(occurrence.startedAt),
    completed_at: at(occurrence.completedAt),
    duration_ms: occurrence.durationMs,
    covered_by: occurrence.coveredBy,
    matched_by: occurrence.matchedBy,
    note: occurrence.note,
  };
}

async function answerList(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['after', 'until', 'state', 'limit', 'cursor'], ['state']);
  const asked = {
    after: instantParameter(query, 'after'),
    until: instantParameter(query, 'until'),
    states: statesParameter(query),
    limit: limitParameter(query),
    // A page continues strictly before the last occurrence of the one before.
    before: numberCursor(query) ?? Number.POSITIVE_INFINITY,
  };
  if (asked.after !== null && asked.until !== null && asked.after > asked.until) {
    query.errors.push({ path: 'until', message: 'must not be before after: the interval is (after, until]' });
  }
  if (query.errors.length > 0) return invalid(query.errors);
  const id = await caughtUpJob(deps, caller, slugOf(c));
  if (id === null) return noSuchJob();
  const found = await deps.database.transaction(async (tx) => {
    const stored = await readJob(tx, id);
    if (!stored) return null;
    const window = {
      after: asked.after ?? stored.createdAt,
      until: Math.min(asked.until ?? tx.now, asked.before - 1),
      states: asked.states,
    };
    const job = await readableJob(tx, stored, deps.zones);
    // Whoever names an `until` gets what is due by then, to the letter.
    const ahead = asked.until === null ? { dueUntil: asked.before - 1, ...EVER } : null;
    return listOccurrences(tx, job, window, { limit: asked.limit + 1, zones: deps.zones, ahead });
  });
  if (!found) return noSuchJob();
  const { page, nextCursor } = pageOf(found, asked.limit, ({ scheduledFor }) => scheduledFor);
  return Response.json({ occurrences: page.map(occurrenceJson), next_cursor: nextCursor });
}

function statesParameter(query: Query): readonly State[] | null {
  const words = listParameter(query, 'state');
  if (words === null) return null;
  const known = words.flatMap((word) => states.filter((state) => state === word));
  if (known.length === words.length) return known;
  query.errors.push({ path: 'state', message: `unknown state: use ${states.join(', ')}` });
  return null;
}

/** The occurrence of the key in the path, or the answer that says why there is none. */
async function lookUp(deps: ApiDeps, c: Context, caller: Caller): Promise<OccurrenceReading | Response> {
  const spelling = parseKey(c.req.param('key') ?? '');
  if (!spelling.ok) return invalid([{ path: 'key', message: spelling.reason }]);
  const lookup = await readOccurrence(deps, c, caller, spelling.value);
  if (lookup === null) return noSuchJob();
  return lookup.found === 'one' ? lookup.occurrence : noSuchOccurrence(lookup);
}

async function readOccurrence(
  deps: ApiDeps,
  c: Context,
  caller: Caller,
  spelling: KeySpelling,
): Promise<KeyLookup | null> {
  const id = await caughtUpJob(deps, caller, slugOf(c));
  if (id === null) return null;
  return deps.database.transaction(async (tx) => {
    const stored = await readJob(tx, id);
    return stored && findOccurrence(tx, await readableJob(tx, stored, deps.zones), spelling, deps.zones);
  });
}

function noSuchOccurrence({ found, nearest }: Exclude<KeyLookup, { readonly found: 'one' }>): Response {
  const keys = nearest.map(({ key }) => key).join(' and ');
  const why =
    found === 'several' ? 'this date has more than one occurrence' : 'the ledger has no occurrence of this key';
  const hint =
    nearest.length === 0
      ? 'none is recorded or to come'
      : `${found === 'several' ? 'the first are' : 'nearest:'} ${keys}`;
  return problem(404, { type: 'not_found', detail: `${why}; ${hint}` });
}

async function settle(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const fields = readFields(body.value, ['state', 'note']);
  const state = (['skipped', 'on_time'] as const).find((known) => known === fieldValue(fields, 'state'));
  if (state === undefined) refuseField(fields, 'state', 'must be "skipped" or "on_time"');
  const note = textField(fields, 'note', { max: LIMITS.reason, fallback: '', lines: true });
  if (state === undefined || fields.errors.length > 0) return invalid(fields.errors);
  const occurrence = await lookUp(deps, c, caller);
  if (occurrence instanceof Response) return occurrence;
  const { scheduledFor } = occurrence;
  const outcome = await deps.changes.settle(caller.projectId, slugOf(c), scheduledFor, { state, note }, caller.actor);
  if (outcome === 'no_job') return noSuchJob();
  if (outcome === 'no_occurrence') return noSuchOccurrence({ found: 'none', nearest: [] });
  // By its instant: a key that is ambiguous may name another one now.
  const settled = await readOccurrence(deps, c, caller, { kind: 'instant', at: scheduledFor });
  return settled?.found === 'one' ? Response.json(occurrenceJson(settled.occurrence)) : noSuchJob();
}
