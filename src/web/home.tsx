import { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Health } from './health.ts';
import type { PageDeps } from './pages/deps.ts';
import { NobodyHere } from './pages/nobody-here.tsx';
import { answerPage, Page } from './pages/page.tsx';

export type HomeDeps = Pick<PageDeps, 'assets' | 'readViewer' | 'readHealth'> & {
  /** Whether nobody has an account yet. */
  readonly isNobodyHere: () => Promise<boolean>;
};

/** GET /: to the jobs of whoever is signed in, else what this is and whether it is well. GET /robots.txt: keep out. */
export function homePage({ assets, isNobodyHere, readViewer, readHealth }: HomeDeps): Hono {
  return new Hono()
    .get('/', async (c) => {
      const viewer = await readViewer(c);
      if (viewer === null) {
        const isFirst = await isNobodyHere();
        return answerPage(c, <Home health={await readHealth()} assets={assets} isFirst={isFirst} />);
      }
      const [project, ...others] = viewer.projects;
      return c.redirect(project && others.length === 0 ? `/projects/${project.slug}` : '/projects', 303);
    })
    .get('/robots.txt', (c) => c.text('User-agent: *\nDisallow: /\n'));
}

const Home: FC<{ health: Health; assets: HomeDeps['assets']; isFirst: boolean }> = ({ health, assets, isFirst }) => (
  <Page title="Rollcall" assets={assets} isNarrow>
    <h1>Every run that should happen, accounted for</h1>
    <p>
      Rollcall is a dead-man's switch for scheduled jobs. It knows when each of them is due, and tells people when a run
      is missing, late, failed, or happened twice.
    </p>
    {isFirst ? <NobodyHere /> : null}
    <p>
      <a class="button main" href="/sign-in">
        Sign in
      </a>
    </p>
    <p class="soft">
      <a href="/health">
        {health.status === 'ok' ? 'Rollcall itself is well.' : 'Rollcall itself is not well: see what is wrong.'}
      </a>
    </p>
  </Page>
);
