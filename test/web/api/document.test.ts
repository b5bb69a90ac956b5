import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createApiKey } from '../../../src/store/api-keys.ts';
import { createHttpReceiver } from '../../support/receivers.ts';
import { KEY, startApi, type TestApi } from './api.ts';

type Operation = {
  readonly operationId: string;
  readonly responses: Record<
    string,
    { readonly description: string; readonly content?: Record<string, { schema: object }> }
  >;
};
type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
};

let t: TestApi;
let document: Document;
/** `operation status` of everything that was answered and fits the document. */
const seen = new Set<string>();

beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
  document = (await t.call('GET', '/openapi.json', undefined, { Authorization: '' })).json;
});
afterAll(() => t.drop());

/** All calls of the document: method, path, operation. */
const operations = (): readonly [string, string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => [method, path, operation]),
  );

/** The schema with every reference replaced by what it refers to. */
function resolved(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(resolved);
  if (typeof schema !== 'object' || schema === null) return schema;
  const ref = (schema as { $ref?: string }).$ref;
  if (ref !== undefined) return resolved(document.components.schemas[ref.split('/').at(-1) ?? '']);
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, resolved(value)]));
}

/** Calls, and holds the answer against what the document says about it. */
async function call(
  id: string,
  values: Record<string, string>,
  options: { query?: string; body?: unknown; key?: string | null; api?: TestApi['api'] } = {},
) {
  const [method, path, operation] = operations().find(([, , { operationId }]) => operationId === id) ?? [];
  if (!method || !path || !operation) throw new Error(`the document knows no ${id}`);
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'x'));
  const { query = '', body, key = KEY, api = t.api } = options;
  const response = await api.request(target + query, {
    method: method.toUpperCase(),
    headers: { 'Content-Type': 'application/json', ...(key === null ? {} : { Authorization: `Bearer ${key}` }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const answer = operation.responses[String(response.status)];
  expect(answer, `${id} answers ${response.status}, which the document does not know`).toBeDefined();
  const [type, content] = Object.entries(answer?.content ?? {})[0] ?? [null, null];
  const text = await response.text();
  if (type === null) expect(text).toBe('');
  else expect(response.headers.get('content-type')).toContain(type);
  const json = type?.includes('json') ? JSON.parse(text) : text;
  if (content) z.fromJSONSchema(resolved(content.schema) as never).parse(json);
  seen.add(`${id} ${response.status}`);
  return json;
}

test('the document is OpenAPI 3.1, needs no key, and every call in it is routed', async () => {
  expect(document.openapi).toBe('3.1.0');
  expect(operations().length).toBeGreaterThanOrEqual(24);
  expect(new Set(operations().map(([, , { operationId }]) => operationId)).size).toBe(operations().length);
});

test('the document allows null only where it is taken: a schedule wants its period', () => {
  const definition = z.fromJSONSchema(resolved(document.components.schemas['JobDefinition']) as never);
  const daily = { zone: 'UTC', schedules: [{ every: '1d' }], grace: null };
  expect(definition.safeParse(daily).success).toBe(true);
  for (const schedule of [{ every: null }, { heartbeat: null }])
    expect(definition.safeParse({ ...daily, schedules: [schedule] }).success).toBe(false);
});

test('every call wants a key, and says so', async () => {
  for (const [, , { operationId }] of operations()) await call(operationId, {}, { key: null });
});

test('jobs, occurrences, pings and preview answer as documented', async () => {
  const body = {
    schedules: [{ cron: '0 * * * *' }, { every: '2h' }],
    zone: 'UTC',
    missed_runs: 'catch_up',
    grace: '10m',
  };
  const slug = 'documented';
  await call('putJob', { slug }, { body });
  await call('putJob', { slug }, { body: { ...body, tags: ['a'] } });
  await call('putJob', { slug }, { body: {} });
  await call('putJob', { slug }, { body: 'x'.repeat(300_000) });
  await call('listJobs', {});
  await call('listJobs', {}, { query: '?limit=none' });
  await call('getJob', { slug });
  await t.at('2026-03-01T14:20:00Z');
  await t.ping(slug, 'start');
  await t.ping(slug, 'success', {
    exitCode: 0,
    rid: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e',
    body: Buffer.from('hello'),
    bodyBytes: 5,
  });
  await call('listOccurrences', { slug }, { query: '?until=2026-03-02T00:00:00Z' });
  await call('listOccurrences', { slug }, { query: '?state=done' });
  await call('listOccurrences', { slug: 'nobody' });
  const key = '2026-03-01T13:00';
  await call('getOccurrence', { slug, key });
  await call('getOccurrence', { slug, key: 'then' });
  await call('getOccurrence', { slug, key: '2026-03-01T13:30' });
  await call('settleOccurrence', { slug, key }, { body: { state: 'on_time', note: 'by hand' } });
  await call('settleOccurrence', { slug, key }, { body: { state: 'late' } });
  await call('settleOccurrence', { slug, key: '2026-03-01T13:30' }, { body: { state: 'skipped' } });
  await call('settleOccurrence', { slug, key }, { body: 'x'.repeat(300_000) });
  const { pings } = (await call('listPings', { slug })) as { pings: { id: number }[] };
  await call('listPings', { slug }, { query: '?cursor=x' });
  await call('listPings', { slug: 'nobody' });
  expect(await call('getPingBody', { slug, id: String(pings[0]?.id) })).toBe('hello');
  await call('getPingBody', { slug, id: '0' });
  await call('pauseJob', { slug });
  await call('resumeJob', { slug });
  await call('preview', {}, { query: '?cron=0+2+*+*+*&zone=Europe/Berlin' });
  await call('preview', {}, { query: '?cron=0+2+*+*+*' });
  await call('trustClock', {});
  await call('deleteJob', { slug });
  for (const id of ['getJob', 'deleteJob', 'pauseJob', 'resumeJob']) await call(id, { slug });
});

test('what is owed, claims and decisions answer as documented', async () => {
  const slug = 'owing';
  const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC' };
  await t.at('2026-03-01T12:30:00Z');
  await call('putJob', { slug }, { body: { ...hourly, missed_runs: 'catch_up', useful_for: '3h' } });
  await call('putJob', { slug: 'digest' }, { body: { ...hourly, missed_runs: 'skip', useful_for: '10m' } });
  await t.at('2026-03-01T14:20:00Z');
  await call('listOwed', { slug }, { query: '?limit=1' });
  await call('listOwed', { slug }, { query: '?cursor=x' });
  await call('listOwed', { slug: 'nobody' });
  const rid = '5c8b2e3f-9d4a-4b6c-8e7f-1a2b3c4d5e6f';
  const { id } = (await call('claim', { slug }, { body: { rid } })) as { id: number };
  await call('claim', { slug }, { body: { rid } });
  await call('claim', { slug }, { body: { rid: 'mine' } });
  await call('claim', { slug }, { body: 'x'.repeat(300_000) });
  await call('claim', { slug: 'nobody' }, { body: { rid } });
  // The window of the current one is over: the answer names it.
  const { past } = await call('claim', { slug: 'digest' }, { body: { rid } });
  expect(past).toEqual({ key: '2026-03-01T14:00Z', useful_until: '2026-03-01T14:10:00Z' });
  await call('extendClaim', { id: String(id) });
  await call('releaseClaim', { id: String(id) });
  await call('extendClaim', { id: String(id) });
  for (const over of ['extendClaim', 'releaseClaim']) await call(over, { id: '0' });
  await call('decideBacklog', { slug }, { body: { decision: 'skip' } });
  await call('decideBacklog', { slug: 'digest' }, { body: { decision: 'run' } });
  await call('decideBacklog', { slug }, { body: 'x'.repeat(300_000) });
  await call('decideBacklog', { slug: 'nobody' }, { body: { decision: 'run' } });
});

test('a clock in doubt answers as documented until a person trusts it', async () => {
  const doubted = await startApi('2026-03-01T12:30:00Z');
  try {
    const { api, clock } = doubted;
    clock.set('2027-06-01T12:00:00Z');
    await call('pauseJob', { slug: 'any' }, { api });
    const trusted = { now: '2027-06-01T12:00:00Z', heard_until: '2026-03-01T12:30:00Z' };
    expect(await call('trustClock', {}, { api })).toEqual(trusted);
    expect(await call('trustClock', {}, { api })).toEqual({ ...trusted, heard_until: null });
    await call('pauseJob', { slug: 'any' }, { api });
  } finally {
    await doubted.drop();
  }
});

test('a job whose stored schedules make no sense answers as documented', async () => {
  const slug = 'damaged';
  const rid = '6d9c3f4a-ae5b-4c7d-9f8a-2b3c4d5e6f70';
  const body = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up' };
  await t.at('2026-03-01T12:30:00Z');
  await call('putJob', { slug }, { body });
  await t.at('2026-03-01T14:20:00Z');
  const { id } = (await call('claim', { slug }, { body: { rid } })) as { id: number };
  await t.database.transaction((tx) =>
    tx.sql.unsafe(`
      insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
        select job_id, 2, 'UTC', '[]', '2026-03-01T14:20:00Z', 'none' from schedule_versions v join jobs j on j.id = v.job_id
        where slug = '${slug}';
      update cursors set version = 2 where job_id = (select id from jobs where slug = '${slug}')`),
  );
  for (const verb of ['pauseJob', 'resumeJob']) await call(verb, { slug });
  await call('settleOccurrence', { slug, key: '2026-03-01T13:00Z' }, { body: { state: 'skipped' } });
  await call('claim', { slug }, { body: { rid } });
  await call('decideBacklog', { slug }, { body: { decision: 'run' } });
  for (const over of ['extendClaim', 'releaseClaim']) await call(over, { id: String(id) });
  for (const read of ['getJob', 'listOccurrences', 'listPings', 'listOwed']) await call(read, { slug });
  await call('deleteJob', { slug });
});

test('incidents and channels answer as documented', async () => {
  await t.at('2026-03-01T14:30:00Z');
  await call(
    'putJob',
    { slug: 'broken' },
    { body: { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip' } },
  );
  await t.at('2026-03-01T15:10:00Z');
  const { incidents } = (await call('listIncidents', {}, { query: '?state=open&job=broken' })) as {
    incidents: { id: number; kind: string }[];
  };
  expect(incidents.map(({ kind }) => kind)).toEqual(['missing']);
  await call('listIncidents', {}, { query: '?state=all' });
  const id = String(incidents[0]?.id);
  await call('ackIncident', { id });
  await call('ackIncident', { id: '0' });
  await call('snoozeIncident', { id }, { body: { until: '4h' } });
  await call('snoozeIncident', { id }, { body: { until: 'then' } });
  await call('snoozeIncident', { id }, { body: 'x'.repeat(300_000) });
  await call('snoozeIncident', { id: '0' }, { body: { until: null } });
  await call('getIncident', { id: String(incidents[0]?.id) });
  await call('getIncident', { id: '0' });
  const body = { kind: 'webhook', url: 'http://127.0.0.1:9/', secret: `whsec_${Buffer.alloc(32).toString('base64')}` };
  await call('putChannel', { slug: 'ops' }, { body });
  await call('putChannel', { slug: 'ops' }, { body: { ...body, operator: true } });
  await call('putChannel', { slug: 'ops' }, { body: { kind: 'pigeon' } });
  await call('putChannel', { slug: 'ops' }, { body: 'x'.repeat(300_000) });
  await call('listChannels', {});
  await call('listChannels', {}, { query: '?limit=0' });
  await call('getChannel', { slug: 'ops' });
  await call('testChannel', { slug: 'ops' });
  const receiver = await createHttpReceiver();
  await call('putChannel', { slug: 'well' }, { body: { ...body, url: receiver.url } });
  await call('testChannel', { slug: 'well' });
  await call('deleteChannel', { slug: 'well' });
  await receiver.close();
  await call('putChannel', { slug: 'ops' }, { body: { ...body, remind_every: '1h', routes: { kinds: ['failed'] } } });
  const { attempts } = await call('listAttempts', { slug: 'ops' });
  expect(attempts).toHaveLength(1);
  await call('listAttempts', { slug: 'ops' }, { query: '?limit=x' });
  await call('listAttempts', { slug: 'nobody' });
  await t.at('2026-03-01T16:10:00Z');
  await t.ping('broken', 'fail');
  const failed = (await call('listIncidents', {}, { query: '?state=open&job=broken' })) as {
    incidents: { id: number }[];
  };
  const { notifications } = await call('listNotifications', { id: String(failed.incidents[0]?.id) });
  expect(notifications).toHaveLength(1);
  await call('listNotifications', { id }, { query: '?limit=x' });
  await call('listNotifications', { id: '0' });
  await call('readRouting', {}, { query: '?job=broken&kind=missing' });
  await call('readRouting', {}, { query: '?job=broken' });
  await call('readRouting', {}, { query: '?job=nobody&kind=missing' });
  await call('deleteChannel', { slug: 'ops' });
  for (const id of ['getChannel', 'deleteChannel', 'testChannel']) await call(id, { slug: 'ops' });
});

test('maintenance windows and calendars answer as documented', async () => {
  const slug = 'window';
  const ics =
    'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART;VALUE=DATE:20260403\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
  for (const body of [
    { duration: '2h', reason: 'deploy', tags: ['a'] },
    { weekly: [{ days: ['sat'], start: '22:00', duration: '4h' }], zone: 'Europe/Berlin' },
    { cron: '0 2 * * *', zone: 'UTC', duration: '1h' },
    { ics, zone: 'UTC' },
    { jobs: ['nobody'] },
    { ics: 'x'.repeat(4_000_000) },
  ])
    await call('putWindow', { slug }, { body });
  await call('listWindows', {});
  await call('listWindows', {}, { query: '?limit=0' });
  await call('getWindow', { slug });
  await call('endWindow', { slug });
  for (const id of ['getWindow', 'endWindow']) await call(id, { slug });
});

test('reports answer as documented', async () => {
  const slug = 'weekly';
  const body = { every: 'week', zone: 'Europe/Berlin', channels: ['boss'] };
  await t.at('2026-03-01T17:10:00Z');
  await call('putChannel', { slug: 'boss' }, { body: { kind: 'email', to: 'boss@example.org' } });
  for (const given of [body, { ...body, tags: ['prod'] }, { every: 'day' }, 'x'.repeat(300_000), body])
    await call('putReport', { slug }, { body: given });
  await call('getReport', { slug });
  await call('listReports', {});
  await call('listReports', {}, { query: '?limit=0' });
  await call('previewReport', { slug }, { query: '?period=2026-03' });
  await call('previewReport', { slug }, { query: '?period=2026-04' });
  await call('sendReport', { slug });
  await call('deleteChannel', { slug: 'boss' });
  await call('deleteReport', { slug });
  for (const id of ['getReport', 'deleteReport', 'previewReport', 'sendReport']) await call(id, { slug });
});

test('status pages answer as documented', async () => {
  const slug = 'public';
  const groups = [{ name: 'All', tag: 'prod' }];
  const body = { title: 'Public', zone: 'UTC', groups, host: 'status.example.org' };
  for (const given of [body, { ...body, password: 'open sesame' }, { title: 7 }, 'x'.repeat(300_000)])
    await call('putStatusPage', { slug }, { body: given });
  await call('putStatusPage', { slug: 'second' }, { body });
  await call('getStatusPage', { slug });
  await call('listStatusPages', {});
  await call('listStatusPages', {}, { query: '?limit=0' });
  await call('deleteStatusPage', { slug });
  for (const id of ['getStatusPage', 'deleteStatusPage']) await call(id, { slug });
});

test('with the database away every call is 503 with Retry-After', async () => {
  const away = await startApi('2026-03-01T12:30:00Z');
  await away.drop();
  for (const [, , { operationId }] of operations()) await call(operationId, {}, { api: away.api });
  const response = await away.api.request('/jobs', { headers: { Authorization: `Bearer ${KEY}` } });
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
});

test('a key whose scope ends before a call is told so by every one', async () => {
  const act = { projectId: t.projectId, actor: 'ada@example.org' };
  const key = await t.database.transaction((tx) => createApiKey(tx, act, { name: 'runner', scopes: ['ping'] }));
  for (const [, , { operationId }] of operations()) await call(operationId, {}, { key });
});

test('the audit answers as documented', async () => {
  await call('listAudit', {});
  await call('listAudit', {}, { query: '?limit=0' });
});

test('every documented status has been seen', () => {
  const documented = operations().flatMap(([, , { operationId, responses }]) =>
    Object.keys(responses).map((status) => `${operationId} ${status}`),
  );
  expect(documented.filter((one) => !seen.has(one))).toEqual([]);
  expect(t.logged).toEqual([]);
});
