import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { createProject, type ProjectKeys } from '../../store/projects.ts';
import type { ApiFlaw } from './call.ts';
import type { PageDeps } from './deps.ts';
import { takeFlash } from './flash.ts';
import { flawOf, TextField, type Typed } from './form.tsx';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { readForm } from './read-form.ts';
import { Secret } from './secret.tsx';
import type { Viewer } from './viewer.ts';

/** The projects of a person, and a new one. */
export function projectsPage(deps: PageDeps): Hono {
  const { assets, database, publicUrl, readViewer } = deps;
  const show = (c: Context, viewer: Viewer, typed: Typed = {}, errors: readonly ApiFlaw[] = []) =>
    answerPage(
      c,
      <Page title="Projects" assets={assets} viewer={viewer} flash={takeFlash(c)} isNarrow>
        <Projects viewer={viewer} typed={typed} errors={errors} />
      </Page>,
      errors.length > 0 ? 400 : 200,
    );
  return new Hono()
    .get('/projects', async (c) => {
      const viewer = await readViewer(c);
      return viewer ? show(c, viewer) : c.redirect('/sign-in?to=/projects', 303);
    })
    .post('/projects', async (c) => {
      const viewer = await readViewer(c);
      if (!viewer) return c.redirect('/sign-in?to=/projects', 303);
      if (!mayMakeProjects(viewer))
        return notePage(deps, c, 403, 'Not allowed', 'Only owners of a project make another one.');
      const typed = await readForm(c);
      const { name = '', slug = '' } = typed;
      const errors = projectFlaws({ name: name.trim(), slug });
      if (errors.length > 0) return show(c, viewer, typed, errors);
      const { userId, email } = viewer;
      const keys = await database.transaction((tx) =>
        createProject(tx, { slug, name: name.trim(), owner: { userId, email } }),
      );
      if (keys === null)
        return show(c, viewer, typed, [{ path: 'slug', message: 'another project has this slug: choose another one' }]);
      return answerPage(
        c,
        <Page title={name} assets={assets} viewer={viewer} isNarrow>
          <NewKeys name={name.trim()} slug={slug} keys={keys} publicUrl={publicUrl} />
        </Page>,
      );
    });
}

/** Whoever was only invited to look at something makes nothing of their own here. */
const mayMakeProjects = ({ projects }: Viewer): boolean => projects.some(({ role }) => role === 'owner');

function projectFlaws({ name, slug }: { readonly name: string; readonly slug: string }): readonly ApiFlaw[] {
  const isName = name.length > 0 && name.length <= 100;
  const isSlug = /^[a-z0-9_-]{1,100}$/.test(slug);
  return [
    ...(isName ? [] : [{ path: 'name', message: 'a name of 1 to 100 characters' }]),
    ...(isSlug ? [] : [{ path: 'slug', message: '1 to 100 of a-z, 0-9, "-" and "_"' }]),
  ];
}

const Projects: FC<{ viewer: Viewer; typed: Typed; errors: readonly ApiFlaw[] }> = ({ viewer, typed, errors }) => (
  <>
    <h1>Projects</h1>
    {viewer.projects.length === 0 ? (
      <p class="empty">You are a member of no project. Whoever runs one can invite {viewer.email}.</p>
    ) : (
      <div class="card flush">
        <table class="folds">
          <thead>
            <tr>
              <th scope="col">Project</th>
              <th scope="col">You are</th>
            </tr>
          </thead>
          <tbody>
            {viewer.projects.map(({ slug, name, role }) => (
              <tr>
                <td data-name="Project">
                  <a href={`/projects/${slug}`}>{name}</a>
                </td>
                <td data-name="You are">{role}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
    {mayMakeProjects(viewer) ? (
      <form method="post" action="/projects" class="card stack">
        <h2>A new project</h2>
        <p class="soft">Its jobs, channels, members and keys are its own. You become its owner.</p>
        <TextField name="name" label="Name" value={typed['name']} flaw={flawOf(errors, 'name')} required />
        <TextField
          name="slug"
          label="Slug"
          hint="Part of its addresses; it stays. Small letters, digits, dashes."
          value={typed['slug']}
          flaw={flawOf(errors, 'slug')}
          required
        />
        <p>
          <button type="submit">Make the project</button>
        </p>
      </form>
    ) : null}
  </>
);

const NewKeys: FC<{ name: string; slug: string; keys: ProjectKeys; publicUrl: string }> = ({
  name,
  slug,
  keys,
  publicUrl,
}) => (
  <>
    <h1>{name}</h1>
    <p>The project is made. Its two keys are shown this once: copy them now.</p>
    <Secret id="api-key" label="API key" value={keys.apiKey} />
    <Secret id="ping-key" label="Ping key" value={keys.pingKey} />
    <Secret
      id="first-job"
      label="A first job"
      value={`curl -fsS '${publicUrl}/ping/${keys.pingKey}/my-first-job?create=1'`}
    />
    <p>
      <a class="button main" href={`/projects/${slug}`}>
        Go to {name}
      </a>
    </p>
  </>
);
