import { createHash, randomBytes } from 'node:crypto';
import { and, arrayContains, eq, gt, isNull, or } from 'drizzle-orm';
import type { Instant, Seconds } from '../core/time.ts';
import type { Database, Tx } from './database.ts';
import { keys } from './schema.ts';

export type KeyKind = 'api' | 'ping';

/** SHA-256 in hex: the only form in which a key passes the door. Keys are random, so no salt and no slowness is needed. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** A new key: 24 letters and digits, over 140 random bits. No dashes, which look like options or are left out by a double click. */
export function createKey(): string {
  return randomBytes(48).toString('base64url').replaceAll(/[-_]/g, '').slice(0, 24);
}

const isAlive = (now: Instant) => or(isNull(keys.expiresAt), gt(keys.expiresAt, now));

/** An API key with the scope `ping` may stand where a ping key does. */
const mayPing = or(eq(keys.kind, 'ping'), arrayContains(keys.scopes, ['ping']));
const isOf = (kind: KeyKind) => (kind === 'ping' ? mayPing : eq(keys.kind, 'api'));

/** The project that a hashed key belongs to, while it has not expired; or null. */
export async function findProject(tx: Tx, kind: KeyKind, hash: string): Promise<number | null> {
  const [row] = await tx.db
    .select({ projectId: keys.projectId })
    .from(keys)
    .where(and(eq(keys.hash, hash), isOf(kind), isAlive(tx.now)));
  return row?.projectId ?? null;
}

/** What people tell keys apart by, and what an API key may do: without scopes it reads and writes. */
export type KeyDetails = {
  readonly name?: string;
  readonly createdBy?: string;
  readonly scopes?: readonly KeyScope[];
};

/** write includes read; ping: the key may stand in a ping URL. */
export type KeyScope = 'read' | 'write' | 'ping';

/** So many characters of a key are kept to tell it apart by: of 24, a guess gains nothing. */
const HINT_LENGTH = 4;

/** Adds a key to a project; its id. */
export async function addKey(
  tx: Tx,
  projectId: number,
  kind: KeyKind,
  key: string,
  { name = '', createdBy = '', scopes = ['read', 'write'] }: KeyDetails = {},
): Promise<number> {
  const [row] = await tx.db
    .insert(keys)
    .values({
      projectId,
      kind,
      hash: hashKey(key),
      hint: key.slice(0, HINT_LENGTH),
      name,
      createdBy,
      scopes: [...scopes],
      createdAt: tx.now,
    })
    .returning({ id: keys.id });
  if (!row) throw new Error('an insert returned no row');
  return row.id;
}

/** Gives the project a new ping key, which it returns; those before go on working for `overlap` from now. */
export async function rotatePingKey(tx: Tx, projectId: number, overlap: Seconds, createdBy = ''): Promise<string> {
  const until = tx.now + overlap * 1000;
  await tx.db
    .update(keys)
    .set({ expiresAt: until })
    .where(
      and(eq(keys.projectId, projectId), eq(keys.kind, 'ping'), or(isNull(keys.expiresAt), gt(keys.expiresAt, until))),
    );
  const key = createKey();
  await addKey(tx, projectId, 'ping', key, { createdBy });
  return key;
}

/** How long a list of ping keys is believed: the longest a new key may be taken for an unknown one. */
const BELIEVED_MS = 1000;

/**
 * Whether a ping key of this hash is alive, for the limit on unknown keys. Whatever is asked, and however often, the
 * database is asked once a second at most.
 */
export function createPingKeys(database: Database, monotonic: () => number): (hash: string) => Promise<boolean> {
  let known: { readonly at: number; readonly hashes: Promise<ReadonlySet<string>> } | null = null;
  return async (hash) => {
    if (known === null || monotonic() - known.at > BELIEVED_MS) {
      const reading = { at: monotonic(), hashes: database.transaction(readPingKeys) };
      known = reading;
      reading.hashes.catch(() => {
        if (known === reading) known = null;
      });
    }
    return (await known.hashes).has(hash);
  };
}

async function readPingKeys(tx: Tx): Promise<ReadonlySet<string>> {
  const rows = await tx.db
    .select({ hash: keys.hash })
    .from(keys)
    .where(and(mayPing, isAlive(tx.now)));
  return new Set(rows.map(({ hash }) => hash));
}
