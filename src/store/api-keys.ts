import type { Instant } from '../core/time.ts';
import type { Database, Tx } from './database.ts';
import { recordAudit } from './job-writing.ts';
import { addKey, createKey, hashKey, type KeyKind, type KeyScope, rotatePingKey } from './keys.ts';
import type { Act } from './members.ts';

/** An API key as a call names it. */
export type ApiKey = {
  readonly id: number;
  readonly projectId: number;
  readonly name: string;
  readonly hint: string;
  readonly scopes: readonly KeyScope[];
};

/** So often at most it is written down that a key was used: it is for people, not for counting. */
const USED_MS = 60_000;

/** The API key that was sent, while it has not been revoked; or null. One statement, whether its use is written down or not. */
export function findApiKey(database: Database, key: string): Promise<ApiKey | null> {
  return database.transaction(async ({ sql, now }) => {
    // Whoever finds the row held leaves it: many calls at once must not wait for each other.
    const [row] = await sql<ApiKey[]>`
      with found as (
        select id, project_id, name, hint, scopes, last_used_at from keys
        where hash = ${hashKey(key)} and kind = 'api' and (expires_at is null or expires_at > ${now})
      ), used as (
        update keys set last_used_at = ${now} where id = (
          select k.id from keys k join found f on f.id = k.id
          where f.last_used_at is null or f.last_used_at <= ${now - USED_MS} or f.last_used_at > ${now}
          for update of k skip locked)
      )
      select id, project_id as "projectId", name, hint, scopes from found`;
    return row ?? null;
  });
}

/** A key as it is listed: what it is itself is not known any more. */
export type ListedKey = {
  readonly id: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hint: string;
  readonly scopes: readonly KeyScope[];
  readonly createdBy: string;
  readonly createdAt: Instant;
  readonly lastUsedAt: Instant | null;
  /** A ping key that was rotated works until then; null: for ever. */
  readonly expiresAt: Instant | null;
};

/** The keys of a project that work, newest first. */
export async function listKeys({ sql, now }: Tx, projectId: number): Promise<readonly ListedKey[]> {
  return sql<ListedKey[]>`
    select id, kind, name, hint, scopes, created_by as "createdBy", created_at as "createdAt",
      last_used_at as "lastUsedAt", expires_at as "expiresAt"
    from keys where project_id = ${projectId} and (expires_at is null or expires_at > ${now}) order by id desc`;
}

/** Makes an API key: the answer is the only time it is seen. */
export async function createApiKey(
  tx: Tx,
  { projectId, actor }: Act,
  { name, scopes }: { readonly name: string; readonly scopes: readonly KeyScope[] },
): Promise<string> {
  const key = createKey();
  await addKey(tx, projectId, 'api', key, { name, scopes, createdBy: actor });
  await recordAudit(tx, { projectId, actor, action: 'key.create', subject: name, detail: { scopes } });
  return key;
}

/** From now on the key is unknown; what it did stays. False: it did not work any more. */
export async function revokeKey(tx: Tx, { projectId, actor }: Act, id: number): Promise<boolean> {
  const [row] = await tx.sql<{ name: string; kind: KeyKind; hint: string }[]>`
    update keys set expires_at = ${tx.now}
    where id = ${id} and project_id = ${projectId} and (expires_at is null or expires_at > ${tx.now})
    returning name, kind, hint`;
  if (!row) return false;
  const { kind, hint } = row;
  await recordAudit(tx, { projectId, actor, action: 'key.revoke', subject: row.name || hint, detail: { kind, hint } });
  return true;
}

/** A new ping key: the answer is the only time it is seen. Those before work on for `overlap` seconds. */
export async function renewPingKey(tx: Tx, { projectId, actor }: Act, overlap: number): Promise<string> {
  const key = await rotatePingKey(tx, projectId, overlap, actor);
  const detail = { overlap_seconds: overlap };
  await recordAudit(tx, { projectId, actor, action: 'key.rotate', subject: 'ping key', detail });
  return key;
}
