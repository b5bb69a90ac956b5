import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Hono } from 'hono';

/** The style sheet, the scripts and the icon, under addresses that change with their content. */
export type Assets = {
  /** The address of one of them. */
  url(name: AssetName): string;
  /** Where they are served. */
  readonly routes: Hono;
};

type AssetName = 'app.css' | 'app.js' | 'htmx.js' | 'hx-sse.js' | 'icon.svg';

const { resolve } = createRequire(import.meta.url);
const own = (name: string): string => readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
const from = (path: string): string => readFileSync(resolve(path), 'utf8');

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Reads them once, at the start. */
export function loadAssets(): Assets {
  const contents: Readonly<Record<AssetName, string>> = {
    'app.css': `${from('modern-normalize')}\n${own('app.css')}`,
    'app.js': own('app.js'),
    'htmx.js': from('htmx.org/dist/htmx.min.js'),
    'hx-sse.js': from('htmx.org/dist/ext/hx-sse.min.js'),
    'icon.svg': own('icon.svg'),
  };
  const names = Object.keys(contents) as AssetName[];
  const hashes = new Map(
    names.map((name) => [name, createHash('sha256').update(contents[name]).digest('hex').slice(0, 12)]),
  );
  const routes = new Hono().get('/assets/:hash/:name', (c) => {
    const name = names.find((known) => known === c.req.param('name') && hashes.get(known) === c.req.param('hash'));
    if (name === undefined) return c.notFound();
    return c.body(contents[name], 200, {
      'Content-Type': TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
      'Cache-Control': 'public, max-age=31536000, immutable',
      'X-Content-Type-Options': 'nosniff',
    });
  });
  return { url: (name) => `/assets/${hashes.get(name)}/${name}`, routes };
}
