import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ADA,
  auditOf,
  type Browser,
  inviteLink,
  join,
  type PeopleSite,
  startPeople,
  welcomeAda,
} from '../people-site.ts';

let site: PeopleSite;
let ada: Browser;
const SETTINGS = '/projects/default/settings';
const GRACE = { name: 'Grace', email: 'grace@example.org', password: 'grace and her ships', role: 'owner' };

beforeAll(async () => {
  site = await startPeople();
  ada = await welcomeAda(site);
});
afterAll(() => site.drop());

async function idOf(email: string): Promise<string> {
  const rows = await site.database.transaction(
    (tx) => tx.sql<{ id: string }[]>`select id from users where email = ${email}`,
  );
  return rows[0]?.id ?? '';
}

const api = (key: string, path: string, method = 'GET') =>
  site.request(`/api/v1${path}`, { method, headers: { Authorization: `Bearer ${key}` } });
const secretOf = (text: string, id: string) => new RegExp(`id="${id}">\\s*([^<\\s]+)`).exec(text)?.[1] ?? '';

describe('invitations', () => {
  test('work once, for whoever has the link, in the role that was given', async () => {
    const link = await inviteLink(ada, { email: 'Once@example.org', role: 'viewer' });
    const browser = site.browser();
    const page = (await browser.open(link)).text;
    expect(page).toContain('ada@example.org invites once@example.org to be a viewer');
    expect((await browser.send(link, { name: 'Once', password: 'short' })).text).toContain('at least 10 characters');
    expect((await browser.send(link, { name: 'Once', password: 'long enough for all' })).location).toBe(
      '/projects/default',
    );
    expect((await browser.open('/projects/default/settings')).status).toBe(403);
    expect((await browser.open('/projects/default')).text).not.toContain('/projects/default/settings');
    expect((await ada.open('/projects/default')).text).toContain('/projects/default/settings');
    const again = site.browser();
    expect((await again.open(link)).status).toBe(410);
    expect((await again.send(link, { name: 'Twice', password: 'long enough for all' })).status).toBe(410);
    expect(await auditOf(site)).toContain('once@example.org became viewer: invited by ada@example.org');
  });

  test('end with the membership: who was removed cannot come back by one that was never used', async () => {
    const who = { name: 'Bea', email: 'bea@example.org', password: 'bea has been here' };
    const bea = await join(site, ada, { ...who, role: 'viewer' });
    const better = await inviteLink(ada, { email: who.email, role: 'editor' });
    await ada.send(`${SETTINGS}/members/${await idOf(who.email)}/remove`);
    expect((await bea.open('/projects/default')).status).toBe(404);
    expect((await bea.send(better)).status).toBe(410);
    expect((await bea.open('/projects/default')).status).toBe(404);
  });

  test('of two who accept at the same moment one is in, and no second account is left', async () => {
    const link = await inviteLink(ada, { email: 'race@example.org', role: 'viewer' });
    const send = () => site.browser().send(link, { name: 'Race', password: 'running very fast' });
    const statuses = (await Promise.all([send(), send()])).map(({ status }) => status);
    // The loser finds the account made and signs in to it, or the invitation gone: the password is the same.
    expect(statuses.filter((status) => status === 303).length).toBeGreaterThan(0);
    const rows = await site.database.transaction(
      (tx) => tx.sql`select from members m join users u on u.id = m.user_id where u.email = 'race@example.org'`,
    );
    expect(rows).toHaveLength(1);
  });

  test('end after seven days, when they are taken back, and when a newer one is made', async () => {
    const old = await inviteLink(ada, { email: 'old@example.org', role: 'viewer' });
    await site.database.transaction(
      (tx) => tx.sql`update invitations set expires_at = ${tx.now} where email = 'old@example.org'`,
    );
    expect((await site.browser().open(old)).status).toBe(410);
    const first = await inviteLink(ada, { email: 'back@example.org', role: 'viewer' });
    const second = await inviteLink(ada, { email: 'back@example.org', role: 'editor' });
    expect((await site.browser().open(first)).status).toBe(410);
    const [, revoke = ''] = /action="([^"]*\/revoke)"/.exec((await ada.open(`${SETTINGS}/members`)).text) ?? [];
    expect((await ada.send(revoke)).status).toBe(303);
    expect((await site.browser().open(second)).status).toBe(410);
    expect(await auditOf(site)).toContain('ada@example.org took back the invitation of back@example.org');
  });

  test('to somebody with an account ask for its password, and say nothing about accounts before', async () => {
    const made = await ada.send('/projects', { name: 'Second', slug: 'second' });
    expect(made.text).toContain('id="api-key"');
    const invite = async (email: string) => {
      const { text } = await ada.send('/projects/second/settings/members/invite', { email, role: 'viewer' });
      return { link: /\/invitations\/[A-Za-z0-9]{24}/.exec(text)?.[0] ?? '' };
    };
    await join(site, ada, {
      name: 'Known',
      email: 'known@example.org',
      password: 'known for long now',
      role: 'viewer',
    });
    const known = await invite('known@example.org');
    const fresh = await invite('fresh@example.org');
    const plain = async ({ link }: { link: string }) =>
      (await site.browser().open(link)).text
        .replaceAll(link.split('/').at(-1) ?? '', '')
        .replaceAll(/known@|fresh@/g, '');
    const pages = [await plain(known), await plain(fresh)];
    expect(pages[0]).toBe(pages[1]);
    const browser = site.browser();
    const wrong = await browser.send(known.link, { name: 'Known', password: 'not their password' });
    expect([wrong.status, wrong.text.includes('If you have one under this address')]).toEqual([401, true]);
    const right = await browser.send(known.link, { name: 'Known', password: 'known for long now' });
    expect(right.location).toBe('/projects/second');
    expect((await browser.open('/projects')).text).toMatch(/Default[\s\S]*Second/);
    expect((await browser.open('/')).location).toBe('/projects');
  });

  test('are for one person: whoever is signed in as another is told so', async () => {
    const link = await inviteLink(ada, { email: 'someone@example.org', role: 'owner' });
    expect((await ada.open(link)).text).toContain('You are signed in as ada@example.org');
    expect((await ada.send(link)).status).toBe(400);
    expect((await site.browser().open(link)).status).toBe(200);
  });

  test('nobody makes an account without one', async () => {
    const before = await site.database.transaction((tx) => tx.sql`select count(*) as n from users`);
    const browser = site.browser();
    for (const path of ['/sign-up', '/auth/sign-up/email', '/invitations/aaaaaaaaaaaaaaaaaaaaaaaa'])
      expect((await browser.send(path, { ...ADA, email: 'new@example.org' })).status).toBeGreaterThanOrEqual(404);
    expect(await site.database.transaction((tx) => tx.sql`select count(*) as n from users`)).toEqual(before);
  });
});

