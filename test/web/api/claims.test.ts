import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, layOutJob, layOutRow, OTHER_KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T00:30:00Z');
});
afterAll(() => t.drop());

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up' };

/** Creates a job as of half past midnight, and moves the clock to `now`. */
async function put(slug: string, definition: object, now: string): Promise<void> {
  await t.at('2026-03-01T00:30:00Z');
  expect((await t.call('PUT', `/jobs/${slug}`, definition)).status).toBe(201);
  await t.at(now);
}

const claim = (slug: string, rid: string = randomUUID()) => t.call('POST', `/jobs/${slug}/claims`, { rid });
const extend = (id: number) => t.call('POST', `/claims/${id}/extend`);
const release = (id: number) => t.call('DELETE', `/claims/${id}`);
const decide = (slug: string, decision: string) => t.call('POST', `/jobs/${slug}/backlog`, { decision });

/** A ping over its real address, as the runner of a claim sends it. */
async function ping(slug: string, what: string): Promise<Response> {
  const { ping_url } = (await t.call('GET', `/jobs/${slug}`)).json;
  return t.app.request(`${new URL(ping_url).pathname}${what}`);
}

async function done(slug: string, rid: string): Promise<void> {
  expect((await ping(slug, `/0?rid=${rid}`)).status).toBe(200);
}

async function stateOf(slug: string, key: string): Promise<string> {
  return (await t.call('GET', `/jobs/${slug}/occurrences/${encodeURIComponent(key)}`)).json.state;
}

/** Status, and the word of the problem or the key of the claim. */
function inShort({ status, json }: Answer): readonly [number, string] {
  return [status, json.key ?? json.type];
}

const refusal = (type: string) => [409, `/problems/${type}`] as const;

test('a claim hands out the oldest owed one, once; the same rid gets it again', async () => {
  await put('first', hourly, '2026-03-01T03:20:00.500Z');
  const rid = randomUUID();
  const given = await claim('first', rid.toUpperCase());
  expect([given.status, given.json]).toEqual([
    201,
    {
      id: expect.any(Number),
      key: '2026-03-01T01:00Z',
      scheduled_for: '2026-03-01T01:00:00Z',
      useful_until: null,
      lease_until: '2026-03-01T03:21:00.500Z',
    },
  ]);
  await t.at('2026-03-01T03:20:30Z');
  const again = await claim('first', rid);
  expect([again.status, again.json]).toEqual([200, given.json]);
});

test('a rid is for one run: a used one is refused with what to do', async () => {
  await put('rids', { ...hourly, throttle: '0s' }, '2026-03-01T03:20:00Z');
  const [claimed, pinged] = [randomUUID(), randomUUID()];
  const { json } = await claim('rids', claimed);
  await release(json.id);
  await ping('rids', `/start?rid=${pinged}`);
  for (const rid of [claimed, pinged]) {
    const { status, json } = await claim('rids', rid);
    expect([status, json.type, json.errors[0].path]).toEqual([400, '/problems/validation', 'rid']);
    expect(json.detail).toContain('uuidgen');
  }
});

test.each([
  [{}, 'rid'],
  [{ rid: null }, 'rid'],
  [{ rid: 'nightly' }, 'rid'],
  [{ rid: '{4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e}' }, 'rid'],
  [{ rid: randomUUID(), key: '2026-03-01T01:00Z' }, 'key'],
])('a claim of %o is told what is wrong', async (body, path) => {
  const { status, json } = await t.call('POST', '/jobs/first/claims', body);
  expect([status, json.errors.map((error: { path: string }) => error.path)]).toEqual([400, [path]]);
});

