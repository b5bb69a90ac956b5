import type { Context } from 'hono';
import type { ReportDefinition } from '../../core/report.ts';
import { newestComplete, type Period, periodAt, periodNamed } from '../../core/report-period.ts';
import { formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { makeReport } from '../../engine/report-making.ts';
import { REPORT_AFTER_MS, sendReportNow } from '../../engine/reports.ts';
import { recordAudit } from '../../store/job-writing.ts';
import {
  deleteReport,
  emailChannels,
  getReport,
  listReports,
  putReport,
  type StoredReport,
} from '../../store/reports.ts';
import type { Caller } from './auth.ts';
import { readJsonObject } from './body.ts';
import { slugOf } from './bring-to-now.ts';
import type { ApiDeps } from './deps.ts';
import { type Endpoint, problemAnswer } from './endpoint.ts';
import { readFields, refuseField } from './fields.ts';
import { LIST_SIZE, limitParameter, pageOf, readQuery, slugCursor, textParameter } from './query.ts';
import { invalid, notFound, unreadable } from './refusal.ts';
import { REPORT_FIELDS, readReport } from './report-definition.ts';
import { reportDefinitionSchema, reportNumbersSchema, reportSchema, sentReportSchema } from './report-schemas.ts';
import { listOf, listQuery, previewQuery, textParameterOf } from './schemas.ts';
import { isSlug } from './slug.ts';

const NO_REPORT = problemAnswer('There is no such report.');
const COMMON = { tag: 'Reports', path: '/reports/{slug}' };

/** What people are told every week or month. */
export function reportEndpoints(deps: ApiDeps): readonly Endpoint[] {
  return [put(deps), list(deps), get(deps), remove(deps), preview(deps), send(deps)];
}

function put(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'put',
    id: 'putReport',
    summary: 'Creates a report, or replaces its settings',
    description: 'The first one that is sent is of the period in course.',
    body: reportDefinitionSchema,
    answers: {
      200: { description: 'The report, replaced.', schema: reportSchema },
      201: { description: 'The report, created.', schema: reportSchema },
      400: problemAnswer('Everything that is wrong with the report.'),
      413: problemAnswer('The body is too large.'),
    },
    run: (c, caller) => answerPut(deps, c, caller),
  };
}

function list(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/reports',
    method: 'get',
    id: 'listReports',
    summary: 'Reports by slug',
    query: listQuery(LIST_SIZE),
    answers: {
      200: { description: 'A page of reports.', schema: listOf('reports', reportSchema) },
      400: problemAnswer('A parameter is wrong.'),
    },
    run: (c, caller) => answerList(deps, c, caller),
  };
}

function get(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'get',
    id: 'getReport',
    summary: 'One report',
    answers: { 200: { description: 'The report.', schema: reportSchema }, 404: NO_REPORT },
    run: async (c, caller) => {
      const report = await findReport(deps, c, caller);
      return report ? Response.json(await reportJson(deps, report)) : noSuchReport();
    },
  };
}

function remove({ database }: ApiDeps): Endpoint {
  return {
    ...COMMON,
    method: 'delete',
    id: 'deleteReport',
    summary: 'Deletes a report',
    answers: { 204: { description: 'It is gone; what is on its way still arrives.' }, 404: NO_REPORT },
    run: async (c, { projectId, actor }) => {
      const slug = slugOf(c);
      const deleted = await database.transaction(async (tx) => {
        const isGone = isSlug(slug) && (await deleteReport(tx, projectId, slug));
        if (isGone) await recordAudit(tx, { projectId, actor, action: 'report.delete', subject: slug });
        return isGone;
      });
      return deleted ? new Response(null, { status: 204 }) : noSuchReport();
    },
  };
}

function preview(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/reports/{slug}/preview',
    method: 'get',
    id: 'previewReport',
    summary: 'The numbers of a report; nothing is sent',
    query: previewQuery({
      period: textParameterOf('A week such as 2026-W53 or a month such as 2026-10. Default: the newest that is over.'),
    }),
    answers: {
      200: { description: 'The numbers.', schema: reportNumbersSchema },
      400: problemAnswer('There is no such period, or it has not begun.'),
      404: NO_REPORT,
    },
    run: (c, caller) => answerPreview(deps, c, caller),
  };
}

function send(deps: ApiDeps): Endpoint {
  return {
    ...COMMON,
    path: '/reports/{slug}/send',
    method: 'post',
    id: 'sendReport',
    summary: 'Sends the newest period that is over, now; what is due by itself still comes',
    answers: { 202: { description: 'It is on its way.', schema: sentReportSchema }, 404: NO_REPORT },
    run: async (c, caller) => {
      const stored = await findReport(deps, c, caller);
      if (!stored) return noSuchReport();
      const sent = await sendReportNow(deps, stored);
      if (!sent.ok) return unknownZone(sent.reason);
      const { projectId, actor } = caller;
      const detail = { period: sent.value.period.name };
      await deps.database.transaction((tx) =>
        recordAudit(tx, { projectId, actor, action: 'report.send', subject: stored.slug, detail }),
      );
      return Response.json({ period: sent.value.period.name, channels: sent.value.channels }, { status: 202 });
    },
  };
}

