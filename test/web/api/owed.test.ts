import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEY, layOutJob, layOutRow, OTHER_KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T00:30:00Z');
});
afterAll(() => t.drop());

type Entry = {
  readonly key: string;
  readonly state: string;
  readonly useful_until: string | null;
  readonly run_after: string | null;
  readonly unconfirmed: boolean;
};

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up' };

/** Creates a job as of half past midnight, and moves the clock to `now`. */
async function put(slug: string, definition: object, now: string): Promise<void> {
  await t.at('2026-03-01T00:30:00Z');
  expect((await t.call('PUT', `/jobs/${slug}`, definition)).status).toBe(201);
  await t.at(now);
}

async function owed(slug: string, query = ''): Promise<readonly Entry[]> {
  const { status, json } = await t.call('GET', `/jobs/${slug}/owed${query}`);
  expect(status).toBe(200);
  return json.owed;
}

const claim = (slug: string, rid: string) => t.call('POST', `/jobs/${slug}/claims`, { rid });
const RID = '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e';

/** Keys of the occurrences that the ledger shows as owed, oldest first. */
async function shownAsOwed(slug: string): Promise<readonly string[]> {
  const { json } = await t.call('GET', `/jobs/${slug}/occurrences?limit=500`);
  return json.occurrences
    .filter((one: { owed: boolean }) => one.owed)
    .map(({ key }: { key: string }) => key)
    .reverse();
}

test('what nobody ran is owed, oldest first, spread by the throttle from now on', async () => {
  await put('plain', hourly, '2026-03-01T03:20:00Z');
  const { status, json } = await t.call('GET', '/jobs/plain/owed');
  const entry = (hour: string, run_after: string) => ({
    key: `2026-03-01T${hour}:00Z`,
    scheduled_for: `2026-03-01T${hour}:00:00Z`,
    state: 'overdue',
    useful_until: null,
    run_after,
    unconfirmed: false,
  });
  expect([status, json]).toEqual([
    200,
    {
      owed: [
        entry('01', '2026-03-01T03:20:00Z'),
        entry('02', '2026-03-01T03:20:10Z'),
        entry('03', '2026-03-01T03:20:20Z'),
      ],
      next_cursor: null,
    },
  ]);
});

test('before its deadline an occurrence is current, not owed', async () => {
  await put('current', { ...hourly, grace: '10m' }, '2026-03-01T01:09:59Z');
  expect(await owed('current')).toEqual([]);
  await t.at('2026-03-01T01:10:00Z');
  expect((await owed('current')).map(({ key }) => key)).toEqual(['2026-03-01T01:00Z']);
});

test('past useful_for nothing is owed, and keys are those of the zone', async () => {
  const definition = { ...hourly, zone: 'Europe/Berlin', useful_for: '2h', throttle: '1m' };
  await put('useful', definition, '2026-03-01T04:20:00Z');
  expect(await owed('useful')).toMatchObject([
    {
      key: '2026-03-01T04:00+01:00',
      useful_until: '2026-03-01T05:00:00Z',
      run_after: '2026-03-01T04:20:00Z',
    },
    {
      key: '2026-03-01T05:00+01:00',
      useful_until: '2026-03-01T06:00:00Z',
      run_after: '2026-03-01T04:21:00Z',
    },
  ]);
});

test('a failed run is owed under catch_up, from its failure on', async () => {
  await put('failing', hourly, '2026-03-01T01:01:00Z');
  await t.ping('failing', 'fail');
  expect(await owed('failing')).toMatchObject([{ key: '2026-03-01T01:00Z', state: 'failed' }]);
  expect(await shownAsOwed('failing')).toEqual(['2026-03-01T01:00Z']);
});

test('of a claimed job the others wait for the throttle after the hand-out, and the claimed one is not owed', async () => {
  await put('claimed', hourly, '2026-03-01T03:20:00Z');
  expect((await claim('claimed', RID)).status).toBe(201);
  await t.at('2026-03-01T03:20:04Z');
  expect(await owed('claimed')).toMatchObject([
    { key: '2026-03-01T02:00Z', run_after: '2026-03-01T03:20:10Z' },
    { key: '2026-03-01T03:00Z', run_after: '2026-03-01T03:20:20Z' },
  ]);
  expect(await shownAsOwed('claimed')).toEqual(['2026-03-01T02:00Z', '2026-03-01T03:00Z']);
});

test('a claim that lapsed leaves its occurrence owed, though its run has begun and never ended', async () => {
  await put('lapsed', hourly, '2026-03-01T01:20:00Z');
  await claim('lapsed', RID);
  await t.ping('lapsed', 'start', { rid: RID });
  await t.at('2026-03-01T01:20:59Z');
  expect([await owed('lapsed'), await shownAsOwed('lapsed')]).toEqual([[], []]);
  await t.at('2026-03-01T01:21:00Z');
  expect(await owed('lapsed')).toMatchObject([{ key: '2026-03-01T01:00Z', run_after: '2026-03-01T01:21:00Z' }]);
  expect(await shownAsOwed('lapsed')).toEqual(['2026-03-01T01:00Z']);
});

test('a run without a claim keeps its occurrence from being owed while it is in progress', async () => {
  await put('running', { ...hourly, max_runtime: '30m' }, '2026-03-01T01:20:00Z');
  await t.ping('running', 'start', { occ: '2026-03-01T01:00Z' });
  expect([await owed('running'), await shownAsOwed('running')]).toEqual([[], []]);
  await t.at('2026-03-01T01:50:00Z');
  expect((await owed('running')).map(({ key }) => key)).toEqual(['2026-03-01T01:00Z']);
  expect(await shownAsOwed('running')).toEqual(['2026-03-01T01:00Z']);
});

