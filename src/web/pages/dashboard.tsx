import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** The jobs of a project, trouble first. */
export function dashboardPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
