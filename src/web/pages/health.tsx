import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';

/** How Rollcall itself is. */
export function healthPages(_deps: PageDeps): Hono {
  return new Hono();
}