describe('members', () => {
  test('the last owner can neither be demoted nor leave', async () => {
    const id = await idOf(ADA.email);
    const demoted = await ada.send(`${SETTINGS}/members/${id}/role`, { role: 'viewer' });
    expect([demoted.status, demoted.text.includes('The last owner stays an owner')]).toEqual([409, true]);
    expect((await ada.send(`${SETTINGS}/members/${id}/remove`)).status).toBe(409);
    expect((await ada.send('/account/leave', { project: 'default' })).status).toBe(409);
    expect((await ada.open(SETTINGS)).status).toBe(200);
  });

  test('of two owners who leave at the same moment one stays', async () => {
    const grace = await join(site, ada, GRACE);
    const leave = (browser: Browser) => browser.send('/account/leave', { project: 'default' });
    const statuses = (await Promise.all([leave(ada), leave(grace)])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([303, 409]);
    const owners = await site.database.transaction(
      (tx) =>
        tx.sql`select from members where role = 'owner' and project_id = (select id from projects where slug = 'default')`,
    );
    expect(owners).toHaveLength(1);
    // Whoever left is let in again, so that the other stories find Ada an owner.
    await site.database.transaction(async (tx) => {
      const [project] = await tx.sql<{ id: number }[]>`select id from projects where slug = 'default'`;
      for (const email of [ADA.email, GRACE.email])
        await tx.sql`
          insert into members (project_id, user_id, role, created_at)
          select ${project?.id ?? 0}, id, 'owner', ${tx.now} from users where email = ${email}
          on conflict (project_id, user_id) do update set role = 'owner'`;
    });
  });

  test('are asked before one is removed or leaves, on a page of its own', async () => {
    const id = await idOf(ADA.email);
    expect((await ada.open(`${SETTINGS}/members`)).text).toContain(`href="${SETTINGS}/members/${id}/remove"`);
    const removal = (await ada.open(`${SETTINGS}/members/${id}/remove`)).text;
    expect(removal).toContain('Remove Ada Marsh?');
    expect(removal).toMatch(/href="[^"]*\/settings\/members">Keep it/);
    expect((await ada.open('/account')).text).toContain('href="/account/leave?project=default"');
    const leaving = (await ada.open('/account/leave?project=default')).text;
    expect(leaving).toMatch(/Leave [^<]*\?/);
    expect(leaving).toContain('name="project" value="default"');
    expect((await ada.open(SETTINGS)).status).toBe(200);
  });

  test('a demoted owner is a viewer at their next request', async () => {
    const grace = site.browser();
    await grace.send('/sign-in', { ...GRACE, to: '/' });
    expect((await grace.open(SETTINGS)).status).toBe(200);
    await ada.send(`${SETTINGS}/members/${await idOf(GRACE.email)}/role`, { role: 'viewer' });
    expect((await grace.open(SETTINGS)).status).toBe(403);
    expect((await grace.send(`${SETTINGS}/members/${await idOf(ADA.email)}/remove`)).status).toBe(403);
    expect((await auditOf(site))[0]).toBe('ada@example.org made grace@example.org viewer, who was owner');
  });
});

describe('keys', () => {
  test('are shown once, do what their scopes say, and end when they are revoked', async () => {
    const made = await ada.send(`${SETTINGS}/keys`, { name: 'grafana', scopes: 'read' });
    const key = secretOf(made.text, 'new-key');
    expect(key).toMatch(/^[A-Za-z0-9]{24}$/);
    expect((await api(key, '/jobs')).status).toBe(200);
    expect((await api(key, '/jobs/nightly/pause', 'POST')).status).toBe(403);
    const { text } = await ada.open(`${SETTINGS}/keys`);
    expect(text).not.toContain(key);
    expect(text).toContain(`${key.slice(0, 4)}…`);
    const [, revoke = ''] = /grafana[\s\S]*?href="([^"]*\/revoke)"/.exec(text) ?? [];
    const asked = (await ada.open(revoke)).text;
    expect(asked).toContain(`Revoke API key grafana (${key.slice(0, 4)}…)?`);
    expect(asked).toMatch(/<form method="post"><button type="submit" class="danger">/);
    expect((await api(key, '/jobs')).status).toBe(200);
    expect((await ada.send(revoke)).status).toBe(303);
    expect((await api(key, '/jobs')).status).toBe(401);
    expect((await auditOf(site)).slice(0, 2)).toEqual([
      `ada@example.org revoked API key grafana (${key.slice(0, 4)}…)`,
      'ada@example.org made API key grafana (read)',
    ]);
  });

  test('without a name or a scope are refused at the field, and what was typed stays', async () => {
    const answer = await ada.send(`${SETTINGS}/keys`, { name: 'no scopes at all' });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('choose at least one');
    expect(answer.text).toContain('value="no scopes at all"');
  });

  test('a new ping key leaves the old one time to go', async () => {
    const made = await ada.send(`${SETTINGS}/keys/ping`, { overlap: '604800' });
    const key = secretOf(made.text, 'new-ping-key');
    expect((await site.request(`/ping/${key}/rotated?create=1`)).status).toBe(201);
    expect((await site.request(`/ping/${site.pingKey}/rotated`)).status).toBe(200);
    const last = await ada.send(`${SETTINGS}/keys/ping`, { overlap: '0' });
    expect((await site.request(`/ping/${key}/rotated`)).status).toBe(404);
    expect((await site.request(`/ping/${secretOf(last.text, 'new-ping-key')}/rotated`)).status).toBe(200);
  });
});

