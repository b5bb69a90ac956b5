import { createServer, type Server } from 'node:http';
import Provider from 'oidc-provider';

type OidcPerson = {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name?: string;
};

export type TestProvider = {
  readonly issuer: string;
  /** Who is signed in at the provider from here on. */
  signedInAs(person: OidcPerson): void;
  /** Walks from the address that Rollcall sends people to, as a browser does, to the address that leads back. */
  walk(url: string): Promise<string>;
  close(): Promise<void>;
};

export const CLIENT = { id: 'rollcall', secret: 'a-client-secret-of-the-test' };

/** A real OpenID provider in this process. Its own pages are answered at once: whoever comes is the person that was set. */
export async function startProvider(callback: string): Promise<TestProvider> {
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listenAnywhere(server)}`;
  let person: OidcPerson = { sub: 'nobody', email: 'nobody@example.org', email_verified: false };
  const people = new Map<string, OidcPerson>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [callback],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...people.get(id), sub: id }) }),
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    void (async () => {
      const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login') {
        const login = { accountId: person.sub };
        return provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
      }
      const known = grantId === undefined ? undefined : await provider.Grant.find(grantId);
      const grant =
        known ?? new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) });
      grant.addOIDCScope('openid email profile');
      const consent = { grantId: await grant.save() };
      return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
    })();
  });
  return {
    issuer,
    signedInAs(next) {
      person = next;
      people.set(next.sub, next);
    },
    walk: (url) => walk(url, issuer),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function listenAnywhere(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** Follows redirects with the provider's cookies while they stay at the provider. */
async function walk(start: string, issuer: string): Promise<string> {
  const cookies = new Map<string, string>();
  for (let url = start, hops = 0; hops < 12; hops += 1) {
    if (!url.startsWith(issuer)) return url;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider stopped: ${response.status} ${await response.text()}`);
    url = new URL(location, url).href;
  }
  throw new Error('the provider goes round in circles');
}
