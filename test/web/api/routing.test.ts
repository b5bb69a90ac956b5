import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Alerts, type Hook } from '../../support/alerts.ts';

const yearly = { schedules: [{ cron: '0 9 2 3 *' }], zone: 'UTC', missed_runs: 'catch_up' };

let a: Alerts;
const hooks: Hook[] = [];
beforeAll(async () => {
  a = await Alerts.start('2026-03-02T08:30:00Z');
  hooks.push(
    await a.hook('plain'),
    await a.hook('named'),
    await a.hook('by-kind', { routes: { kinds: ['missing', 'unknown'] } }),
    await a.hook('by-tag', { routes: { tags: ['billing', 'money'] } }),
    await a.hook('by-both', { routes: { kinds: ['failed'], tags: ['billing'] } }),
  );
});
afterAll(() => a.drop());

const routing = async (job: string, kind: string) => {
  const { status, json } = await a.t.call('GET', `/routing?job=${job}&kind=${kind}`);
  expect(status, JSON.stringify(json)).toBe(200);
  return json.routing as { channel: string; kind: string; told: boolean; reason: string }[];
};
const told = async (job: string, kind: string) =>
  (await routing(job, kind)).filter((line) => line.told).map(({ channel }) => channel);
const put = async (slug: string, more: object) => {
  const { status, json } = await a.t.call('PUT', `/jobs/${slug}`, { ...yearly, ...more });
  expect([200, 201], JSON.stringify(json)).toContain(status);
};

test('the dry run names every channel, whether it is told, and why', async () => {
  await put('billing', { tags: ['billing'], channels: ['named'] });
  expect(await routing('billing', 'missing')).toEqual([
    {
      channel: 'by-both',
      kind: 'webhook',
      told: false,
      reason: 'its routes take other kinds: failed',
    },
    { channel: 'by-kind', kind: 'webhook', told: true, reason: 'its routes match: kinds missing, unknown; tags any' },
    { channel: 'by-tag', kind: 'webhook', told: true, reason: 'its routes match: kinds all; tags billing, money' },
    { channel: 'named', kind: 'webhook', told: true, reason: 'the job names it' },
    { channel: 'plain', kind: 'webhook', told: false, reason: 'the job names other channels: named' },
  ]);
});

test('it says that a job tells nothing while it waits for another', async () => {
  await put('export', {});
  await put('load', { after: ['export'], channels: ['plain'] });
  const of = async (kind: string) => (await routing('load', kind)).find(({ channel }) => channel === 'plain');
  expect(await of('missing')).toMatchObject({
    told: true,
    reason: 'the job names it; not while it waits for export (after)',
  });
  expect(await of('failed')).toMatchObject({ reason: 'the job names it' });
  for (const slug of ['load', 'export']) await a.t.call('DELETE', `/jobs/${slug}`);
});

test('a message goes exactly where the dry run says', async () => {
  const jobs: readonly (readonly [string, object])[] = [
    ['to-all', {}],
    ['to-named', { channels: ['named'] }],
    ['to-nobody', { channels: [], tags: ['billing'] }],
    ['tagged', { tags: ['money'] }],
    ['names-routed', { channels: ['by-both'] }],
  ];
  for (const [slug, more] of jobs) await put(slug, more);
  const foretold = await Promise.all(jobs.map(async ([slug]) => [slug, await told(slug, 'missing')]));
  await a.at('2026-03-02T09:05:00Z');
  const happened = jobs.map(([slug]) => [
    slug,
    hooks
      .filter((hook) => hook.told().includes(`opened ${slug} missing`))
      .map((hook) => hook.slug)
      .sort(),
  ]);
  expect(happened).toEqual(foretold);
  expect(happened).toEqual([
    ['to-all', ['by-kind', 'named', 'plain']],
    ['to-named', ['by-kind', 'named']],
    ['to-nobody', []],
    ['tagged', ['by-kind', 'by-tag', 'named', 'plain']],
    ['names-routed', ['by-both', 'by-kind']],
  ]);
});

test('who was told of a problem is told that it is over, although the job names others by then', async () => {
  await put('to-named', { channels: ['plain'] });
  await a.t.ping('to-named', 'success', { occ: '2026-03-02T09:00:00Z' });
  await a.at('2026-03-02T09:10:00Z');
  const resolved = hooks.filter((hook) => hook.told().includes('resolved to-named missing')).map(({ slug }) => slug);
  expect(resolved.sort()).toEqual(['by-kind', 'named']);
  expect(await a.notifications(await a.incident('to-named'))).toContain(
    'plain 2: withheld, the problem itself was not delivered to this channel',
  );
});

