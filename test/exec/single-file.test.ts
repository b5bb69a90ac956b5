import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rollcall } from '../cli/process.ts';
import { buildSingleFile, outcome, startExec } from './stage.ts';

let folder = '';
let file = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-single-'));
  file = join(folder, 'rollcall-exec.cjs');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const outside = { ROLLCALL_URL: 'http://127.0.0.1:9', ROLLCALL_SPOOL: '' };

test('the single file needs Node and nothing else', async () => {
  const imports = await buildSingleFile(file);
  expect(imports.length).toBeGreaterThan(3);
  for (const name of imports) expect(builtinModules, name).toContain(name.replace(/^node:/, ''));
});

test('`npm run build:exec` makes it, with the version of the package', async () => {
  const run = promisify(execFile);
  const args = ['run', '-s', 'build:exec', '--', `--outfile=${file}`, '--allow-overwrite'];
  await run('npm', args, { cwd: join(import.meta.dirname, '../..') });
  const version = await outcome(startExec(file, ['--version'], {}));
  expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '' });
  expect((await outcome(startExec(file, ['--help'], {}))).out).toMatch(/^Usage: rollcall exec .*JOB -- COMMAND/);
});

test('it and `rollcall exec` do the same, down to the exit code', async () => {
  const env = { ...outside, ROLLCALL_API_KEY: 'some-key-of-a-project', ROLLCALL_SPOOL: join(folder, 'spool') };
  const words = [
    'backup',
    '--no-output',
    '--',
    '/bin/sh',
    '-c',
    'echo "$0 $ROLLCALL_RUN_ID" | cut -c 1-4; exit 5',
    '--max',
  ];
  const single = await outcome(startExec(file, words, env));
  const whole = rollcall(['exec', ...words], env);
  expect([await whole.ended, whole.printed]).toEqual([5, { out: single.out, err: single.err }]);
  expect([single.code, single.out]).toEqual([5, '--ma\n']);
});

test.each([
  [['backup', '--', 'echo', 'run'], {}, 'ROLLCALL_URL is not set'],
  [['backup', 'echo', 'run'], outside, 'after a --'],
])('%j without sense: exit code 2, one line, nothing run', async (words, env, reason) => {
  expect(await outcome(startExec(file, words, env))).toEqual({
    code: 2,
    out: '',
    err: expect.stringMatching(new RegExp(`^rollcall: [^\n]*${reason}[^\n]*\n$`)),
  });
  const whole = rollcall(['exec', ...words], env);
  expect([await whole.ended, whole.printed.err]).toEqual([2, expect.stringContaining(reason)]);
});
