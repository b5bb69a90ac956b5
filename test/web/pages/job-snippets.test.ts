import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ServerType, serve } from '@hono/node-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Snippet, snippetsOf } from '../../../src/web/pages/job/snippets.ts';
import { startSite, type TestSite } from './site.ts';

const run = promisify(execFile);
/** Whether this machine has a program that not every machine has. */
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

let site: TestSite;
let server: ServerType;
let folder = '';
let pingUrl = '';
let snippets: ReadonlyMap<string, Snippet> = new Map();

beforeAll(async () => {
  site = await startSite('2026-03-02T01:31:00Z');
  server = serve({ fetch: site.site.fetch, hostname: '127.0.0.1', port: 0 });
  const { json } = await site.call('PUT', '/jobs/night_run', {
    name: 'Night run',
    zone: 'Europe/Berlin',
    schedules: [{ cron: '30 2 * * 1-5' }],
    missed_runs: 'skip',
  });
  const { port } = server.address() as AddressInfo;
  pingUrl = `http://127.0.0.1:${port}${new URL(json.ping_url).pathname}`;
  folder = await mkdtemp(path.join(tmpdir(), 'rollcall-snippets-'));
  const command = path.join(folder, 'night_run');
  await writeFile(command, '#!/bin/sh\necho "to stdout"\necho "to stderr" >&2\nexit 3\n');
  await chmod(command, 0o755);
  const definition = {
    name: 'Night run',
    zone: 'Europe/Berlin',
    schedules: [{ cron: '30 2 * * 1-5' }],
    missedRuns: 'skip',
  } as const;
  const all = snippetsOf({ slug: 'night_run', definition, pingUrl, url: 'https://rollcall.example.org' });
  // The reader's own command.
  snippets = new Map(
    all.map((one) => [one.id, { ...one, text: one.text.replaceAll('/usr/local/bin/night_run', command) }]),
  );
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
  await site.drop();
});

const textOf = (id: string): string => snippets.get(id)?.text ?? '';

/** The pings that came since the last look, oldest first. */
let seen = 0;
async function heard(): Promise<readonly (readonly unknown[])[]> {
  const { json } = await site.call('GET', '/jobs/night_run/pings');
  const fresh = json.pings.filter(({ id }: { id: number }) => id > seen).reverse();
  seen = json.pings[0]?.id ?? seen;
  return fresh.map((ping: Record<string, unknown>) => [ping['kind'], ping['exit_code'], ping['body_bytes']]);
}

/** Both lines that the command prints. */
const OUTPUT = 'to stdout\nto stderr\n'.length;

test('curl reports the start, the exit code and the output', async () => {
  await run('sh', ['-c', textOf('curl')]);
  // $(…) cuts the last newline.
  expect(await heard()).toEqual([
    ['start', null, 0],
    ['fail', 3, OUTPUT - 1],
  ]);
});

test('the line of the crontab reports the exit code', async () => {
  const [comment, line = ''] = textOf('crontab').split('\n');
  expect(comment).toContain('Europe/Berlin');
  const [, times, command = ''] = /^((?:\S+ ){4}\S+) {2}(.*)$/.exec(line) ?? [];
  expect(times).toBe('30 2 * * 1-5');
  expect(command).not.toContain('%');
  await run('sh', ['-c', command]);
  expect(await heard()).toEqual([['fail', 3, 0]]);
});

test.skipIf(!has('wget'))('wget reports the start and the exit code', async () => {
  await run('sh', ['-c', textOf('wget')]);
  expect(await heard()).toEqual([
    ['start', null, 0],
    ['fail', 3, 0],
  ]);
});

test.skipIf(!has('python3'))(
  'Python reports the start, the exit code and the output, and ends with the exit code',
  async () => {
    await expect(run('python3', ['-c', textOf('python')])).rejects.toMatchObject({ code: 3, stderr: '' });
    expect(await heard()).toEqual([
      ['start', null, 0],
      ['fail', 3, OUTPUT],
    ]);
  },
);

test('Node reports the start, the exit code and the output, and ends with the exit code', async () => {
  const file = path.join(folder, 'run.mjs');
  await writeFile(file, textOf('node'));
  await expect(run(process.execPath, [file])).rejects.toMatchObject({ code: 3, stderr: '' });
  expect(await heard()).toEqual([
    ['start', null, 0],
    ['fail', 3, OUTPUT],
  ]);
});

test('the script in the Kubernetes job reports the start and the exit code, and ends with it', async () => {
  const text = textOf('kubernetes');
  const script = (text.split('- |\n')[1] ?? '').replace(/^ {18}/gm, '');
  expect(text).toContain('timeZone: Europe/Berlin');
  // Names of Kubernetes have no underscores.
  expect(text).toContain('name: night-run\n');
  await expect(run('sh', ['-c', script], { env: { ...shell(), PING_URL: pingUrl } })).rejects.toMatchObject({
    code: 3,
  });
  expect(await heard()).toEqual([
    ['start', null, 0],
    ['fail', 3, 0],
  ]);
});

/** What a shell needs to find its commands. */
const shell = () => ({ PATH: '/usr/local/bin:/usr/bin:/bin' });

test.each([
  ['3', ['fail', 3, 0]],
  ['0', ['success', 0, 0]],
  ['TERM', ['fail', null, 0]],
  ['', ['fail', null, 0]],
])('the end of the systemd unit reports EXIT_STATUS %j', async (status, ping) => {
  const text = textOf('systemd');
  const [, line = ''] = /^ExecStopPost=-\/bin\/sh -c '(.*)'$/m.exec(text) ?? [];
  // systemd makes one dollar of two.
  await run('sh', ['-c', line.replaceAll('$$', '$')], { env: { ...shell(), PING_URL: pingUrl, EXIT_STATUS: status } });
  expect(await heard()).toEqual([ping]);
});

test('the systemd timer says the schedule the way systemd does, in the zone of the job, and makes up for nothing under skip', () => {
  expect(textOf('systemd')).toContain('OnCalendar=Mon..Fri *-*-* 02:30:00 Europe/Berlin\nPersistent=false');
});

test('the steps of GitHub Actions report the start and the end', async () => {
  const text = textOf('github');
  const [start = '', end = ''] = [...text.matchAll(/run: (curl .*)$/gm)].map(([, line = '']) => line);
  for (const [line, word] of [
    [start, ''],
    [end, '0'],
    [end, 'fail'],
  ] as const) {
    await run('sh', ['-c', line.replace(/\$\{\{.*?\}\}/, word)], { env: { ...shell(), PING_URL: pingUrl } });
  }
  expect(await heard()).toEqual([
    ['start', null, 0],
    ['success', 0, 0],
    ['fail', null, 0],
  ]);
});

test('the page has them all with the real address, closed but one, and works without JavaScript', async () => {
  const { text } = await site.open('/projects/default/jobs/night_run/snippets');
  const { json } = await site.call('GET', '/jobs/night_run');
  expect([...text.matchAll(/<details name="snippet" id="how-([a-z]+)"/g)].map(([, id]) => id)).toEqual([
    'curl',
    'crontab',
    'wget',
    'python',
    'node',
    'powershell',
    'systemd',
    'kubernetes',
    'github',
    'exec',
  ]);
  expect(text.match(/ open=""/g)).toHaveLength(1);
  expect(text.split(json.ping_url).length).toBeGreaterThan(10);
  expect(text).toContain('rollcall-exec night_run -- /usr/local/bin/night_run');
});
