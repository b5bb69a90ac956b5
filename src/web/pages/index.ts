import { Hono } from 'hono';
import { compress } from 'hono/compress';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { DatabaseUnavailable } from '../../store/database.ts';
import type { Auth } from '../auth.ts';
import { homePage } from '../home.tsx';
import { statusPages } from '../status/status-pages.tsx';
import { accountPages } from './account.tsx';
import { apiReferencePages } from './api-reference.tsx';
import { channelPages } from './channels.tsx';
import { dashboardPages } from './dashboard.tsx';
import type { PageDeps } from './deps.ts';
import { docsPages } from './docs.tsx';
import { formGate, formLimit } from './form-gate.ts';
import { healthPages } from './health.tsx';
import { incidentPages } from './incidents.tsx';
import { invitationPages } from './invitations.tsx';
import { jobPages } from './job.tsx';
import { jobEditorPages } from './job-editor.tsx';
import { maintenancePages } from './maintenance.tsx';
import { createIsNobodyHere } from './nobody-here.tsx';
import { notePage } from './note.tsx';
import { projectGate } from './project-gate.ts';
import { projectsPage } from './projects.tsx';
import { providerPages } from './provider.tsx';
import { reportPages } from './reports.tsx';
import { settingsPages } from './settings.tsx';
import { signInPages } from './sign-in.tsx';
import { statusPageEditor } from './status-pages.tsx';
import type { PageEnv } from './viewer.ts';
import { welcomePages } from './welcome.tsx';

/** The parts of one project, each a file: what they serve is below /projects/{project}. */
const PROJECT_PAGES: readonly ((deps: PageDeps) => Hono<PageEnv>)[] = [
  dashboardPages,
  // Before those of one job: +new is no slug.
  jobEditorPages,
  jobPages,
  incidentPages,
  maintenancePages,
  channelPages,
  statusPageEditor,
  reportPages,
  settingsPages,
];

/** Pages that are about no one project. */
const OTHER_PAGES: readonly ((deps: PageDeps) => Hono)[] = [
  (deps) => homePage({ ...deps, isNobodyHere: createIsNobodyHere(deps.database) }),
  healthPages,
  docsPages,
  projectsPage,
  apiReferencePages,
  statusPages,
];

/** Pages by which people get in. */
const SIGN_IN_PAGES: readonly ((deps: PageDeps, auth: Auth) => Hono)[] = [
  signInPages,
  providerPages,
  welcomePages,
  invitationPages,
  accountPages,
];

/** Where forms are sent to. */
const FORMS = ['/projects/*', '/sign-in/*', '/sign-out', '/welcome/*', '/invitations/*', '/account/*', '/health/*'];

/** Those of people who are not signed in, of whom nothing is known. */
const OPEN_FORMS = FORMS.filter((path) => !path.startsWith('/projects/'));

/** At most, of people who are not signed in, of members, and of members who send a calendar of 1 MB. */
const OPEN_FORM_BYTES = 16_384;
const FORM_BYTES = 512 * 1024;
const CALENDAR_BYTES = 4 * 1024 * 1024;

/** What keeps a page from being made or a form from being taken. */
const UNAVAILABLE: Readonly<Record<DatabaseUnavailable['trouble'], string>> = {
  away: 'The database is not available right now. Nothing is known to have changed.',
  slow: 'This took the database too long. Nothing has changed.',
  behind: 'Rollcall is behind with its work on this. Nothing has changed.',
};

/** One-time links are secrets. */
const withoutToken = (path: string): string => path.replace(/^\/(welcome|invitations)\/.*/, '/$1/…');

/** All pages for people. Forms are taken from our own pages only. Without `auth` nobody can sign in here. */
export function createPages(deps: PageDeps, auth?: Auth): Hono {
  const pages = new Hono();
  pages.onError((error, c) => {
    if (error instanceof DatabaseUnavailable) {
      c.header('Retry-After', '5');
      return notePage(deps, c, 503, 'Not now', `${UNAVAILABLE[error.trouble]} Please try again in a moment.`);
    }
    if (error instanceof HTTPException)
      return notePage(
        deps,
        c,
        error.status === 403 ? 403 : 400,
        'Not possible',
        error.message || 'This form was not sent from here.',
      );
    deps.log.error({ error, method: c.req.method, path: withoutToken(c.req.path) }, 'a page failed unexpectedly');
    return notePage(
      deps,
      c,
      500,
      'Something went wrong',
      'The log of Rollcall says what. Nothing is known to have changed.',
    );
  });
  // A roll is mostly the same few shapes: a tenth of it goes over the wire.
  pages.use(compress());
  pages.route('/', deps.assets.routes);
  const { origin: own } = new URL(deps.publicUrl);
  // The address people really use may be another name of the same: localhost, or an address of the machine.
  const fromHere = csrf({
    origin: (origin, c) => origin === own || origin.replace(/^https?:\/\//, '') === c.req.header('host'),
  });
  // By name: a middleware for everything would also refuse what only has no page.
  for (const path of FORMS) pages.use(path, fromHere);
  for (const path of OPEN_FORMS) pages.use(path, formLimit(deps, OPEN_FORM_BYTES), formGate(deps));
  const project = new Hono<PageEnv>();
  project.use(projectGate(deps));
  // Not before it is known who sends it. A calendar may be a whole file.
  const [usual, calendar] = [formLimit(deps, FORM_BYTES), formLimit(deps, CALENDAR_BYTES)];
  project.use((c, next) => (/^\/projects\/[^/]+\/maintenance\//.test(c.req.path) ? calendar : usual)(c, next));
  project.use(formGate(deps));
  for (const make of PROJECT_PAGES) project.route('/', make(deps));
  pages.route('/projects/:project', project);
  for (const make of OTHER_PAGES) pages.route('/', make(deps));
  if (auth) for (const make of SIGN_IN_PAGES) pages.route('/', make(deps, auth));
  return pages;
}