describe('the project', () => {
  test('is renamed, and the audit says from what to what', async () => {
    expect((await ada.send(SETTINGS, { name: '  Acme payments ' })).location).toBe(SETTINGS);
    expect((await ada.open(SETTINGS)).text).toContain('value="Acme payments"');
    expect((await auditOf(site))[0]).toBe('ada@example.org renamed the project from Default to Acme payments');
    expect((await ada.send(SETTINGS, { name: ' ' })).status).toBe(400);
  });

  test('a new one has keys of its own, and its slug is taken once', async () => {
    const made = await ada.send('/projects', { name: 'Third', slug: 'third' });
    const key = secretOf(made.text, 'api-key');
    expect(await (await api(key, '/jobs')).json()).toMatchObject({ jobs: [] });
    expect((await ada.open('/projects/third/settings')).status).toBe(200);
    const again = await ada.send('/projects', { name: 'Third again', slug: 'third' });
    expect([again.status, again.text.includes('another project has this slug')]).toEqual([400, true]);
    expect(again.text).toContain('value="Third again"');
    for (const slug of ['Third', '', 'a b', 'ä'])
      expect((await ada.send('/projects', { name: 'x', slug })).status).toBe(400);
  });

  test('nobody who owns nothing makes one', async () => {
    const viewer = await join(site, ada, {
      name: 'Vi',
      email: 'vi@example.org',
      password: 'only looking 123',
      role: 'viewer',
    });
    expect((await viewer.open('/projects')).text).not.toContain('name="slug"');
    expect((await viewer.send('/projects', { name: 'Mine', slug: 'mine' })).status).toBe(403);
  });
});

describe('the audit log', () => {
  test('is paged, newest first, in sentences', async () => {
    for (let n = 0; n < 30; n += 1) {
      await ada.send(SETTINGS, { name: `Name ${n}` });
      await ada.send(SETTINGS, { name: 'Acme' });
    }
    const first = (await ada.open(`${SETTINGS}/audit`)).text;
    expect(first).toContain('ada@example.org renamed the project from Name 29 to Acme');
    const [, older = ''] = /href="([^"]*\?before=\d+)"/.exec(first) ?? [];
    const second = (await ada.open(older)).text;
    expect(second).toContain('renamed the project from Acme to Name 4');
    expect(second).not.toContain('Name 29');
    expect(second).toContain('>Newest<');
  });
});
