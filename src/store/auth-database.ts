import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomUUID } from 'node:crypto';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { drizzle } from 'drizzle-orm/pg-proxy';
import { type Database, DatabaseUnavailable, type Tx } from './database.ts';
import { hashKey } from './keys.ts';
import { accounts, rateLimits, sessions, twoFactors, users, verifications } from './schema.ts';

/** Where better-auth keeps its rows. */
export type AuthDatabase = {
  /** For its option `database`. */
  readonly adapter: ReturnType<typeof drizzleAdapter>;
  /** Runs what calls better-auth. A database that was away meanwhile is thrown, whatever better-auth made of it. */
  guarded<T>(work: () => Promise<T>): Promise<T>;
  /** For what better-auth calls back: a transaction whose loss is noted as well. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
};

/**
 * better-auth over our one pool. Each of its statements is a transaction of ours, so that time-outs and the words for a
 * lost database hold for it too. It takes no transactions of its own.
 */
export function createAuthDatabase(database: Database): AuthDatabase {
  const calls = new AsyncLocalStorage<{ lost: DatabaseUnavailable | null }>();
  const transaction = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    try {
      return await database.transaction(work);
    } catch (error) {
      const call = calls.getStore();
      if (call && error instanceof DatabaseUnavailable) call.lost = error;
      throw error;
    }
  };
  const db = drizzle(async (text, parameters, method) => ({
    rows: await transaction((tx) => runStatement(tx, text, parameters, method)),
  }));
  return {
    adapter: drizzleAdapter(db, {
      provider: 'pg',
      schema: {
        user: users,
        session: sessions,
        account: accounts,
        verification: verifications,
        twoFactor: twoFactors,
        rateLimit: rateLimits,
      },
    }),
    async guarded(work) {
      const call = { lost: null as DatabaseUnavailable | null };
      const outcome = await calls.run(call, () => Promise.allSettled([work()]));
      if (call.lost) throw call.lost;
      const [result] = outcome;
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    },
    transaction,
  };
}

/** Rows as arrays, which drizzle reads, or the driver's result with the count of rows that were touched. */
async function runStatement(tx: Tx, text: string, parameters: unknown[], method: string) {
  const query = tx.sql.unsafe(text, parameters as never[]);
  return method === 'all' ? query.values() : query;
}

/** Name of the fact that holds the secret by which session cookies are signed and TOTP secrets are kept encrypted. */
const SECRET = 'auth_secret';

/** The secret of this installation: made once, and kept. Whoever deletes it signs everybody out. */
export async function readAuthSecret(tx: Tx): Promise<string> {
  const made = randomBytes(32).toString('base64url');
  await tx.sql`insert into facts (name, value) values (${SECRET}, ${made}) on conflict do nothing`;
  // Another process may have been first: this statement sees what is committed.
  const [kept] = await tx.sql<{ value: string }[]>`select value from facts where name = ${SECRET}`;
  if (!kept) throw new Error('the secret of sign-in was not kept');
  return kept.value;
}

// What follows is kept among what throttles sign-in, in rows whose `last_request` is the instant at which they end: better-auth
// sweeps that table, and takes what ended a minute ago.

/** A code of an authenticator app is right in its half minute and the ones before and after. */
const CODE_MS = 120_000;

/** Uses up a code that was right: true for the first who comes with it, false for whoever read it over their shoulder. */
export async function claimCode({ sql, now }: Tx, userId: string, code: string): Promise<boolean> {
  const rows = await sql`
    insert into rate_limits (id, key, count, last_request)
    values (${randomUUID()}, ${`code|${userId}|${code}`}, 1, ${now + CODE_MS}::bigint)
    on conflict (key) do update set last_request = excluded.last_request where rate_limits.last_request <= ${now}::bigint
    returning key`;
  return rows.length === 1;
}

/** Whether `claimCode` has given this code to somebody who signed in as this person. */
export async function isCodeUsed({ sql, now }: Tx, userId: string, code: string): Promise<boolean> {
  const rows = await sql`
    select from rate_limits where key = ${`code|${userId}|${code}`} and last_request > ${now}::bigint`;
  return rows.length > 0;
}

/** So many wrong passwords an hour may be tried at one address, from wherever: enough for whoever forgot theirs. */
const WRONG_PASSWORDS = { most: 100, windowMs: 3_600_000 };

const attemptsKey = (email: string): string => `account|${hashKey(email.toLowerCase())}`;

/** Seconds until a password may be tried at this address again, whether it has an account or not; null: now. */
export async function waitForAccount({ sql, now }: Tx, email: string): Promise<number | null> {
  const [row] = await sql<{ count: number; until: number }[]>`
    select count, last_request as until from rate_limits where key = ${attemptsKey(email)}`;
  if (!row || row.count < WRONG_PASSWORDS.most || row.until <= now) return null;
  return Math.ceil((row.until - now) / 1000);
}

/** Counts a wrong password. */
export async function countWrongPassword({ sql, now }: Tx, email: string): Promise<void> {
  await sql`
    insert into rate_limits (id, key, count, last_request)
    values (${randomUUID()}, ${attemptsKey(email)}, 1, ${now + WRONG_PASSWORDS.windowMs}::bigint)
    on conflict (key) do update set
      count = case when rate_limits.last_request <= ${now}::bigint then 1 else rate_limits.count + 1 end,
      last_request = case when rate_limits.last_request <= ${now}::bigint then excluded.last_request
        else rate_limits.last_request end`;
}
