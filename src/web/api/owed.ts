import type { Context } from 'hono';
import { floorToSecond, formatInstant, LAST_INSTANT } from '../../core/time.ts';
import { type OwedCursor, type OwedReading, readOwed } from '../../engine/reading-owed.ts';
import { readJob } from '../../store/jobs.ts';
import type { Caller } from './auth.ts';
import { caughtUpJob, slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { cursorAfter, cursorParameter, LIST_SIZE, limitParameter, readQuery } from './query.ts';
import { invalid, noSuchJob } from './refusal.ts';
import { listOf, listQuery, owedSchema } from './schemas.ts';

/** What still has to run. */
export function owedEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      tag: 'Owed',
      method: 'get',
      path: '/jobs/{slug}/owed',
      id: 'listOwed',
      summary: 'What a job owes, oldest first: past its deadline, unfinished, and still wanted',
      description: 'Empty for skip and heartbeats. What a runner is at work on is not listed.',
      query: listQuery(LIST_SIZE),
      answers: {
        200: { description: 'A page of what is owed.', schema: listOf('owed', owedSchema) },
        400: problemAnswer('A parameter is wrong.'),
        404: problemAnswer('There is no such job.'),
      },
      run: (c, caller) => list(deps, c, caller),
    },
  ];
}

async function list(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const from = cursorParameter(query, readCursor);
  if (query.errors.length > 0) return invalid(query.errors);
  const id = await caughtUpJob(deps, caller, slugOf(c));
  if (id === null) return noSuchJob();
  const page = await deps.database.transaction(async (tx) => {
    const stored = await readJob(tx, id);
    return stored && readOwed(tx, stored, { from, limit, zones: deps.zones });
  });
  if (page === null) return noSuchJob();
  return Response.json({ owed: page.owed.map(owedJson), next_cursor: page.next && cursorOf(page.next) });
}

function owedJson({ key, scheduledFor, state, usefulUntil, runAfter, unconfirmed }: OwedReading) {
  return {
    key,
    scheduled_for: formatInstant(scheduledFor),
    state,
    useful_until: usefulUntil === null ? null : formatInstant(usefulUntil),
    run_after: runAfter === null ? null : formatInstant(runAfter),
    unconfirmed,
  };
}

/** A cursor carries how many wait before its page, because they are handed out first. */
function cursorOf({ after, waiting }: OwedCursor): string {
  return cursorAfter(`${after} ${waiting}`);
}

function readCursor(position: string): OwedCursor | null {
  const [, after = '', waiting = ''] = /^(\d{1,15}) (\d{1,9})$/.exec(position) ?? [];
  const at = Number(after);
  const isDue = after !== '' && at <= LAST_INSTANT && at === floorToSecond(at);
  return isDue ? { after: at, waiting: Number(waiting) } : null;
}
