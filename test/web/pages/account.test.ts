import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ADA, auditOf, type Browser, join, type PeopleSite, startPeople, welcomeAda } from '../people-site.ts';

let site: PeopleSite;
let ada: Browser;
const BOB = { name: 'Bob', email: 'bob@example.org', password: 'bob and his jobs', role: 'editor' };

beforeAll(async () => {
  site = await startPeople();
  ada = await welcomeAda(site);
  await join(site, ada, BOB);
});
afterAll(() => site.drop());

let bob: Browser;
let elsewhere: Browser;
beforeEach(async () => {
  await site.database.transaction((tx) => tx.sql`delete from rate_limits`);
  [bob, elsewhere] = [site.browser(), site.browser()];
  for (const browser of [bob, elsewhere]) expect((await signIn(browser)).status).toBe(303);
});

const signIn = (browser: Browser, password = BOB.password) =>
  browser.send('/sign-in', { email: BOB.email, password, to: '/account' });

test('name and reading zone are kept; a zone that is none is refused at its field', async () => {
  const wrong = await bob.send('/account', { name: 'Robert', zone: 'CET+1' });
  expect(wrong.status).toBe(400);
  expect(wrong.text).toContain('value="CET+1"');
  expect(wrong.text).toContain('value="Robert"');
  expect((await bob.send('/account', { name: 'Robert', zone: 'Asia/Kolkata' })).location).toBe('/account');
  const { text } = await bob.open('/account');
  expect(text).toContain('value="Asia/Kolkata"');
  expect(text).toContain('+05:30');
  await bob.send('/account', { name: BOB.name, zone: '' });
});

test('a new password ends every other session, and the old one opens nothing any more', async () => {
  const next = 'another password of bob';
  const refused = await bob.send('/account/password', { current: 'not the password', new_password: next });
  expect([refused.status, refused.text.includes('this is not your password')]).toEqual([400, true]);
  expect((await bob.send('/account/password', { current: BOB.password, new_password: 'short' })).status).toBe(400);
  expect((await elsewhere.open('/account')).status).toBe(200);
  const before = new Map(bob.cookies);
  expect((await bob.send('/account/password', { current: BOB.password, new_password: next })).location).toBe(
    '/account',
  );
  expect((await bob.open('/account')).status).toBe(200);
  expect((await elsewhere.open('/account')).status).toBe(303);
  const old = site.browser();
  for (const [name, value] of before) old.cookies.set(name, value);
  expect((await old.open('/account')).status).toBe(303);
  expect((await signIn(site.browser())).status).toBe(401);
  expect((await signIn(site.browser(), next)).status).toBe(303);
  expect(await auditOf(site)).toContain('bob@example.org changed their password');
  expect((await bob.send('/account/password', { current: next, new_password: BOB.password })).status).toBe(303);
});

test('sessions are listed with browser and address, and end one by one or all but this', async () => {
  const { text } = await bob.open('/account');
  expect(text).toContain(bob.address);
  expect(text).toContain(elsewhere.address);
  expect(text.match(/this one/g)).toHaveLength(1);
  const ids = [...text.matchAll(/name="id" value="([^"]+)"/g)].map(([, id]) => id ?? '');
  await bob.send('/account/sessions/end', { id: ids[0] ?? '' });
  expect((await bob.open('/account')).status).toBe(200);
  expect((await elsewhere.open('/account')).status).toBe(303);
  await signIn(elsewhere);
  await bob.send('/account/sessions/end');
  expect((await elsewhere.open('/account')).status).toBe(303);
  expect((await bob.open('/account')).text).not.toContain('End all others');
});

test('nobody ends the session of somebody else', async () => {
  const rows = await site.database.transaction(
    (tx) => tx.sql<{ id: string }[]>`
      select s.id from sessions s join users u on u.id = s.user_id where u.email = ${ADA.email}`,
  );
  for (const { id } of rows) await bob.send('/account/sessions/end', { id });
  expect((await ada.open('/account')).status).toBe(200);
});

test('a session that is over is none', async () => {
  await site.database.transaction(
    (tx) => tx.sql`
      update sessions set expires_at = ${tx.now - 1000}
      where user_id = (select id from users where email = ${BOB.email})`,
  );
  expect((await bob.open('/account')).status).toBe(303);
});

test('leaving a project ends the access to it, and says so in its audit', async () => {
  expect((await bob.send('/account/leave', { project: 'default' })).location).toBe('/account');
  expect((await bob.open('/projects/default')).status).toBe(404);
  expect((await auditOf(site))[0]).toBe('bob@example.org left the project');
});
