import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, PING_KEY, type Service, startService } from '../proof/service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openBetween } from './between.ts';

const API_KEY = 'curl-line-api-key-0123456789';
let database: TestDatabase;
let service: Service;
let line = '';
beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ DATABASE_URL: database.url, ROLLCALL_API_KEY: API_KEY });
  const page = await readFile(join(import.meta.dirname, '../../docs/exec.md'), 'utf8');
  line = /^ {4}(j=backup; .*)$/m.exec(page)?.[1] ?? '';
});
afterAll(async () => {
  await service.kill();
  await database.drop();
});

async function api(method: string, path: string, body?: object) {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

/** Due in a minute, and open already. */
async function create(slug: string): Promise<void> {
  const anchor = new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000).toISOString();
  const job = { schedules: [{ every: '1h', anchor }], zone: 'UTC', missed_runs: 'catch_up', throttle: '0s' };
  expect((await api('PUT', `/jobs/${slug}`, job)).status).toBe(201);
}

const lineFor = (slug: string, command: string) =>
  line.replace('j=backup', `j=${slug}`).replace('/usr/local/bin/backup', command);
const environment = (url: string) => ({
  PATH: process.env['PATH'],
  ROLLCALL_URL: url,
  ROLLCALL_API_KEY: API_KEY,
  ROLLCALL_PING_KEY: PING_KEY,
});

/** As cron runs a line; `-e` and `-u` too must do no harm. */
function run(shell: readonly string[], slug: string, command: string, url = service.url) {
  const [program = '', ...options] = shell;
  const text = lineFor(slug, command);
  const env = environment(url);
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(program, [...options, '-c', text], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

test('the line has no % and fits a crontab', () => {
  expect(line.length).toBeGreaterThan(100);
  expect(line.length).toBeLessThan(1000);
  expect(line).not.toContain('%');
});

test.each([
  ['sh', ['sh']],
  ['sh-eu', ['sh', '-eu']],
  ['bash', ['bash', '--norc', '-eu']],
])('%s: one occurrence is claimed, run, and reported; then it is done', async (slug, shell) => {
  await create(slug);
  expect(await run(shell, slug, "sh -c 'echo worked; exit 3'")).toEqual({ code: 3, out: 'worked\n', err: '' });
  expect(await run(shell, slug, 'echo worked')).toEqual({ code: 0, out: 'worked\n', err: '' });
  expect(await run(shell, slug, 'echo again')).toEqual({ code: 0, out: '', err: '' });
  const pings = await pingsOf(slug);
  expect(pings.map(({ kind, exit_code }) => [kind, exit_code])).toEqual([
    ['start', null],
    ['fail', 3],
    ['start', null],
    ['success', 0],
  ]);
  expect(new Set(pings.map(({ key }) => key)).size).toBe(1);
  expect(pings[0]?.key).not.toBeNull();
  expect(pings.map(({ rid }) => rid === pings[0]?.rid)).toEqual([true, true, false, false]);
});

test('while another run is in progress it does not run, and says 75; off schedule it runs', async () => {
  await create('busy');
  await api('POST', '/jobs/busy/claims', { rid: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e' });
  expect(await run(['sh'], 'busy', 'echo run')).toEqual({ code: 75, out: '', err: '' });
  await api('PUT', '/jobs/beat', { schedules: [{ heartbeat: '1h' }], zone: 'UTC' });
  expect(await run(['sh', '-eu'], 'beat', 'echo run')).toEqual({ code: 0, out: 'run\n', err: '' });
  expect((await pingsOf('beat')).map(({ kind }) => kind)).toEqual(['start', 'success']);
});

test('the command is told its occurrence; without one, none', async () => {
  await create('told');
  const tell = `sh -c 'echo "[$ROLLCALL_OCCURRENCE]"'`;
  const { out } = await run(['sh', '-eu'], 'told', tell);
  expect(out).toBe(`[${(await pingsOf('told'))[0]?.key}]\n`);
  await api('PUT', '/jobs/untold', { schedules: [{ heartbeat: '1h' }], zone: 'UTC' });
  expect((await run(['sh', '-eu'], 'untold', tell)).out).toBe('[]\n');
});

test('a claim whose answer is lost is not reported by the run that follows', async () => {
  await create('lost');
  const between = await openBetween(service.url);
  between.claimsToLose = 10;
  const { code, out } = await run(['sh', '-eu'], 'lost', 'echo run', between.url);
  between.close();
  expect([code, out]).toEqual([0, 'run\n']);
  const { json } = await api('GET', '/jobs/lost/pings');
  expect(json.pings.map(({ matched_by }: { matched_by: string }) => matched_by)).toEqual(['rid', 'current']);
});

/** The line as a process group of its own, its lease extended every 0.2 s, and its command a long one. */
function startLong(slug: string): ChildProcess {
  const text = lineFor(slug, 'sleep 60').replace('sleep 20', 'sleep 0.2');
  return spawn('sh', ['-c', text], { env: environment(service.url), stdio: 'ignore', detached: true });
}

/** How many shells run the line for this job: the one, and its loop. */
async function shellsOf(slug: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((each) => each.startsWith('sh\0') && each.includes(`j=${slug};`)).length;
}

test.each([
  ['its shell is killed', 'shot', (shell: ChildProcess) => Promise.resolve(void shell.kill('SIGKILL')), 0],
  ['Rollcall says that it is over', 'over', () => complete('over'), 1],
] as const)('the loop that extends the lease ends when %s', async (_, slug, happen, left) => {
  await create(slug);
  const shell = startLong(slug);
  try {
    await eventually('it runs', async () => (await pingsOf(slug)).length === 1 && (await shellsOf(slug)) === 2);
    await happen(shell);
    await eventually('the loop has ended', async () => (await shellsOf(slug)) === left);
  } finally {
    process.kill(-(shell.pid ?? 0), 'SIGKILL');
  }
});

async function complete(slug: string): Promise<void> {
  const occ = encodeURIComponent((await pingsOf(slug))[0]?.key ?? '');
  await fetch(`${service.url}/ping/${PING_KEY}/${slug}?occ=${occ}`);
}

test('without an answer it runs, and passes the exit code on', async () => {
  line = line.replace('--retry 3', '--retry 1').replace('--retry 5', '--retry 1');
  const { code, out, err } = await run(['sh', '-eu'], 'busy', "sh -c 'echo run; exit 4'", 'http://127.0.0.1:9');
  expect([code, out]).toEqual([4, 'run\n']);
  expect(err).toContain('curl: (7)');
});

type Pinged = { readonly kind: string; readonly exit_code: number | null; readonly key: string; readonly rid: string };

async function pingsOf(slug: string): Promise<readonly Pinged[]> {
  return (await api('GET', `/jobs/${slug}/pings`)).json.pings.reverse();
}
