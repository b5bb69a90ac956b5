import type { Context } from 'hono';
import type { Child, FC } from 'hono/jsx';
import type { PageDeps } from '../deps.ts';
import { takeFlash } from '../flash.ts';
import { answerPage, Page } from '../page.tsx';
import type { PageEnv } from '../viewer.ts';

const PARTS = [
  ['', 'Project'],
  ['/members', 'Members'],
  ['/keys', 'Keys'],
  ['/audit', 'Audit log'],
] as const;

export type SettingsPart = (typeof PARTS)[number][0];

/** Where a part of the settings is. */
export const settingsPath = (c: Context<PageEnv>, part: SettingsPart): string =>
  `/projects/${c.var.project.slug}/settings${part}`;

/** A page of the settings, under their tabs. */
export function answerSettings(
  c: Context<PageEnv>,
  {
    assets,
    part,
    status = 200,
  }: Pick<PageDeps, 'assets'> & { readonly part: SettingsPart; readonly status?: 200 | 400 | 409 },
  children: Child,
): Response | Promise<Response> {
  const { viewer, project } = c.var;
  const title = PARTS.find(([path]) => path === part)?.[1] ?? '';
  return answerPage(
    c,
    <Page title={title} assets={assets} viewer={viewer} project={project} section="settings" flash={takeFlash(c)}>
      <h1>Settings</h1>
      <Tabs base={settingsPath(c, '')} part={part} />
      {children}
    </Page>,
    status,
  );
}

const Tabs: FC<{ base: string; part: SettingsPart }> = ({ base, part }) => (
  <nav class="tabs" aria-label="Settings">
    {PARTS.map(([path, text]) => (
      <a href={base + path} {...(path === part ? { 'aria-current': 'page' as const } : {})}>
        {text}
      </a>
    ))}
  </nav>
);
