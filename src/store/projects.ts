import type { Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import { addKey, createKey } from './keys.ts';
import { type Act, addMember } from './members.ts';

/** The keys of a new project: shown once. */
export type ProjectKeys = { readonly apiKey: string; readonly pingKey: string };

export type NewProject = {
  readonly slug: string;
  readonly name: string;
  readonly owner: { readonly userId: string; readonly email: string };
};

/** Makes a project with its first owner and its keys; null: the slug is taken. */
export async function createProject(tx: Tx, { slug, name, owner }: NewProject): Promise<ProjectKeys | null> {
  const [made] = await tx.sql<{ id: number }[]>`
    insert into projects (slug, name, created_at) values (${slug}, ${name}, ${tx.now})
    on conflict (slug) do nothing returning id`;
  if (!made) return null;
  const act = { projectId: made.id, actor: owner.email };
  await recordAudit(tx, { ...act, action: 'project.create', subject: slug, detail: { name } });
  await addMember(tx, act, { userId: owner.userId, role: 'owner', how: 'made the project' });
  const apiKey = createKey();
  const pingKey = createKey();
  const createdBy = owner.email;
  await addKey(tx, made.id, 'api', apiKey, { name: 'First key', createdBy });
  await addKey(tx, made.id, 'ping', pingKey, { createdBy });
  return { apiKey, pingKey };
}

export async function renameProject(tx: Tx, { projectId, actor }: Act, name: string): Promise<void> {
  const [old] = await tx.sql<{ name: string; slug: string }[]>`
    select name, slug from projects where id = ${projectId} for update`;
  if (!old || old.name === name) return;
  await tx.sql`update projects set name = ${name} where id = ${projectId}`;
  await recordAudit(tx, {
    projectId,
    actor,
    action: 'project.rename',
    subject: old.slug,
    detail: { from: old.name, to: name },
  });
}

export async function readProjectId({ sql }: Tx, slug: string): Promise<number | null> {
  const [row] = await sql<{ id: number }[]>`select id from projects where slug = ${slug}`;
  return row?.id ?? null;
}
