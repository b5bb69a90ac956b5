import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { type Run, rollcall } from './process.ts';

let folder: string;
const runs: Run[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-link-test-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  for (const { child, ended } of runs.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const RUNS = /"url":"([^"]+)".*rollcall runs/;

async function makeLink(env: Readonly<Record<string, string>>, ...email: string[]) {
  const run = rollcall(['sign-in-link', ...email], { LOG_LEVEL: 'silent', ...env });
  const code = await run.ended;
  return { code, link: run.printed.out.trim(), said: run.printed.err };
}

const send = (link: string, fields: Record<string, string>) =>
  fetch(link, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: new URL(link).origin },
    body: new URLSearchParams(fields),
  });

const ADA = { name: 'Ada', email: 'ada@example.org' };

test('an owner who is locked out gets in again by a link made beside the running service, once', async () => {
  const env = { DATA_DIR: join(folder, 'data') };
  const service = rollcall(['serve'], { PORT: '0', ...env });
  runs.push(service);
  const [, url = ''] = await service.waitFor(RUNS);
  const [first = ''] = /http\S+\/welcome\/\w+/.exec(service.printed.out) ?? [];
  expect((await send(first, { ...ADA, password: 'a password to forget' })).status).toBe(303);

  const { code, link } = await makeLink({ ...env, PUBLIC_URL: url });
  expect([code, link.startsWith(`${url}/welcome/`)]).toEqual([0, true]);
  expect(await (await fetch(link)).text()).toContain('Choose a new password');
  expect((await send(link, { ...ADA, password: 'a password to remember' })).status).toBe(303);
  expect((await send(link, { ...ADA, password: 'a third of the three' })).status).toBe(410);
  const signIn = (password: string) => send(`${url}/sign-in`, { email: ADA.email, password });
  expect((await signIn('a password to forget')).status).toBe(401);
  expect((await signIn('a password to remember')).status).toBe(303);

  // The same for one account, which stays what it is.
  const named = await makeLink({ ...env, PUBLIC_URL: url }, 'Ada@example.org');
  expect(await (await fetch(named.link)).text()).toContain('ada@example.org');
  expect((await send(named.link, { password: 'a fourth of the four' })).status).toBe(303);
  expect((await send(named.link, { password: 'a fifth of the four' })).status).toBe(410);
  expect((await signIn('a password to remember')).status).toBe(401);
  expect((await signIn('a fourth of the four')).status).toBe(303);
  const nobody = await makeLink({ ...env, PUBLIC_URL: url }, 'nobody@example.org');
  expect([nobody.code, nobody.link]).toEqual([5, '']);
  expect(nobody.said).toBe('rollcall: there is no account of nobody@example.org: an owner can invite this address\n');

  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  // And where nothing runs, the database is started for it.
  expect((await makeLink({ ...env, PUBLIC_URL: url })).link).toMatch(/\/welcome\/\w{24}$/);
});

test('a later start tells a fresh link while there is no owner, and none afterwards', async () => {
  const { url: databaseUrl, drop } = await createTestDatabase();
  try {
    const env = { PORT: '0', DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'other') };
    const start = async (): Promise<Run> => {
      const run = rollcall(['serve'], env);
      runs.push(run);
      await run.waitFor(RUNS);
      return run;
    };
    const stop = async (run: Run) => {
      run.child.kill('SIGTERM');
      await run.ended;
    };
    await stop(await start());
    const second = await start();
    expect(second.printed.out).toContain('Nobody has signed in yet');
    const [link = ''] = /http\S+\/welcome\/\w+/.exec(second.printed.out) ?? [];
    expect((await send(link, { ...ADA, password: 'the password of ada' })).status).toBe(303);
    await stop(second);
    expect((await start()).printed.out).not.toContain('/welcome/');
  } finally {
    for (const { child, ended } of runs.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await drop();
  }
});

test('without a database it says in one line what is missing', async () => {
  const nowhere = await makeLink({ DATA_DIR: join(folder, 'nowhere') });
  expect([nowhere.code, nowhere.said]).toEqual([
    3,
    `rollcall: there is no DATA_DIR ${join(folder, 'nowhere')}: set it as for serve\n`,
  ]);
});
