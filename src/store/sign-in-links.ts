import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { createKey, hashKey } from './keys.ts';

/**
 * What a one-time link is for. `first`: making the owner's account, while there is none; `recovery`: an owner who is locked
 * out; `password`: a new password of the account of `email`, and no more. The last two are made on the server alone.
 */
export type SignInLink =
  | { readonly kind: 'first' | 'recovery' }
  | { readonly kind: 'password'; readonly email: string };

type KeptLink = SignInLink & { readonly hash: string; readonly until: Instant | null };

/** Name of the fact that holds the links that were not used yet, as JSON; only their hashes. */
const LINKS = 'sign_in_links';
/** Every start makes one while nobody has signed in: the first, which lies in first-run.json, and the newest stay. */
const KEPT = 10;
const HOUR_MS = 3_600_000;

/** Whether anybody owns project `default`. */
export async function hasOwner(tx: Tx): Promise<boolean> {
  const rows = await tx.sql`
    select from members m join projects p on p.id = m.project_id where p.slug = 'default' and m.role = 'owner' limit 1`;
  return rows.length > 0;
}

/** A new link, shown nowhere else. All but the first work for an hour. */
export async function makeSignInLink(tx: Tx, publicUrl: string, link: SignInLink): Promise<string> {
  const token = createKey();
  const until = link.kind === 'first' ? null : tx.now + HOUR_MS;
  const [first, ...others] = await readLinks(tx);
  const kept = first ? [first, ...others.slice(2 - KEPT)] : [];
  await writeLinks(tx, [...kept, { ...link, hash: hashKey(token), until }]);
  return `${publicUrl}/welcome/${token}`;
}

/** What a link is for, while it works; null: it was used, or was never one. */
export async function findSignInLink(tx: Tx, token: string): Promise<SignInLink | null> {
  const hash = hashKey(token);
  const link = (await readLinks(tx)).find((each) => each.hash === hash);
  if (!link || (link.until !== null && link.until <= tx.now)) return null;
  return link.kind === 'first' && (await hasOwner(tx)) ? null : link;
}

/** Uses a link up, and with one that made an owner every other one: whoever comes second is refused. */
export async function useSignInLink(tx: Tx, token: string): Promise<SignInLink | null> {
  const link = await findSignInLink(tx, token);
  if (link === null) return null;
  const others = (await readLinks(tx)).filter(({ hash }) => hash !== hashKey(token));
  await writeLinks(tx, link.kind === 'password' ? others : []);
  return link;
}

/** Under a lock until the transaction ends: of two that use a link at the same time, one finds it gone. */
async function readLinks({ sql }: Tx): Promise<readonly KeptLink[]> {
  await sql`insert into facts (name, value) values (${LINKS}, '[]') on conflict do nothing`;
  const [row] = await sql<{ value: string }[]>`select value from facts where name = ${LINKS} for update`;
  return JSON.parse(row?.value ?? '[]') as KeptLink[];
}

async function writeLinks({ sql }: Tx, links: readonly KeptLink[]): Promise<void> {
  await sql`update facts set value = ${JSON.stringify(links)} where name = ${LINKS}`;
}
