import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutJob } from './api/api.ts';
import { startSite, type TestSite } from './pages/site.ts';
import { wordsOf } from './status-site.ts';

let t: TestSite;
beforeAll(async () => {
  t = await startSite('2026-11-30T12:00:00Z');
  for (const slug of ['backup', 'billing', 'search'])
    await layOutJob(t, slug, { at: '2026-11-01T00:00:00Z', nextUnrecorded: null, name: `Job ${slug}` });
});
afterAll(() => t.drop());

const BASE = '/projects/default/status-pages';
const form = {
  slug: 'acme',
  title: 'Acme',
  text: 'What runs here.\r\nAsk us.',
  zone: 'Europe/Berlin',
  group: ['Money', '', 'Web', '', ''],
  shows: ['billing', 'backup', 'tag:web', '', ''],
  name: ['Invoices', '', '', '', ''],
  host: '',
  password: '',
};
const typedIn = (html: string, name: string): readonly string[] =>
  [...html.matchAll(new RegExp(`<input[^>]*name="${name}"[^>]*value="([^"]*)"`, 'g'))].map(([, value = '']) => value);

test('the form says that a group is of jobs or of a tag', async () => {
  expect(wordsOf((await t.open(`${BASE}/+new`)).text)).toContain('A group is of jobs or of one tag, not of both.');
});

test('who has no page is told what one is for', async () => {
  expect(wordsOf((await t.open(BASE)).text)).toContain('Nobody outside sees anything yet');
});

test('a page is made by a form, and is public at once under the names that were typed', async () => {
  const made = await t.send(`${BASE}/+new`, form);
  expect(made).toMatchObject({ status: 303, location: `${BASE}/acme` });
  const { json } = await t.call('GET', '/status-pages/acme');
  expect(json).toMatchObject({
    title: 'Acme',
    text: 'What runs here.\nAsk us.',
    groups: [
      {
        name: 'Money',
        jobs: [
          { job: 'billing', name: 'Invoices' },
          { job: 'backup', name: null },
        ],
        tag: null,
      },
      { name: 'Web', jobs: null, tag: 'web' },
    ],
  });
  const shown = await t.open('/status/acme');
  expect(shown.status).toBe(200);
  expect(wordsOf(shown.text)).toMatch(
    /Acme What runs here\. .* Invoices has not run yet .* Job backup has not run yet/,
  );
  const one = wordsOf((await t.open(`${BASE}/acme`)).text);
  expect(one).toContain('everybody who has the address');
  expect(one).toContain('https://rollcall.example.org/status/acme/badge.svg?job=invoices');
  expect(wordsOf((await t.open(BASE)).text)).toContain('2 jobs, tag web');
});

test('the form shows again what is stored, and changes it', async () => {
  const edit = await t.open(`${BASE}/acme/edit`);
  expect(typedIn(edit.text, 'shows')).toEqual(['billing', 'backup', 'tag:web', '', '', '']);
  expect(typedIn(edit.text, 'group')).toEqual(['Money', 'Money', 'Web', '', '', '']);
  const saved = await t.send(`${BASE}/acme/edit`, { ...form, title: 'Acme Inc', password: 'open sesame' });
  expect(saved).toMatchObject({ status: 303, location: `${BASE}/acme` });
  expect((await t.call('GET', '/status-pages/acme')).json).toMatchObject({ title: 'Acme Inc', has_password: true });
  const one = await t.open(`${BASE}/acme`);
  expect(one.text).toMatch(/feed\.atom\?key=[\w-]{43}/);
  await t.send(`${BASE}/acme/edit`, form);
  expect((await t.call('GET', '/status-pages/acme')).json).toMatchObject({ title: 'Acme', has_password: true });
  await t.send(`${BASE}/acme/edit`, { ...form, drops_password: 'on' });
  expect((await t.call('GET', '/status-pages/acme')).json).toMatchObject({ has_password: false });
});

