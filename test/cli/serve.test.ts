import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parseRoles } from '../../src/cli/roles.ts';
import { listen } from '../../src/web/listen.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { curl } from '../web/harness.ts';
import { FROM_SOURCE, type Run, rollcall } from './process.ts';

let folder: string;
const databases: TestDatabase[] = [];
const runs: Run[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-serve-test-'));
});

afterEach(async () => {
  for (const { child, ended } of runs.splice(0)) {
    child.kill('SIGKILL');
    await ended;
  }
});

afterAll(async () => {
  for (const database of databases) await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function freshUrl(): Promise<string> {
  const database = await createTestDatabase();
  databases.push(database);
  return database.url;
}

function start(env: Readonly<Record<string, string>>, args: readonly string[] = [], program?: readonly string[]): Run {
  const run = rollcall(['serve', ...args], { PORT: '0', DATA_DIR: join(folder, 'data'), ...env }, program);
  runs.push(run);
  return run;
}

const RUNS = /"url":"([^"]+)".*rollcall runs/;

test('the first start prints keys and a curl line that works, keeps them in a private file, and ends on SIGTERM', async () => {
  const run = start({ DATABASE_URL: await freshUrl() }, [], FROM_SOURCE);
  const [, url] = await run.waitFor(RUNS);
  const path = join(folder, 'data', 'first-run.json');
  const told = JSON.parse(await readFile(path, 'utf8')) as Record<string, string | null>;
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(told).toMatchObject({ url, sign_in_url: expect.stringMatching(/\/welcome\/[A-Za-z0-9]{24}$/) });
  expect(told['curl']).toBe(`curl -fsS '${url}/ping/${told['ping_key']}/my-first-job?create=1'`);
  for (const value of [told['api_key'], told['ping_key'], told['curl'], told['sign_in_url']])
    expect(run.printed.out).toContain(value);

  const line = told['curl']?.match(/'([^']+)'/)?.[1] ?? '';
  expect((await curl(['-f', line])).output).toBe('Created');
  expect((await curl(['-f', line])).output).toBe('OK');

  const stoppedAt = performance.now();
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(10_000);
});

test('the keys of another installation in the same folder stay, and the new ones lie beside them', async () => {
  const data = join(folder, 'shared');
  await mkdir(data);
  await writeFile(join(data, 'first-run.json'), 'of another');
  const run = start({ DATABASE_URL: await freshUrl(), DATA_DIR: data, HOST: '0.0.0.0' });
  await run.waitFor(RUNS);
  const path = join(data, 'first-run-2.json');
  const { api_key } = JSON.parse(await readFile(path, 'utf8')) as { api_key: string };
  expect(run.printed.out).toContain(api_key);
  expect(run.printed.out).toContain(`shown this once, and kept in ${path}`);
  expect(run.printed.out).toContain('set PUBLIC_URL');
  expect(await readFile(join(data, 'first-run.json'), 'utf8')).toBe('of another');
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(run.printed.out).toMatch(/rollcall has stopped"}\n$/);
});

test('keys from the environment are neither printed nor written, and another one later only warns', async () => {
  const env = {
    DATABASE_URL: await freshUrl(),
    DATA_DIR: join(folder, 'given'),
    ROLLCALL_API_KEY: 'given-api-key-0123456789',
    ROLLCALL_PING_KEY: 'given-ping-key-0123456789',
  };
  const first = start(env);
  const [, url] = await first.waitFor(RUNS);
  const told = await readFile(join(folder, 'given', 'first-run.json'), 'utf8');
  expect(JSON.parse(told)).toMatchObject({ api_key: null, ping_key: null, curl: null });
  expect((await curl(['-f', `${url}/ping/${env.ROLLCALL_PING_KEY}/job?create=1`])).output).toBe('Created');
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);

  const second = start({ ...env, ROLLCALL_PING_KEY: 'other-ping-key-0123456789' });
  const [, again] = await second.waitFor(RUNS);
  expect((await curl([`${again}/ping/other-ping-key-0123456789/job`])).output).toBe('not found');
  expect((await curl([`${again}/ping/${env.ROLLCALL_PING_KEY}/job`])).output).toBe('OK');
  expect(second.printed.out).toMatch(/"variable":"ROLLCALL_PING_KEY".*ignored/);
  expect(second.printed.out).not.toMatch(/"variable":"ROLLCALL_API_KEY"/);
  for (const { printed } of [first, second]) expect(printed.out + printed.err).not.toMatch(/(given|other)-\w+-key/);
  expect(await readFile(join(folder, 'given', 'first-run.json'), 'utf8')).toBe(told);
});

test('a data folder that cannot be written costs the file, not the start', async () => {
  await writeFile(join(folder, 'a-file'), '');
  const run = start({ DATABASE_URL: await freshUrl(), DATA_DIR: join(folder, 'a-file', 'data') });
  await run.waitFor(RUNS);
  expect(run.printed.out).toMatch(/curl -fsS 'http.*create=1'/);
  expect(run.printed.out).toContain('first-run.json cannot be written');
});

test('a port that is taken stops the start with one line', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = other.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  const run = start({ DATABASE_URL: await freshUrl(), PORT: port });
  expect(await run.ended).toBe(3);
  expect(run.printed.err).toBe(
    `rollcall: port ${port} on 127.0.0.1 is taken by another program: stop it, or set PORT to another one\n`,
  );
  other.close();
});