test('the new tick waits until the backlog clears, each run after the throttle', async () => {
  await put('ordered', hourly, '2026-03-01T02:59:50Z');
  const rids = Array.from({ length: 3 }, () => randomUUID());
  expect(inShort(await claim('ordered', rids[0]))).toEqual([201, '2026-03-01T01:00Z']);
  await done('ordered', rids[0] ?? '');
  await t.at('2026-03-01T02:59:58.200Z');
  const early = await claim('ordered', rids[1]);
  expect([inShort(early), early.headers.get('retry-after')]).toEqual([refusal('not_yet'), '2']);
  // 03:00 is due by now, and before its deadline.
  await t.at('2026-03-01T03:00:00Z');
  expect(inShort(await claim('ordered', rids[1]))).toEqual([201, '2026-03-01T02:00Z']);
  await done('ordered', rids[1] ?? '');
  expect(inShort(await claim('ordered', rids[2]))).toEqual([201, '2026-03-01T03:00Z']);
  await done('ordered', rids[2] ?? '');
  const over = await claim('ordered');
  expect([inShort(over), over.headers.get('retry-after')]).toEqual([refusal('completed'), null]);
  expect(over.json.detail).toContain('2026-03-01T03:00Z');
});

test('exactly one of 50 claimers wins, and the rest are told to wait', async () => {
  await put('crowded', { ...hourly, throttle: '0s' }, '2026-03-01T03:20:00Z');
  const answers = await Promise.all(Array.from({ length: 50 }, () => claim('crowded')));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const others = answers.filter(({ status }) => status !== 201);
  expect(new Set(others.map((answer) => inShort(answer).join()))).toEqual(new Set([refusal('in_progress').join()]));
  expect(others.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
});

test('a lease lasts 60 s from the claim or its last extension; a lost one returns the occurrence', async () => {
  await put('leased', hourly, '2026-03-01T01:20:00Z');
  const { json } = await claim('leased');
  await t.at('2026-03-01T01:20:59.999Z');
  const extended = await extend(json.id);
  expect([extended.status, extended.json]).toEqual([200, { ...json, lease_until: '2026-03-01T01:21:59.999Z' }]);
  expect(inShort(await claim('leased'))).toEqual(refusal('in_progress'));
  await t.at('2026-03-01T01:21:59.999Z');
  const lost = await extend(json.id);
  expect(inShort(lost)).toEqual(refusal('lease_lost'));
  expect(inShort(await claim('leased'))).toEqual([201, '2026-03-01T01:00Z']);
  expect(inShort(await extend(json.id))).toEqual(refusal('lease_lost'));
});

test('a runner that died gives its occurrence back with its lease, though its run began and never ended', async () => {
  await put('died', hourly, '2026-03-01T01:20:00Z');
  const rid = randomUUID();
  await claim('died', rid);
  await ping('died', `/start?rid=${rid}`);
  await t.at('2026-03-01T01:20:59Z');
  expect(inShort(await claim('died'))).toEqual(refusal('in_progress'));
  await t.at('2026-03-01T01:21:00Z');
  expect(inShort(await claim('died'))).toEqual([201, '2026-03-01T01:00Z']);
});

test('a lease that a clock gave which has gone back since is void', async () => {
  await put('void', hourly, '2026-03-01T01:20:00Z');
  await claim('void');
  await t.at('2026-03-01T01:19:59Z');
  expect(inShort(await claim('void'))).toEqual([201, '2026-03-01T01:00Z']);
});

test('a ping with the rid of the claim completes its occurrence, and its next extension says so', async () => {
  await put('completed', { ...hourly, throttle: '0s' }, '2026-03-01T02:20:00Z');
  const rid = randomUUID();
  const { json } = await claim('completed', rid);
  const start = await ping('completed', `/start?rid=${rid}`);
  expect([start.headers.get('rollcall-match'), start.headers.get('rollcall-occurrence')]).toEqual([
    'rid',
    '2026-03-01T01:00Z',
  ]);
  await done('completed', rid);
  expect(await stateOf('completed', '2026-03-01T01:00Z')).toBe('late');
  expect(inShort(await extend(json.id))).toEqual(refusal('completed'));
  expect(inShort(await claim('completed'))).toEqual([201, '2026-03-01T02:00Z']);
});

test('an occurrence that somebody else completes is no longer the runner’s', async () => {
  await put('overtaken', hourly, '2026-03-01T01:20:00Z');
  const { json } = await claim('overtaken');
  expect((await ping('overtaken', '?occ=2026-03-01T01:00Z')).status).toBe(200);
  expect(inShort(await extend(json.id))).toEqual(refusal('completed'));
});

test('a failed run returns its occurrence at once', async () => {
  await put('failing', { ...hourly, throttle: '0s' }, '2026-03-01T01:20:00Z');
  const rid = randomUUID();
  await claim('failing', rid);
  expect((await ping('failing', `/1?rid=${rid}`)).status).toBe(200);
  expect(await stateOf('failing', '2026-03-01T01:00Z')).toBe('failed');
  expect(inShort(await claim('failing'))).toEqual([201, '2026-03-01T01:00Z']);
});

test('a claim that is given back can be taken by somebody else; giving it back again does no harm', async () => {
  await put('returned', { ...hourly, throttle: '0s' }, '2026-03-01T01:20:00Z');
  const { json } = await claim('returned');
  expect([(await release(json.id)).status, (await release(json.id)).status]).toEqual([204, 204]);
  expect(inShort(await extend(json.id))).toEqual(refusal('lease_lost'));
  expect(inShort(await claim('returned'))).toEqual([201, '2026-03-01T01:00Z']);
});

test('forbid waits for any run of the job and says which', async () => {
  await put('forbidding', { ...hourly, throttle: '0s' }, '2026-03-01T02:20:00Z');
  await ping('forbidding', '/start?occ=2026-03-01T02:00Z');
  const waiting = await claim('forbidding');
  expect([inShort(waiting), waiting.headers.get('retry-after')]).toEqual([refusal('in_progress'), '10']);
  expect(waiting.json.detail).toMatch(/2026-03-01T02:00Z is in progress.*Retry-After/);
});

test('allow hands out the next one while others run', async () => {
  await put('allowing', { ...hourly, throttle: '0s', overlap: 'allow' }, '2026-03-01T02:20:00Z');
  expect(inShort(await claim('allowing'))).toEqual([201, '2026-03-01T01:00Z']);
  expect(inShort(await claim('allowing'))).toEqual([201, '2026-03-01T02:00Z']);
  expect(inShort(await claim('allowing'))).toEqual(refusal('in_progress'));
});

test('with a newer occurrence due, replace hands it out and the older runner is told', async () => {
  const schedules = [{ cron: '* * * * *' }];
  const definition = { schedules, zone: 'UTC', missed_runs: 'coalesce', overlap: 'replace', throttle: '0s' };
  await put('newer', definition, '2026-03-01T01:00:30Z');
  const older = (await claim('newer')).json;
  expect(older.key).toBe('2026-03-01T01:00Z');
  expect(inShort(await claim('newer'))).toEqual(refusal('in_progress'));
  await t.at('2026-03-01T01:01:10Z');
  expect(inShort(await claim('newer'))).toEqual([201, '2026-03-01T01:01Z']);
  expect(await stateOf('newer', '2026-03-01T01:00Z')).toBe('coalesced');
  expect(inShort(await extend(older.id))).toEqual(refusal('replaced'));
  expect((await release(older.id)).status).toBe(204);
});

test('coalesce hands out the newest due one, whose completion covers the rest', async () => {
  await put('coalescing', { ...hourly, missed_runs: 'coalesce' }, '2026-03-01T03:20:00Z');
  const rid = randomUUID();
  expect(inShort(await claim('coalescing', rid))).toEqual([201, '2026-03-01T03:00Z']);
  await done('coalescing', rid);
  expect(await stateOf('coalescing', '2026-03-01T02:00Z')).toBe('coalesced');
  expect(inShort(await claim('coalescing'))).toEqual(refusal('completed'));
});

test('past useful_for nothing is handed out, and the answer says what is past', async () => {
  await put('digest', { ...hourly, missed_runs: 'skip', useful_for: '10m' }, '2026-03-01T01:09:59Z');
  const given = await claim('digest');
  expect([inShort(given), given.json.useful_until]).toEqual([[201, '2026-03-01T01:00Z'], '2026-03-01T01:10:00Z']);
  await release(given.json.id);
  await t.at('2026-03-01T01:10:00Z');
  const past = await claim('digest');
  expect([inShort(past), past.headers.get('retry-after')]).toEqual([refusal('off_schedule'), null]);
  expect(past.json.detail).toMatch(/^2026-03-01T01:00Z is past .+; there is nothing to run now$/);
  expect(past.json.past).toEqual({ key: '2026-03-01T01:00Z', useful_until: '2026-03-01T01:10:00Z' });
});

test('before the first occurrence, and for a heartbeat, there is nothing to hand out', async () => {
  await put('young', hourly, '2026-03-01T00:31:00Z');
  const young = await claim('young');
  expect([inShort(young), 'past' in young.json]).toEqual([refusal('off_schedule'), false]);
  await t.at('2026-03-01T00:56:00Z');
  expect(inShort(await claim('young'))).toEqual([201, '2026-03-01T01:00Z']);
  await put('beat', { schedules: [{ heartbeat: '1h' }], zone: 'UTC' }, '2026-03-01T03:20:00Z');
  const beat = await claim('beat');
  expect([inShort(beat), beat.json.detail]).toEqual([
    refusal('off_schedule'),
    'a heartbeat has no occurrences to hand out; whatever is run now needs no claim, and its pings no key',
  ]);
});

test('a paused job hands out nothing, and says how to resume it', async () => {
  await put('paused', hourly, '2026-03-01T01:20:00Z');
  await t.call('POST', '/jobs/paused/pause');
  const refused = await claim('paused');
  expect([inShort(refused), refused.headers.get('retry-after')]).toEqual([refusal('paused'), null]);
  expect(refused.json.detail).toContain('/jobs/paused/resume');
  await t.call('POST', '/jobs/paused/resume');
  expect(inShort(await claim('paused'))).toEqual([201, '2026-03-01T01:00Z']);
});

test('a backlog waits for a person; after run it is handed out, and later ones count anew', async () => {
  await put('piled', { ...hourly, max_catch_up: 2, throttle: '0s' }, '2026-03-01T02:20:00Z');
  const rid = randomUUID();
  expect(inShort(await claim('piled', rid))).toEqual([201, '2026-03-01T01:00Z']);
  await t.at('2026-03-01T03:20:00Z');
  const held = await claim('piled');
  expect([inShort(held), held.headers.get('retry-after')]).toEqual([refusal('backlog'), null]);
  expect(held.json.detail).toContain('POST /api/v1/jobs/piled/backlog {"decision": "run" or "skip"}');
  const run = await decide('piled', 'run');
  expect([run.status, run.json]).toEqual([200, { decision: 'run', until: '2026-03-01T03:20:00Z', count: 3 }]);
  expect(inShort(await claim('piled'))).toEqual([201, '2026-03-01T01:00Z']);
  // Two more are within max_catch_up, a third is not.
  await t.at('2026-03-01T05:20:00Z');
  expect(inShort(await claim('piled'))).toEqual([201, '2026-03-01T01:00Z']);
  await t.at('2026-03-01T06:20:00Z');
  expect(inShort(await claim('piled'))).toEqual(refusal('backlog'));
});

test('skip writes off what is owed, for the audit too, and the job goes on with what is due next', async () => {
  await put('written-off', { ...hourly, max_catch_up: 1 }, '2026-03-01T03:20:00Z');
  expect(inShort(await claim('written-off'))).toEqual(refusal('backlog'));
  expect((await decide('written-off', 'skip')).json).toMatchObject({ decision: 'skip', count: 3 });
  expect(await stateOf('written-off', '2026-03-01T02:00Z')).toBe('skipped');
  expect(inShort(await claim('written-off'))).toEqual(refusal('completed'));
  await t.at('2026-03-01T04:00:10Z');
  expect(inShort(await claim('written-off'))).toEqual([201, '2026-03-01T04:00Z']);
  const audit = await t.database.transaction(
    (tx) => tx.sql`select actor, action, subject, detail from audit where subject = 'written-off' order by id desc`,
  );
  expect(audit[0]).toEqual({
    actor: expect.stringMatching(/^api key /),
    action: 'job.backlog',
    subject: 'written-off',
    detail: { decision: 'skip', count: 3 },
  });
});

test('what nobody knows about is handed out only after run', async () => {
  const at = '2026-03-01T00:30:00Z';
  const schedules = [{ cron: '0 * * * *' }];
  const job = await layOutJob(t, 'blind', {
    at,
    nextUnrecorded: '2026-03-01T02:00:00Z',
    schedules,
    missedRuns: 'catch_up',
  });
  await layOutRow(t, job, { at: '2026-03-01T01:00:00Z', state: 'unknown' });
  await t.at('2026-03-01T01:20:00Z');
  const held = await claim('blind');
  expect(inShort(held)).toEqual(refusal('backlog'));
  expect(held.json.detail).toMatch(/2026-03-01T01:00Z.*unknown.*rollcall backlog blind run or skip/);
  expect((await decide('blind', 'run')).json).toMatchObject({ count: 1 });
  const rid = randomUUID();
  expect(inShort(await claim('blind', rid))).toEqual([201, '2026-03-01T01:00Z']);
  await done('blind', rid);
  expect(await stateOf('blind', '2026-03-01T01:00Z')).toBe('late');
});

test('only catch_up has a backlog to decide about, and only run and skip are decisions', async () => {
  await put('no-backlog', { ...hourly, missed_runs: 'coalesce' }, '2026-03-01T03:20:00Z');
  const answer = await decide('no-backlog', 'run');
  expect([answer.status, answer.json.detail]).toEqual([400, expect.stringContaining('catch_up')]);
  for (const body of [{}, { decision: 'later' }, { decision: 'run', until: 'now' }]) {
    expect((await t.call('POST', '/jobs/no-backlog/backlog', body)).status).toBe(400);
  }
});

test('what is not there, or another project’s, is 404', async () => {
  await put('ours', hourly, '2026-03-01T01:20:00Z');
  const { json } = await claim('ours');
  const other = { Authorization: `Bearer ${OTHER_KEY}` };
  const rid = randomUUID();
  const answers = [
    await t.call('POST', '/jobs/ours/claims', { rid }, other),
    await t.call('POST', '/jobs/ours/backlog', { decision: 'run' }, other),
    await t.call('POST', `/claims/${json.id}/extend`, undefined, other),
    await t.call('DELETE', `/claims/${json.id}`, undefined, other),
    await t.call('POST', '/jobs/nobody/claims', { rid }),
    await t.call('POST', '/jobs/a%00b/claims', { rid }),
    await decide('nobody', 'run'),
    await decide('a%00b', 'run'),
    await extend(999_999_999),
    await t.call('POST', '/claims/first/extend'),
    await t.call('DELETE', '/claims/99999999999999999999'),
  ];
  expect(answers.map(inShort)).toEqual(answers.map(() => [404, '/problems/not_found']));
  expect((await extend(json.id)).status).toBe(200);
  expect(t.logged).toEqual([]);
});

test('a claimed run that outlives the next one’s grace under coalesce is still at work: nobody joins it, and it may go on', async () => {
  await put('outlives', { ...hourly, missed_runs: 'coalesce', throttle: '0s' }, '2026-03-01T13:00:00Z');
  const rid = randomUUID();
  const { json } = await claim('outlives', rid);
  expect(json.key).toBe('2026-03-01T13:00Z');
  await ping('outlives', `/start?rid=${rid}`);
  for (let at = Date.parse('2026-03-01T13:00:50Z'); at < Date.parse('2026-03-01T14:31:00Z'); at += 50_000) {
    await t.at(new Date(at).toISOString());
    expect([at, (await extend(json.id)).status]).toEqual([at, 200]);
  }
  expect(await stateOf('outlives', '2026-03-01T13:00Z')).toBe('coalesced');
  expect(inShort(await claim('outlives'))).toEqual(refusal('in_progress'));
  await done('outlives', rid);
  expect(await stateOf('outlives', '2026-03-01T13:00Z')).toBe('late');
  expect(inShort(await claim('outlives'))).toEqual([201, '2026-03-01T14:00Z']);
});

test('an edit of `early` sends no run away that has its occurrence', async () => {
  await put('edited', { ...hourly, schedules: [{ cron: '0 0 * * *' }], early: '24h' }, '2026-03-01T20:00:00Z');
  const rid = randomUUID();
  expect((await claim('edited', rid)).json.key).toBe('2026-03-02T00:00Z');
  await t.call('PUT', '/jobs/edited', { ...hourly, schedules: [{ cron: '0 0 * * *' }] });
  const end = await ping('edited', `/0?rid=${rid}&occ=2026-03-02T00:00Z`);
  expect([end.status, end.headers.get('rollcall-match')]).toEqual([200, 'key']);
});
