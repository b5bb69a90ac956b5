import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
});
afterAll(() => t.drop());

const HOURLY = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'coalesce' };

/** `key state` of each occurrence listed. */
async function states(slug: string, query = ''): Promise<readonly string[]> {
  const { json } = await t.call('GET', `/jobs/${slug}/occurrences${query}`);
  return json.occurrences.map(({ key, state }: { key: string; state: string }) => `${key.slice(11)} ${state}`);
}

test('a job is created with 201, replaced with 200, and its uuid stays', async () => {
  await t.at('2026-03-01T12:30:00Z');
  const created = await t.call('PUT', '/jobs/nightly', { ...HOURLY, grace: '10m', name: 'Nightly' });
  expect(created.status, JSON.stringify(created.json)).toBe(201);
  expect(created.json).toEqual({
    slug: 'nightly',
    name: 'Nightly',
    description: '',
    tags: [],
    zone: 'UTC',
    schedules: [{ cron: '0 * * * *' }],
    missed_runs: 'coalesce',
    missed_runs_reason: '',
    early: null,
    start_within: null,
    grace: '10m',
    useful_for: null,
    max_runtime: null,
    max_catch_up: null,
    throttle: null,
    overlap: 'forbid',
    alert_after: {},
    after: [],
    blocked_on: [],
    duplicates: 'alert',
    unscheduled: 'record',
    channels: null,
    uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    ping_url: `https://rollcall.example.org/ping/${created.json.uuid}`,
    status: 'new',
    paused: false,
    unreviewed: false,
    warnings: [],
    next_due: { key: '2026-03-01T13:00Z', scheduled_for: '2026-03-01T13:00:00Z' },
    last_completed: null,
    created_at: '2026-03-01T12:30:00Z',
  });
  const replaced = await t.call('PUT', '/jobs/nightly', HOURLY);
  expect(replaced.status).toBe(200);
  expect(replaced.json).toEqual({ ...created.json, name: 'nightly', grace: null });
  expect((await t.call('GET', '/jobs/nightly')).json).toEqual(replaced.json);
});

test('a PUT of what is stored is no edit', async () => {
  const versions = () =>
    t.database.transaction(
      (tx) => tx.sql<{ n: number; edits: number }[]>`
        select (select count(*) from schedule_versions) as n, (select count(*) from audit where action = 'job.edit') as edits`,
    );
  const body = { ...HOURLY, schedules: [{ every: '2h' }], grace: '600s', early: 'PT0S' };
  await t.call('PUT', '/jobs/same', body);
  const before = await versions();
  expect((await t.call('PUT', '/jobs/same', { ...body, grace: '10m', early: 0 })).status).toBe(200);
  expect(await versions()).toEqual(before);
});

test('a paused job stays paused whatever is deployed or heard, and begins anew when resumed (PNG-021, PNG-022)', async () => {
  await t.at('2026-03-01T12:30:00Z');
  await t.call('PUT', '/jobs/held', HOURLY);
  expect((await t.call('POST', '/jobs/held/pause')).json).toMatchObject({
    paused: true,
    status: 'paused',
    next_due: null,
  });
  await t.at('2026-03-01T13:20:00Z');
  await t.ping('held', 'fail');
  expect((await t.call('PUT', '/jobs/held', { ...HOURLY, grace: '1m' })).json).toMatchObject({
    paused: true,
    grace: '1m',
  });
  expect((await t.call('POST', '/jobs/held/pause')).json.status).toBe('paused');
  await t.at('2026-03-01T14:20:00Z');
  expect(await states('held')).toEqual(['14:00Z skipped', '13:00Z skipped']);
  const resumed = await t.call('POST', '/jobs/held/resume');
  expect(resumed.json).toMatchObject({ paused: false, next_due: { key: '2026-03-01T15:00Z' } });
  expect(await states('held', '?until=2026-03-01T15:00:00Z')).toEqual([
    '15:00Z expected',
    '14:00Z skipped',
    '13:00Z skipped',
  ]);
  const pings = await t.call('GET', '/jobs/held/pings');
  expect(pings.json.pings).toHaveLength(1);
});

