import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpReceiver, type HttpReceiver } from '../../support/receivers.ts';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
let receiver: HttpReceiver;

beforeAll(async () => {
  t = await startApi('2026-03-01T00:00:00Z');
  receiver = await createHttpReceiver();
});
afterAll(async () => {
  await receiver.close();
  await t.drop();
});

const JOB = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up', useful_for: '2d' };

/** What was written since the last time, oldest first, without who. */
async function written(): Promise<readonly string[]> {
  const { json } = await t.call('GET', '/audit?limit=500');
  await t.database.transaction((tx) => tx.sql`delete from audit`);
  return json.entries
    .map(({ text, actor }: { text: string; actor: string }) => text.replace(`${actor} `, ''))
    .reverse();
}

async function did(method: string, path: string, body?: unknown): Promise<readonly string[]> {
  const { status, json } = await t.call(method, path, body);
  expect(status, `${method} ${path}: ${JSON.stringify(json)}`).toBeLessThan(300);
  return written();
}

test('every change of a job is one entry, in words', async () => {
  expect(await did('PUT', '/jobs/nightly', JOB)).toEqual(['made job nightly']);
  expect(await did('PUT', '/jobs/nightly', { ...JOB, grace: '10m' })).toEqual(['changed job nightly']);
  // A PUT that changes nothing is no edit.
  expect(await did('PUT', '/jobs/nightly', { ...JOB, grace: '10m' })).toEqual([]);
  expect(await did('POST', '/jobs/nightly/pause')).toEqual(['paused job nightly']);
  expect(await did('POST', '/jobs/nightly/resume')).toEqual(['resumed job nightly']);
  await t.at('2026-03-01T02:30:00Z');
  const key = '2026-03-01T01:00Z';
  expect(await did('PATCH', `/jobs/nightly/occurrences/${key}`, { state: 'skipped', note: 'by hand' })).toEqual([
    'settled nightly, due 2026-03-01T01:00:00Z, as skipped: by hand',
  ]);
  expect(await did('POST', '/jobs/nightly/backlog', { decision: 'skip' })).toEqual([
    'said skip about what job nightly owed',
  ]);
});

test('a person’s word about an incident is one', async () => {
  await t.at('2026-03-01T03:30:00Z');
  await t.tick();
  const [{ id }] = (await t.call('GET', '/incidents?state=open')).json.incidents;
  await written();
  expect(await did('POST', `/incidents/${id}/ack`)).toEqual([`acknowledged incident ${id} (missing) of nightly`]);
  const [snoozed] = await did('POST', `/incidents/${id}/snooze`, { until: '4h' });
  expect(snoozed).toMatch(new RegExp(`^snoozed incident ${id} \\(missing\\) of nightly until 2026-03-01T07:30`));
});

test('channels, reports, windows and status pages are, and their secrets are not', async () => {
  const ops = { kind: 'webhook', url: receiver.url, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
  expect(await did('PUT', '/channels/ops', ops)).toEqual(['made channel ops (webhook)']);
  expect(await did('PUT', '/channels/ops', { ...ops, operator: false })).toEqual(['changed channel ops (webhook)']);
  expect(await did('POST', '/channels/ops/test')).toEqual(['sent a test message to channel ops: delivered']);
  await t.call('PUT', '/channels/ops', ops);
  const { json } = await t.call('GET', '/audit');
  expect(JSON.stringify(json)).not.toContain('whsec');
  await written();
  await t.call('PUT', '/channels/boss', { kind: 'email', to: 'boss@example.org' });
  await written();
  const report = { every: 'week', zone: 'UTC', channels: ['boss'] };
  expect(await did('PUT', '/reports/weekly', report)).toEqual(['made report weekly']);
  expect(await did('POST', '/reports/weekly/send')).toEqual(['sent report weekly']);
  expect(await did('DELETE', '/reports/weekly')).toEqual(['deleted report weekly']);
  expect(await did('DELETE', '/channels/ops')).toEqual(['deleted channel ops']);
  expect(await did('PUT', '/maintenance/deploy', { duration: '2h' })).toEqual(['put maintenance window deploy']);
  expect(await did('DELETE', '/maintenance/deploy')).toEqual(['ended maintenance window deploy']);
  expect(await did('DELETE', '/jobs/nightly')).toEqual(['deleted job nightly']);
});

test('what is refused writes nothing', async () => {
  for (const [method, path, body] of [
    ['PUT', '/jobs/x', {}],
    ['DELETE', '/jobs/nobody', undefined],
    ['PUT', '/channels/x', { kind: 'pigeon' }],
    ['DELETE', '/channels/nobody', undefined],
    ['DELETE', '/reports/nobody', undefined],
  ] as const)
    expect((await t.call(method, path, body)).status).toBeGreaterThanOrEqual(400);
  expect(await written()).toEqual([]);
});

test('the list is paged, newest first, and of one project', async () => {
  for (const slug of ['a', 'b', 'c']) await t.call('PUT', `/jobs/${slug}`, JOB);
  const first = (await t.call('GET', '/audit?limit=2')).json;
  expect(first.entries.map(({ subject }: { subject: string }) => subject)).toEqual(['c', 'b']);
  const second = (await t.call('GET', `/audit?limit=2&cursor=${first.next_cursor}`)).json;
  expect(second.entries.map(({ subject }: { subject: string }) => subject)).toEqual(['a']);
  expect(second.next_cursor).toBeNull();
  expect(second.entries[0]).toMatchObject({
    action: 'job.create',
    at: '2026-03-01T03:30:00Z',
    detail: { zone: 'UTC' },
  });
  const other = await t.call('GET', '/audit', undefined, { Authorization: 'Bearer other-api-key-0123456789' });
  expect(other.json).toEqual({ entries: [], next_cursor: null });
});
