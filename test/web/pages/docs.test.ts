import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;

beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
  site.as(null);
});
afterAll(() => site.drop());

const pages = [
  '/docs',
  ...readdirSync('docs').flatMap((file) => (file.endsWith('.md') ? [`/docs/${file.replace('.md', '')}`] : [])),
  ...readdirSync('docs/channels').map((file) => `/docs/channels/${file.replace('.md', '')}`),
];

test.each(pages)(
  '%s is readable without signing in, and each of its links to the documentation leads somewhere',
  async (path) => {
    const page = await site.open(path);
    expect(page.status).toBe(200);
    const article = page.text.slice(page.text.indexOf('<article'));
    expect(article).not.toMatch(/href="[^"]*\.md/);
    expect(article).not.toContain('style=');
    for (const [, to = ''] of article.matchAll(/href="(\/docs[^"]*)"/g)) {
      const [target = '', anchor] = to.split('#');
      const answer = await site.open(target);
      expect(answer.status, to).toBe(200);
      if (anchor !== undefined) expect(answer.text, to).toContain(`id="${anchor}"`);
    }
    for (const [, anchor = ''] of article.matchAll(/href="#([^"]*)"/g)) expect(article).toContain(`id="${anchor}"`);
  },
);

test('what is written is shown, not run', async () => {
  expect(readFileSync('README.md', 'utf8')).toContain('curl');
  expect((await site.open('/docs/nothing')).status).toBe(404);
  expect((await site.open('/docs/../package.json')).status).toBe(404);
});
