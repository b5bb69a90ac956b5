import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countWrongPassword } from '../../src/store/auth-database.ts';
import { wayBack } from '../../src/web/pages/way-back.ts';
import { ADA, auditOf, type Browser, join, ORIGIN, type PeopleSite, startPeople, welcomeAda } from './people-site.ts';

let site: PeopleSite;
let ada: Browser;

beforeAll(async () => {
  site = await startPeople();
  ada = await welcomeAda(site);
});
afterAll(() => site.drop());

const signIn = (browser: Browser, email = ADA.email, password = ADA.password, to = '/') =>
  browser.send('/sign-in', { email, password, to });

describe('the first-run link', () => {
  test('made the owner, works for nobody else, and is not told again', async () => {
    expect((await ada.open('/projects/default/settings/members')).text).toContain('ada@example.org');
    const late = site.browser();
    expect((await late.open(site.welcome)).status).toBe(410);
    const second = { name: 'Mallory', email: 'mallory@example.org', password: 'mallory was here' };
    expect((await late.send(site.welcome, second)).status).toBe(410);
    expect((await late.open('/welcome/aaaaaaaaaaaaaaaaaaaaaaaa')).status).toBe(410);
    expect(await auditOf(site)).toContain('ada@example.org became owner: first sign-in link');
  });

  test('is named on the sign-in page and at / until somebody has an account', async () => {
    const fresh = await startPeople();
    try {
      const browser = fresh.browser();
      const texts = async () => [(await browser.open('/')).text, (await browser.open('/sign-in')).text];
      for (const text of await texts()) expect(text).toContain('Nobody has an account yet');
      await welcomeAda(fresh);
      for (const text of await texts()) expect(text).not.toContain('Nobody has an account yet');
    } finally {
      await fresh.drop();
    }
  });

  test('of two who use it at the same moment one is the owner', async () => {
    const other = await startPeople();
    try {
      const people = ['bob', 'eve'].map((name) => ({ ...ADA, name, email: `${name}@example.org` }));
      const answers = await Promise.all(people.map((person) => other.browser().send(other.welcome, person)));
      expect(answers.map(({ status }) => status).sort()).toEqual([303, 410]);
      const [{ count } = { count: 0 }] = await other.database.transaction(
        (tx) => tx.sql<{ count: number }[]>`select count(*) from users`,
      );
      expect(count).toBe(1);
    } finally {
      await other.drop();
    }
  });
});

describe('the session', () => {
  test('is a cookie that scripts, other sites and plain http do not see', async () => {
    const answer = await signIn(site.browser());
    const cookie = answer.headers.getSetCookie().find((line) => line.includes('session_token')) ?? '';
    expect(cookie).toMatch(/^__Secure-rollcall\.session_token=/);
    for (const flag of ['HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/']) expect(cookie).toContain(flag);
  });

  test('begins anew at the sign-in, whatever cookie was there before', async () => {
    const browser = site.browser();
    browser.cookies.set('__Secure-rollcall.session_token', 'planted.by-somebody-else');
    expect((await browser.open('/projects/default')).location).toBe('/sign-in?to=%2Fprojects%2Fdefault');
    await signIn(browser);
    const first = browser.cookies.get('__Secure-rollcall.session_token');
    expect(first).not.toContain('planted');
    await signIn(browser);
    expect(browser.cookies.get('__Secure-rollcall.session_token')).not.toBe(first);
  });

  test('ends by signing out, and the cookie opens nothing afterwards', async () => {
    const browser = site.browser();
    await signIn(browser);
    const kept = new Map(browser.cookies);
    expect((await browser.send('/sign-out')).location).toBe('/sign-in');
    for (const [name, value] of kept) browser.cookies.set(name, value);
    expect((await browser.open('/account')).location).toBe('/sign-in?to=/account');
  });

  test('that was changed by one letter is none', async () => {
    const browser = site.browser();
    await signIn(browser);
    const [name = '', value = ''] = [...browser.cookies][0] ?? [];
    browser.cookies.set(name, (value.startsWith('A') ? 'B' : 'A') + value.slice(1));
    expect((await browser.open('/account')).status).toBe(303);
  });

  test('stands in the audit of the project', async () => {
    await signIn(site.browser());
    expect((await auditOf(site))[0]).toBe('ada@example.org signed in by password');
  });
});

