import { betterAuth } from 'better-auth';
import { APIError, createAuthMiddleware } from 'better-auth/api';
import { genericOAuth, twoFactor } from 'better-auth/plugins';
import type { OidcConfig } from '../config.ts';
import { type AuthDatabase, claimCode, isCodeUsed } from '../store/auth-database.ts';
import { acceptInvitationsOf, isInvited } from '../store/invitations.ts';
import { recordAccountChange, recordSignIn } from '../store/members.ts';
import { isMemberSomewhere, readVerifiedEmail } from '../store/people.ts';

export type InstanceDeps = {
  readonly store: AuthDatabase;
  readonly secret: string;
  readonly publicUrl: string;
  readonly oidc: OidcConfig | null;
  readonly log: { error(fields: object, message: string): void };
};

/** Below it better-auth has its paths. */
export const AUTH_PATH = '/auth';
/** In front of every cookie of ours. */
export const COOKIE_PREFIX = 'rollcall';
/** Only we can set it: requests to better-auth are made by auth.ts, from nothing but what it names. */
export const CLIENT_HEADER = 'x-rollcall-client';
/** The name of the one provider in its paths and rows. */
export const PROVIDER = 'oidc';
/** Length of a password in characters. Long ones are hashed as a whole, which takes time: hence an end. */
export const PASSWORD = { min: 10, max: 128 };

const DAY_SECONDS = 86_400;
const THROTTLED = { window: 60, max: 10 };

export type AuthInstance = ReturnType<typeof createInstance>;

/** better-auth as we use it: accounts are made by our own pages only, and every way in passes the gates below. */
export function createInstance({ store, secret, publicUrl, oidc, log }: InstanceDeps) {
  return betterAuth({
    appName: 'Rollcall',
    baseURL: publicUrl,
    basePath: AUTH_PATH,
    secret,
    database: store.adapter,
    telemetry: { enabled: false },
    logger: { level: 'error', log: (_level, message, ...details) => log.error({ details }, `sign-in: ${message}`) },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD.min,
      maxPasswordLength: PASSWORD.max,
    },
    session: { expiresIn: 30 * DAY_SECONDS, updateAge: DAY_SECONDS },
    user: { validateUserInfo: ({ user, source }) => refuseStranger(store, { ...user, method: source.method }) },
    databaseHooks: gates(store),
    hooks: { before: refuseUsedCode(store) },
    rateLimit: {
      enabled: true,
      storage: 'database',
      window: 60,
      max: 60,
      customRules: {
        '/sign-in/*': THROTTLED,
        '/two-factor/*': THROTTLED,
        '/change-password': THROTTLED,
      },
    },
    advanced: {
      cookiePrefix: COOKIE_PREFIX,
      useSecureCookies: publicUrl.startsWith('https:'),
      ipAddress: { ipAddressHeaders: [CLIENT_HEADER] },
    },
    onAPIError: { errorURL: `${publicUrl}/sign-in` },
    plugins: [
      twoFactor({ issuer: 'Rollcall' }),
      ...(oidc === null ? [] : [genericOAuth({ config: [provider(oidc)] })]),
    ],
  });
}

function provider({ issuer, clientId, clientSecret, name }: OidcConfig) {
  return {
    providerId: PROVIDER,
    name,
    discoveryUrl: `${issuer}/.well-known/openid-configuration`,
    clientId,
    clientSecret,
    authentication: 'basic' as const,
    scopes: ['openid', 'email', 'profile'],
    pkce: true,
    requireIdTokenVerification: true,
    mapProfileToUser: (profile: Readonly<Record<string, unknown>>) => ({
      name: [profile['name'], profile['preferred_username'], profile['email']].find(isText) ?? '',
    }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

type Claimed = {
  readonly email?: string | null | undefined;
  readonly emailVerified?: unknown;
  readonly method: string;
};

/** Of those whom a provider knows, only members and the invited get in, by an address that it has verified. */
async function refuseStranger(store: AuthDatabase, { email, emailVerified, method }: Claimed) {
  if (method !== 'oauth') return;
  if (!email || emailVerified !== true) return { error: 'email_not_verified' };
  const isKnown = await store.transaction(
    async (tx) => (await isMemberSomewhere(tx, email)) || (await isInvited(tx, email)),
  );
  return isKnown ? undefined : { error: 'not_invited' };
}

const codeUsed = () => new APIError('UNAUTHORIZED', { code: 'CODE_USED', message: 'this code was used already' });

/**
 * A code that was used is refused before better-auth looks at it, for there a right code ends the first half of the sign-in,
 * and its owner could not wait for the next one. Of two who come at the same moment the gate below lets one in.
 */
function refuseUsedCode(store: AuthDatabase) {
  return createAuthMiddleware(async (context) => {
    const code: unknown = context.body?.code;
    if (context.path !== '/two-factor/verify-totp' || typeof code !== 'string') return;
    const { name } = context.context.createAuthCookie('two_factor');
    const begun = await context.getSignedCookie(name, context.context.secret);
    const half = begun ? await context.context.internalAdapter.findVerificationValue(begun) : null;
    if (half && (await store.transaction((tx) => isCodeUsed(tx, half.value, code)))) throw codeUsed();
  });
}

type Ending = { readonly path?: string; readonly body?: { readonly code?: string } } | null;
const isFromProvider = (context: Ending): boolean => context?.path?.startsWith('/callback/') ?? false;

/** What has to hold, and what is done, when a session begins. */
function gates(store: AuthDatabase) {
  return {
    session: {
      create: {
        async before({ userId }: { readonly userId: string }, context: Ending) {
          const code = context?.body?.code;
          const isCode = context?.path === '/two-factor/verify-totp' && code !== undefined;
          if (isCode && !(await store.transaction((tx) => claimCode(tx, userId, code)))) throw codeUsed();
          if (!isFromProvider(context)) return;
          await store.transaction(async (tx) => {
            const email = await readVerifiedEmail(tx, userId);
            if (email !== null) await acceptInvitationsOf(tx, email, userId);
          });
        },
        async after({ userId }: { readonly userId: string }, context: Ending) {
          if (isFromProvider(context)) await store.transaction((tx) => recordSignIn(tx, userId, 'provider'));
        },
      },
    },
    account: {
      create: {
        async after({ userId, providerId }: { readonly userId: string; readonly providerId: string }) {
          if (providerId === PROVIDER)
            await store.transaction((tx) => recordAccountChange(tx, userId, 'person.connect'));
        },
      },
    },
  };
}
