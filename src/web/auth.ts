import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import type { OidcConfig } from '../config.ts';
import { countWrongPassword, createAuthDatabase, readAuthSecret, waitForAccount } from '../store/auth-database.ts';
import type { Database } from '../store/database.ts';
import { readPersonView } from '../store/people.ts';
import { AUTH_PATH, type AuthInstance, CLIENT_HEADER, COOKIE_PREFIX, createInstance } from './auth-instance.ts';
import type { ClientAddress } from './client-address.ts';
import type { ReadViewer, Viewer } from './pages/viewer.ts';

export type AuthDeps = {
  readonly database: Database;
  /** Without a slash at its end. */
  readonly publicUrl: string;
  readonly clientAddress: ClientAddress;
  readonly oidc: OidcConfig | null;
  readonly log: { error(fields: object, message: string): void };
};

/** Sign-in, as our pages use it. Nothing of better-auth has an address of its own but the way back from the provider. */
export type Auth = {
  /** Who sent this request, by its cookies; null: nobody who is signed in. */
  readonly readViewer: ReadViewer;
  /** The same, and which of their sessions it is. */
  readSession(c: Context): Promise<SignedIn | null>;
  /** One call of better-auth with the cookies of this request, from this client; its throttling counts. */
  ask(c: Context, path: string, body?: object): Promise<AuthAnswer>;
  /** The sign-in by password, which is throttled by address as well, whoever tries. */
  askPassword(c: Context, email: string, password: string): Promise<AuthAnswer>;
  hashPassword(password: string): Promise<string>;
  /** What people call the provider; null: there is none. */
  readonly provider: string | null;
};

export type SignedIn = { readonly viewer: Viewer; readonly sessionId: string };

/** What better-auth answered. Cookies it set are not on the answer to the browser yet: `keepCookies` puts them there. */
export type AuthAnswer = {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of better-auth
  readonly json: any;
  readonly headers: Headers;
};

/** Reads nothing until the first request: the secret is in the database. */
export function createAuth(deps: AuthDeps): Auth {
  const { database, publicUrl, oidc, log } = deps;
  const store = createAuthDatabase(database);
  const ready = once(async () =>
    createInstance({ store, secret: await database.transaction(readAuthSecret), publicUrl, oidc, log }),
  );
  const readSession: Auth['readSession'] = async (c) => {
    // Without a cookie of ours nobody is signed in, and the database is not asked.
    if (!c.req.header('cookie')?.includes(`${COOKIE_PREFIX}.session_token`)) return null;
    const auth = await ready();
    const headers = requestHeaders(c, deps);
    const found = await store.guarded(() => auth.api.getSession({ headers, returnHeaders: true }));
    // A session in use is prolonged, once a day.
    keepCookies(c, found.headers);
    if (!found.response) return null;
    const { user, session } = found.response;
    const view = await database.transaction((tx) => readPersonView(tx, user.id));
    return { viewer: { userId: user.id, name: user.name, email: user.email, ...view }, sessionId: session.id };
  };
  const ask: Auth['ask'] = async (c, path, body) => {
    const auth = await ready();
    const request = new Request(`${publicUrl}${AUTH_PATH}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: requestHeaders(c, deps),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return readAnswer(await store.guarded(() => auth.handler(request)));
  };
  return {
    provider: oidc?.name ?? null,
    readSession,
    readViewer: async (c) => (await readSession(c))?.viewer ?? null,
    ask,
    async askPassword(c, email, password) {
      const wait = await database.transaction((tx) => waitForAccount(tx, email));
      if (wait !== null) return { status: 429, json: null, headers: new Headers({ 'X-Retry-After': String(wait) }) };
      const answer = await ask(c, '/sign-in/email', { email, password });
      if (answer.status === 401) await database.transaction((tx) => countWrongPassword(tx, email));
      return answer;
    },
    async hashPassword(password) {
      const { password: hasher } = await (await ready()).$context;
      return hasher.hash(password);
    },
  };
}

/** Made at the first call, and again by the next one where that failed. */
function once(make: () => Promise<AuthInstance>): () => Promise<AuthInstance> {
  let made: Promise<AuthInstance> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}

async function readAnswer(response: Response): Promise<AuthAnswer> {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, json: isJson && text !== '' ? JSON.parse(text) : null, headers: response.headers };
}

/** What better-auth learns of a request. Our forms were checked for where they came from before. */
function requestHeaders(c: Context, { clientAddress, publicUrl }: AuthDeps): Headers {
  const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming;
  const client = clientAddress(incoming?.socket.remoteAddress, c.req.header('x-forwarded-for'));
  const headers = new Headers({ 'Content-Type': 'application/json', Origin: new URL(publicUrl).origin });
  const copied = { cookie: c.req.header('cookie'), 'user-agent': c.req.header('user-agent'), [CLIENT_HEADER]: client };
  for (const [name, value] of Object.entries(copied)) if (value) headers.set(name, value);
  return headers;
}

/** Puts the cookies of an answer of better-auth on ours. One that is under way, a stream that asks again, takes none. */
export function keepCookies(c: Context, headers: Headers): void {
  if (c.finalized) return;
  for (const cookie of headers.getSetCookie()) c.header('Set-Cookie', cookie, { append: true });
}
