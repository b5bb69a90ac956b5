import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Hono } from 'hono';
import { raw } from 'hono/html';
import type { FC } from 'hono/jsx';
import MarkdownIt from 'markdown-it';
import type { PageDeps } from './deps.ts';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';

/** This package's root, whether it runs from src/ or dist/. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

type Doc = { readonly name: string; readonly title: string; readonly html: string };

/** The documentation, inside the product: README.md and docs/, as they are in this version. They say nothing secret. */
export function docsPages(deps: PageDeps): Hono {
  const docs = loadDocs();
  const answer = (name: string) => async (c: Parameters<typeof notePage>[1]) => {
    const doc = docs.get(name || c.req.path.replace(/^\/docs\/?/, '').replace(/\.md$/, '') || 'readme');
    if (!doc) return notePage(deps, c, 404, 'Nothing here', 'There is no such page in the documentation.');
    const viewer = await deps.readViewer(c).catch(() => null);
    return answerPage(
      c,
      <Page title={doc.title} assets={deps.assets} viewer={viewer ?? undefined}>
        <DocView doc={doc} all={[...docs.values()]} />
      </Page>,
    );
  };
  return new Hono()
    .get('/docs', answer('readme'))
    .get('/docs/channels/:page', answer(''))
    .get('/docs/:page', answer(''));
}

const DocView: FC<{ doc: Doc; all: readonly Doc[] }> = ({ doc, all }) => (
  <div class="docs">
    <nav aria-label="Documentation">
      <ul class="bare stack-s">
        {all.map(({ name, title }) => (
          <li class={name.includes('/') ? 'below' : ''}>
            <a class="plain" href={hrefOf(name)} {...(name === doc.name ? { 'aria-current': 'page' as const } : {})}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
    <article class="markdown">{raw(doc.html)}</article>
  </div>
);

const hrefOf = (name: string): string => (name === 'readme' ? '/docs' : `/docs/${name}`);

/** Those for people who use it first; what is not named here follows by name. */
const ORDER = [
  'readme',
  'pages',
  'pinging',
  'missed-runs',
  'exec',
  'alerts',
  'channels',
  'maintenance',
  'reports',
  'status-pages',
  'people',
  'running',
  'api',
  'exit-codes',
  'ledger',
  'benchmarks',
];

function loadDocs(): ReadonlyMap<string, Doc> {
  const files = (folder: string): readonly string[] =>
    readdirSync(`${ROOT}docs/${folder}`).flatMap((file) =>
      file.endsWith('.md') ? [folder + file.replace(/\.md$/, '')] : [],
    );
  const place = (name: string): string => {
    const index = ORDER.indexOf(name.split('/')[0] ?? '');
    return `${String(index === -1 ? ORDER.length : index).padStart(2, '0')} ${name}`;
  };
  const names = ['readme', ...files(''), ...files('channels/')].sort((a, b) => (place(a) < place(b) ? -1 : 1));
  const markdown = createMarkdown();
  return new Map(
    names.map((name) => {
      const text = readFileSync(name === 'readme' ? `${ROOT}README.md` : `${ROOT}docs/${name}.md`, 'utf8');
      const title = /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? name;
      const html = markdown.render(text, { from: name });
      return [name, { name, title: name === 'readme' ? 'Overview' : title.replace(/:.*/, ''), html }];
    }),
  );
}

/** CommonMark with tables; no HTML of its own, headings with anchors, links between the files made links between the pages. */
function createMarkdown() {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  markdown.core.ruler.push('rollcall', ({ tokens, env }) => {
    const { from } = env as { readonly from: string };
    const base = from === 'readme' ? '/' : `/docs/${from}`;
    tokens.forEach((token, index) => {
      // The policy of the page forbids inline styles; columns align by themselves.
      if (token.type === 'th_open' || token.type === 'td_open') token.attrs = null;
      if (token.type === 'heading_open') token.attrSet('id', anchorOf(tokens[index + 1]?.content ?? ''));
      if (token.type === 'fence' || token.type === 'code_block') token.attrSet('tabindex', '0');
      for (const child of token.children ?? []) {
        const href = child.type === 'link_open' ? child.attrGet('href') : null;
        if (href !== null) child.attrSet('href', linkOf(String(href), base));
      }
    });
  });
  return markdown;
}

/** As forges make them, so that links work in both places. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

function linkOf(href: string, base: string): string {
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  if (!path.endsWith('.md') || /^[a-z]+:/.test(path)) return href;
  const { pathname } = new URL(path, `http://docs${base}`);
  if (pathname === '/README.md') return `/docs${anchor}`;
  return pathname.replace(/\.md$/, '') + anchor;
}
