import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Making and changing jobs. */
export function jobEditorPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