test('an option that does not exist is exit code 2', async () => {
  const run = start({}, ['--nonsense']);
  expect(await run.ended).toBe(2);
  expect(run.printed.err).toMatch(/^rollcall: unknown option '--nonsense'/);
});

test('a HOST that is not of this machine is told in one line', async () => {
  const app = { fetch: () => new Response() };
  await expect(listen(app, '203.0.113.1', 0)).rejects.toThrow('HOST 203.0.113.1 is not an address of this machine');
});

test('roles may be named alone, with commas, or not at all; any other word is refused', () => {
  const rolesOf = (...given: string[]) => {
    const roles = parseRoles(given);
    return roles.ok ? [...roles.value] : roles.reason;
  };
  expect(rolesOf()).toEqual(['web', 'evaluator', 'notifier']);
  expect(rolesOf('web', 'notifier, web')).toEqual(['web', 'notifier']);
  expect(rolesOf('web,pope')).toBe('no role "pope": there are web, evaluator, notifier');
  expect(rolesOf('')).toContain('no role ""');
});

test('while the database is away, pings are told to come again, and SIGTERM ends the wait', async () => {
  const port = await freePort();
  const run = start({ DATABASE_URL: 'postgres://nobody:wrong@127.0.0.1:1/rollcall', PORT: port });
  await run.waitFor(/waiting for the database/);
  const { output } = await curl(['-i', `http://127.0.0.1:${port}/ping/3f2504e0-4f89-41d3-9a0c-0305e82c3301`]);
  expect(output).toMatch(/^HTTP\/1.1 503[\s\S]*retry-after: 5/i);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
});

test('the second signal ends the process at once', async () => {
  const run = start({ DATABASE_URL: await freshUrl() });
  await run.waitFor(RUNS);
  run.child.kill('SIGINT');
  run.child.kill('SIGINT');
  expect([0, 130]).toContain(await run.ended);
});

test('roles in processes of their own: the web process sees the evaluator, which does without a port', async () => {
  const env = { DATABASE_URL: await freshUrl(), PORT: await freePort() };
  const web = start(env, ['--role', 'web']);
  await web.waitFor(RUNS);
  // Not to /dev/null: before it comes again curl truncates the file it wrote the first answer to, which fails there.
  const health = ['-w', '%{http_code}', `http://127.0.0.1:${env.PORT}/healthz`];
  expect((await curl(health)).output).toMatch(/503$/);
  const others = start(env, ['--role', 'evaluator,notifier']);
  await others.waitFor(/no \/healthz and \/metrics of its own/);
  await others.waitFor(RUNS);
  // Red is 503, and curl comes again on 503.
  expect((await curl(['--retry', '20', '--retry-delay', '1', ...health])).output).toMatch(/200$/);
  for (const run of [web, others]) run.child.kill('SIGTERM');
  expect([await web.ended, await others.ended]).toEqual([0, 0]);
});

test('without DATABASE_URL it brings its own server, keeps what it was told, and leaves nothing running', async () => {
  const data = join(folder, 'own');
  // As root the server runs as another user, who must get in.
  await chmod(folder, 0o755);
  const first = start({ DATA_DIR: data });
  const [, url] = await first.waitFor(RUNS);
  const { ping_key } = JSON.parse(await readFile(join(data, 'first-run.json'), 'utf8')) as { ping_key: string };
  expect((await curl(['-f', `${url}/ping/${ping_key}/job?create=1`])).output).toBe('Created');
  const second = start({ DATA_DIR: data });
  expect(await second.ended).toBe(3);
  expect(second.printed.err).toMatch(/^rollcall: another Rollcall .*\n$/);
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  const third = start({ DATA_DIR: data });
  const [, again] = await third.waitFor(RUNS);
  expect((await curl(['-f', `${again}/ping/${ping_key}/job`])).output).toBe('OK');
  expect(third.printed.out).not.toContain('Rollcall is set up');
  third.child.kill('SIGTERM');
  expect(await third.ended).toBe(0);
  const running = await promisify(execFile)('ps', ['-eo', 'args']);
  expect(running.stdout).not.toContain(data);
}, 90_000);

test('migrate brings an empty database up to date and sets up nothing', async () => {
  const database = await createTestDatabase({ template: 'template0' });
  databases.push(database);
  const run = rollcall(['migrate'], { DATABASE_URL: database.url });
  expect(await run.ended).toBe(0);
  const rows = await database.database.transaction((tx) => tx.sql`select 1 from projects`);
  expect(rows).toHaveLength(0);
});

test('the command line of preview: a result is on standard output, a refusal is not', async () => {
  const good = rollcall([
    'preview',
    '@daily',
    '--zone',
    'UTC',
    '--after',
    '2026-01-01T00:00:00Z',
    '--limit',
    '1',
    '--json',
  ]);
  expect(await good.ended).toBe(0);
  const [occurrence] = (JSON.parse(good.printed.out) as { occurrences: object[] }).occurrences;
  expect(occurrence).toEqual({ key: '2026-01-02T00:00Z', scheduled_for: '2026-01-02T00:00:00Z' });
  const bad = rollcall(['preview', '0 0 31 2 *', '--zone', 'UTC']);
  expect(await bad.ended).toBe(2);
  expect([bad.printed.out, bad.printed.err.split('\n').length]).toEqual(['', 2]);
});

async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  await new Promise((resolve) => server.close(resolve));
  return port;
}