test('what is wrong is said at its row, and nothing that was typed is lost', async () => {
  const wrong = await t.send(`${BASE}/+new`, {
    ...form,
    slug: 'second',
    zone: 'CET+1',
    group: ['Money', 'Money', '', 'Web', 'Web'],
    shows: ['billing', 'nobody', '', 'search', 'tag:web'],
    name: ['', '', 'lost', '', ''],
  });
  expect(wrong.status).toBe(400);
  const flaws = [...wrong.text.matchAll(/id="row-(\d+)-wrong">([^<]*)/g)].map(([, row, text]) => `${row}: ${text}`);
  expect(flaws).toEqual([
    '3: name a job, or write tag: and a tag',
    '5: a tag needs a group of its own: name another group',
  ]);
  expect(typedIn(wrong.text, 'shows').slice(0, 5)).toEqual(['billing', 'nobody', '', 'search', 'tag:web']);
  expect(typedIn(wrong.text, 'slug')).toEqual(['second']);
  const refused = await t.send(`${BASE}/+new`, {
    ...form,
    slug: 'second',
    title: '',
    group: ['Money', ''],
    shows: ['billing', 'nobody'],
    name: ['', ''],
  });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('id="row-2-wrong">is no job of the project');
  expect(refused.text).toContain('id="f-title-wrong"');
});

test('a slug that is taken is said to be, whether this project has it or another', async () => {
  const other = { Authorization: 'Bearer other-api-key-0123456789' };
  const page = { title: 'Theirs', zone: 'UTC', groups: [{ name: 'All', tag: 'x' }] };
  expect((await t.call('PUT', '/status-pages/theirs', page, other)).status).toBe(201);
  for (const slug of ['acme', 'theirs']) {
    const taken = await t.send(`${BASE}/+new`, { ...form, slug, title: 'Another' });
    expect(taken.status).toBe(409);
    expect(taken.text).toContain('is taken: choose another slug');
    expect(taken.text).not.toContain('Theirs');
  }
  expect((await t.call('GET', '/status-pages/acme')).json.title).toBe('Acme');
  expect((await t.open(`${BASE}/theirs`)).status).toBe(404);
});

test('more rows are to be had without losing what was typed', async () => {
  const more = await t.send(`${BASE}/+new`, { ...form, slug: 'x', more: 'yes' });
  expect(more.status).toBe(200);
  expect(typedIn(more.text, 'shows')).toHaveLength(3 + 10);
  expect(typedIn(more.text, 'name')[0]).toBe('Invoices');
});

test('a viewer looks, sees no key, and changes nothing', async () => {
  await t.send(`${BASE}/acme/edit`, { ...form, password: 'open sesame' });
  t.as('viewer');
  const one = await t.open(`${BASE}/acme`);
  expect(one.status).toBe(200);
  expect(one.text).not.toMatch(/key=|<form/);
  expect((await t.open(`${BASE}/+new`)).status).toBe(403);
  expect((await t.open(`${BASE}/acme/edit`)).status).toBe(403);
  expect((await t.send(`${BASE}/acme/delete`, {})).status).toBe(403);
  t.as('owner');
});

test('deleting a page asks first; every change of one is a sentence in the audit', async () => {
  expect((await t.open(`${BASE}/acme`)).text).toContain(`href="${BASE}/acme/delete"`);
  const { status, text } = await t.open(`${BASE}/acme/delete`);
  expect(status).toBe(200);
  expect(text).toContain(`<a href="${BASE}/acme">Keep it</a>`);
  const groups = [{ name: 'All', jobs: [{ job: 'backup' }] }];
  const page = { title: 'Told', zone: 'UTC', groups };
  for (const title of ['Told', 'Told again'])
    expect((await t.call('PUT', '/status-pages/told', { ...page, title })).status).toBeLessThan(300);
  await t.call('DELETE', '/status-pages/told');
  const { entries } = (await t.call('GET', '/audit?limit=3')).json;
  expect(entries.map((entry: { text: string }) => entry.text.replace(/^api key \S+ /, ''))).toEqual([
    'deleted status page told',
    'changed status page told',
    'made status page told',
  ]);
});

test('a page is deleted, and its address leads nowhere', async () => {
  const gone = await t.send(`${BASE}/acme/delete`, {});
  expect(gone).toMatchObject({ status: 303, location: BASE });
  expect((await t.open(`${BASE}/acme`)).status).toBe(404);
  expect(t.logged).toEqual([]);
});