describe('a refused sign-in', () => {
  test('says the same of an unknown address as of a wrong password, after the same work', async () => {
    const wrong = { password: 'not the password' };
    const pages: string[] = [];
    const spent = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 3; round += 1) {
      for (const [kind, email] of [
        ['known', ADA.email],
        ['unknown', 'nobody@example.org'],
      ] as const) {
        const began = process.cpuUsage();
        const answer = await signIn(site.browser(), email, wrong.password);
        const { user, system } = process.cpuUsage(began);
        spent[kind] = Math.min(spent[kind], user + system);
        expect(answer.status).toBe(401);
        pages.push(answer.text.replace(email, ''));
      }
    }
    expect(new Set(pages).size).toBe(1);
    expect(pages[0]).toContain('The e-mail address or the password is wrong.');
    // A password is hashed either way; without it an unknown address would cost a tenth.
    expect(spent.unknown).toBeGreaterThan(spent.known / 4);
    expect(spent.unknown).toBeLessThan(spent.known * 4);
  });

  test('is throttled from one address, with a page that says for how long', async () => {
    const browser = site.browser();
    const answers = [];
    for (let n = 0; n < 11; n += 1) answers.push(await signIn(browser, ADA.email, `guess number ${n}`));
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429]);
    const last = answers.at(-1);
    expect(last?.text).toMatch(/Too many attempts\. Try again in \d+ (s|min)\./);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    // The right password is no way round it, and another address is not held up.
    expect((await signIn(browser)).status).toBe(429);
    expect((await signIn(site.browser())).status).toBe(303);
  });

  test('is throttled at one address too, whoever tries, with an account or without', async () => {
    for (const email of ['target@example.org', 'Victim@example.org']) {
      for (let n = 0; n < 100; n += 1) await site.database.transaction((tx) => countWrongPassword(tx, email));
      const answer = await signIn(site.browser(), email.toLowerCase(), 'one guess more');
      expect([answer.status, answer.text.includes('Try again in 1 h') || answer.text.includes('59 min')]).toEqual([
        429,
        true,
      ]);
    }
    expect((await signIn(site.browser())).status).toBe(303);
  });

  test('keeps what was typed, but never the password', async () => {
    const { text } = await signIn(site.browser(), 'typo@example.org', 'a secret in the wrong place');
    expect(text).toContain('value="typo@example.org"');
    expect(text).not.toContain('a secret');
  });
});

describe('after the sign-in', () => {
  test.each([
    ['/projects/default/jobs/nightly?state=failed', '/projects/default/jobs/nightly?state=failed'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['evil', '/'],
    ['/..//evil.example', '/'],
    ['/a/../..//evil.example', '/'],
    ['', '/'],
  ])('%j leads to %s', async (to, expected) => {
    expect(wayBack(to)).toBe(expected);
  });

  test('the page that was asked for comes, and no other site', async () => {
    const browser = site.browser();
    const gate = await browser.open('/projects/default/settings/audit?before=7');
    expect(gate.location).toBe('/sign-in?to=%2Fprojects%2Fdefault%2Fsettings%2Faudit%3Fbefore%3D7');
    const page = await browser.open(gate.location ?? '');
    expect(page.text).toContain('value="/projects/default/settings/audit?before=7"');
    expect((await signIn(browser, ADA.email, ADA.password, '/projects/default/settings/audit?before=7')).location).toBe(
      '/projects/default/settings/audit?before=7',
    );
    expect((await signIn(site.browser(), ADA.email, ADA.password, '//evil.example')).location).toBe('/');
    expect((await ada.open('/sign-in?to=//evil.example')).location).toBe('/');
  });
});

describe('forms of other sites', () => {
  test.each([
    ['/sign-in'],
    ['/sign-out'],
    ['/account'],
    ['/account/leave'],
    ['/projects'],
    ['/projects/default/settings'],
  ])('are refused at %s', async (path) => {
    const foreign = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    const answer = await ada.send(path, { name: 'Owned', project: 'default' }, foreign);
    expect(answer.status).toBe(403);
  });

  test('of any size are not read where nobody is signed in', async () => {
    const answer = await site.browser().send('/sign-in', { email: ADA.email, password: 'x'.repeat(20_000) });
    expect(answer.status).toBe(413);
  });

  test('nothing of better-auth is served but the way back from a provider', async () => {
    for (const path of [
      '/auth/sign-in/email',
      '/auth/sign-up/email',
      '/auth/get-session',
      '/auth/list-sessions',
      '/auth/ok',
    ]) {
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json', Origin: ORIGIN }, body: '{}' };
      expect((await site.request(path, init)).status, path).toBe(404);
      expect((await site.request(path)).status, path).toBe(404);
    }
  });
});

describe('roles', () => {
  test('a viewer reads, an editor does not see the settings, and a removed member has no access at once', async () => {
    const viewer = await join(site, ada, {
      name: 'Vi',
      email: 'vi@example.org',
      password: 'only looking 123',
      role: 'viewer',
    });
    const editor = await join(site, ada, {
      name: 'Ed',
      email: 'ed@example.org',
      password: 'changing jobs 123',
      role: 'editor',
    });
    for (const browser of [viewer, editor]) {
      for (const part of ['', '/members', '/keys', '/audit'])
        expect((await browser.open(`/projects/default/settings${part}`)).status).toBe(403);
      expect((await browser.send('/projects/default/settings/keys', { name: 'mine', scopes: 'write' })).status).toBe(
        403,
      );
    }
    const members = (await ada.open('/projects/default/settings/members')).text;
    const remove = [...members.matchAll(/members\/([\w-]+)\/remove/g)].map(([, id]) => id);
    expect(remove).toHaveLength(3);
    expect((await viewer.open('/projects/other')).status).toBe(404);
    const id = await site.database.transaction(
      (tx) => tx.sql<{ id: string }[]>`select id from users where email = 'vi@example.org'`,
    );
    await ada.send(`/projects/default/settings/members/${id[0]?.id}/remove`);
    expect((await viewer.open('/projects/default')).status).toBe(404);
    expect((await viewer.open('/projects')).text).toContain('You are a member of no project');
  });
});

test('with the database away the sign-in says so, and nobody is told that a password was wrong', async () => {
  const away = await startPeople();
  const person = await welcomeAda(away);
  const stranger = away.browser();
  await away.drop();
  for (const answer of [
    await signIn(stranger),
    await person.open('/account'),
    await person.open('/projects/default'),
  ]) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(answer.text).toContain('The database is not available right now');
  }
});