test('the API answers the same before and after a tick', async () => {
  await t.at('2026-03-01T12:30:00Z');
  const policies = ['catch_up', 'coalesce', 'skip'] as const;
  for (const policy of policies)
    await t.call('PUT', `/jobs/tick-${policy}`, { ...HOURLY, missed_runs: policy, start_within: '2m' });
  await t.at('2026-03-01T13:01:00Z');
  for (const policy of policies) await t.ping(`tick-${policy}`, 'success');
  const look = async (): Promise<readonly unknown[]> => {
    const answers: unknown[] = [];
    for (const policy of policies) {
      const paths = [
        `/jobs/tick-${policy}/occurrences?until=2026-03-02T00:00:00Z`,
        `/jobs/tick-${policy}`,
        `/incidents?job=tick-${policy}`,
        `/jobs/tick-${policy}/occurrences/2026-03-01T15:00`,
      ];
      for (const path of paths) answers.push((await t.call('GET', path)).json);
    }
    return answers;
  };
  for (const at of ['2026-03-01T14:03:00Z', '2026-03-01T16:30:00Z', '2026-03-01T17:00:01Z']) {
    await t.at(at);
    const before = await look();
    await t.tick();
    expect(await look()).toEqual(before);
  }
  expect(await states('tick-catch_up')).toEqual([
    '17:00Z expected',
    '16:00Z overdue',
    '15:00Z overdue',
    '14:00Z overdue',
    '13:00Z on_time',
  ]);
  expect(await states('tick-coalesce', '?state=coalesced,overdue')).toEqual([
    '16:00Z overdue',
    '15:00Z coalesced',
    '14:00Z coalesced',
  ]);
  expect((await t.call('GET', '/jobs/tick-skip')).json).toMatchObject({
    status: 'down',
    last_completed: '2026-03-01T13:00Z',
  });
});

test('every occurrence that is listed is found by its key and by its instant', async () => {
  await t.at('2026-03-28T12:10:00Z');
  const body = { ...HOURLY, zone: 'Europe/Berlin', schedules: [{ cron: '30 * * * *' }, { every: '50m' }] };
  await t.call('PUT', '/jobs/keys', { ...body, missed_runs: 'catch_up' });
  await t.at('2026-03-29T00:31:00Z');
  await t.ping('keys', 'success');
  await t.at('2026-03-29T04:00:00Z');
  const { json } = await t.call('GET', '/jobs/keys/occurrences?until=2026-03-29T06:00:00Z&limit=500');
  expect(json.occurrences.length).toBeGreaterThan(30);
  for (const occurrence of json.occurrences) {
    for (const spelling of [
      occurrence.key,
      occurrence.scheduled_for,
      String(Date.parse(occurrence.scheduled_for) / 1000),
    ]) {
      const found = await t.call('GET', `/jobs/keys/occurrences/${encodeURIComponent(spelling)}`);
      expect(found.json).toEqual(occurrence);
    }
  }
});

test('a person settles an occurrence by any spelling of its key', async () => {
  await t.at('2026-03-01T12:30:00Z');
  await t.call('PUT', '/jobs/person', { ...HOURLY, missed_runs: 'catch_up', zone: 'Europe/Berlin' });
  await t.at('2026-03-01T15:30:00Z');
  const path = '/jobs/person/occurrences/';
  const done = await t.call('PATCH', `${path}2026-03-01T14:00`, { state: 'on_time', note: 'checked by hand' });
  expect(done.json).toMatchObject({
    key: '2026-03-01T14:00+01:00',
    scheduled_for: '2026-03-01T13:00:00Z',
    state: 'on_time',
    reason: 'operator',
    note: 'checked by hand',
    owed: false,
  });
  const skipped = await t.call('PATCH', `${path}2026-03-01T15:00:00%2B01:00`, { state: 'skipped' });
  expect(skipped.json).toMatchObject({ state: 'skipped', reason: 'operator' });
  expect((await t.call('GET', `${path}2026-03-01T16:00`)).json).toMatchObject({ state: 'overdue', owed: true });
  expect((await t.call('PATCH', `${path}2026-03-01T16:30`, { state: 'skipped' })).status).toBe(404);
  expect((await t.call('PATCH', `${path}never`, { state: 'skipped' })).status).toBe(400);
  const wrong = await t.call('PATCH', `${path}2026-03-01T16:00`, { state: 'late', note: 7, by: 'me' });
  expect(wrong.json.errors.map(({ path: field }: { path: string }) => field)).toEqual(['by', 'state', 'note']);
});

test('after an outage every occurrence keeps the instant it was due at (LED-001)', async () => {
  await t.at('2026-03-02T01:30:00Z');
  await t.call('PUT', '/jobs/outage', { ...HOURLY, missed_runs: 'catch_up' });
  await t.at('2026-03-02T04:30:00Z');
  const { json } = await t.call('GET', '/jobs/outage/occurrences');
  expect(json.occurrences.map(({ scheduled_for, owed }: Record<string, unknown>) => [scheduled_for, owed])).toEqual([
    ['2026-03-02T04:00:00Z', true],
    ['2026-03-02T03:00:00Z', true],
    ['2026-03-02T02:00:00Z', true],
  ]);
});