test('what nobody knows about is listed as unconfirmed, holds nobody back, and does not count as owed', async () => {
  const at = '2026-03-01T00:30:00Z';
  const schedules = [{ cron: '0 * * * *' }];
  const job = await layOutJob(t, 'blind', {
    at,
    nextUnrecorded: null,
    schedules,
    missedRuns: 'catch_up',
    usefulFor: 7200,
  });
  for (const [hour, state] of [
    ['01', 'unknown'],
    ['02', 'unknown'],
    ['03', 'overdue'],
  ] as const) {
    await layOutRow(t, job, { at: `2026-03-01T${hour}:00:00Z`, state, wanted: state === 'overdue' });
  }
  await t.at('2026-03-01T03:20:00Z');
  expect(await owed('blind')).toMatchObject([
    { key: '2026-03-01T02:00Z', state: 'unknown', run_after: null, unconfirmed: true },
    { key: '2026-03-01T03:00Z', state: 'overdue', run_after: '2026-03-01T03:20:00Z', unconfirmed: false },
  ]);
  expect(await shownAsOwed('blind')).toEqual(['2026-03-01T03:00Z']);
});

test('coalesce owes the newest one, skip and a heartbeat nothing', async () => {
  await put('newest', { ...hourly, missed_runs: 'coalesce' }, '2026-03-01T04:20:00Z');
  expect((await owed('newest')).map(({ key }) => key)).toEqual(['2026-03-01T04:00Z']);
  await put('skipping', { ...hourly, missed_runs: 'skip' }, '2026-03-01T04:20:00Z');
  expect(await owed('skipping')).toEqual([]);
  await put('beating', { schedules: [{ heartbeat: '1h' }], zone: 'UTC' }, '2026-03-01T04:20:00Z');
  expect(await owed('beating')).toEqual([]);
});

test('a pause keeps the debts under catch_up, and adds none', async () => {
  await put('paused', hourly, '2026-03-01T02:20:00Z');
  await t.call('POST', '/jobs/paused/pause');
  await t.at('2026-03-01T06:20:00Z');
  expect((await owed('paused')).map(({ key }) => key)).toEqual(['2026-03-01T01:00Z', '2026-03-01T02:00Z']);
});

test('2,000 owed ones are paged through without a hole, and the spread goes on from page to page', async () => {
  await put('many', { ...hourly, schedules: [{ cron: '* * * * *' }], max_catch_up: 10_000 }, '2026-03-02T09:55:00Z');
  // Runs without a claim: two whole pages of them would hide what comes after.
  await t.database.transaction(
    (tx) => tx.sql`
      insert into runs (job_id, thread, scheduled_for, started_at, heard_at)
      select j.id, 'src:' || n, '2026-03-01T02:00:00Z'::timestamptz + n * interval '1 minute', ${tx.now}, ${tx.now}
      from jobs j, generate_series(0, 199) n where j.slug = 'many'`,
  );
  const all: Entry[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await t.call('GET', `/jobs/many/owed?limit=97${cursor}`);
    all.push(...json.owed);
    expect(json.owed.length).toBe(json.next_cursor === null ? 1800 % 97 : 97);
    if (json.next_cursor === null) break;
    cursor = `&cursor=${json.next_cursor}`;
  }
  const first = Date.parse('2026-03-01T00:31:00Z');
  const atWork = (i: number): boolean => i >= 89 && i < 289;
  const expected = Array.from({ length: 2000 }, (_, i) => i).filter((i) => !atWork(i));
  expect(all.map(({ key }) => Date.parse(key.replace('Z', ':00Z')))).toEqual(expected.map((i) => first + i * 60_000));
  const now = Date.parse('2026-03-02T09:55:00Z');
  expect(all.map(({ run_after }) => Date.parse(run_after ?? ''))).toEqual(expected.map((_, i) => now + i * 10_000));
});

test('a cursor is taken only as it was given, and never leads to an error of ours', async () => {
  await put('cursors', hourly, '2026-03-01T05:20:00Z');
  const { json } = await t.call('GET', '/jobs/cursors/owed?limit=2');
  expect(json.next_cursor).toMatch(/^[\w-]+$/);
  const encoded = (text: string): string => Buffer.from(text).toString('base64url');
  const cursors = [
    '',
    'x',
    `${json.next_cursor}x`,
    encoded('after 1772326800000'),
    encoded('after 1772326800000 -1'),
    encoded('after 1772326800001 1'),
    encoded('after 999999999999999 1'),
    encoded('after 1772326800000 1 1'),
    encoded('after nightly'),
  ];
  for (const cursor of cursors) {
    const answer = await t.call('GET', `/jobs/cursors/owed?cursor=${cursor}`);
    expect([cursor, answer.status, answer.json.errors?.[0]?.path]).toEqual([cursor, 400, 'cursor']);
  }
  expect((await owed('cursors', `?cursor=${json.next_cursor}`)).map(({ key }) => key)).toEqual([
    '2026-03-01T03:00Z',
    '2026-03-01T04:00Z',
    '2026-03-01T05:00Z',
  ]);
});

test('a job that is not there, or is another project’s, owes nothing to anybody', async () => {
  await put('ours', hourly, '2026-03-01T01:20:00Z');
  for (const [path, key] of [
    ['nobody', KEY],
    ['ours', OTHER_KEY],
    ['a%00b', KEY],
  ] as const) {
    const answer = await t.call('GET', `/jobs/${path}/owed`, undefined, { Authorization: `Bearer ${key}` });
    expect([path, answer.status]).toEqual([path, 404]);
  }
  expect((await t.call('GET', '/jobs/ours/owed?state=failed')).status).toBe(400);
  expect(t.logged).toEqual([]);
});
