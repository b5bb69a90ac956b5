import type { Context } from 'hono';
import { formatKey } from '../../core/key.ts';
import { parseSchedules, type ScheduleSpec, scheduleWarnings, timetable } from '../../core/schedule.ts';
import { formatInstant, type Instant, LAST_INSTANT, restorePlus } from '../../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../../core/zone.ts';
import type { Zones } from '../../zones.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { instantParameter, limitParameter, type PageSize, type Query, readQuery, textParameter } from './query.ts';
import { invalid } from './refusal.ts';
import { instantParameterOf, limitParameterOf, previewQuery, previewSchema, textParameterOf } from './schemas.ts';

const PREVIEW_SIZE: PageSize = { usual: 100, most: 10_000 };

/** When a schedule would be due. */
export function previewEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [
    {
      tag: 'Preview',
      method: 'get',
      path: '/preview',
      id: 'preview',
      summary: 'When a schedule is due, oldest first, and what may surprise about it',
      query: previewQuery({
        cron: textParameterOf('A cron expression; or give every.'),
        every: textParameterOf('A duration; or give cron.'),
        anchor: instantParameterOf('With every: where its phase is fixed. Default: the Unix epoch.'),
        zone: textParameterOf('Required: a tz database name, or UTC.'),
        after: instantParameterOf('Due later than this. Default: now.'),
        until: instantParameterOf('Due at this instant or before.'),
        limit: limitParameterOf(PREVIEW_SIZE),
      }),
      answers: {
        200: { description: 'The first due instants.', schema: previewSchema },
        400: problemAnswer('A parameter is wrong.'),
      },
      run: (c) => preview(deps, c),
    },
  ];
}

async function preview({ database, zones }: ApiDeps, c: Context): Promise<Response> {
  const query = readQuery(c, ['cron', 'every', 'anchor', 'zone', 'after', 'until', 'limit']);
  const zone = zoneParameter(query, zones);
  const schedules = scheduleParameters(query, zone);
  const limit = limitParameter(query, PREVIEW_SIZE);
  const now = await database.transaction(async (tx) => tx.now);
  const after = instantParameter(query, 'after') ?? now;
  const until = instantParameter(query, 'until') ?? LAST_INSTANT;
  if (after > until) query.errors.push({ path: 'until', message: 'must not be before after, or now' });
  if (query.errors.length > 0) return invalid(query.errors);
  const occurrences = firstInstants(schedules, { zone, after, until, limit }).map((at) => ({
    key: formatKey(at, zone),
    scheduled_for: formatInstant(at),
  }));
  return Response.json({ occurrences, warnings: scheduleWarnings(schedules, zone, now) });
}

/** The zone, or UTC in its place, so that the schedule beside a wrong zone is looked at too. */
function zoneParameter(query: Query, zones: Zones): Zone {
  const name = textParameter(query, 'zone');
  const zone = name === null ? null : zones.get(name);
  if (zone?.ok) return zone.value;
  const required = 'zone is required: write a name such as Europe/Berlin, or UTC';
  query.errors.push({ path: 'zone', message: zone?.reason ?? required });
  return zoneOf(UTC_TABLE);
}

function scheduleParameters(query: Query, zone: Zone): readonly ScheduleSpec[] {
  const cron = textParameter(query, 'cron');
  const every = textParameter(query, 'every');
  const anchor = textParameter(query, 'anchor');
  if ((cron === null) === (every === null)) {
    query.errors.push({ path: 'cron', message: 'give either cron, such as 30 2 * * *, or every, such as 2h' });
    return [];
  }
  const form = {
    ...(cron === null ? {} : { cron }),
    ...(every === null ? {} : { every }),
    ...(anchor === null ? {} : { anchor: restorePlus(anchor) }),
  };
  const schedules = parseSchedules([form], zone);
  if (schedules.ok) return schedules.value;
  query.errors.push(
    ...schedules.errors.map(({ path, message }) => ({
      path: path.replace(/^schedules\[0\]\.?/, '') || 'cron',
      message,
    })),
  );
  return [];
}

type Window = { readonly zone: Zone; readonly after: Instant; readonly until: Instant; readonly limit: number };

function firstInstants(schedules: readonly ScheduleSpec[], { zone, after, until, limit }: Window): readonly Instant[] {
  const found: Instant[] = [];
  for (const { at } of timetable(schedules, zone).dueIn(after, until)) {
    found.push(at);
    if (found.length === limit) break;
  }
  return found;
}
