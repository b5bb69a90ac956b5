import type { Context } from 'hono';
import { formatKey } from '../../core/key.ts';
import { formatInstant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { readableJob } from '../../engine/reading.ts';
import { type ClockLedger, versionAt } from '../../engine/reading-clock.ts';
import { readJob } from '../../store/jobs.ts';
import { pageOfPings, readPingBody, type StoredPing } from '../../store/reading.ts';
import { readKeyZones } from '../../store/version-zones.ts';
import type { TableName } from '../../store/zone-tables.ts';
import type { Caller } from './auth.ts';
import { caughtUpJob, slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { LIST_SIZE, limitParameter, numberCursor, pageOf, readQuery } from './query.ts';
import { invalid, noSuchJob, notFound } from './refusal.ts';
import { listOf, listQuery, pingSchema, textSchema } from './schemas.ts';

/** What was heard about a job. */
export function pingEndpoints(deps: ApiDeps): readonly Endpoint[] {
  const tag = 'Pings';
  return [
    {
      tag,
      method: 'get',
      path: '/jobs/{slug}/pings',
      id: 'listPings',
      summary: 'The pings of a job, newest first, unmatched ones included',
      query: listQuery(LIST_SIZE),
      answers: {
        200: { description: 'A page of pings.', schema: listOf('pings', pingSchema) },
        400: problemAnswer('A parameter is wrong.'),
        404: problemAnswer('There is no such job.'),
      },
      run: (c, caller) => list(deps, c, caller),
    },
    {
      tag,
      method: 'get',
      path: '/jobs/{slug}/pings/{id}/body',
      id: 'getPingBody',
      summary: 'What a ping said, as it was sent',
      answers: {
        200: { description: 'The bytes; empty when it said nothing.', schema: textSchema, type: 'text/plain' },
        404: problemAnswer('There is no such job or ping.'),
      },
      run: (c, caller) => body(deps, c, caller),
    },
  ];
}

async function list(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const before = numberCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const id = await caughtUpJob(deps, caller, slugOf(c));
  if (id === null) return noSuchJob();
  const found = await deps.database.transaction(async (tx) => {
    const stored = await readJob(tx, id);
    if (!stored) return null;
    const { clock } = await readableJob(tx, stored, deps.zones);
    const pings = await pageOfPings(tx, id, { before, limit: limit + 1 });
    const zoneOf = await readKeyZones(tx, deps.zones, pings.flatMap(tableOf));
    return pings.map((ping) => pingJson(ping, keyOf(ping, clock, zoneOf)));
  });
  if (!found) return noSuchJob();
  const { page, nextCursor } = pageOf(found, limit, (ping) => ping.id);
  return Response.json({ pings: page, next_cursor: nextCursor });
}

function tableOf({ zone, tzVersion }: StoredPing): readonly TableName[] {
  return zone === null || tzVersion === null ? [] : [{ zone, tzVersion }];
}

function pingJson(ping: StoredPing, key: string | null) {
  return {
    id: ping.id,
    kind: ping.kind,
    exit_code: ping.exitCode,
    rid: ping.rid,
    received_at: formatInstant(ping.receivedAt),
    at: formatInstant(ping.at),
    key,
    matched_by: ping.matchedBy,
    source: ping.source,
    user_agent: ping.userAgent,
    body_bytes: ping.bodyBytes,
    truncated: ping.truncated,
  };
}

/** A log ping makes no row: its occurrence may be known to the clock alone, and is written in the zone of its version. */
function keyOf(ping: StoredPing, clock: ClockLedger, zoneOf: (version: TableName) => Zone): string | null {
  const { scheduledFor: at } = ping;
  if (at === null) return null;
  const [table] = tableOf(ping);
  const zone = table ? zoneOf(table) : (versionAt(clock, at) ?? clock.versions[0])?.zone;
  return zone ? formatKey(at, zone) : formatInstant(at);
}

/** Whatever a client sent must be nothing but text to a browser that opens it (SEC-007). */
const BODY_HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cache-Control': 'private, no-store',
} as const;

async function body(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const id = await caughtUpJob(deps, caller, slugOf(c));
  if (id === null) return noSuchJob();
  const text = c.req.param('id') ?? '';
  const bytes = /^\d{1,15}$/.test(text)
    ? await deps.database.transaction((tx) => readPingBody(tx, id, Number(text)))
    : null;
  if (bytes === null) return notFound('this job has no ping of this id: GET /api/v1/jobs/{slug}/pings lists them');
  const disposition = `attachment; filename="ping-${Number(text)}.txt"`;
  return new Response(Uint8Array.from(bytes), { headers: { ...BODY_HEADERS, 'Content-Disposition': disposition } });
}
