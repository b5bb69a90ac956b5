import { spawn } from 'node:child_process';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../proof/service.ts';
import { KEY } from '../web/api/api.ts';
import { execHurried } from './hurried.ts';
import { linesOf, openStage, outcome, type Stage, waitFor } from './stage.ts';

// Spooled pings carry the time of this machine, so here Rollcall's clock shows that time too.
const NOW = Date.now();
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();

let s: Stage;
beforeAll(async () => {
  s = await openStage(ago(600));
});
afterAll(() => s.close());

const sh = (line: string) => ['--', '/bin/sh', '-c', line] as const;
/** Due a minute ago, and before that every four hours. */
const job = {
  schedules: [{ every: '4h', anchor: new Date(Math.floor(NOW / 1000) * 1000 - 60_000).toISOString() }],
  zone: 'UTC',
  missed_runs: 'catch_up',
  throttle: '0s',
};
const create = (slug: string) => s.job(slug, job, { at: ago(120), now: new Date(NOW).toISOString() });

/** In this process, and without its waits. */
const hurried = (...words: string[]) =>
  execHurried(words, { ROLLCALL_URL: s.url, ROLLCALL_API_KEY: KEY, ROLLCALL_SPOOL: s.spool });

test('Rollcall away: the command runs, its pings wait, and the next exec delivers them with their times', async () => {
  await create('away');
  await s.unplug();
  const away = await s.exec(['away', ...sh('echo worked; exit 0')]);
  expect([away.code, away.out]).toEqual([0, 'worked\n']);
  expect(away.err).toMatch(/^rollcall: Rollcall is away \(.*\); the command runs all the same\n/);
  expect(await s.waiting()).toHaveLength(2);
  await s.api.at(new Date(NOW + 3_600_000).toISOString());
  await s.plug();
  // Delivered before it asks: what was run is not handed out again.
  const next = await s.exec(['away', ...sh(`echo again >> ${join(s.folder, 'away')}`)]);
  expect([next.code, next.err]).toEqual([0, 'rollcall: away: already completed, by another run: nothing to run\n']);
  expect(await s.waiting()).toEqual([]);
  expect(await linesOf(join(s.folder, 'away'))).toEqual([]);
  const pings = await s.pings('away');
  expect(pings.map(({ kind }) => kind)).toEqual(['start', 'success']);
  const lags = pings.map(({ at }) => Date.parse(at ?? '') - NOW);
  expect(Math.min(...lags)).toBeGreaterThan(0);
  expect(Math.max(...lags)).toBeLessThan(600_000);
  expect((await s.states('away')).at(-1)).toMatch(/: on_time$/);
});

test('a crash between the end of the command and its delivery loses nothing', async () => {
  await create('crash');
  const run = s.start(['crash', '--verbose', ...sh(`${waitFor('$GO')}; echo the work is done`)], {
    GO: join(s.folder, 'crash-go'),
  });
  await eventually('the start is heard', async () => (await s.pings('crash')).length === 1);
  await eventually('that is known', async () => (await s.waiting()).length === 0);
  await s.unplug();
  await writeFile(join(s.folder, 'crash-go'), '');
  await eventually('the end is on disk', async () => (await s.waiting()).length === 1);
  run.send('SIGKILL');
  expect(await run.ended).toBeNull();
  await s.plug();
  const flushed = await s.exec(['--flush', '--verbose']);
  expect([flushed.code, flushed.err]).toEqual([0, 'rollcall: 1 delivered, 0 rejected, 0 left\n']);
  const [start, end] = await s.pings('crash');
  expect([end?.kind, end?.rid, end?.key]).toEqual(['success', start?.rid, start?.key]);
  expect((await s.api.call('GET', `/jobs/crash/pings/${end?.id}/body`)).json).toBe('the work is done\n');
});

test('two processes that empty one spool deliver each ping once', async () => {
  await create('shared');
  await s.unplug();
  const runs = await Promise.all(Array.from({ length: 3 }, () => s.exec(['shared', ...sh('true')])));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await s.waiting()).toHaveLength(6);
  await s.plug();
  const flushes = await Promise.all(Array.from({ length: 3 }, () => s.exec(['--flush', '--verbose'])));
  expect(flushes.map(({ code }) => code)).toEqual([0, 0, 0]);
  const delivered = flushes.map(({ err }) => Number(/(\d+) delivered/.exec(err)?.[1]));
  expect(delivered.reduce((sum, count) => sum + count)).toBe(6);
  expect(await s.waiting()).toEqual([]);
  const pings = await s.pings('shared');
  expect(pings.map(({ kind }) => kind).sort()).toEqual(['start', 'start', 'start', 'success', 'success', 'success']);
});

