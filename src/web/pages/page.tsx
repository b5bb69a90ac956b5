import type { Context } from 'hono';
import { raw } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import type { Assets } from './assets.ts';
import type { Membership, Viewer } from './viewer.ts';

/** What a page is, beside what it says. */
export type PageFrame = {
  readonly title: string;
  readonly assets: Assets;
  /** The database's clock, from which countdowns go on; left out where nothing counts. */
  readonly now?: number;
  /** Whose session it is; left out: nobody is signed in. */
  readonly viewer?: Viewer | undefined;
  /** The project it is about; left out: none. */
  readonly project?: Membership | undefined;
  /** Which entry of the navigation it is under. */
  readonly section?: Section | undefined;
  /** What the last form did. */
  readonly flash?: string | undefined;
  /** A form in the middle of the page: sign-in and its like. */
  readonly isNarrow?: boolean;
  /** The page moves: htmx and its events are loaded. */
  readonly isLive?: boolean;
};

type Section = 'jobs' | 'incidents' | 'maintenance' | 'channels' | 'status-pages' | 'reports' | 'settings';

const SECTIONS: readonly (readonly [Section, string])[] = [
  ['jobs', 'Jobs'],
  ['incidents', 'Incidents'],
  ['maintenance', 'Maintenance'],
  ['channels', 'Channels'],
  ['status-pages', 'Status pages'],
  ['reports', 'Reports'],
  ['settings', 'Settings'],
];

/** What a member may open: the settings are for owners. */
const sectionsOf = ({ role }: Membership) => SECTIONS.filter(([name]) => name !== 'settings' || role === 'owner');

/** Where a section of a project is. */
const sectionPath = (project: Pick<Membership, 'slug'>, section: Section): string =>
  section === 'jobs' ? `/projects/${project.slug}` : `/projects/${project.slug}/${section}`;

/** No inline script or style, nothing from elsewhere, in nobody's frame. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow',
  'Cache-Control': 'private, no-store',
};

/** A whole page. The bar on top, what it says, and the foot. */
export const Page: FC<PageFrame & { children?: Child }> = ({
  title,
  assets,
  now,
  viewer,
  project,
  section,
  flash,
  isNarrow,
  isLive,
  children,
}) => (
  <>
    {raw('<!doctype html>')}
    <html lang="en" {...(now === undefined ? {} : { 'data-now': now })}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <title>{title === 'Rollcall' ? title : `${title} · Rollcall`}</title>
        <link rel="icon" href={assets.url('icon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.url('app.css')} />
        <script type="module" src={assets.url('app.js')} />
        {isLive ? <script defer src={assets.url('htmx.js')} /> : null}
        {isLive ? <script defer src={assets.url('hx-sse.js')} /> : null}
      </head>
      <body>
        <a class="skip-link" href="#main">
          To the content
        </a>
        <Bar viewer={viewer} project={project} section={section} />
        <main id="main" class={isNarrow ? 'narrow' : ''}>
          <div class="stack">
            {flash === undefined ? null : (
              <p class="flash" role="status">
                {flash}
              </p>
            )}
            {children}
          </div>
        </main>
        <footer class="foot">
          <span>Rollcall</span>
          <a href="/health">Health</a>
          <a href="/docs">Documentation</a>
          <a href="/api/v1/docs">API</a>
        </footer>
      </body>
    </html>
  </>
);

const Bar: FC<{ viewer: Viewer | undefined; project: Membership | undefined; section: Section | undefined }> = ({
  viewer,
  project,
  section,
}) => (
  <header class="bar">
    <div>
      <a class="brand" href={project ? sectionPath(project, 'jobs') : '/'}>
        <Mark /> Rollcall
      </a>
      {project ? (
        <nav aria-label="Project">
          {sectionsOf(project).map(([name, text]) => (
            <a href={sectionPath(project, name)} {...(name === section ? { 'aria-current': 'page' as const } : {})}>
              {text}
            </a>
          ))}
        </nav>
      ) : (
        <span class="grow" />
      )}
      <div class="who">
        {viewer && viewer.projects.length > 1 ? <a href="/projects">{project?.name ?? 'Projects'}</a> : null}
        {viewer ? <a href="/account">{viewer.name || viewer.email}</a> : <a href="/sign-in">Sign in</a>}
      </div>
    </div>
  </header>
);

/** Four cells of a roll, one of them hollow. */
const Mark: FC = () => (
  <svg class="glyph" viewBox="0 0 38 20" aria-hidden="true">
    <path class="c-on_time" d="M1 3h6v14h-6zM11 3h6v14h-6zM31 3h6v14h-6z" />
    <path class="c-missed" fill-rule="evenodd" d="M21 3h6v14h-6zM22.4 4.4v11.2h3.2v-11.2z" />
  </svg>
);

/** A page as an answer. */
export function answerPage(
  c: Context,
  page: Child,
  status: 200 | 400 | 401 | 403 | 404 | 409 | 410 | 413 | 422 | 429 | 500 | 503 = 200,
): Response | Promise<Response> {
  return c.html(page as never, status, PAGE_HEADERS);
}
