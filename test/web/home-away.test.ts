import { expect, test } from 'vitest';
import { startPeople, welcomeAda } from './people-site.ts';

test('while the database is away the first page says so to a person as all others do', async () => {
  const site = await startPeople();
  const ada = await welcomeAda(site);
  expect((await ada.open('/')).location).toBe('/projects/default');
  await site.drop();
  for (const path of ['/', '/projects', '/projects/default', '/account', '/nothing-here']) {
    const { status, text, headers } = await ada.open(path);
    if (path === '/nothing-here') expect(status).toBe(404);
    else expect([status, headers.get('retry-after')], path).toEqual([503, '5']);
    expect(headers.get('content-type'), path).toMatch(/^text\/html/);
    expect(text, path).toContain('<h1>');
  }
});
