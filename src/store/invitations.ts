import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import { createKey, hashKey } from './keys.ts';
import { type Act, addMember } from './members.ts';
import type { Role } from './people.ts';

export type Invitation = {
  readonly id: number;
  readonly projectId: number;
  readonly projectSlug: string;
  readonly projectName: string;
  /** In lower case. */
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
};

const LIFETIME_MS = 7 * 86_400_000;

const open = ({ sql, now }: Tx) => sql`
  select i.id, i.project_id as "projectId", p.slug as "projectSlug", p.name as "projectName", i.email, i.role,
    i.invited_by as "invitedBy", i.created_at as "createdAt", i.expires_at as "expiresAt"
  from invitations i join projects p on p.id = i.project_id
  where i.accepted_at is null and i.expires_at > ${now}`;

/** Invites an address; the answer is the token of its link, of which only the hash is kept. An older one ends. */
export async function invite(
  tx: Tx,
  { projectId, actor }: Act,
  { email, role }: { readonly email: string; readonly role: Role },
): Promise<string> {
  const { sql, now } = tx;
  const token = createKey();
  const address = email.toLowerCase();
  await sql`delete from invitations where project_id = ${projectId} and email = ${address} and accepted_at is null`;
  await sql`
    insert into invitations (project_id, email, role, hash, invited_by, created_at, expires_at)
    values (${projectId}, ${address}, ${role}, ${hashKey(token)}, ${actor}, ${now}, ${now + LIFETIME_MS})`;
  await recordAudit(tx, { projectId, actor, action: 'invitation.create', subject: address, detail: { role } });
  return token;
}

/** Those of a project that can still be accepted, newest first. */
export async function listInvitations(tx: Tx, projectId: number): Promise<readonly Invitation[]> {
  return tx.sql<Invitation[]>`${open(tx)} and i.project_id = ${projectId} order by i.id desc`;
}

/** The invitation of a link while it can be accepted, or null. */
export async function findInvitation(tx: Tx, token: string): Promise<Invitation | null> {
  const [row] = await tx.sql<Invitation[]>`${open(tx)} and i.hash = ${hashKey(token)}`;
  return row ?? null;
}

/** Whether anybody invited this address. */
export async function isInvited(tx: Tx, email: string): Promise<boolean> {
  const rows = await tx.sql`${open(tx)} and i.email = ${email.toLowerCase()} limit 1`;
  return rows.length > 0;
}

/** Takes an invitation back. False: it was accepted, or is gone. */
export async function revokeInvitation(tx: Tx, { projectId, actor }: Act, id: number): Promise<boolean> {
  const [row] = await tx.sql<{ email: string }[]>`
    delete from invitations where id = ${id} and project_id = ${projectId} and accepted_at is null returning email`;
  if (!row) return false;
  await recordAudit(tx, { projectId, actor, action: 'invitation.revoke', subject: row.email });
  return true;
}

/** Makes the person a member, once. False: somebody was first, or it was taken back meanwhile. */
export async function acceptInvitation(tx: Tx, { id, ...given }: Invitation, userId: string): Promise<boolean> {
  const rows = await tx.sql`
    update invitations set accepted_at = ${tx.now}
    where id = ${id} and accepted_at is null and expires_at > ${tx.now} returning id`;
  if (rows.length === 0) return false;
  const act = { projectId: given.projectId, actor: given.email };
  await addMember(tx, act, { userId, role: given.role, how: `invited by ${given.invitedBy}` });
  return true;
}

/** Accepts every invitation of an address that its provider has verified. */
export async function acceptInvitationsOf(tx: Tx, email: string, userId: string): Promise<void> {
  const found = await tx.sql<Invitation[]>`${open(tx)} and i.email = ${email.toLowerCase()} order by i.id`;
  for (const invitation of found) await acceptInvitation(tx, invitation, userId);
}
