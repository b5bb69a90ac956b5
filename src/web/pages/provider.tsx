import { type Context, Hono } from 'hono';
import { type Auth, keepCookies } from '../auth.ts';
import { AUTH_PATH, PROVIDER } from '../auth-instance.ts';
import type { PageDeps } from './deps.ts';
import { goTo } from './flash.ts';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { readForm } from './read-form.ts';
import { wayBack } from './way-back.ts';

/** To the sign-in provider and back. */
export function providerPages(deps: PageDeps, auth: Auth): Hono {
  const { assets, publicUrl } = deps;
  const pages = new Hono();
  if (auth.provider === null) return pages;
  const name = auth.provider;
  const away = (c: Context) =>
    notePage(deps, c, 503, 'Not now', `${name} cannot be reached right now. Sign in with your password, or try again.`);
  const goOn = async (c: Context, path: string, body: object) => {
    const answer = await auth.ask(c, path, { provider: PROVIDER, errorCallbackURL: `${publicUrl}/sign-in`, ...body });
    if (answer.status !== 200 || typeof answer.json?.url !== 'string') return away(c);
    keepCookies(c, answer.headers);
    return passOn(c, answer.json.url);
  };
  /**
   * A page that goes on by itself. A redirect would be the answer to a form, and the policy of our pages lets forms lead
   * nowhere else; which hosts a provider sends people through is its own affair.
   */
  const passOn = (c: Context, url: string) => {
    c.header('Refresh', `0; url=${url}`);
    return answerPage(
      c,
      <Page title={`To ${name}`} assets={assets} isNarrow>
        <h1>To {name}</h1>
        <p>
          <a href={url}>Go on to {name}</a>, if that does not happen by itself.
        </p>
      </Page>,
    );
  };
  return pages
    .post('/sign-in/provider', async (c) => {
      const to = wayBack((await readForm(c))['to']);
      return goOn(c, '/sign-in/social', { callbackURL: publicUrl + to });
    })
    .post('/account/connect', async (c) => {
      if (!(await auth.readViewer(c))) return c.redirect('/sign-in?to=/account', 303);
      const after = { callbackURL: `${publicUrl}/account`, errorCallbackURL: `${publicUrl}/account` };
      return goOn(c, '/link-social', after);
    })
    .get(`${AUTH_PATH}/callback/${PROVIDER}`, async (c) => {
      const answer = await auth.ask(c, `/callback/${PROVIDER}${new URL(c.req.url).search}`);
      keepCookies(c, answer.headers);
      return goTo(c, ourAddress(answer.headers.get('location'), publicUrl));
    });
}

/** better-auth goes where we told it to; anything else would be a mistake of ours, and leads home. */
function ourAddress(location: string | null, publicUrl: string): string {
  if (location === null) return '/sign-in?error=failed';
  const url = new URL(location, publicUrl);
  return url.origin === new URL(publicUrl).origin ? url.pathname + url.search : '/';
}
