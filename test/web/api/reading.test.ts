import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutJob, layOutRow, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
});
afterAll(() => t.drop());

const at = '2026-03-01T08:10:00Z';
const hourly = { at, nextUnrecorded: '2026-03-01T13:00:00Z' };

async function addIncident(jobId: number, kind: string, members: readonly string[], resolvedAt: string | null = null) {
  return t.database.transaction(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`
      insert into incidents (job_id, kind, opened_at, resolved_at, events, occurrence_count, troubled_count)
      values (${jobId}, ${kind}, '2026-03-01T11:05:00Z', ${resolvedAt}, 1, ${members.length}, 0) returning id`;
    const id = row?.id ?? 0;
    for (const member of members) {
      await tx.sql`insert into incident_occurrences (incident_id, scheduled_for) values (${id}, ${member})`;
    }
    return id;
  });
}

test('the status of a job is the worst that is open, else what was settled last', async () => {
  const status = async (slug: string): Promise<string> => (await t.call('GET', `/jobs/${slug}`)).json.status;
  const job = await layOutJob(t, 'status', hourly);
  expect(await status('status')).toBe('new');
  await layOutRow(t, job, { at: '2026-03-01T09:00:00Z', state: 'skipped' });
  expect(await status('status')).toBe('up');
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'unknown' });
  expect(await status('status')).toBe('unknown');
  await layOutRow(t, job, { at: '2026-03-01T11:00:00Z', state: 'overdue' });
  await addIncident(job, 'duplicate', []);
  expect(await status('status')).toBe('unknown');
  await addIncident(job, 'late', []);
  expect(await status('status')).toBe('late');
  await addIncident(job, 'missing', []);
  expect(await status('status')).toBe('down');
  await t.database.transaction((tx) => tx.sql`update jobs set paused_at = ${tx.now} where id = ${job}`);
  expect(await status('status')).toBe('paused');
});

test('a job says what is due next and what was completed last', async () => {
  const job = await layOutJob(t, 'times', { ...hourly, zone: 'Asia/Kolkata', schedules: [{ cron: '15 18 * * *' }] });
  const read = async () => (await t.call('GET', '/jobs/times')).json;
  expect(await read()).toMatchObject({
    next_due: { key: '2026-03-01T18:15+05:30', scheduled_for: '2026-03-01T12:45:00Z' },
    last_completed: null,
    created_at: '2026-03-01T08:10:00Z',
    zone: 'Asia/Kolkata',
  });
  await layOutRow(t, job, { at: '2026-03-01T09:00:00Z', state: 'on_time' });
  await layOutRow(t, job, { at: '2026-03-01T11:00:00Z', state: 'missed' });
  expect((await read()).last_completed).toBe('2026-03-01T14:30+05:30');
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'expired' });
  expect((await read()).last_completed).toBe('2026-03-01T15:30+05:30');
  await t.database.transaction((tx) => tx.sql`update jobs set paused_at = ${tx.now} where id = ${job}`);
  expect(await read()).toMatchObject({ next_due: null, paused: true });
});

test('a job warns of what its owner should know', async () => {
  const job = await layOutJob(t, 'warned', {
    at,
    nextUnrecorded: null,
    schedules: [{ cron: '*/5 * * * *' }],
    channels: ['old'],
  });
  const warnings = async (): Promise<readonly string[]> => (await t.call('GET', '/jobs/warned')).json.warnings;
  expect(await warnings()).toEqual([
    'channel old is gone: nobody is told through it; create it again, or name another one',
  ]);
  await t.database.transaction(async (tx) => {
    await tx.sql`update jobs set unreviewed = true where id = ${job}`;
    await tx.sql`update cursors set constant_rid = true where job_id = ${job}`;
    for (let i = 0; i < 5; i += 1) {
      const due = Date.parse('2026-03-01T11:00:00Z') + i * 300_000;
      await tx.sql`
        insert into runs (job_id, thread, scheduled_for, started_at, ended_at, verdict, heard_at)
        values (${job}, 'src:a', ${due}, ${due}, ${due + 301_000}, 'success', ${due})`;
    }
  });
  const now = await warnings();
  expect(now).toHaveLength(4);
  for (const word of ['unreviewed', 'took longer than the gap', 'constant run id']) {
    expect(now.some((warning) => warning.includes(word))).toBe(true);
  }
  await t.database.transaction(
    (tx) =>
      tx.sql`update runs set duration_ms = 200000 where job_id = ${job} and scheduled_for = '2026-03-01T11:10:00Z'`,
  );
  expect((await warnings()).some((warning) => warning.includes('gap'))).toBe(false);
});

