import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { KEY } from '../web/api/api.ts';
import { type Between, openBetween } from './between.ts';
import { execHurried } from './hurried.ts';
import { linesOf, openStage, type Stage } from './stage.ts';

// What was run is not run again, and nothing counts as run that was not, whatever lies between here and Rollcall.
const NOW = Math.floor(Date.now() / 1000) * 1000;
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const keyOf = (minutes: number) => new Date(Math.floor((NOW - minutes * 60_000) / 1000) * 1000).toISOString();

let s: Stage;
let between: Between;
beforeAll(async () => {
  s = await openStage(ago(600));
  between = await openBetween(s.url);
});
beforeEach(() => Object.assign(between, { pings: null, rest: null, claimsToLose: 0 }));
afterAll(async () => {
  between.close();
  await s.close();
});

/** Due a minute ago, and four hours before that. */
const job = {
  schedules: [{ every: '4h', anchor: keyOf(1) }],
  zone: 'UTC',
  missed_runs: 'catch_up',
  throttle: '0s',
};
const create = (slug: string, createdAgo = 120) =>
  s.job(slug, job, { at: ago(createdAgo), now: new Date(NOW).toISOString() });
const later = () => s.api.at(new Date(Date.now() + 61_000).toISOString());
const settings = (slug: string, more: Readonly<Record<string, string>> = {}) => ({
  ROLLCALL_URL: between.url,
  ROLLCALL_API_KEY: KEY,
  ROLLCALL_SPOOL: join(s.folder, `spool-${slug}`),
  ...more,
});
const noting = (name: string) => ['--', '/bin/sh', '-c', `echo "run $ROLLCALL_OCCURRENCE" >> ${join(s.folder, name)}`];
const runs = (name: string) => linesOf(join(s.folder, name));
const rejected = async (slug: string) =>
  (await readdir(join(s.folder, `spool-${slug}`, 'rejected'))).filter((name) => name.endsWith('.ping'));

test('a claim whose answer is lost pays no debt: the run that follows has a run id of its own', async () => {
  await create('lost', 300);
  between.claimsToLose = Number.POSITIVE_INFINITY;
  const { code, err, slept } = await execHurried(['lost', ...noting('lost')], settings('lost'));
  expect([code, err, slept.slice(0, 2)]).toEqual([0, expect.stringContaining('Rollcall is away'), [1000, 2000]]);
  expect(await runs('lost')).toEqual(['run ']);
  const [debt, current] = await s.states('lost');
  expect([debt, current]).toEqual([expect.stringMatching(/: overdue$/), expect.stringMatching(/: on_time$/)]);
});

test('an answer that is lost once is given again, and its run pays the debt', async () => {
  await create('once', 300);
  between.claimsToLose = 1;
  const { code, slept } = await execHurried(['once', '--max', '1', ...noting('once')], settings('once'));
  expect([code, slept[0], between.claimsToLose]).toEqual([0, 1000, 0]);
  expect(await runs('once')).toEqual([expect.stringMatching(/^run \d{4}-/)]);
  expect((await s.states('once'))[0]).toMatch(/: late$/);
});

test.each([
  [404, {}],
  [403, {}],
  [401, {}],
  [302, { location: 'http://127.0.0.1:9/' }],
  [503, {}],
])(
  'what a proxy says (%d) is not Rollcall: the success is kept, and its occurrence not run again',
  async (status, headers) => {
    const slug = `proxy-${status}`;
    await create(slug);
    const env = settings(slug, { ROLLCALL_PING_KEY: 'any-ping-key-0123456789' });
    between.pings = { status, headers };
    expect((await execHurried([slug, ...noting(slug)], env)).code).toBe(0);
    expect(await rejected(slug)).toEqual([]);
    await later();
    const again = await execHurried([slug, ...noting(slug)], env);
    expect([again.code, again.err]).toEqual([75, expect.stringMatching(/waits to be delivered.*nothing was run/)]);
    expect(await runs(slug)).toHaveLength(1);
  },
);

test('a proxy that refuses everything while Rollcall is away throws nothing away', async () => {
  await create('all-404');
  between.pings = { status: 404 };
  between.rest = { status: 404 };
  expect((await execHurried(['all-404', ...noting('all-404')], settings('all-404'))).code).toBe(0);
  Object.assign(between, { pings: null, rest: null });
  const next = await execHurried(['all-404', ...noting('all-404')], settings('all-404'));
  expect([next.code, next.err]).toEqual([0, 'all-404: already completed, by another run: nothing to run']);
  expect([await runs('all-404'), await rejected('all-404')]).toEqual([['run '], []]);
});

