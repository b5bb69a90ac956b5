import { randomUUID } from 'node:crypto';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

export type Role = 'owner' | 'editor' | 'viewer';

type PersonProject = {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly role: Role;
};

/** A person as pages need them: the zone they chose, and every project they are a member of, by name. */
export type PersonView = { readonly zone: string | null; readonly projects: readonly PersonProject[] };

export async function readPersonView(tx: Tx, userId: string): Promise<PersonView> {
  const rows = await tx.sql<{ zone: string | null; id: number | null; slug: string; name: string; role: Role }[]>`
    select u.zone, p.id, p.slug, p.name, m.role
    from users u left join members m on m.user_id = u.id left join projects p on p.id = m.project_id
    where u.id = ${userId} order by lower(p.name), p.id`;
  return {
    zone: rows[0]?.zone ?? null,
    projects: rows.flatMap(({ id, slug, name, role }) => (id === null ? [] : [{ id, slug, name, role }])),
  };
}

export type NewPerson = {
  readonly name: string;
  /** As typed: kept in lower case. */
  readonly email: string;
  /** As better-auth hashes it. */
  readonly passwordHash: string;
  /** Whether the link came by mail to that address alone. */
  readonly isVerified: boolean;
};

/** Makes an account with a password, in the form in which better-auth finds it; null where there is one of this address. */
export async function createPerson(tx: Tx, person: NewPerson): Promise<string | null> {
  const { sql, now } = tx;
  const id = randomUUID();
  const [made] = await sql<{ id: string }[]>`
    insert into users (id, name, email, email_verified, created_at, updated_at)
    values (${id}, ${person.name}, ${person.email.toLowerCase()}, ${person.isVerified}, ${now}, ${now})
    on conflict (email) do nothing returning id`;
  if (!made) return null;
  await insertPassword(tx, id, person.passwordHash);
  return id;
}

async function insertPassword({ sql, now }: Tx, userId: string, hash: string): Promise<void> {
  await sql`
    insert into accounts (id, account_id, provider_id, user_id, password, created_at, updated_at)
    values (${randomUUID()}, ${userId}, 'credential', ${userId}, ${hash}, ${now}, ${now})`;
}

/**
 * For a person who is locked out: the new password is the only way in. The second factor is off and every session ends.
 * null: there is no account of this address.
 */
export async function resetPerson(tx: Tx, email: string, passwordHash: string): Promise<string | null> {
  const { sql } = tx;
  const [person] = await sql<{ id: string }[]>`
    update users set two_factor_enabled = false, updated_at = ${tx.now} where email = ${email.toLowerCase()} returning id`;
  if (!person) return null;
  await sql`delete from two_factors where user_id = ${person.id}`;
  await sql`delete from sessions where user_id = ${person.id}`;
  await sql`delete from accounts where user_id = ${person.id} and provider_id = 'credential'`;
  await insertPassword(tx, person.id, passwordHash);
  return person.id;
}

/** What a person says about themselves. */
export async function updatePerson(
  { sql, now }: Tx,
  userId: string,
  { name, zone }: { readonly name: string; readonly zone: string | null },
): Promise<void> {
  await sql`update users set name = ${name}, zone = ${zone}, updated_at = ${now} where id = ${userId}`;
}

/** Whether anybody has an account. */
export async function hasPeople({ sql }: Tx): Promise<boolean> {
  const rows = await sql`select from users limit 1`;
  return rows.length > 0;
}

export async function hasPerson({ sql }: Tx, email: string): Promise<boolean> {
  return (await sql`select from users where email = ${email.toLowerCase()}`).length > 0;
}

/** Whether the account of this address is in any project. */
export async function isMemberSomewhere({ sql }: Tx, email: string): Promise<boolean> {
  const rows = await sql`
    select from members m join users u on u.id = m.user_id where u.email = ${email.toLowerCase()} limit 1`;
  return rows.length > 0;
}

/** The address of an account if a provider, or a mail to it, has shown that it is theirs; else null. */
export async function readVerifiedEmail({ sql }: Tx, userId: string): Promise<string | null> {
  const [row] = await sql<{ email: string }[]>`select email from users where id = ${userId} and email_verified`;
  return row?.email ?? null;
}

/** How a person gets in, for their own page. */
export type AccountView = {
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly isConnected: boolean;
  readonly sessions: readonly PersonSession[];
};

export type PersonSession = {
  readonly id: string;
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly begunAt: Instant;
};

/** `provider`: the name that its rows have. */
export async function readAccount({ sql, now }: Tx, userId: string, provider: string): Promise<AccountView> {
  const [row] = await sql<Omit<AccountView, 'sessions'>[]>`
    select coalesce(u.two_factor_enabled, false) as "hasTotp",
      exists (select from accounts where user_id = u.id and provider_id = 'credential') as "hasPassword",
      exists (select from accounts where user_id = u.id and provider_id = ${provider}) as "isConnected"
    from users u where u.id = ${userId}`;
  const sessions = await sql<PersonSession[]>`
    select id, nullif(ip_address, '') as address, nullif(user_agent, '') as "userAgent", created_at as "begunAt"
    from sessions where user_id = ${userId} and expires_at > ${now} order by created_at desc, id`;
  return { hasPassword: false, hasTotp: false, isConnected: false, ...row, sessions };
}

/** Ends one session of a person, or with `but` all others. False: there was none. */
export async function endSessions(
  { sql }: Tx,
  userId: string,
  which: { readonly id: string } | { readonly but: string },
): Promise<boolean> {
  const rows =
    'id' in which
      ? await sql`delete from sessions where user_id = ${userId} and id = ${which.id} returning id`
      : await sql`delete from sessions where user_id = ${userId} and id <> ${which.but} returning id`;
  return rows.length > 0;
}
