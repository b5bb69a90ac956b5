import { Hono } from 'hono';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { DatabaseUnavailable } from '../../store/database.ts';
import { channelPages } from './channels.tsx';
import { dashboardPages } from './dashboard.tsx';
import type { PageDeps } from './deps.ts';
import { docsPages } from './docs.tsx';
import { healthPages } from './health.tsx';
import { incidentPages } from './incidents.tsx';
import { jobPages } from './job.tsx';
import { jobEditorPages } from './job-editor.tsx';
import { maintenancePages } from './maintenance.tsx';
import { notePage } from './note.tsx';
import { projectGate } from './project-gate.ts';
import { reportPages } from './reports.tsx';
import { settingsPages } from './settings.tsx';
import { statusPageEditor } from './status-pages.tsx';
import type { PageEnv } from './viewer.ts';

/** The parts of one project, each a file: what they serve is below /projects/{project}. */
const PROJECT_PAGES: readonly ((deps: PageDeps) => Hono<PageEnv>)[] = [
  dashboardPages,
  jobPages,
  jobEditorPages,
  incidentPages,
  maintenancePages,
  channelPages,
  statusPageEditor,
  reportPages,
  settingsPages,
];

/** Pages that are about no one project. */
const OTHER_PAGES: readonly ((deps: PageDeps) => Hono)[] = [healthPages, docsPages];

/** All pages for people. Forms are taken from our own pages only. */
export function createPages(deps: PageDeps): Hono {
  const pages = new Hono();
  pages.onError((error, c) => {
    if (error instanceof DatabaseUnavailable) {
      c.header('Retry-After', '5');
      return notePage(
        deps,
        c,
        503,
        'Not now',
        'The database is not available right now. Nothing has changed; please try again in a moment.',
      );
    }
    if (error instanceof HTTPException)
      return notePage(
        deps,
        c,
        error.status === 403 ? 403 : 400,
        'Not possible',
        error.message || 'This form was not sent from here.',
      );
    deps.log.error({ error, method: c.req.method, path: c.req.path }, 'a page failed unexpectedly');
    return notePage(
      deps,
      c,
      500,
      'Something went wrong',
      'The log of Rollcall says what. Nothing is known to have changed.',
    );
  });
  pages.route('/', deps.assets.routes);
  const project = new Hono<PageEnv>();
  project.use(csrf({ origin: (origin) => origin === new URL(deps.publicUrl).origin }), projectGate(deps));
  for (const make of PROJECT_PAGES) project.route('/', make(deps));
  pages.route('/projects/:project', project);
  for (const make of OTHER_PAGES) pages.route('/', make(deps));
  return pages;
}
