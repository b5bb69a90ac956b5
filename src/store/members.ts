import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import type { Role } from './people.ts';

export type Member = {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly since: Instant;
  readonly hasTotp: boolean;
};

/** Who does it, in which project. */
export type Act = { readonly projectId: number; readonly actor: string };

/** Owners first, then by name. */
export async function listMembers(tx: Tx, projectId: number): Promise<readonly Member[]> {
  return tx.sql<Member[]>`
    select u.id as "userId", u.name, u.email, m.role, m.created_at as since,
      coalesce(u.two_factor_enabled, false) as "hasTotp"
    from members m join users u on u.id = m.user_id where m.project_id = ${projectId}
    order by array_position(array['owner', 'editor', 'viewer'], m.role), lower(u.name), u.id`;
}

/** Makes a person a member, or gives a member the better of the two roles. `how` is for the audit. */
export async function addMember(
  tx: Tx,
  { projectId, actor }: Act,
  { userId, role, how }: { readonly userId: string; readonly role: Role; readonly how: string },
): Promise<void> {
  const { sql, now } = tx;
  await sql`
    insert into members (project_id, user_id, role, created_at) values (${projectId}, ${userId}, ${role}, ${now})
    on conflict (project_id, user_id) do update set role =
      case when array_position(array['viewer', 'editor', 'owner'], excluded.role)
        > array_position(array['viewer', 'editor', 'owner'], members.role) then excluded.role else members.role end`;
  const subject = await emailOf(tx, userId);
  await recordAudit(tx, { projectId, actor, action: 'member.join', subject, detail: { role, how } });
}

export type MemberChange = 'done' | 'no_member' | 'last_owner';

/** Changes what a member may do. The last owner stays one: nobody could undo it. */
export async function setRole(
  tx: Tx,
  { projectId, actor }: Act,
  { userId, role }: { readonly userId: string; readonly role: Role },
): Promise<MemberChange> {
  const refusal = await refuseChange(tx, projectId, { userId, staysOwner: role === 'owner' });
  if (refusal !== null) return refusal;
  const [old] = await tx.sql<{ role: Role }[]>`
    select role from members where project_id = ${projectId} and user_id = ${userId}`;
  if (old?.role === role) return 'done';
  await tx.sql`update members set role = ${role} where project_id = ${projectId} and user_id = ${userId}`;
  const subject = await emailOf(tx, userId);
  await recordAudit(tx, { projectId, actor, action: 'member.role', subject, detail: { from: old?.role, to: role } });
  return 'done';
}

/** Takes a member out of the project: their next request finds it closed. */
export async function removeMember(tx: Tx, { projectId, actor }: Act, userId: string): Promise<MemberChange> {
  const refusal = await refuseChange(tx, projectId, { userId, staysOwner: false });
  if (refusal !== null) return refusal;
  const subject = await emailOf(tx, userId);
  await tx.sql`delete from members where project_id = ${projectId} and user_id = ${userId}`;
  // An invitation that was not needed yet, such as to a better role, would let them in again.
  await tx.sql`delete from invitations where project_id = ${projectId} and email = ${subject} and accepted_at is null`;
  await recordAudit(tx, { projectId, actor, action: subject === actor ? 'member.leave' : 'member.remove', subject });
  return 'done';
}

/** Owners of a project are changed one at a time: two who leave at once would leave nobody. */
async function refuseChange(
  { sql }: Tx,
  projectId: number,
  { userId, staysOwner }: { readonly userId: string; readonly staysOwner: boolean },
): Promise<Exclude<MemberChange, 'done'> | null> {
  await sql`select from projects where id = ${projectId} for update`;
  const members = await sql<{ userId: string; role: Role }[]>`
    select user_id as "userId", role from members where project_id = ${projectId}`;
  const member = members.find((each) => each.userId === userId);
  if (!member) return 'no_member';
  const others = members.some((each) => each.role === 'owner' && each.userId !== userId);
  return member.role === 'owner' && !staysOwner && !others ? 'last_owner' : null;
}

async function emailOf({ sql }: Tx, userId: string): Promise<string> {
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${userId}`;
  return row?.email ?? userId;
}

/** A person came in: it stands in the audit of each of their projects. What has ended meanwhile is swept. */
export async function recordSignIn(tx: Tx, userId: string, how: 'password' | 'code' | 'backup code' | 'provider') {
  const { sql, now } = tx;
  const email = await emailOf(tx, userId);
  const projects = await sql<{ id: number }[]>`select project_id as id from members where user_id = ${userId}`;
  for (const { id } of projects)
    await recordAudit(tx, { projectId: id, actor: email, action: 'person.sign_in', subject: email, detail: { how } });
  await sql`delete from sessions where expires_at < ${now}`;
  await sql`delete from verifications where expires_at < ${now}`;
}

/** The same for what a person changed about their own account. */
export async function recordAccountChange(tx: Tx, userId: string, action: `person.${string}`): Promise<void> {
  const email = await emailOf(tx, userId);
  const projects = await tx.sql<{ id: number }[]>`select project_id as id from members where user_id = ${userId}`;
  for (const { id } of projects) await recordAudit(tx, { projectId: id, actor: email, action, subject: email });
}
