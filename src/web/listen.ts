import { createServer, type Server } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { CannotStart } from '../store/cannot-start.ts';
import { INVALID_URL } from './ping-request.ts';

export type Listener = {
  /** The port in use; it was chosen by the system when 0 was asked for. */
  readonly port: number;
  /** Takes no new connections, lets requests under way end, and cuts what is left after `ms`. */
  close(ms: number): Promise<void>;
};

/** A proxy or client may keep a connection this long between two requests: longer than the minute that is customary. */
const KEEP_ALIVE_MS = 65_000;

/** What answers requests; it may change from one to the next. */
export type Entrance = { readonly fetch: (request: Request, bindings: object) => Response | Promise<Response> };

/** Serves `app` over HTTP. Throws CannotStart, in one clear line, when the address cannot be used. */
export async function listen(app: Entrance, host: string, port: number): Promise<Listener> {
  // The host name is for HTTP/1.0 clients that send none.
  const fetch = (request: Request, bindings: object) => app.fetch(request, bindings);
  const server = createServer(getRequestListener(fetch, { hostname: 'localhost', errorHandler: refuseUnreadable }));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 1000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new CannotStart(whyNot(error, host, port))));
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: (ms) => close(server, ms),
  };
}

/** Requests that never reach the app: a backslash in the path, a host that is none. */
function refuseUnreadable(error: unknown): Response {
  const isTheirs = error instanceof RequestError;
  return new Response(isTheirs ? INVALID_URL : 'internal error', { status: isTheirs ? 400 : 500 });
}

function whyNot(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken by another program: stop it, or set PORT to another one`;
    case 'EACCES':
      return `this user may not listen on port ${port}: set PORT to one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return `HOST ${host} is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all of them`;
    default:
      return `cannot listen on ${host}, port ${port}: ${error.message}`;
  }
}

function close(server: Server, ms: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection becomes idle when its last reply is out, and Node asks about that only once.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    const cut = setTimeout(() => server.closeAllConnections(), ms);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
