import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';

/** The documentation, inside the product. */
export function docsPages(_deps: PageDeps): Hono {
  return new Hono();
}
