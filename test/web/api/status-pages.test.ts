import { verifyPassword } from 'better-auth/crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutJob, OTHER_KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-11-30T12:00:00Z');
  for (const slug of ['backup', 'billing'])
    await layOutJob(t, slug, { at: '2026-11-01T00:00:00Z', nextUnrecorded: null, name: `Job ${slug}` });
});
afterAll(() => t.drop());

const page = {
  title: 'Nightly jobs',
  zone: 'Europe/Berlin',
  groups: [{ name: 'Backups', jobs: [{ job: 'backup', name: 'Nightly backup' }] }],
};
const paths = (answer: { json: { errors: { path: string }[] } }) => answer.json.errors.map(({ path }) => path);
const hashOf = async (slug: string) =>
  (
    await t.database.transaction(
      (tx) => tx.sql<{ h: string | null }[]>`select password_hash as h from status_pages where slug = ${slug}`,
    )
  )[0]?.h;

test('a page is created, read back, replaced, listed and deleted, and every change is audited', async () => {
  const made = await t.call('PUT', '/status-pages/acme', { ...page, text: 'What runs at night.', indexable: true });
  expect(made.status).toBe(201);
  expect(made.json).toEqual({
    slug: 'acme',
    title: 'Nightly jobs',
    text: 'What runs at night.',
    zone: 'Europe/Berlin',
    groups: [{ name: 'Backups', jobs: [{ job: 'backup', name: 'Nightly backup' }], tag: null }],
    show_reasons: false,
    indexable: true,
    host: null,
    has_password: false,
    url: 'https://rollcall.example.org/status/acme',
    created_at: '2026-11-30T12:00:00Z',
    warnings: [],
  });
  expect((await t.call('GET', '/status-pages/acme')).json).toEqual(made.json);
  const replaced = await t.call('PUT', '/status-pages/acme', {
    ...page,
    groups: [...page.groups, { name: 'Money', tag: 'billing' }],
    host: 'Status.Example.org',
  });
  expect(replaced).toMatchObject({
    status: 200,
    json: { text: '', indexable: false, host: 'status.example.org', url: 'https://status.example.org' },
  });
  await t.call('PUT', '/status-pages/second', page);
  const list = await t.call('GET', '/status-pages?limit=1');
  expect(list.json.status_pages.map(({ slug }: { slug: string }) => slug)).toEqual(['acme']);
  const rest = await t.call('GET', `/status-pages?limit=1&cursor=${list.json.next_cursor}`);
  expect(rest.json).toMatchObject({ status_pages: [{ slug: 'second' }], next_cursor: null });
  expect((await t.call('DELETE', '/status-pages/second')).status).toBe(204);
  expect((await t.call('DELETE', '/status-pages/second')).status).toBe(404);
  const audit = await t.database.transaction(
    (tx) => tx.sql<{ action: string; subject: string }[]>`select action, subject from audit order by id`,
  );
  expect(audit.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
    'status_page.create acme',
    'status_page.edit acme',
    'status_page.create second',
    'status_page.delete second',
  ]);
});

test('everything that is wrong is said at once, at its place', async () => {
  const wrong = await t.call('PUT', '/status-pages/x', {
    title: ' ',
    zone: 'CET+1',
    indexable: 'yes',
    channels: [],
    host: 'https://a.example',
    password: 'short',
    groups: [
      { name: 'A', jobs: [{ job: 'nobody' }, { job: 'backup', name: '' }, { job: 'backup', colour: 'red' }] },
      { name: 'a', tag: 'x', jobs: [{ job: 'backup' }] },
      { tag: 'x' },
      7,
    ],
  });
  expect(wrong.status).toBe(400);
  expect(paths(wrong)).toEqual([
    'channels',
    'title',
    'zone',
    'groups.0.jobs.0.job',
    'groups.0.jobs.1.name',
    'groups.0.jobs.2.colour',
    'groups.0.jobs.2.job',
    'groups.1',
    'groups.2.name',
    'groups.3',
    'groups.1.name',
    'indexable',
    'host',
    'password',
  ]);
  expect(paths(await t.call('PUT', '/status-pages/x', {}))).toEqual(['title', 'zone', 'groups']);
  expect(paths(await t.call('PUT', '/status-pages/Not%20A%20Slug', page))).toEqual(['slug']);
});

test('no page can take the address of Rollcall, or an IP address', async () => {
  for (const host of [
    'rollcall.example.org',
    'ROLLCALL.example.org',
    '192.0.2.1',
    'localhost',
    '[::1]',
    'a.example:80',
  ])
    expect(paths(await t.call('PUT', '/status-pages/x', { ...page, host }))).toEqual(['host']);
});

test('a password is kept as a hash, never shown, and stays until it is changed or taken away', async () => {
  const password = 'correct horse battery';
  const made = await t.call('PUT', '/status-pages/secret', { ...page, password });
  expect(made.json).toMatchObject({ has_password: true });
  expect(JSON.stringify(made.json)).not.toContain(password);
  const hash = await hashOf('secret');
  expect(await verifyPassword({ hash: hash ?? '', password })).toBe(true);
  await t.call('PUT', '/status-pages/secret', { ...page, title: 'Other' });
  expect(await hashOf('secret')).toBe(hash);
  await t.call('PUT', '/status-pages/secret', { ...page, password: 'another password' });
  expect(await hashOf('secret')).not.toBe(hash);
  const open = await t.call('PUT', '/status-pages/secret', { ...page, password: null });
  expect(open.json).toMatchObject({ has_password: false });
  expect(await hashOf('secret')).toBe(null);
  const audit = await t.database.transaction(
    (tx) => tx.sql<{ text: string }[]>`select detail::text as text from audit`,
  );
  for (const { text } of audit) expect(text).not.toMatch(/correct horse|another password/);
});

test('a slug or a host of another project is refused without saying whose', async () => {
  const other = { Authorization: `Bearer ${OTHER_KEY}` };
  await t.call('PUT', '/status-pages/mine', { ...page, host: 'mine.example.org' });
  const theirs = { ...page, groups: [{ name: 'All', tag: 'prod' }] };
  const slug = await t.call('PUT', '/status-pages/mine', theirs, other);
  expect(slug).toMatchObject({
    status: 409,
    json: { type: '/problems/taken', errors: [{ path: 'slug', message: 'is taken: choose another slug' }] },
  });
  const host = await t.call('PUT', '/status-pages/theirs', { ...theirs, host: 'mine.example.org' }, other);
  expect(host).toMatchObject({ status: 409, json: { errors: [{ path: 'host' }] } });
  for (const method of ['GET', 'DELETE']) {
    const answer = await t.call(method, '/status-pages/mine', undefined, other);
    expect(answer.status).toBe(404);
    expect(JSON.stringify([answer.json, slug.json])).not.toMatch(/default|project default/);
  }
  expect((await t.call('GET', '/status-pages', undefined, other)).json.status_pages).toEqual([]);
  expect((await t.call('GET', '/status-pages/mine')).json.title).toBe('Nightly jobs');
});

test('a job that is gone is named', async () => {
  await layOutJob(t, 'gone', { at: '2026-11-01T00:00:00Z', nextUnrecorded: null });
  await t.call('PUT', '/status-pages/lost', { ...page, groups: [{ name: 'All', jobs: [{ job: 'gone' }] }] });
  await t.call('DELETE', '/jobs/gone');
  const { json } = await t.call('GET', '/status-pages/lost');
  expect(json.warnings).toEqual(['there is no job gone any more: the page does not show it']);
});
