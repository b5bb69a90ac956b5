import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENT, startProvider, type TestProvider } from '../support/oidc.ts';
import {
  ADA,
  auditOf,
  type Browser,
  inviteLink,
  join,
  ORIGIN,
  type PeopleSite,
  startPeople,
  welcomeAda,
} from './people-site.ts';

let provider: TestProvider;
let site: PeopleSite;
let ada: Browser;

beforeAll(async () => {
  provider = await startProvider(`${ORIGIN}/auth/callback/oidc`);
  site = await startPeople({
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    OIDC_NAME: 'Acme ID',
  });
  ada = await welcomeAda(site);
});
afterAll(async () => {
  await site.drop();
  await provider.close();
});

/** The address of the provider on the page that a button leads to. */
async function press(browser: Browser, button: string, fields: Record<string, string> = {}): Promise<string> {
  const { headers, text, status } = await browser.send(button, fields);
  const url = /^0; url=(.*)$/.exec(headers.get('refresh') ?? '')?.[1];
  if (url === undefined) throw new Error(`no way to the provider: ${status} ${text}`);
  return url;
}

/** The whole way: the button, the provider, and back. */
async function signIn(browser: Browser, to = '/projects/default/jobs/nightly?state=failed') {
  const back = new URL(await provider.walk(await press(browser, '/sign-in/provider', { to })));
  expect(back.origin + back.pathname).toBe(`${ORIGIN}/auth/callback/oidc`);
  return browser.open(back.pathname + back.search);
}

/** Where a refused one ends, and what stands there. */
async function refusal(browser: Browser, answer: { readonly location: string | null }): Promise<string> {
  const { status, text } = await browser.open(answer.location ?? '');
  expect(status).toBe(403);
  expect((await browser.open('/account')).status).toBe(303);
  return text;
}

test('the sign-in page has the button under the name that was given', async () => {
  expect((await site.browser().open('/sign-in')).text).toContain('Sign in with Acme ID');
});

test('a stranger whom the provider knows is refused, and no account is left', async () => {
  provider.signedInAs({ sub: 's1', email: 'stranger@example.org', email_verified: true });
  const browser = site.browser();
  expect(await refusal(browser, await signIn(browser))).toContain('nobody has invited it');
  const people = await site.database.transaction((tx) => tx.sql`select from users where email like 'stranger%'`);
  expect(people).toHaveLength(0);
});

test('whoever is invited by that address gets in, in the role, and where they wanted to go', async () => {
  await inviteLink(ada, { email: 'grace@example.org', role: 'editor' });
  provider.signedInAs({ sub: 'g1', email: 'Grace@example.org', email_verified: true, name: 'Grace' });
  const browser = site.browser();
  expect((await signIn(browser)).location).toBe('/projects/default/jobs/nightly?state=failed');
  const account = (await browser.open('/account')).text;
  expect(account).toMatch(/<h1>Grace<\/h1>/);
  expect(account).toContain('Connected');
  expect(account).not.toContain('Current password');
  expect((await browser.open('/projects/default/settings')).status).toBe(403);
  expect((await auditOf(site)).slice(0, 2)).toEqual([
    'grace@example.org signed in by provider',
    'grace@example.org became editor: invited by ada@example.org',
  ]);
  // The invitation is used up; the account is found again.
  expect((await ada.open('/projects/default/settings/members')).text).not.toContain('Works until');
  expect((await signIn(site.browser())).location).toBe('/projects/default/jobs/nightly?state=failed');
});

test('an address that the provider does not vouch for opens nothing, invited or not, known or not', async () => {
  await inviteLink(ada, { email: 'unproven@example.org', role: 'owner' });
  provider.signedInAs({ sub: 'u1', email: 'unproven@example.org', email_verified: false });
  const browser = site.browser();
  expect(await refusal(browser, await signIn(browser))).toContain('does not vouch');
  provider.signedInAs({ sub: 'g1', email: 'grace@example.org', email_verified: false });
  const grace = site.browser();
  expect(await refusal(grace, await signIn(grace))).toContain('does not vouch');
});

test('who was removed from every project is a stranger again', async () => {
  await inviteLink(ada, { email: 'brief@example.org', role: 'viewer' });
  provider.signedInAs({ sub: 'b1', email: 'brief@example.org', email_verified: true });
  const browser = site.browser();
  await signIn(browser);
  const [person] = await site.database.transaction(
    (tx) => tx.sql<{ id: string }[]>`select id from users where email = 'brief@example.org'`,
  );
  await ada.send(`/projects/default/settings/members/${person?.id}/remove`);
  const again = site.browser();
  expect(await refusal(again, await signIn(again))).toContain('nobody has invited it');
});

describe('an account with a password', () => {
  test('is not taken over by the provider: its owner connects it first', async () => {
    provider.signedInAs({ sub: 'a1', email: ADA.email, email_verified: true });
    const browser = site.browser();
    expect(await refusal(browser, await signIn(browser))).toContain('There is an account of this address already');
    const back = new URL(await provider.walk(await press(ada, '/account/connect')));
    expect((await ada.open(back.pathname + back.search)).location).toBe('/account');
    expect((await ada.open('/account')).text).toContain('Connected: you can sign in with it.');
    expect((await signIn(site.browser())).location).toBe('/projects/default/jobs/nightly?state=failed');
    expect(await auditOf(site)).toContain('ada@example.org connected their account with the sign-in provider');
  });

  test('is not connected with somebody else there', async () => {
    const bob = await join(site, ada, {
      name: 'Bob',
      email: 'bob@example.org',
      password: 'bob and his job',
      role: 'viewer',
    });
    provider.signedInAs({ sub: 'o1', email: 'other@example.org', email_verified: true });
    const back = new URL(await provider.walk(await press(bob, '/account/connect')));
    const { location } = await bob.open(back.pathname + back.search);
    expect(location).toContain('/account?error=');
    const { text } = await bob.open(location ?? '');
    expect(text).toContain('another e-mail address: nothing was connected');
    expect(text).toContain('Not connected.');
  });
});

describe('the way back', () => {
  test('works once, and only in the browser that began it', async () => {
    provider.signedInAs({ sub: 'g1', email: 'grace@example.org', email_verified: true });
    const began = site.browser();
    const back = new URL(await provider.walk(await press(began, '/sign-in/provider')));
    const other = site.browser();
    const stolen = await other.open(back.pathname + back.search);
    expect(stolen.location).toContain('/sign-in?error=');
    expect((await other.open('/account')).status).toBe(303);
    // Whatever the thief tried, it opens nothing afterwards either.
    await began.open(back.pathname + back.search);
    const replay = await site.browser().open(back.pathname + back.search);
    expect(replay.location).toContain('/sign-in?error=');
  });

  test('leads to no other site', async () => {
    const browser = site.browser();
    expect((await signIn(browser, '//evil.example')).location).toBe('/');
  });
});

test('a provider that cannot be reached is said so, and the password still works', async () => {
  const lonely = await startPeople({ OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET: 'y' });
  try {
    await welcomeAda(lonely);
    const browser = lonely.browser();
    const answer = await browser.send('/sign-in/provider', { to: '/' });
    expect([answer.status, answer.text.includes('cannot be reached')]).toEqual([503, true]);
    expect((await browser.send('/sign-in', { ...ADA, to: '/' })).status).toBe(303);
  } finally {
    await lonely.drop();
  }
});
