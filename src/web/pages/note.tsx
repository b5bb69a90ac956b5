import type { Context } from 'hono';
import type { PageDeps } from './deps.ts';
import { answerPage, Page } from './page.tsx';
import type { PageEnv } from './viewer.ts';

/** A page that says one thing. */
export function notePage(
  { assets }: Pick<PageDeps, 'assets'>,
  c: Context,
  status: 400 | 401 | 403 | 404 | 409 | 410 | 413 | 429 | 500 | 503,
  title: string,
  text: string,
): Response | Promise<Response> {
  const { viewer, project } = (c as Context<PageEnv>).var;
  return answerPage(
    c,
    <Page title={title} assets={assets} viewer={viewer} project={project} isNarrow>
      <h1>{title}</h1>
      <p>{text}</p>
      {project ? (
        <p>
          <a href={`/projects/${project.slug}`}>All jobs of {project.name}</a>
        </p>
      ) : null}
    </Page>,
    status,
  );
}
