import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import type { PageEnv } from './viewer.ts';

/** Weekly and monthly mails. */
export function reportPages(_deps: PageDeps): Hono<PageEnv> {
  return new Hono<PageEnv>();
}
