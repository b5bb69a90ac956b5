import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Open and past problems. */
export function incidentPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
