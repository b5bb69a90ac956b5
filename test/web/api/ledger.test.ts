import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutJob, layOutRow, OTHER_KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
});
afterAll(() => t.drop());

/** `key state` of each occurrence on a page. */
async function states(path: string): Promise<readonly string[]> {
  const { status, json } = await t.call('GET', path);
  expect(status, JSON.stringify(json)).toBe(200);
  return json.occurrences.map(({ key, state }: { key: string; state: string }) => `${key} ${state}`);
}

/** All pages of a list, walked by its cursor. */
async function walk(path: string, limit: number): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const { json } = await t.call('GET', `${path}limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(json.occurrences.length).toBeLessThanOrEqual(limit);
    keys.push(...json.occurrences.map(({ key }: { key: string }) => key));
    if (json.next_cursor === null) return keys;
    cursor = json.next_cursor;
  }
}

test('what is due and has no row yet is listed like the rest, newest first', async () => {
  const job = await layOutJob(t, 'hourly', { at: '2026-03-01T08:10:00Z', nextUnrecorded: '2026-03-01T11:00:00Z' });
  await layOutRow(t, job, { at: '2026-03-01T09:00:00Z', state: 'on_time', completions: 1 });
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'overdue', wanted: true });
  expect(await states('/jobs/hourly/occurrences')).toEqual([
    '2026-03-01T12:00Z expected',
    '2026-03-01T11:00Z expected',
    '2026-03-01T10:00Z overdue',
    '2026-03-01T09:00Z on_time',
  ]);
  const { json } = await t.call('GET', '/jobs/hourly/occurrences?limit=1&until=2026-03-01T10:00:00Z');
  expect(json.occurrences).toEqual([
    {
      key: '2026-03-01T10:00Z',
      scheduled_for: '2026-03-01T10:00:00Z',
      state: 'overdue',
      reason: null,
      owed: true,
      completions: 0,
      stands_for: 1,
      started_at: null,
      completed_at: null,
      duration_ms: null,
      covered_by: null,
      matched_by: null,
      note: null,
    },
  ]);
});

test('intervals are (after, until]: after is outside, until is inside, the future only where until asks', async () => {
  await layOutJob(t, 'window', { at: '2026-03-01T08:10:00Z', nextUnrecorded: '2026-03-01T09:00:00Z' });
  const query = 'after=2026-03-01T11:00:00Z&until=2026-03-01T15:00:00%2B01:00';
  expect(await states(`/jobs/window/occurrences?${query}`)).toEqual([
    '2026-03-01T14:00Z expected',
    '2026-03-01T13:00Z expected',
    '2026-03-01T12:00Z expected',
  ]);
  expect(await states('/jobs/window/occurrences?until=2026-03-01T08:00:00Z')).toEqual([]);
  const plusAsSpace = 'after=2026-03-01T12:00:00+01:00&until=2026-03-01T12:00:00Z';
  expect(await states(`/jobs/window/occurrences?${plusAsSpace}`)).toEqual(['2026-03-01T12:00Z expected']);
});

test('a row beyond what is recorded replaces the instant, whichever state is asked for', async () => {
  const job = await layOutJob(t, 'early', { at: '2026-03-01T08:10:00Z', nextUnrecorded: '2026-03-01T09:00:00Z' });
  await layOutRow(t, job, { at: '2026-03-01T11:00:00Z', state: 'on_time', completions: 1 });
  expect(await states('/jobs/early/occurrences?state=expected')).toEqual([
    '2026-03-01T12:00Z expected',
    '2026-03-01T10:00Z expected',
    '2026-03-01T09:00Z expected',
  ]);
  expect(await states('/jobs/early/occurrences?state=on_time,late&state=expired')).toEqual([
    '2026-03-01T11:00Z on_time',
  ]);
});

test('pages meet exactly across rows and instants without a row', async () => {
  const job = await layOutJob(t, 'pages', { at: '2026-03-01T00:10:00Z', nextUnrecorded: '2026-03-01T06:00:00Z' });
  for (const hour of ['01', '02', '03', '04', '05', '08', '11']) {
    await layOutRow(t, job, { at: `2026-03-01T${hour}:00:00Z`, state: 'on_time' });
  }
  const whole = Array.from({ length: 12 }, (_, i) => `2026-03-01T${String(12 - i).padStart(2, '0')}:00Z`);
  for (const limit of [1, 2, 3, 5, 11, 12, 13]) expect(await walk('/jobs/pages/occurrences?', limit)).toEqual(whole);
});

test('a page of a minutely job over a year is quick', async () => {
  await layOutJob(t, 'minutely', {
    at: '2025-03-01T00:00:00Z',
    nextUnrecorded: '2025-03-01T00:01:00Z',
    schedules: [{ cron: '* * * * *' }],
  });
  const began = performance.now();
  expect(await states('/jobs/minutely/occurrences?until=2030-01-01T00:00:00Z')).toHaveLength(50);
  expect(await states('/jobs/minutely/occurrences?state=late')).toEqual([]);
  expect(performance.now() - began).toBeLessThan(1500);
});

test('what is due in a pause is skipped; what lies after now in one that lasts is expected', async () => {
  const job = await layOutJob(t, 'paused', { at: '2026-03-01T05:10:00Z', nextUnrecorded: '2026-03-01T06:00:00Z' });
  await t.database.transaction(async (tx) => {
    await tx.sql`update jobs set paused_at = '2026-03-01T10:30:00Z' where id = ${job}`;
    await tx.sql`insert into pauses (job_id, after, until) values
      (${job}, '2026-03-01T06:30:00Z', '2026-03-01T08:00:00Z'), (${job}, '2026-03-01T10:30:00Z', null)`;
  });
  expect(await states('/jobs/paused/occurrences?until=2026-03-01T13:00:00Z')).toEqual([
    '2026-03-01T13:00Z expected',
    '2026-03-01T12:00Z skipped',
    '2026-03-01T11:00Z skipped',
    '2026-03-01T10:00Z expected',
    '2026-03-01T09:00Z expected',
    '2026-03-01T08:00Z skipped',
    '2026-03-01T07:00Z skipped',
    '2026-03-01T06:00Z expected',
  ]);
  const { json } = await t.call('GET', '/jobs/paused/occurrences?state=skipped&limit=1');
  expect(json.occurrences[0]).toMatchObject({ key: '2026-03-01T12:00Z', state: 'skipped', reason: 'paused' });
});

test('a page of a job that pinged through a long pause costs a page', async () => {
  const job = await layOutJob(t, 'pinged', {
    at: '2026-01-01T00:00:30Z',
    nextUnrecorded: '2026-01-01T00:01:00Z',
    schedules: [{ cron: '* * * * *' }],
  });
  await t.database.transaction(async (tx) => {
    await tx.sql`update jobs set paused_at = '2026-01-01T00:00:30Z' where id = ${job}`;
    await tx.sql`insert into pauses (job_id, after) values (${job}, '2026-01-01T00:00:30Z')`;
    await tx.sql`insert into occurrences (job_id, scheduled_for, version, state, reason)
      select ${job}, at, 1, 'skipped', 'paused'
      from generate_series('2026-01-01T00:01:00Z'::timestamptz, '2026-03-01T12:29:00Z', '1 minute') at`;
  });
  const began = performance.now();
  expect(await states('/jobs/pinged/occurrences?limit=2')).toEqual([
    '2026-03-01T12:30Z skipped',
    '2026-03-01T12:29Z skipped',
  ]);
  expect(await states('/jobs/pinged/occurrences?state=skipped,missed')).toHaveLength(50);
  expect(performance.now() - began).toBeLessThan(1500);
});

test('the future has no end that could be reached', async () => {
  expect(await states('/jobs/hourly/occurrences?until=9999-12-31T23:59:59Z&limit=1')).toEqual([
    '9999-12-31T23:00Z expected',
  ]);
  expect((await t.call('GET', '/jobs/hourly/occurrences/9999-12-31')).status).toBe(404);
});

test('each version has its own keys, and the row that lives on keeps the zone of its own', async () => {
  const job = await layOutJob(t, 'moved', { at: '2026-03-01T08:10:00Z', nextUnrecorded: '2026-03-01T10:30:00Z' });
  await t.database.transaction(async (tx) => {
    await tx.sql`update schedule_versions set ends_at = '2026-03-01T10:15:00Z' where job_id = ${job}`;
    await tx.sql`insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version) values
      (${job}, 2, 'Europe/Berlin', '[{"cron": "30 * * * *"}]', '2026-03-01T10:15:00Z', 'test')`;
  });
  await layOutRow(t, job, { at: '2026-03-01T09:00:00Z', state: 'coalesced', coveredBy: '2026-03-01T10:00:00Z' });
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'on_time', completions: 1 });
  expect(await states('/jobs/moved/occurrences')).toEqual([
    '2026-03-01T13:30+01:00 expected',
    '2026-03-01T12:30+01:00 expected',
    '2026-03-01T11:30+01:00 expected',
    '2026-03-01T10:00Z on_time',
    '2026-03-01T09:00Z coalesced',
  ]);
  const { json } = await t.call('GET', '/jobs/moved/occurrences/2026-03-01T09:00Z');
  expect(json.covered_by).toBe('2026-03-01T10:00Z');
});

test('of a heartbeat only the open occurrence is there without a row', async () => {
  const job = await layOutJob(t, 'beat', {
    at: '2026-03-01T08:10:00Z',
    nextUnrecorded: '2026-03-01T12:10:07Z',
    schedules: [{ heartbeat: 3600 }],
    missedRuns: null,
  });
  await layOutRow(t, job, { at: '2026-03-01T09:10:00Z', state: 'late' });
  expect(await states('/jobs/beat/occurrences?until=2026-03-02T00:00:00Z')).toEqual([
    '2026-03-01T12:10:07Z expected',
    '2026-03-01T09:10Z late',
  ]);
  const { json } = await t.call('GET', '/jobs/beat');
  expect(json.next_due).toEqual({ key: '2026-03-01T12:10:07Z', scheduled_for: '2026-03-01T12:10:07Z' });
});

test('an occurrence that the policy wants is owed unless a run of it is in progress', async () => {
  const job = await layOutJob(t, 'owing', {
    at: '2026-03-01T08:10:00Z',
    nextUnrecorded: null,
    missedRuns: 'catch_up',
    maxRuntime: 7200,
  });
  await layOutRow(t, job, { at: '2026-03-01T09:00:00Z', state: 'overdue', wanted: true });
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'overdue', wanted: true });
  await t.database.transaction(
    (tx) => tx.sql`insert into runs (job_id, thread, scheduled_for, started_at, heard_at) values
      (${job}, 'src:a', '2026-03-01T10:00:00Z', '2026-03-01T12:00:00Z', '2026-03-01T12:00:00Z'),
      (${job}, 'src:b', '2026-03-01T09:00:00Z', '2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z')`,
  );
  const { json } = await t.call('GET', '/jobs/owing/occurrences');
  expect(json.occurrences.map(({ owed }: { owed: boolean }) => owed)).toEqual([false, true]);
});

test.each([
  ['2026-10-25T02:30+02:00', '2026-10-25T00:30:00Z'],
  ['2026-10-25T02:30%2B02:00', '2026-10-25T00:30:00Z'],
  ['2026-10-25T02:30%2002:00', '2026-10-25T00:30:00Z'],
  ['2026-10-25T00:30:00.123Z', '2026-10-25T00:30:00Z'],
  ['1792888200', '2026-10-25T00:30:00Z'],
  ['1792888200999', '2026-10-25T00:30:00Z'],
  ['2026-10-25T02:30', '2026-10-25T00:30:00Z'],
  ['2026-10-25', '2026-10-25T00:30:00Z'],
  ['2026-03-29T02:30', '2026-03-29T01:00:00Z'],
])('the key %s leads to the occurrence due at %s', async (key, scheduledFor) => {
  const slug = 'berlin';
  if ((await t.call('GET', `/jobs/${slug}`)).status === 404) {
    await layOutJob(t, slug, {
      at: '2026-03-01T12:00:00Z',
      nextUnrecorded: '2026-03-02T01:30:00Z',
      zone: 'Europe/Berlin',
      schedules: [{ cron: '30 2 * * *' }],
    });
  }
  const { status, json } = await t.call('GET', `/jobs/${slug}/occurrences/${key}`);
  expect([status, json.scheduled_for], JSON.stringify(json)).toEqual([200, scheduledFor]);
});

test('an unreadable key is 400 with a hint; one that names nothing is 404 with the two nearest', async () => {
  const unreadable = await t.call('GET', '/jobs/hourly/occurrences/yesterday');
  expect(unreadable.status).toBe(400);
  expect(unreadable.json.errors).toEqual([{ path: 'key', message: expect.stringContaining('write a key such as') }]);
  const between = await t.call('GET', '/jobs/hourly/occurrences/2026-03-01T10:30Z');
  expect(between.status).toBe(404);
  expect(between.json.detail).toContain('nearest: 2026-03-01T10:00Z and 2026-03-01T11:00Z');
  const before = await t.call('GET', '/jobs/hourly/occurrences/2026-03-01T08:00Z');
  expect(before.json.detail).toContain('nearest: 2026-03-01T09:00Z');
  const several = await t.call('GET', '/jobs/hourly/occurrences/2026-03-01');
  expect([several.status, several.json.detail]).toEqual([404, expect.stringContaining('more than one occurrence')]);
});

test('of a local time with two occurrences the earliest not yet completed is meant', async () => {
  const job = await layOutJob(t, 'both', {
    at: '2026-03-01T12:00:00Z',
    nextUnrecorded: '2026-03-01T13:00:00Z',
    zone: 'Europe/Berlin',
    schedules: [{ cron: '30 * * * *' }],
  });
  const path = '/jobs/both/occurrences/2026-10-25T02:30';
  expect((await t.call('GET', path)).json.key).toBe('2026-10-25T02:30+02:00');
  await layOutRow(t, job, { at: '2026-10-25T00:30:00Z', state: 'on_time', completions: 1 });
  expect((await t.call('GET', path)).json.key).toBe('2026-10-25T02:30+01:00');
});

test('junk in the query is 400 and says which', async () => {
  const query = 'after=yesterday&until=2026-02-31T00:00:00Z&state=done&limit=0&cursor=abc&page=2';
  const { status, json } = await t.call('GET', `/jobs/hourly/occurrences?${query}`);
  expect(status).toBe(400);
  expect(json.errors.map(({ path }: { path: string }) => path).sort()).toEqual(
    ['after', 'until', 'state', 'limit', 'cursor', 'page'].sort(),
  );
  const backwards = 'after=2026-03-01T12:00:00Z&until=2026-03-01T11:00:00Z';
  expect((await t.call('GET', `/jobs/hourly/occurrences?${backwards}`)).status).toBe(400);
});

test('a project sees only its own', async () => {
  const headers = { Authorization: `Bearer ${OTHER_KEY}` };
  for (const path of ['', '/occurrences', '/pings', '/occurrences/2026-03-01T10:00Z', '/pings/1/body']) {
    expect((await t.call('GET', `/jobs/hourly${path}`, undefined, headers)).status).toBe(404);
  }
  expect((await t.call('GET', '/jobs', undefined, headers)).json).toEqual({ jobs: [], next_cursor: null });
});