describe('a reason why nothing is said', () => {
  test.each([
    ['not_started', {}, 'none opens: the job has no start_within'],
    ['overrun', {}, 'none opens: the job has no max_runtime'],
    ['duplicate', { duplicates: 'record' }, 'none opens: duplicates are only recorded'],
    ['unscheduled', {}, 'none opens: runs off schedule are only recorded'],
    ['backlog', { missed_runs: 'skip' }, 'none opens: only a catch_up job has a backlog'],
    ['failed', { channels: [] }, 'the job tells nobody: its channels are []'],
  ])('%s of %j', async (kind, more, reason) => {
    await put('quiet', more);
    const lines = await routing('quiet', kind);
    expect(lines.find(({ channel }) => channel === 'plain')).toMatchObject({ told: false, reason });
    expect(lines.some((line) => line.told)).toBe(false);
  });

  test('a pause, maintenance, a threshold, a dead channel', async () => {
    await put('quiet', {
      alert_after: { late: { count: 3, of: 3 }, failed: { count: 2, of: 5 } },
      channels: ['plain'],
    });
    const line = async (kind: string) => (await routing('quiet', kind)).find(({ channel }) => channel === 'plain');
    expect(await line('late')).toMatchObject({ told: true, reason: 'the job names it; after 3 in a row' });
    expect(await line('failed')).toMatchObject({ told: true, reason: 'the job names it; after 2 of the last 5' });
    await a.t.database.transaction((tx) => tx.sql`update channels set dead_since = ${tx.now} where slug = 'plain'`);
    expect(await line('late')).toMatchObject({
      told: true,
      reason: 'the job names it; after 3 in a row; but nothing has got through to it since 2026-03-02T09:10:05Z',
    });
    await a.maintain('quiet', '2h');
    expect((await line('missing'))?.reason).toContain(
      'withheld by maintenance deploy until 2026-03-02T11:10:05Z, and told then if it is still open',
    );
    expect((await line('missing'))?.told).toBe(false);
    await a.t.call('POST', '/jobs/quiet/pause');
    expect(await line('late')).toMatchObject({ told: false, reason: 'the job is paused: nothing of it is told' });
  });
});

test.each([
  ['?kind=missing', ['job']],
  ['?job=billing', ['kind']],
  ['', ['job', 'kind']],
  ['?job=billing&kind=gone', ['kind']],
  ['?job=billing&kind=missing&channel=ops', ['channel']],
])('routing%s is refused', async (query, paths) => {
  const { status, json } = await a.t.call('GET', `/routing${query}`);
  expect(status).toBe(400);
  expect(json.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
});

test('a job that is not there is 404', async () => {
  expect((await a.t.call('GET', '/routing?job=nobody&kind=missing')).status).toBe(404);
});

describe('the fields of a channel', () => {
  const body = { kind: 'email', to: 'ops@example.org' };

  test('remind_every and routes are read back, and a PUT without them takes them away', async () => {
    const more = { remind_every: 'PT90M', routes: { kinds: null, tags: ['prod'] } };
    const { json } = await a.t.call('PUT', '/channels/mail', { ...body, ...more });
    expect(json).toMatchObject({ remind_every: '90m', routes: { kinds: null, tags: ['prod'] } });
    expect((await a.t.call('GET', '/channels/mail')).json).toEqual(json);
    expect((await a.t.call('PUT', '/channels/mail', body)).json).toMatchObject({ remind_every: null, routes: null });
  });

  test.each([
    [{ remind_every: '59s' }, ['remind_every']],
    [{ remind_every: '31d' }, ['remind_every']],
    [{ remind_every: 'often' }, ['remind_every']],
    [{ routes: [] }, ['routes']],
    [{ routes: {} }, ['routes']],
    [{ routes: { kinds: null, tags: null } }, ['routes']],
    [{ routes: { kinds: [] } }, ['routes.kinds']],
    [{ routes: { kinds: ['missing', 'gone'] } }, ['routes.kinds[1]']],
    [{ routes: { tags: ['a', 'a'] } }, ['routes.tags[1]']],
    [{ routes: { tags: ['a'], jobs: ['b'] } }, ['routes.jobs']],
    [{ cc: 'x', routes: 1 }, ['cc', 'routes']],
  ])('%j is refused', async (more, paths) => {
    const { status, json } = await a.t.call('PUT', '/channels/x', { ...body, ...more });
    expect(status).toBe(400);
    expect(json.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
  });
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(a.t.logged).toEqual([]);
});
