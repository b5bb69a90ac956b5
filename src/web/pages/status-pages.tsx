import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** What the rest of the company sees. */
export function statusPageEditor(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
