import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
const REPORTS = '/projects/default/reports';

beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
  await site.call('PUT', '/jobs/backup', { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip' });
});
afterAll(() => site.drop());

test('without an e-mail channel the form says what is needed first', async () => {
  const { text } = await site.open(`${REPORTS}/+new`);
  expect(text).toContain('add an e-mail channel');
  expect(text).not.toContain('<form');
});

test('a report is added by a form, refused with what is wrong at its field, and shows what it would say now', async () => {
  await site.call('PUT', '/channels/mail', { kind: 'email', to: 'ops@example.org' });
  const refused = await site.send(`${REPORTS}/+new`, { slug: 'weekly', every: 'week', zone: 'CET', channels: 'mail' });
  expect(refused.status).toBe(400);
  expect(refused.text).toMatch(/id="f-zone"[^>]*aria-invalid="true"/);
  expect(refused.text).toContain('value="mail" checked');

  const fields = { slug: 'weekly', every: 'week', zone: 'Europe/Berlin', channels: 'mail', tags: '' };
  expect((await site.send(`${REPORTS}/+new`, fields)).location).toBe(`${REPORTS}/weekly`);
  await site.at('2026-03-02T12:30:00Z');
  await site.ping('backup', 'success');
  const page = await site.open(`${REPORTS}/weekly?period=2026-W10`);
  expect(page.text).toContain('2026-W10 so far');
  expect(page.text).toContain('1 jobs');
  expect((await site.open(`${REPORTS}/weekly?period=yesterday`)).text).toContain('class="wrong"');
});

test('a slug that is taken is refused; an edit replaces', async () => {
  const fields = { slug: 'weekly', every: 'month', zone: 'UTC', channels: 'mail' };
  expect((await site.send(`${REPORTS}/+new`, fields)).status).toBe(400);
  expect((await site.send(`${REPORTS}/weekly/edit`, fields)).location).toBe(`${REPORTS}/weekly`);
  expect((await site.call('GET', '/reports/weekly')).json.every).toBe('month');
  expect((await site.open(REPORTS)).text).toContain('month, UTC');
});

test('a week in which nothing was due says so', async () => {
  await site.call('PUT', '/reports/quiet', { every: 'week', zone: 'UTC', channels: ['mail'], tags: ['nobody'] });
  const { text } = await site.open(`${REPORTS}/quiet?period=2026-W10`);
  expect(text).toContain('2026-W10 so far: nothing was due');
  expect(text).not.toContain('nothing counted');
});

test('deleting a report asks first, and says who gets it no more', async () => {
  expect((await site.open(`${REPORTS}/weekly`)).text).toContain(`href="${REPORTS}/weekly/delete"`);
  const { status, text } = await site.open(`${REPORTS}/weekly/delete`);
  expect([status, text.includes('Delete weekly?'), text.includes('mail gets no mail')]).toEqual([200, true, true]);
  expect(text).toContain(`<a href="${REPORTS}/weekly">Keep it</a>`);
  expect((await site.call('GET', '/reports/weekly')).status).toBe(200);
  expect((await site.open(`${REPORTS}/none/delete`)).status).toBe(404);
});

test('a deleted report is gone', async () => {
  await site.send(`${REPORTS}/weekly/delete`, {});
  expect((await site.open(`${REPORTS}/weekly`)).status).toBe(404);
});
