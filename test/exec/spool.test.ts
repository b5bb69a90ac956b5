import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../proof/service.ts';
import { buildSingleFile, endAll, outcome, startExec } from './stage.ts';

let folder = '';
let file = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-spool-'));
  file = join(folder, 'rollcall-exec.cjs');
  await buildSingleFile(file);
});
afterAll(async () => {
  endAll();
  await rm(folder, { recursive: true, force: true });
});

// Nobody listens there.
const outside = { ROLLCALL_URL: 'http://127.0.0.1:9', ROLLCALL_API_KEY: 'a-key' };
const KEPT_NOWHERE = /pings cannot be kept in \S+ \(.*\): name a folder with --spool/;
/** Opens its output by name, which a pipe allows and a socket does not. */
const command = ['--', '/bin/sh', '-c', 'echo worked > /dev/stdout'];
const flush = (spool: string) => startExec(file, ['--flush', '--spool', spool], outside);

test.skipIf(process.platform !== 'linux')('a spool below /proc is said, and nothing hangs', async () => {
  const { code, err } = await outcome(flush('/proc/rollcall'));
  expect([code, err]).toEqual([75, expect.stringMatching(KEPT_NOWHERE)]);
});

const LETTER = '000000000000001-1-aaaaaaaaaaaa.bbbbbbbbbbbb.backup.ping';

test('--flush with a ping that cannot be read ends with 75: it waits', async () => {
  const spool = join(folder, 'unreadable-ping');
  await mkdir(join(spool, LETTER), { recursive: true });
  const { code, err } = await outcome(startExec(file, ['--flush', '--adopt', '--spool', spool], outside));
  expect([code, err]).toEqual([75, expect.stringMatching(/the spool: EISDIR.*\nrollcall: 1 still wait\n$/)]);
});

test('--flush --all where nobody can look for what was rejected ends with 75', async () => {
  const spool = join(folder, 'unreadable-rejected');
  await mkdir(spool);
  await writeFile(join(spool, 'rejected'), 'no folder');
  const { code, err } = await outcome(startExec(file, ['--flush', '--all', '--spool', spool], outside));
  expect([code, err]).toEqual([75, expect.stringMatching(/^rollcall: what waits in the spool is not known \(ENOTDIR/)]);
});

test('a folder that was deleted, a relative spool, and a TMPDIR that is none: each is said, and the command runs', async () => {
  const gone = join(folder, 'gone');
  const line = `mkdir ${gone} && cd ${gone} && rmdir ${gone} && exec "$0" "$@"`;
  const words = ['-c', line, process.execPath, file, 'backup', '--spool', 'pings', ...command];
  const child = spawn('/bin/sh', words, {
    env: { PATH: process.env['PATH'], TMPDIR: '/nowhere/at/all', ...outside },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  await eventually('the command has ended', () => err().includes('it is tried for ten minutes'));
  child.kill('SIGTERM');
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, out()]).toEqual([0, 'worked\n']);
  expect(err()).toMatch(KEPT_NOWHERE);
  expect(err()).toContain('TMPDIR is no folder (/nowhere/at/all): /tmp is used instead');
  expect(err()).toContain('the news is on no disk, and is lost');
});

function collect(from: Readable): () => string {
  let text = '';
  from.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return () => text;
}