test('ten jobs in one minute are told to stagger, with the nearest free minute', async () => {
  for (let i = 0; i < 9; i += 1) {
    await layOutJob(t, `crowd-${i}`, { ...hourly, schedules: [{ cron: '7 3 * * *' }] });
  }
  const crowd = async (): Promise<readonly string[]> =>
    (await t.call('GET', '/jobs/crowd-0')).json.warnings.filter((warning: string) => warning.includes('share'));
  expect(await crowd()).toEqual([]);
  await layOutJob(t, 'crowd-9', { ...hourly, schedules: [{ cron: '7 3 * * *' }] });
  await layOutJob(t, 'neighbour', { ...hourly, schedules: [{ cron: '8 3 * * *' }] });
  await layOutJob(t, 'elsewhere', { ...hourly, schedules: [{ cron: '7 4 * * *' }] });
  expect(await crowd()).toEqual([
    '10 jobs of the project share minute 7 of "7 3 * * *": stagger them, for example "9 3 * * *" (2m later)',
  ]);
});

test('jobs are listed by slug, page by page, in as many statements however many they are', async () => {
  for (let i = 0; i < 30; i += 1) await layOutJob(t, `zz-${String(i).padStart(2, '0')}`, hourly);
  const slugs: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await t.call('GET', `/jobs?limit=7${cursor}`);
    slugs.push(...json.jobs.map(({ slug }: { slug: string }) => slug));
    if (json.next_cursor === null) break;
    cursor = `&cursor=${json.next_cursor}`;
  }
  expect(slugs).toEqual([...slugs].sort());
  expect(new Set(slugs).size).toBe(slugs.length);
  expect(slugs.filter((slug) => slug.startsWith('zz-'))).toHaveLength(30);
  expect((await t.call('GET', '/jobs?limit=100000')).json.jobs).toHaveLength(slugs.length);
  for (const query of ['limit=x', 'limit=-1', 'limit=1e9', 'cursor=', 'cursor=%00', 'cursor=YWZ0ZXIgQQ', 'sort=slug']) {
    expect([query, (await t.call('GET', `/jobs?${query}`)).status]).toEqual([query, 400]);
  }
});

test('500 jobs are listed within a second', async () => {
  for (let i = 0; i < 500; i += 1) {
    const schedules = [{ cron: `${i % 60} ${i % 24} * * *` }];
    await layOutJob(t, `many-${i}`, { ...hourly, zone: 'Europe/Berlin', schedules });
  }
  const began = performance.now();
  expect((await t.call('GET', '/jobs?limit=500')).json.jobs).toHaveLength(500);
  expect(performance.now() - began).toBeLessThan(2000);
});

test('incidents are listed newest first, with their occurrences oldest first', async () => {
  const job = await layOutJob(t, 'troubled', hourly);
  await layOutRow(t, job, { at: '2026-03-01T11:00:00Z', state: 'overdue' });
  const solved = await addIncident(job, 'missing', ['2026-03-01T09:00:00Z'], '2026-03-01T10:00:00Z');
  const open = await addIncident(job, 'missing', ['2026-03-01T11:00:00Z', '2026-03-01T10:00:00Z']);
  const { json } = await t.call('GET', '/incidents?job=troubled');
  expect(json.incidents.map(({ id }: { id: number }) => id)).toEqual([open, solved]);
  expect(json.incidents[0]).toEqual({
    id: open,
    job: 'troubled',
    kind: 'missing',
    state: 'open',
    opened_at: '2026-03-01T11:05:00Z',
    acked_at: null,
    acked_by: null,
    snoozed_until: null,
    snoozed_by: null,
    resolved_at: null,
    occurrence_count: 2,
    occurrences: [
      { key: '2026-03-01T10:00Z', scheduled_for: '2026-03-01T10:00:00Z', state: 'expected' },
      { key: '2026-03-01T11:00Z', scheduled_for: '2026-03-01T11:00:00Z', state: 'overdue' },
    ],
  });
  const ids = async (query: string): Promise<readonly number[]> =>
    (await t.call('GET', `/incidents?${query}`)).json.incidents.map(({ id }: { id: number }) => id);
  expect(await ids('job=troubled&state=open')).toEqual([open]);
  expect(await ids('job=troubled&state=resolved')).toEqual([solved]);
  const first = await t.call('GET', '/incidents?limit=1');
  expect((await ids(`limit=1&cursor=${first.json.next_cursor}`))[0]).toBe(solved);
  expect((await t.call('GET', `/incidents/${solved}`)).json).toMatchObject({ id: solved, state: 'resolved' });
  for (const query of ['state=closed', 'job=nobody', 'job=%00', 'cursor=x', 'limit=']) {
    expect([query, (await t.call('GET', `/incidents?${query}`)).status]).toEqual([query, 400]);
  }
});

