import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Where messages go. */
export function channelPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
