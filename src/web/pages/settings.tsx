import { Hono } from 'hono';
import type { FC } from 'hono/jsx';
import { renameProject } from '../../store/projects.ts';
import type { PageDeps } from './deps.ts';
import { goTo } from './flash.ts';
import { TextField } from './form.tsx';
import { notePage } from './note.tsx';
import { readForm } from './read-form.ts';
import { auditPage } from './settings/audit.tsx';
import { answerSettings, settingsPath } from './settings/frame.tsx';
import { keyPages } from './settings/keys.tsx';
import { memberPages } from './settings/members.tsx';
import { type Membership, mayAs, type PageEnv } from './viewer.ts';

/** Project, members, keys, audit log: for owners. */
export function settingsPages(deps: PageDeps): Hono<PageEnv> {
  const { assets, database } = deps;
  const pages = new Hono<PageEnv>();
  pages.use('/settings/*', async (c, next) =>
    mayAs(c.var.project.role, 'owner')
      ? next()
      : notePage(deps, c, 403, 'For owners', 'Members, keys and the audit log are kept by the owners of this project.'),
  );
  pages.get('/settings', (c) => answerSettings(c, { assets, part: '' }, <Project project={c.var.project} />));
  pages.post('/settings', async (c) => {
    const name = ((await readForm(c))['name'] ?? '').trim();
    const { project, viewer } = c.var;
    if (name === '' || name.length > 100) {
      const page = <Project project={project} name={name} flaw="a name of 1 to 100 characters" />;
      return answerSettings(c, { assets, part: '', status: 400 }, page);
    }
    const act = { projectId: project.id, actor: viewer.email };
    await database.transaction((tx) => renameProject(tx, act, name));
    return goTo(c, settingsPath(c, ''), 'The name is changed.');
  });
  return pages.route('/', memberPages(deps)).route('/', keyPages(deps)).route('/', auditPage(deps));
}

const Project: FC<{ project: Membership; name?: string; flaw?: string }> = ({ project, name, flaw }) => (
  <form method="post" action={`/projects/${project.slug}/settings`} class="card stack">
    <h2>Name</h2>
    <TextField name="name" label="Name of the project" value={name ?? project.name} flaw={flaw} required />
    <p class="soft">Its slug, {project.slug}, is part of addresses and stays.</p>
    <p>
      <button type="submit">Change the name</button>
    </p>
  </form>
);