test('a success that Rollcall rejected is not run again; why is said, and how it is delivered', async () => {
  await create('rejected');
  const wrong = settings('rejected', { ROLLCALL_PING_KEY: 'not-the-ping-key-0123456789' });
  const first = await execHurried(['rejected', ...noting('rejected')], wrong);
  expect([first.code, first.err]).toEqual([0, expect.stringContaining('ROLLCALL_PING_KEY is wrong')]);
  await later();
  const again = await execHurried(['rejected', ...noting('rejected')], wrong);
  expect([again.code, again.err]).toEqual([75, expect.stringMatching(/ROLLCALL_PING_KEY is wrong.*nothing was run/)]);
  const flushed = await execHurried(['--flush', '--all'], settings('rejected'));
  expect([flushed.code, flushed.err]).toEqual([0, '']);
  expect((await execHurried(['rejected', ...noting('rejected')], settings('rejected'))).err).toContain('completed');
  expect(await runs('rejected')).toHaveLength(1);
});

test('a success that waits under another key is said, not run again, and sent only when adopted', async () => {
  await create('other-key');
  const old = settings('other-key', { ROLLCALL_API_KEY: 'the-key-of-yesterday-0123456789' });
  between.pings = { status: 503 };
  between.rest = { status: 503 };
  await execHurried(['other-key', ...noting('other-key')], old);
  Object.assign(between, { pings: null, rest: null });
  const now = settings('other-key');
  const next = await execHurried(['other-key', ...noting('other-key')], now);
  expect([next.code, next.err]).toEqual([75, expect.stringMatching(/wait under another key.*--adopt/)]);
  const kept = await execHurried(['--flush', '--all'], now);
  expect([kept.code, kept.err]).toEqual([75, expect.stringMatching(/^2 wait under another key.*jobs: other-key/)]);
  expect(await s.pings('other-key')).toEqual([]);
  expect((await execHurried(['--flush', '--adopt'], now)).code).toBe(0);
  expect((await s.pings('other-key')).map(({ kind }) => kind)).toEqual(['start', 'success']);
  expect(await runs('other-key')).toHaveLength(1);
});

test('what waits for another address is counted and named', async () => {
  await create('moved');
  const before = settings('moved', { ROLLCALL_URL: 'http://127.0.0.1:9' });
  await execHurried(['moved', ...noting('moved')], before);
  const flushed = await execHurried(['--flush'], settings('moved'));
  expect([flushed.code, flushed.err]).toEqual([75, expect.stringContaining('written for http://127.0.0.1:9')]);
  expect((await execHurried(['moved', ...noting('moved')], settings('moved'))).code).toBe(75);
  expect(await runs('moved')).toHaveLength(1);
});

test('with a full disk and Rollcall away it is tried for minutes, and no promise is made', async () => {
  await create('full');
  const full = () => Promise.reject(new Error('ENOSPC: no space left on device'));
  const env = settings('full', { ROLLCALL_URL: 'http://127.0.0.1:9' });
  const { code, err, slept } = await execHurried(['full', ...noting('full')], env, (spool) => ({
    ...spool,
    put: full,
  }));
  expect([code, err]).toEqual([0, expect.stringContaining('the news is on no disk, and is lost')]);
  expect(err).not.toContain('the next time');
  expect(slept.reduce((sum, ms) => sum + ms)).toBeGreaterThanOrEqual(600_000);
});

test('a disk that has room again keeps what it did not', async () => {
  await create('room');
  let refusals = 3;
  const env = settings('room', { ROLLCALL_URL: 'http://127.0.0.1:9' });
  const { err } = await execHurried(['room', ...noting('room')], env, (spool) => ({
    ...spool,
    put: (...what) => (refusals-- > 0 ? Promise.reject(new Error('ENOSPC')) : spool.put(...what)),
  }));
  expect(err).toContain('it is told the next time');
  expect((await execHurried(['--flush', '--adopt'], settings('room'))).code).toBe(0);
  expect((await s.pings('room')).map(({ kind }) => kind)).toEqual(['start', 'success']);
});
