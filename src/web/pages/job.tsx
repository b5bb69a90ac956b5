import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** One job: its roll, its occurrences, its runs. */
export function jobPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
