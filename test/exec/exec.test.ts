import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../proof/service.ts';
import { linesOf, openStage, outcome, type Stage, waitFor } from './stage.ts';

let s: Stage;
beforeAll(async () => {
  s = await openStage('2026-03-01T00:30:00Z');
});
afterAll(() => s.close());

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up', throttle: '0s' };
const AT = '2026-03-01T00:30:00Z';
const sh = (line: string) => ['--', '/bin/sh', '-c', line] as const;

/** A command that notes which occurrence it was run for. */
const noting = (name: string) => sh(`echo "$ROLLCALL_OCCURRENCE $ROLLCALL_SCHEDULED_FOR" >> ${join(s.folder, name)}`);

test('debts are paid in order, then the current occurrence, each by a run of its own', async () => {
  await s.job('debts', hourly, { at: AT, now: '2026-03-01T03:59:50Z' });
  await s.api.at('2026-03-01T04:01:00Z');
  const { code, out, err } = await s.exec(['debts', ...noting('debts')]);
  expect([code, out, err]).toEqual([0, '', '']);
  expect(await linesOf(join(s.folder, 'debts'))).toEqual([
    '2026-03-01T01:00Z 2026-03-01T01:00:00Z',
    '2026-03-01T02:00Z 2026-03-01T02:00:00Z',
    '2026-03-01T03:00Z 2026-03-01T03:00:00Z',
    '2026-03-01T04:00Z 2026-03-01T04:00:00Z',
  ]);
  expect(await s.states('debts')).toEqual([
    '2026-03-01T01:00Z: late',
    '2026-03-01T02:00Z: late',
    '2026-03-01T03:00Z: late',
    '2026-03-01T04:00Z: on_time',
  ]);
  const pings = await s.pings('debts');
  expect(pings.map(({ kind }) => kind)).toEqual(Array.from({ length: 4 }, () => ['start', 'success']).flat());
  expect(new Set(pings.map(({ rid }) => rid)).size).toBe(4);
  expect(pings.every(({ at, received_at }) => at === received_at)).toBe(true);
});

test('when another host has completed it, that is said, and nothing is run', async () => {
  const { code, err } = await s.exec(['debts', ...noting('again')]);
  expect(code).toBe(0);
  expect(err).toBe('rollcall: debts: already completed, by another run: nothing to run\n');
  expect((await s.exec(['debts', '--quiet', ...noting('again')])).err).toBe('');
  expect(await linesOf(join(s.folder, 'again'))).toEqual([]);
});

test('--catch-up pays debts only', async () => {
  await s.job('catch-up', hourly, { at: AT, now: '2026-03-01T03:01:00Z' });
  const words = ['catch-up', '--catch-up', ...noting('catch-up')];
  expect((await s.exec(words)).code).toBe(0);
  expect((await linesOf(join(s.folder, 'catch-up'))).map((line) => line.slice(0, 17))).toEqual([
    '2026-03-01T01:00Z',
    '2026-03-01T02:00Z',
  ]);
  expect(await s.exec(words)).toEqual({ code: 0, out: '', err: 'rollcall: catch-up: nothing is owed\n' });
  expect((await s.states('catch-up')).at(-1)).toBe('2026-03-01T03:00Z: expected');
});

test('--max ends it earlier; the rest is still owed', async () => {
  await s.job('some', hourly, { at: AT, now: '2026-03-01T03:01:00Z' });
  expect((await s.exec(['some', '--max', '1', ...noting('some')])).code).toBe(0);
  expect(await linesOf(join(s.folder, 'some'))).toHaveLength(1);
});

test('a failure ends it at once, with the exit code and the tail of the output', async () => {
  await s.job('failing', hourly, { at: AT, now: '2026-03-01T03:01:00Z' });
  const { code, out, err } = await s.exec(['failing', ...sh('echo out; echo on the way down >&2; exit 7')]);
  expect([code, out, err]).toEqual([7, 'out\n', 'on the way down\n']);
  const [, end, ...more] = await s.pings('failing');
  expect([end?.kind, end?.exit_code, end?.key, more]).toEqual(['fail', 7, '2026-03-01T01:00Z', []]);
  const { json } = await s.api.call('GET', `/jobs/failing/pings/${end?.id}/body`);
  expect(json).toContain('on the way down\n');
});

test('--check: a success counts only if the check agrees', async () => {
  await s.job('checked', hourly, { at: AT, now: '2026-03-01T02:01:00Z' });
  const file = join(s.folder, 'output');
  const failed = await s.exec(['checked', '--check', `test -s ${file} || exit 9`, ...sh('true')]);
  expect([failed.code, failed.err]).toEqual([
    9,
    `rollcall: 2026-03-01T01:00Z: --check disagrees (9): test -s ${file} || exit 9\n`,
  ]);
  expect((await s.pings('checked')).at(-1)).toMatchObject({ kind: 'fail', exit_code: 9 });
  const made = await s.exec(['checked', '--max', '1', '--check', `test -s ${file}`, ...sh(`echo done > ${file}`)]);
  expect([made.code, made.err]).toEqual([0, '']);
  expect((await s.states('checked'))[0]).toBe('2026-03-01T01:00Z: late');
});

