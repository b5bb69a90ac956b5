import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readPage } from './page.ts';

const PAGES = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))
  .concat('README.md');

test.each(PAGES)('%s links only to pages and headings that exist', (page) => {
  const broken = linksOf(readPage(page)).filter((link) => !leadsSomewhere(page, link));
  expect(broken).toEqual([]);
});

/** Links within the project; code is no link. */
function linksOf(text: string): readonly string[] {
  const prose = text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`(?!\])/g, '');
  return [...prose.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? page : join(page, '..', path);
  if (!existsSync(join(ROOT, target))) return false;
  return heading === undefined || headingsOf(readPage(target)).has(heading);
}

/** As GitHub names them. */
function headingsOf(text: string): ReadonlySet<string> {
  const titles = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
