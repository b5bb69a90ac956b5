import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
  await site.call('PUT', '/jobs/backup', { zone: 'UTC', schedules: [{ cron: '30 2 * * *' }], missed_runs: 'skip' });
});
afterAll(() => site.drop());

const P = '/projects/default';
/** Each reads its form in a way of its own. */
const FORMS = [
  '/bulk',
  '/first-job',
  '/jobs/+new',
  '/jobs/preview',
  '/jobs/backup/edit',
  '/jobs/backup/backlog',
  '/incidents/1/ack',
  '/maintenance/+new',
  '/channels/+new',
  '/status-pages/+new',
  '/reports/+new',
  '/settings',
  '/settings/keys',
  '/settings/keys/ping',
];
const form = 'application/x-www-form-urlencoded';

async function post(path: string, type: string, body: string): Promise<number> {
  const headers = { 'Content-Type': type, Origin: 'https://rollcall.example.org' };
  return (await site.site.request(`https://rollcall.example.org${P}${path}`, { method: 'POST', headers, body })).status;
}

describe.each(FORMS)('what is sent to %s', (path) => {
  test('is refused when it is no form, and is no error of ours', async () => {
    expect(await post(path, 'multipart/form-data; boundary=x', 'not in parts')).toBe(400);
    expect(await post(path, 'multipart/form-data', 'no boundary')).toBe(400);
    expect(await post(path, 'application/json', '{"name": "x"}')).toBe(400);
  });

  test('is refused when it is more than a form of ours', async () => {
    const most = path.startsWith('/maintenance') ? 4 * 1024 * 1024 : 512 * 1024;
    expect(await post(path, form, `name=${'x'.repeat(most)}`)).toBe(413);
  });
});

test('a field with a NUL, which the database keeps in no text, is refused', async () => {
  expect(await post('/settings', form, 'name=a%00b')).toBe(400);
  expect(await post('/settings/keys', form, 'name=a%00b&scopes=read')).toBe(400);
  expect(site.logged).toEqual([]);
});

test('a field that is repeated for ever costs no more than it is long', async () => {
  const before = process.cpuUsage();
  expect(await post('/channels/+new', form, `kind=email&${'a=&'.repeat(40_000)}`)).toBe(400);
  const { user } = process.cpuUsage(before);
  expect(user / 1e6).toBeLessThan(8);
});

test('whoever may not post here is told so before anything is read', async () => {
  site.as('viewer');
  expect(await post('/jobs/preview', form, 'x'.repeat(600_000))).toBe(403);
  site.as(null);
  expect(await post('/jobs/preview', form, 'x'.repeat(600_000))).toBe(303);
  site.as('owner');
});