test('the lock of a process that is gone, or silent, is taken over; that of one at work is not', async () => {
  await create('locked');
  await s.unplug();
  await s.exec(['locked', ...sh('true')]);
  await s.plug();
  const lock = join(s.spool, 'delivering.lock');
  const worker = spawn('sleep', ['60']);
  try {
    await writeFile(lock, `${worker.pid}\n`);
    expect((await s.exec(['away', ...sh('true')])).code).toBe(0);
    expect(await s.waiting()).toHaveLength(2);
    const quiet = new Date(Date.now() - 61_000);
    await utimes(lock, quiet, quiet);
    expect((await s.exec(['--flush'])).code).toBe(0);
    expect(await s.waiting()).toEqual([]);
  } finally {
    worker.kill();
  }
  await s.unplug();
  await s.exec(['locked', ...sh('true')]);
  await s.plug();
  await writeFile(lock, `${worker.pid}\n`);
  expect((await s.exec(['--flush'])).code).toBe(0);
  expect([await s.waiting(), (await readdir(s.spool)).sort()]).toEqual([[], ['rejected']]);
});

test('a wrong key or name is said, the command runs, and its pings can be sent once that is put right', async () => {
  await create('keys');
  const wrong = await s.exec(['keys', ...sh('echo worked')], { ROLLCALL_API_KEY: 'not-the-key-of-this-project' });
  expect([wrong.code, wrong.out]).toEqual([0, 'worked\n']);
  expect(wrong.err).toContain('does not take ROLLCALL_API_KEY (401)');
  const unknown = await s.exec(['nobody', ...sh('exit 3')]);
  expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining('knows no job nobody (404)')]);
  const reasons = (await s.rejected()).filter((name) => name.endsWith('.reason'));
  expect(reasons).toHaveLength(4);
  expect(await readFile(join(s.spool, 'rejected', reasons[0] ?? ''), 'utf8')).toContain('401');
  const flushed = await s.exec(['--flush', '--all', '--adopt', '--verbose']);
  expect(flushed.err).toContain('2 delivered, 2 rejected, 0 left');
  expect((await s.pings('keys')).map(({ kind }) => kind)).toEqual(['start', 'success']);
});

test('with --catch-up and no answer nothing is run: what is owed is not known', async () => {
  await s.unplug();
  const file = join(s.folder, 'not-caught-up');
  const away = await hurried('away', '--catch-up', ...sh(`echo worked >> ${file}`));
  await s.plug();
  expect([away.code, await linesOf(file)]).toEqual([75, []]);
});

test('a spool that cannot be written stops nothing', async () => {
  await create('readonly');
  await writeFile(join(s.folder, 'a-file'), '');
  const { code, out, err } = await s.exec(['readonly', '--spool', join(s.folder, 'a-file'), ...sh('echo worked')]);
  expect([code, out]).toEqual([0, 'worked\n']);
  expect(err).toContain('name a folder with --spool');
  expect((await s.pings('readonly')).map(({ kind }) => kind)).toEqual(['start', 'success']);
});

test('a ping that is too old to carry its time is not sent as one of now', async () => {
  const before = (await s.rejected()).length;
  await s.unplug();
  await hurried('away', ...sh('true'));
  await s.plug();
  const [name = ''] = await s.waiting();
  const text = await readFile(join(s.spool, name), 'utf8');
  await writeFile(join(s.spool, name), text.replace(/"at":\d+/, `"at":${Date.now() - 31 * 86_400_000}`));
  expect((await hurried('--flush')).code).toBe(0);
  expect([await s.waiting(), (await s.rejected()).length]).toEqual([[], 2 + before]);
  expect(await readFile(join(s.spool, 'rejected', `${name}.reason`), 'utf8')).toContain('30 days');
});

test('what a living process is about to send is left to it', async () => {
  await create('living');
  const env = { ROLLCALL_SPOOL: join(s.folder, 'spool-living') };
  const waiting = async () => (await readdir(env.ROLLCALL_SPOOL)).filter((name) => name.endsWith('.ping')).length;
  const run = s.start(['living', '--verbose', ...sh(waitFor('$GO'))], {
    ...env,
    GO: join(s.folder, 'living-go'),
  });
  await eventually('the start is heard', async () => (await s.pings('living')).length === 1);
  await eventually('that is known', async () => (await waiting()) === 0);
  await s.unplug();
  await writeFile(join(s.folder, 'living-go'), '');
  await eventually('its end waits', async () => (await waiting()) === 1);
  run.send('SIGSTOP');
  await s.plug();
  const flushed = await s.exec(['--flush', '--verbose'], env);
  expect([flushed.code, flushed.err]).toEqual([75, expect.stringContaining('0 delivered, 0 rejected, 1 left')]);
  run.send('SIGCONT');
  expect((await outcome(run)).code).toBe(0);
  expect((await s.pings('living')).map(({ kind }) => kind)).toEqual(['start', 'success']);
  expect(await waiting()).toBe(0);
});
