import { spawn } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtMain } from '../cli/process.ts';
import { eventually } from '../proof/service.ts';
import { KEY } from '../web/api/api.ts';
import { openStage, outcome, type Stage } from './stage.ts';

let s: Stage;
beforeAll(async () => {
  s = await openStage('2026-03-01T00:30:00Z');
});
afterAll(() => s.close());

const sh = (line: string) => ['--', '/bin/sh', '-c', line] as const;
const create = (slug: string) =>
  s.job(
    slug,
    { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up', throttle: '0s' },
    { at: '2026-03-01T00:30:00Z', now: '2026-03-01T02:01:00Z' },
  );
const last = async (slug: string) => (await s.pings(slug)).at(-1);

test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
  '%s reaches the command once, whose exit code counts, and no further occurrence is begun',
  async (signal) => {
    const slug = signal.toLowerCase();
    await create(slug);
    const note = `trap 'echo heard' ${signal.slice(3)}; echo ready; n=0; while [ $n -lt 20 ]; do sleep 0.02; n=$((n+1)); done`;
    const run = s.start([slug, ...sh(note)]);
    await eventually('it runs', () => run.printed.out.includes('ready'));
    run.send(signal);
    const { code, out } = await outcome(run);
    expect([code, out]).toEqual([0, 'ready\nheard\n']);
    expect((await s.pings(slug)).map(({ kind }) => kind)).toEqual(['start', 'success']);
  },
);

test('a command that a signal ends has failed with 128 + n, and so does exec', async () => {
  await create('killed');
  expect((await s.exec(['killed', ...sh('kill -9 $$')])).code).toBe(137);
  expect(await last('killed')).toMatchObject({ kind: 'fail', exit_code: 137 });
  const run = s.start(['killed', ...sh('echo ready; exec sleep 60')]);
  await eventually('it runs', () => run.printed.out.includes('ready'));
  run.send('SIGTERM');
  expect((await outcome(run)).code).toBe(143);
  expect(await last('killed')).toMatchObject({ kind: 'fail', exit_code: 143 });
});

test('a signal while it waits ends it with 128 + n, and nothing is run', async () => {
  await create('waiting');
  await s.api.call('POST', '/jobs/waiting/claims', { rid: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e' });
  const run = s.start(['waiting', '--verbose', ...sh('echo run')]);
  await eventually('it waits', () => run.printed.err.includes('waiting\n'));
  run.send('SIGTERM');
  const { code, out } = await outcome(run);
  expect([code, out]).toEqual([143, '']);
});

test('a command that is not there is 127, one that cannot be run 126', async () => {
  await create('absent');
  const absent = await s.exec(['absent', '--', 'no-such-command-anywhere']);
  expect([absent.code, absent.err]).toEqual([127, 'rollcall: cannot run no-such-command-anywhere: not found\n']);
  expect(await last('absent')).toMatchObject({ kind: 'fail', exit_code: 127 });
  expect((await s.exec(['absent', '--', '/bin/sh/below-a-file'])).code).toBe(126);
  const file = join(s.folder, 'not-executable');
  await writeFile(file, 'x');
  await chmod(file, 0o644);
  expect((await s.exec(['absent', '--', file])).code).toBe(126);
  expect(await last('absent')).toMatchObject({ kind: 'fail', exit_code: 126 });
});

/** A line of shell, with redirections, in which EXEC is the single file, and ROLLCALL all of Rollcall. */
function shell(line: string): Promise<string> {
  const exec = `${process.execPath} ${join(s.folder, 'rollcall-exec.cjs')}`;
  const rollcall = `${process.execPath} ${builtMain()}`;
  const child = spawn('/bin/sh', ['-c', line.replaceAll('EXEC', exec).replaceAll('ROLLCALL', rollcall)], {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], ROLLCALL_URL: s.url, ROLLCALL_API_KEY: KEY, ROLLCALL_SPOOL: s.spool },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  return new Promise((resolve) => child.once('close', () => resolve(out)));
}

test('where both outputs go to one place, their order is kept', async () => {
  await create('order');
  const loop = 'i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done';
  const out = await shell(`EXEC order --max 1 -- /bin/sh -c '${loop}' 2>&1`);
  expect(out).toBe(Array.from({ length: 200 }, (_, i) => `out ${i}\nerr ${i}\n`).join(''));
  const absent = await shell('EXEC order --max 1 -- no-such-command 2>&1; echo $?');
  expect(absent).toBe('rollcall: cannot run no-such-command: not found\n127\n');
});

test('a script may open its outputs by name', async () => {
  await create('named');
  expect(await shell(`EXEC named --max 1 -- sh -c 'echo 1 > /dev/stdout; echo 2 > /dev/stderr' 2>&1`)).toBe('1\n2\n');
  const { out, err } = await s.exec(['named', '--max', '1', ...sh('echo 1 > /dev/stdout; echo 2 > /dev/stderr')]);
  expect([out, err]).toEqual(['1\n', '2\n']);
});

test('standard input goes to the command, and arguments as they are', async () => {
  await create('input');
  expect(await shell(`echo typed | EXEC input --max 1 -- cat -`)).toBe('typed\n');
  expect(await shell(`EXEC input --max 1 -- printf '[%s]' 'a b' '' '*' --max -- '$HOME' 2>&1`)).toBe(
    '[a b][][*][--max][--][$HOME]',
  );
});

test.each([
  ['EXEC', 'piped'],
  ['ROLLCALL exec', 'piped-whole'],
])('%s: when whoever reads the output goes, the command hears of it, and the run is told', async (exec, slug) => {
  await create(slug);
  const file = join(s.folder, slug);
  const out = await shell(`{ ${exec} ${slug} --max 1 -- yes; echo $? > ${file}; } | head -n 2`);
  expect(out).toBe('y\ny\n');
  expect(await readFile(file, 'utf8')).toBe('141\n');
  expect(await last(slug)).toMatchObject({ kind: 'fail', exit_code: 141 });
});

test('a slow reader gets everything', async () => {
  await create('slow');
  const out = await shell(`EXEC slow --max 1 -- seq 30000 | { sleep 2.5; wc -l; }`);
  expect(out.trim()).toBe('30000');
});

test('a process left in the background does not hold the run open', async () => {
  await create('background');
  const began = performance.now();
  const { code, out } = await s.exec(['background', '--max', '1', ...sh('sleep 30 & echo done')]);
  expect([code, out]).toEqual([0, 'done\n']);
  expect(performance.now() - began).toBeLessThan(15_000);
});
