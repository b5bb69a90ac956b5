import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Windows and calendars. */
export function maintenancePages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
