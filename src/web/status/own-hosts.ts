import { type Context, Hono } from 'hono';
import type { Database } from '../../store/database.ts';
import { createStatusHosts } from './hosts.ts';

type HostDeps = {
  readonly database: Database;
  readonly publicUrl: string;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonic: () => number;
};

/** What a page at a host of its own serves, beside its style sheet. */
const OWN = /^\/(?:|embed|feed\.atom|feed\.json|calendar\.ics|status\.json|badge\.json|badge\.svg)$/;
const ASSET = /^\/assets\/[0-9a-f]+\/[a-z.-]+$/;

/**
 * Puts the host names of status pages before `app`: there the page is at `/`, with its feeds and badges below, and nothing
 * else of Rollcall is. Requests at the address of Rollcall itself, or at an IP address, go through untouched, and so does
 * everything while it is not known whose a host name is.
 */
export function withStatusHosts(app: Hono, { database, publicUrl, monotonic }: HostDeps): Hono {
  const home = new URL(publicUrl).hostname;
  const slugAt = createStatusHosts(database, monotonic);
  return new Hono({ getPath: () => '/' }).all('*', async (c) => {
    const host = hostOf(c.req.raw.url);
    if (host === home || !/[a-z]/.test(host) || !host.includes('.')) return app.fetch(c.req.raw, c.env);
    const slug = await slugAt(host);
    if (slug === null) return app.fetch(c.req.raw, c.env);
    const url = new URL(c.req.raw.url);
    if (ASSET.test(url.pathname)) return app.fetch(c.req.raw, c.env);
    if (!OWN.test(url.pathname)) return c.text('There is nothing here.\n', 404, { 'Cache-Control': 'no-store' });
    url.pathname = `/status/${slug}${url.pathname.replace(/\/$/, '')}`;
    return app.fetch(moved(c.req.raw, url), { ...(c.env as object), isOwnHost: true });
  });
}

/** Whether a page was asked for at its own host. Bindings come from the process itself: nothing sent gets there. */
export function isAtOwnHost(c: Context): boolean {
  return (c.env as { readonly isOwnHost?: boolean } | undefined)?.isOwnHost === true;
}

/** Lower case, without a port, and without the dot of the root, which some write. */
function hostOf(url: string): string {
  const start = url.indexOf('://') + 3;
  return (/^[^/:?#]*/.exec(url.slice(start, start + 300))?.[0] ?? '').toLowerCase().replace(/\.$/, '');
}

function moved({ method, headers, body }: Request, url: URL): Request {
  return new Request(url, { method, headers, ...(body === null ? {} : { body, duplex: 'half' as const }) });
}