test('a start and its end are one run, shown with its times', async () => {
  await t.at('2026-03-03T00:30:00Z');
  await t.call('PUT', '/jobs/timed', HOURLY);
  await t.at('2026-03-03T01:00:10Z');
  await t.ping('timed', 'start');
  expect((await t.call('GET', '/jobs/timed/occurrences/2026-03-03T01:00')).json.state).toBe('running');
  await t.at('2026-03-03T01:02:10Z');
  await t.ping('timed', 'success', { body: Buffer.from('done'), bodyBytes: 4 });
  expect((await t.call('GET', '/jobs/timed/occurrences')).json.occurrences).toEqual([
    expect.objectContaining({
      state: 'on_time',
      started_at: '2026-03-03T01:00:10Z',
      completed_at: '2026-03-03T01:02:10Z',
      duration_ms: 120_000,
      completions: 1,
      matched_by: expect.any(String),
    }),
  ]);
  const { json } = await t.call('GET', '/jobs/timed/pings');
  expect(json.pings.map(({ kind, key }: Record<string, unknown>) => [kind, key])).toEqual([
    ['success', '2026-03-03T01:00Z'],
    ['start', '2026-03-03T01:00Z'],
  ]);
  expect((await t.call('GET', `/jobs/timed/pings/${json.pings[0].id}/body`)).json).toBe('done');
});

test('a heartbeat shows its open occurrence and takes no policy', async () => {
  await t.at('2026-03-04T10:00:00Z');
  const body = { schedules: [{ heartbeat: '1h' }], zone: 'UTC', grace: '5m' };
  expect((await t.call('PUT', '/jobs/pulse', { ...body, missed_runs: 'skip' })).status).toBe(400);
  expect((await t.call('PUT', '/jobs/pulse', body)).json).toMatchObject({
    schedules: [{ heartbeat: '1h' }],
    missed_runs: null,
    next_due: { key: '2026-03-04T11:00Z' },
  });
  await t.at('2026-03-04T10:20:30Z');
  await t.ping('pulse', 'success');
  expect((await t.call('GET', '/jobs/pulse')).json).toMatchObject({
    status: 'up',
    next_due: { key: '2026-03-04T11:20:30Z' },
    last_completed: '2026-03-04T11:00Z',
  });
  await t.at('2026-03-04T12:00:00Z');
  expect(await states('pulse')).toEqual(['11:20:30Z overdue', '11:00Z on_time']);
  expect((await t.call('GET', '/jobs/pulse')).json).toMatchObject({
    status: 'down',
    next_due: { key: '2026-03-04T11:20:30Z' },
  });
  await t.call('POST', '/jobs/pulse/pause');
  expect((await t.call('GET', '/jobs/pulse')).json).toMatchObject({ status: 'paused', next_due: null });
  await t.call('POST', '/jobs/pulse/resume');
  expect((await t.call('GET', '/jobs/pulse')).json.next_due).toEqual({
    key: '2026-03-04T13:00Z',
    scheduled_for: '2026-03-04T13:00:00Z',
  });
});

test('a new schedule does not touch what was due under the old one', async () => {
  await t.at('2026-03-05T00:30:00Z');
  await t.call('PUT', '/jobs/edited', { ...HOURLY, missed_runs: 'catch_up' });
  await t.at('2026-03-05T02:30:00Z');
  await t.call('PUT', '/jobs/edited', { ...HOURLY, missed_runs: 'catch_up', zone: 'Asia/Kolkata' });
  await t.at('2026-03-05T04:01:00Z');
  const { json } = await t.call('GET', '/jobs/edited/occurrences?until=2026-03-05T04:30:00Z');
  expect(json.occurrences.map(({ key, state }: Record<string, unknown>) => [key, state])).toEqual([
    ['2026-03-05T10:00+05:30', 'expected'],
    ['2026-03-05T09:00+05:30', 'overdue'],
    ['2026-03-05T02:00Z', 'overdue'],
    ['2026-03-05T01:00Z', 'overdue'],
  ]);
  expect((await t.call('GET', '/jobs/edited/occurrences/2026-03-05T02:00')).json.key).toBe('2026-03-05T02:00Z');
});

test('a deleted job is gone with its history', async () => {
  await t.call('PUT', '/jobs/gone', HOURLY);
  expect((await t.call('DELETE', '/jobs/gone')).status).toBe(204);
  for (const path of ['', '/occurrences', '/pings'])
    expect((await t.call('GET', `/jobs/gone${path}`)).status).toBe(404);
  expect((await t.call('DELETE', '/jobs/gone')).status).toBe(404);
  expect((await t.call('POST', '/jobs/gone/pause')).status).toBe(404);
  expect((await t.call('POST', '/jobs/gone/resume')).status).toBe(404);
});

test('slug and body are both told wrong at once, and nothing is stored', async () => {
  const { status, json } = await t.call('PUT', '/jobs/start', { zone: 'UTC' });
  expect([status, json.errors.map(({ path }: { path: string }) => path)]).toEqual([
    400,
    ['slug', 'schedules', 'missed_runs'],
  ]);
  for (const slug of ['42', 'fail', 'log', 'Upper', '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e', 'x'.repeat(300), '%00']) {
    const answer = await t.call('PUT', `/jobs/${slug}`, HOURLY);
    expect([slug, answer.status, answer.json.errors[0].path]).toEqual([slug, 400, 'slug']);
  }
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