async function answerPut(deps: ApiDeps, c: Context, { projectId, actor }: Caller): Promise<Response> {
  const slug = slugOf(c);
  const body = await readJsonObject(c);
  if (!body.ok) return unreadable(body.status, body.detail);
  const fields = readFields(body.value, REPORT_FIELDS);
  if (!isSlug(slug)) refuseField(fields, 'slug', 'a slug is 1 to 100 of a-z, 0-9, "-" and "_"');
  const emails = await deps.database.transaction((tx) => emailChannels(tx, projectId));
  const { definition, zone } = readReport(fields, { zones: deps.zones, emails });
  if (fields.errors.length > 0 || zone === null) return invalid(fields.errors);
  const { report, created } = await deps.database.transaction(async (tx) => {
    const sentUntil = newestComplete(tx.now, definition.every, zone).endsAt;
    const put = await putReport(tx, { projectId, slug, definition, sentUntil });
    const detail = { created: put.created, ...definition };
    await recordAudit(tx, { projectId, actor, action: 'report.put', subject: slug, detail });
    return put;
  });
  return Response.json(await reportJson(deps, report), { status: created ? 201 : 200 });
}

async function answerList(deps: ApiDeps, c: Context, { projectId }: Caller): Promise<Response> {
  const query = readQuery(c, ['limit', 'cursor']);
  const limit = limitParameter(query);
  const after = slugCursor(query);
  if (query.errors.length > 0) return invalid(query.errors);
  const { found, known, now } = await deps.database.transaction(async (tx) => ({
    found: await listReports(tx, projectId, { after, limit: limit + 1 }),
    known: await emailChannels(tx, projectId),
    now: tx.now,
  }));
  const { page, nextCursor } = pageOf(found, limit, ({ slug }) => slug);
  return Response.json({ reports: page.map((one) => jsonOf(one, { deps, known, now })), next_cursor: nextCursor });
}

async function answerPreview(deps: ApiDeps, c: Context, caller: Caller): Promise<Response> {
  const query = readQuery(c, ['period']);
  const name = textParameter(query, 'period');
  const stored = await findReport(deps, c, caller);
  if (!stored) return query.errors.length > 0 ? invalid(query.errors) : noSuchReport();
  const zone = deps.zones.get(stored.definition.zone);
  if (!zone.ok) return unknownZone(zone.reason);
  const now = await deps.database.transaction(async (tx) => tx.now);
  const period = name === null ? null : begunPeriod(name, zone.value, now);
  if (typeof period === 'string') query.errors.push({ path: 'period', message: period });
  if (query.errors.length > 0 || typeof period === 'string') return invalid(query.errors);
  const made = await makeReport(deps, { ...stored, period });
  return made.ok ? Response.json(made.value.report) : unknownZone(made.reason);
}

/** The period of this name, or what is wrong with it. */
function begunPeriod(name: string, zone: Zone, now: Instant): Period | string {
  const period = periodNamed(name, zone);
  if (!period) return 'is no week or month: write 2026-W53 or 2026-10';
  return period.startsAt <= now ? period : `has not begun: it begins at ${formatInstant(period.startsAt)}`;
}

async function findReport({ database }: ApiDeps, c: Context, { projectId }: Caller): Promise<StoredReport | null> {
  const slug = slugOf(c);
  return isSlug(slug) ? database.transaction((tx) => getReport(tx, projectId, slug)) : null;
}

function noSuchReport(): Response {
  return notFound('there is no report of this slug in the project: GET /api/v1/reports lists them');
}

/** The report was put on a host with other time zone data. */
function unknownZone(reason: string): Response {
  return invalid([{ path: 'zone', message: reason }]);
}

async function reportJson(deps: ApiDeps, stored: StoredReport) {
  const { known, now } = await deps.database.transaction(async (tx) => ({
    known: await emailChannels(tx, stored.projectId),
    now: tx.now,
  }));
  return jsonOf(stored, { deps, known, now });
}

type Showing = { readonly deps: ApiDeps; readonly known: ReadonlySet<string>; readonly now: Instant };

function jsonOf({ slug, definition, createdAt, sentUntil }: StoredReport, { deps, known, now }: Showing) {
  const { every, zone: name, channels, tags } = definition;
  const zone = deps.zones.get(name);
  const lost = channels.filter((channel) => !known.has(channel));
  return {
    slug,
    every,
    zone: name,
    channels,
    tags,
    created_at: formatInstant(createdAt),
    sent_until: formatInstant(sentUntil),
    next: zone.ok ? nextOf(zone.value, { every, sentUntil, now }) : null,
    warnings: [
      ...lost.map((channel) => `there is no e-mail channel ${channel} any more: nothing is sent there`),
      ...(zone.ok ? [] : [zone.reason]),
    ],
  };
}

type Next = { readonly every: ReportDefinition['every']; readonly sentUntil: Instant; readonly now: Instant };

/** What is sent next by itself: the newest one that is over, if it was not sent yet, else the one in course. */
function nextOf(zone: Zone, { every, sentUntil, now }: Next) {
  const over = newestComplete(now, every, zone);
  const period = over.endsAt > sentUntil ? over : periodAt(now, every, zone);
  return { period: period.name, due_at: formatInstant(period.endsAt + REPORT_AFTER_MS) };
}
