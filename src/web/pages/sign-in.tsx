import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { recordSignIn } from '../../store/members.ts';
import { type Auth, type AuthAnswer, keepCookies } from '../auth.ts';
import type { Assets } from './assets.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { Refusal, TextField, type Typed } from './form.tsx';
import { createIsNobodyHere, NobodyHere } from './nobody-here.tsx';
import { answerPage, Page } from './page.tsx';
import { readForm } from './read-form.ts';
import { spokenDuration } from './time.tsx';
import { wayBack } from './way-back.ts';

/** In and out: e-mail and password, then the code where a second factor is on; or by the provider. */
export function signInPages({ assets, database }: PageDeps, auth: Auth): Hono {
  const { provider } = auth;
  const isNobodyHere = createIsNobodyHere(database);
  const show = async (c: Context, typed: Typed, refusal?: string, status: 200 | 401 | 403 | 429 = 200) => {
    const isFirst = await isNobodyHere();
    return answerPage(
      c,
      <SignInPage {...{ assets, typed, refusal, provider, isFirst }} flash={takeFlash(c)} />,
      status,
    );
  };
  const showCode = (c: Context, to: string, refusal?: string, status: 200 | 401 | 429 = 200) =>
    answerPage(c, <CodePage assets={assets} to={to} refusal={refusal} />, status);
  return new Hono()
    .get('/sign-in', async (c) => {
      const to = wayBack(c.req.query('to'));
      const error = c.req.query('error');
      if (error !== undefined) return show(c, { to }, REFUSALS.get(error) ?? PROVIDER_FAILED, 403);
      return (await auth.readViewer(c)) ? c.redirect(to, 303) : show(c, { to });
    })
    .post('/sign-in', async (c) => {
      const { email = '', password = '', to: given } = await readForm(c);
      const to = wayBack(given);
      const answer = await auth.askPassword(c, email.trim(), password);
      if (answer.status === 429) return show(c, { email, to }, tooMany(c, answer.headers), 429);
      // One sentence for every reason: who has an account here is nobody's business.
      if (answer.status !== 200) return show(c, { email, to }, 'The e-mail address or the password is wrong.', 401);
      keepCookies(c, answer.headers);
      if (answer.json.twoFactorRedirect) return goTo(c, `/sign-in/code?to=${encodeURIComponent(to)}`);
      await database.transaction((tx) => recordSignIn(tx, answer.json.user.id, 'password'));
      return goTo(c, to);
    })
    .get('/sign-in/code', (c) => showCode(c, wayBack(c.req.query('to'))))
    .post('/sign-in/code', async (c) => {
      const { code = '', to: given } = await readForm(c);
      const to = wayBack(given);
      // Asked with a session, better-auth would only say whether the code is right.
      if (await auth.readViewer(c)) return goTo(c, to);
      const { answer, how } = await sendCode(auth, c, code);
      if (answer.status === 429) return showCode(c, to, tooMany(c, answer.headers), 429);
      if (answer.json?.code === 'CODE_USED') return showCode(c, to, USED, 401);
      if (isOver(answer)) return goTo(c, `/sign-in?to=${encodeURIComponent(to)}&error=${OVER}`);
      if (answer.status !== 200) return showCode(c, to, 'This code is wrong, or too old.', 401);
      keepCookies(c, answer.headers);
      await database.transaction((tx) => recordSignIn(tx, answer.json.user.id, how));
      return goTo(c, to);
    })
    .post('/sign-out', async (c) => {
      keepCookies(c, (await auth.ask(c, '/sign-out', {})).headers);
      return goTo(c, '/sign-in', 'You are signed out.');
    });
}

const USED = 'This code was used already: wait for the next one.';

/** Why a sign-in has to begin again, as the address says it. */
const OVER = 'second_factor_over';

/** The sign-in whose second half this is, has ended: the code alone opens nothing. */
const isOver = ({ json }: AuthAnswer): boolean =>
  ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'].includes(json?.code);

/** Six digits are a code of the authenticator app; everything else can only be a backup code. */
async function sendCode(auth: Auth, c: Context, typed: string) {
  const code = typed.replaceAll(/\s/g, '');
  return /^\d{6}$/.test(code)
    ? { how: 'code' as const, answer: await auth.ask(c, '/two-factor/verify-totp', { code }) }
    : { how: 'backup code' as const, answer: await auth.ask(c, '/two-factor/verify-backup-code', { code }) };
}

/** Signs in whoever has just made an account. False: the throttle said no, and they do it themselves. */
export async function signInWith(
  auth: Auth,
  c: Context,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<boolean> {
  const answer = await auth.askPassword(c, email, password);
  if (answer.status !== 200) return false;
  keepCookies(c, answer.headers);
  return true;
}

/** What to say to somebody who was throttled; the header says it to programs. */
export function tooMany(c: Context, headers: Headers): string {
  const seconds = Math.max(1, Number(headers.get('x-retry-after')) || 60);
  c.header('Retry-After', String(seconds));
  return `Too many attempts. Try again in ${spokenDuration(seconds)}.`;
}

const PROVIDER_FAILED = 'The provider did not sign you in. Try again, or ask whoever runs this Rollcall.';

/** What better-auth, or our gates, came back from the provider with; and why the second half of a sign-in has ended. */
const REFUSALS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    [OVER]: 'Sign in again: the time for the code is over, or too many were wrong.',
    access_denied: 'You did not let the provider sign you in.',
    email_not_verified: 'Your provider does not vouch for your e-mail address, so it opens nothing here.',
    email_not_found: 'Your provider does not tell your e-mail address.',
    not_invited: 'This address is a member of no project, and nobody has invited it.',
    account_not_linked:
      'There is an account of this address already. Sign in with its password, and connect it under your name.',
  }),
);

type SignInProps = {
  readonly assets: Assets;
  readonly typed: Typed;
  readonly refusal: string | undefined;
  readonly flash: string | undefined;
  readonly provider: string | null;
  /** Nobody has an account yet. */
  readonly isFirst: boolean;
};

const SignInPage: FC<SignInProps> = ({ assets, typed, refusal, flash, provider, isFirst }) => (
  <Page title="Sign in" assets={assets} flash={flash} isNarrow>
    <h1>Sign in</h1>
    {isFirst ? <NobodyHere /> : null}
    <Refusal detail={refusal} />
    <form method="post" action="/sign-in" class="stack">
      <input type="hidden" name="to" value={typed['to'] ?? '/'} />
      <TextField name="email" label="E-mail" type="email" value={typed['email']} autocomplete="username" required />
      <TextField name="password" label="Password" type="password" autocomplete="current-password" required />
      <p>
        <button type="submit" class="main">
          Sign in
        </button>
      </p>
    </form>
    {provider === null ? null : (
      <form method="post" action="/sign-in/provider">
        <input type="hidden" name="to" value={typed['to'] ?? '/'} />
        <button type="submit">Sign in with {provider}</button>
      </form>
    )}
  </Page>
);

const CodePage: FC<{ assets: Assets; to: string; refusal: string | undefined }> = ({ assets, to, refusal }) => (
  <Page title="Code" assets={assets} isNarrow>
    <h1>Second factor</h1>
    <Refusal detail={refusal} />
    <form method="post" action="/sign-in/code" class="stack">
      <input type="hidden" name="to" value={to} />
      <TextField
        name="code"
        label="Code"
        hint="The six digits your authenticator app shows, or one of your backup codes."
        autocomplete="one-time-code"
        required
      />
      <p>
        <button type="submit" class="main">
          Sign in
        </button>
      </p>
    </form>
  </Page>
);
