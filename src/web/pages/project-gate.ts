import type { Context, MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { UTC_TABLE, type Zone, zoneOf } from '../../core/zone.ts';
import type { Zones } from '../../zones.ts';
import { createCall } from './call.ts';
import type { PageDeps } from './deps.ts';
import { notePage } from './note.tsx';
import { mayAs, type PageEnv, type Viewer } from './viewer.ts';

/**
 * Lets members through to the pages of a project, and leaves them what the pages need. Who is not signed in goes to the
 * sign-in and comes back; a project of others does not exist; whoever may only look changes nothing.
 */
export function projectGate(deps: PageDeps): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const viewer = await deps.readViewer(c);
    // A script cannot sign in: sent on to a page, it would come back at once, or show nothing in place of what was there.
    if (viewer === null && isScripted(c)) return c.body(null, 401);
    if (viewer === null) return c.redirect(`/sign-in?to=${encodeURIComponent(backTo(c))}`, 303);
    c.set('viewer', viewer);
    const project = viewer.projects.find(({ slug }) => slug === c.req.param('project'));
    if (!project)
      return notePage(deps, c, 404, 'Nothing here', 'There is no such project, or you are not a member of it.');
    c.set('project', project);
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
    if (!isRead && !mayAs(project.role, 'editor'))
      return notePage(
        deps,
        c,
        403,
        'Not allowed',
        'You are a viewer of this project: an owner can make you an editor.',
      );
    c.set('call', createCall(deps.api, { projectId: project.id, actor: viewer.email }));
    c.set('viewerZone', viewerZone(c, deps.zones, viewer));
    return next();
  };
}

/** Asked by a page under way (htmx, or its stream of events), not by a person who opens one. */
const isScripted = (c: Context): boolean =>
  c.req.header('HX-Request') !== undefined || (c.req.header('Accept') ?? '').includes('text/event-stream');

/** A form that was sent when the session had ended leads to the page it was on. */
function backTo(c: Context): string {
  if (c.req.method === 'GET') return c.req.path + (new URL(c.req.url).search || '');
  return `/projects/${c.req.param('project')}`;
}

/** The zone a person reads times in: the one they chose, else the browser's, else UTC. */
export function viewerZone(c: Context, zones: Zones, viewer: Pick<Viewer, 'zone'> | null): Zone {
  for (const name of [viewer?.zone, getCookie(c, 'zone')]) {
    const zone = name ? zones.get(name) : null;
    if (zone?.ok) return zone.value;
  }
  return zoneOf(UTC_TABLE);
}