test('an incident of many occurrences shows the first hundred', async () => {
  const job = await layOutJob(t, 'flood', { ...hourly, schedules: [{ cron: '* * * * *' }] });
  const members = Array.from({ length: 130 }, (_, i) => new Date(Date.parse(at) + i * 60_000).toISOString());
  const id = await addIncident(job, 'missing', members);
  const { json } = await t.call('GET', `/incidents/${id}`);
  expect([json.occurrence_count, json.occurrences.length, json.occurrences[0].key]).toEqual([
    130,
    100,
    '2026-03-01T08:10Z',
  ]);
});

test('pings are listed newest first, unmatched ones included', async () => {
  const job = await layOutJob(t, 'heard', { ...hourly, zone: 'Europe/Berlin' });
  await layOutRow(t, job, { at: '2026-03-01T10:00:00Z', state: 'failed' });
  await t.database.transaction(
    (tx) =>
      tx.sql`
      insert into pings (job_id, kind, exit_code, rid, thread, fingerprint, received_at, at, scheduled_for, matched_by,
        counted, source, user_agent, method, body, body_bytes, truncated) values
      (${job}, 'fail', 7, null, 'src:a', 'f', '2026-03-01T10:00:05.250Z', '2026-03-01T10:00:05.250Z', '2026-03-01T10:00:00Z',
        'current', true, '192.0.2.7', 'curl/8', 'POST', '\\x3c7363726970743e00ff', 200000, true),
      (${job}, 'log', null, null, 'src:a', 'g', '2026-03-01T11:00:01Z', '2026-03-01T11:00:01Z', '2026-03-01T11:00:00Z',
        'current', true, null, null, 'GET', null, 0, false),
      (${job}, 'success', null, 'not a uuid', 'src:a', 'h', '2026-03-01T11:30:00Z', '2026-03-01T11:30:00Z', null,
        'unmatched', false, null, null, 'GET', null, 0, false)`,
  );
  const { json } = await t.call('GET', '/jobs/heard/pings');
  expect(json.pings.map(({ key, matched_by }: { key: string; matched_by: string }) => [key, matched_by])).toEqual([
    [null, 'unmatched'],
    ['2026-03-01T12:00+01:00', 'current'],
    ['2026-03-01T11:00+01:00', 'current'],
  ]);
  const failed = json.pings[2];
  expect(failed).toEqual({
    id: failed.id,
    kind: 'fail',
    exit_code: 7,
    rid: null,
    received_at: '2026-03-01T10:00:05.250Z',
    at: '2026-03-01T10:00:05.250Z',
    key: '2026-03-01T11:00+01:00',
    matched_by: 'current',
    source: '192.0.2.7',
    user_agent: 'curl/8',
    body_bytes: 200_000,
    truncated: true,
  });
  const page = await t.call('GET', '/jobs/heard/pings?limit=2');
  const rest = await t.call('GET', `/jobs/heard/pings?limit=2&cursor=${page.json.next_cursor}`);
  expect([rest.json.pings.length, rest.json.next_cursor]).toEqual([1, null]);
  const body = await t.api.request(`/jobs/heard/pings/${failed.id}/body`, {
    headers: { Authorization: 'Bearer test-api-key-0123456789' },
  });
  expect(Buffer.from(await body.arrayBuffer()).toString('hex')).toBe('3c7363726970743e00ff');
  expect(Object.fromEntries(body.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename="ping-${failed.id}.txt"`,
    'content-security-policy': "default-src 'none'; sandbox",
  });
  expect((await t.call('GET', `/jobs/heard/pings/${json.pings[0].id}/body`)).status).toBe(200);
  expect((await t.call('GET', `/jobs/times/pings/${failed.id}/body`)).status, 'another job').toBe(404);
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
