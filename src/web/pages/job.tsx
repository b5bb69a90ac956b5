import { Hono } from 'hono';
import type { PageDeps } from './deps.ts';
import { jobActions } from './job/actions.tsx';
import { occurrencePage } from './job/occurrence.tsx';
import { occurrencesPage } from './job/occurrences.tsx';
import { overviewPage } from './job/overview.tsx';
import { pingBody, pingPage, pingsPage } from './job/pings.tsx';
import { snippetsPage } from './job/snippets-page.tsx';
import type { PageEnv } from './viewer.ts';

/** One job: how it is, what it owes, its ledger, its pings, and how it pings. */
export function jobPages(deps: PageDeps): Hono<PageEnv> {
  return (
    new Hono<PageEnv>()
      // That is the editor's, for a job that is to be made.
      .get('/jobs/:slug', (c) => overviewPage(deps, c))
      .get('/jobs/:slug/occurrences', (c) => occurrencesPage(deps, c))
      .get('/jobs/:slug/occurrences/:key', (c) => occurrencePage(deps, c))
      .get('/jobs/:slug/pings', (c) => pingsPage(deps, c))
      .get('/jobs/:slug/pings/:id', (c) => pingPage(deps, c))
      .get('/jobs/:slug/pings/:id/body', (c) => pingBody(deps, c))
      .get('/jobs/:slug/snippets', (c) => snippetsPage(deps, c))
      .route('/', jobActions(deps))
  );
}
