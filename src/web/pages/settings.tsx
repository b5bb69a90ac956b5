import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Members, keys, audit. */
export function settingsPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