test('of a long output the end is sent, from a whole character on; with --no-output none', async () => {
  await s.job('loud', hourly, { at: AT, now: '2026-03-01T01:01:00Z' });
  const long = `printf 'a'; i=0; while [ $i -lt 4000 ]; do printf '\\303\\244\\303\\266'; i=$((i+1)); done; printf end; exit 1`;
  const { out } = await s.exec(['loud', ...sh(long)]);
  expect(out).toBe(`a${'äö'.repeat(4000)}end`);
  const sent = (await s.pings('loud')).at(-1);
  const { json } = await s.api.call('GET', `/jobs/loud/pings/${sent?.id}/body`);
  expect(json).toBe(`${'äö'.repeat(5000).slice(-4998)}end`);
  const silent = await s.exec(['loud', '--no-output', ...sh('echo secret; exit 1')]);
  expect(silent.out).toBe('secret\n');
  expect((await s.pings('loud')).at(-1)).toMatchObject({ exit_code: 1, body_bytes: 0 });
});

test('what is too old is not run: exit 75', async () => {
  const digest = { ...hourly, missed_runs: 'skip', useful_for: '10m' };
  await s.job('digest', digest, { at: AT, now: '2026-03-01T01:20:00Z' });
  const { code, err } = await s.exec(['digest', ...noting('digest')]);
  expect(code).toBe(75);
  expect(err).toBe(
    'rollcall: 2026-03-01T01:00Z is too old: it was useful until 2026-03-01T01:10:00Z: nothing was run\n',
  );
  expect(await linesOf(join(s.folder, 'digest'))).toEqual([]);
});

test('off schedule the command runs, with pings that name no key', async () => {
  await s.job('odd', { ...hourly, schedules: [{ cron: '0 12 * * *' }] }, { at: AT, now: '2026-03-01T06:00:00Z' });
  const { code, err } = await s.exec(['odd', ...noting('odd')], { ROLLCALL_OCCURRENCE: 'of an outer run' });
  expect([code, err]).toEqual([0, '']);
  expect(await linesOf(join(s.folder, 'odd'))).toEqual([' ']);
  expect((await s.pings('odd')).map(({ kind, key }) => [kind, key])).toEqual([
    ['start', null],
    ['success', null],
  ]);
});

test('a heartbeat is run as ever', async () => {
  await s.job('beat', { schedules: [{ heartbeat: '1h' }], zone: 'UTC' }, { at: AT, now: '2026-03-01T01:00:00Z' });
  expect((await s.exec(['beat', ...sh('true')])).code).toBe(0);
  expect((await s.pings('beat')).map(({ kind, matched_by }) => [kind, matched_by])).toEqual([
    ['start', 'current'],
    ['success', 'rid'],
  ]);
});

test('a backlog is for a person: exit 75; a paused job is none: exit 0', async () => {
  await s.job('many', { ...hourly, max_catch_up: 2 }, { at: AT, now: '2026-03-01T05:59:00Z' });
  const backlog = await s.exec(['many', ...noting('many')]);
  expect([backlog.code, backlog.err]).toEqual([
    75,
    expect.stringContaining('rollcall backlog many run, or rollcall backlog many skip'),
  ]);
  await s.api.call('POST', '/jobs/many/pause');
  const paused = await s.exec(['many', ...noting('many')]);
  expect([paused.code, paused.err]).toEqual([0, 'rollcall: many is paused: nothing is run\n']);
  expect(await linesOf(join(s.folder, 'many'))).toEqual([]);
});

test('of two hosts at once one runs it, and the other waits and says that it is done', async () => {
  await s.job('pair', hourly, { at: AT, now: '2026-03-01T01:01:00Z' });
  const go = join(s.folder, 'pair-go');
  const command = sh(`echo run >> ${join(s.folder, 'pair')}; ${waitFor(go)}`);
  const hosts = ['a', 'b'].map((host) =>
    s.start(['pair', '--verbose', ...command], { ROLLCALL_SPOOL: join(s.folder, `spool-${host}`) }),
  );
  await eventually('one runs', async () => (await linesOf(join(s.folder, 'pair'))).length > 0);
  await eventually('the other waits', () => hosts.some(({ printed }) => printed.err.includes('waiting')));
  await s.exec(['odd', ...sh(`touch ${go}`)]);
  const ends = await Promise.all(hosts.map(outcome));
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  expect(ends.map(({ err }) => err.includes('already completed')).sort()).toEqual([false, true]);
  expect(await linesOf(join(s.folder, 'pair'))).toEqual(['run']);
});

test('nobody waits longer than --wait: exit 75', async () => {
  await s.job('busy', hourly, { at: AT, now: '2026-03-01T01:01:00Z' });
  await s.api.call('POST', '/jobs/busy/claims', { rid: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e' });
  const { code, err } = await s.exec(['busy', '--wait', '1s', ...noting('busy')]);
  expect([code, err]).toEqual([75, expect.stringContaining('nothing was run')]);
  expect(await linesOf(join(s.folder, 'busy'))).toEqual([]);
});

test('many debts in a row are no reason to say anything', async () => {
  await s.job('long-owed', hourly, { at: AT, now: '2026-03-01T15:31:00Z' });
  const { code, out, err } = await s.exec(['long-owed', ...sh('echo run; echo warn >&2')]);
  expect([code, out, err]).toEqual([0, 'run\n'.repeat(15), 'warn\n'.repeat(15)]);
});
