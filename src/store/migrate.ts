import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { CannotStart } from './cannot-start.ts';
import { describeUrl } from './connection.ts';
import { connect, type Database, DatabaseUnavailable, type Tx } from './database.ts';

/** The migrations of this package, whether it runs from src/ or dist/. */
export const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url));

/** Any number that nothing else on the server uses: "rollcall" on a telephone keypad. */
const LOCK = 76_552_255;
const PATIENCE = { statementTimeoutMs: 600_000, deadlineMs: 600_000 };

type Migration = { readonly tag: string; readonly when: number; readonly hash: string; readonly statements: string[] };

/**
 * Brings the database to the newest of drizzle's migrations in `folder`, all in one transaction under a lock that ends
 * with it (a session's lock would be stranded by a pooler, STO-006): replicas that start together wait for the first and
 * find nothing left to do. `seed` runs in the same transaction, under the same lock, every time. Throws CannotStart when
 * the database has migrations that this code does not know.
 */
export async function migrate(
  target: Database | string,
  folder: string,
  log: Logger,
  seed: (tx: Tx) => Promise<void> = async () => undefined,
): Promise<void> {
  const migrations = await readMigrations(folder);
  const database = typeof target === 'string' ? connect(target, { max: 1 }) : target;
  try {
    await database.transaction(async (tx) => {
      await tx.sql`select pg_advisory_xact_lock(${LOCK})`;
      const applied = await readApplied(tx);
      refuseNewer(applied, migrations);
      for (const migration of migrations) {
        if (applied.has(migration.when)) continue;
        log.info({ migration: migration.tag }, 'migrating the database');
        await apply(tx, migration);
      }
      await seed(tx);
    }, PATIENCE);
  } catch (error) {
    throw (await notAllowed(database, error)) ?? error;
  } finally {
    if (database !== target) await database.close();
  }
}

/** A role that may not do what the migrations do: one line with what helps, or null when that was not the reason. */
async function notAllowed(database: Database, error: unknown): Promise<CannotStart | null> {
  const denial = denialIn(error);
  if (denial === null) return null;
  const [row] = await database.transaction(
    (tx) => tx.sql<Who[]>`
      select current_user as name, quote_ident(current_user) as role, current_database() as "databaseName",
        quote_ident(current_database()) as database`,
  );
  if (!row) return null;
  const { name, role, databaseName, database: target } = row;
  const remedy = /^permission denied for (?:database|schema public)/.test(denial)
    ? `run "GRANT CREATE ON DATABASE ${target} TO ${role}; GRANT CREATE ON SCHEMA public TO ${role};" in it as its owner, or make the role the owner: "ALTER DATABASE ${target} OWNER TO ${role};"`
    : `what is there belongs to another role: use that role in DATABASE_URL, or hand it over with "REASSIGN OWNED BY that_role TO ${role};"`;
  return new CannotStart(
    `role "${name}" may not set up database "${databaseName}" (${denial}), and nothing was changed: ${remedy}`,
  );
}

type Who = { readonly name: string; readonly role: string; readonly databaseName: string; readonly database: string };

/** What PostgreSQL said when it refused for want of a privilege (42501); null for every other failure. */
function denialIn(error: unknown): string | null {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ((current as { code?: unknown }).code === '42501') return current.message.replace(/\s+/g, ' ');
  }
  return null;
}

/** The same table that drizzle's own migrator keeps, so that its tools still fit. */
async function readApplied(tx: Tx): Promise<ReadonlySet<number>> {
  const [known] = await tx.sql<{ name: string | null }[]>`
    select to_regclass('drizzle.__drizzle_migrations')::text as name`;
  if (!known?.name) {
    await tx.sql`create schema if not exists drizzle`;
    await tx.sql`create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
  }
  const rows = await tx.sql<{ created_at: number }[]>`select created_at from drizzle.__drizzle_migrations`;
  return new Set(rows.map((row) => row.created_at));
}

function refuseNewer(applied: ReadonlySet<number>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ when }) => when));
  const unknown = [...applied].filter((when) => !known.has(when));
  if (unknown.length === 0) return;
  const newest = migrations.at(-1)?.tag ?? 'none';
  throw new CannotStart(
    `the database was migrated by a newer Rollcall (${unknown.length} migrations that this version, whose newest is ${newest}, does not know): start the newer version, or restore a backup from before`,
  );
}

async function apply(tx: Tx, { tag, when, hash, statements }: Migration): Promise<void> {
  try {
    for (const statement of statements) await tx.sql.unsafe(statement);
  } catch (error) {
    if (error instanceof DatabaseUnavailable || !(error instanceof Error)) throw error;
    throw new Error(`migration ${tag} failed and nothing was changed: ${error.message}`, { cause: error });
  }
  await tx.sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${when})`;
}

async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const journal = await readFile(join(folder, 'meta', '_journal.json'), 'utf8').catch(() => {
    throw new CannotStart(`no migrations in ${folder} (meta/_journal.json is missing): install Rollcall again`);
  });
  const { entries } = JSON.parse(journal) as { entries: { tag: string; when: number }[] };
  return Promise.all(
    entries.map(async ({ tag, when }) => {
      const text = await readFile(join(folder, `${tag}.sql`), 'utf8');
      const hash = createHash('sha256').update(text).digest('hex');
      return {
        tag,
        when,
        hash,
        statements: text.split('--> statement-breakpoint').filter((part) => part.trim() !== ''),
      };
    }),
  );
}

const OLDEST_SERVER = 15;
const PROBE_MS = 5000;
const RETRY_MS = 1000;
const TELL_EVERY_MS = 5000;

/**
 * Waits until the database answers, and says every few seconds that it waits. What waiting does not mend (a wrong
 * password, an unknown database, a server too old) is CannotStart. Rejects with the signal's reason when it aborts.
 */
export async function waitForDatabase(url: string, log: Logger, signal: AbortSignal): Promise<void> {
  const database = connect(url, { max: 1 });
  try {
    for (let toldAt = Number.NEGATIVE_INFINITY; ; await systemClock.sleep(RETRY_MS, signal)) {
      signal.throwIfAborted();
      const failure = await probe(database, url);
      if (failure === null) return;
      if (isLasting(failure)) throw new CannotStart(`DATABASE_URL (${describeUrl(url)}): ${causeOf(failure)}`);
      if (systemClock.monotonic() - toldAt < TELL_EVERY_MS) continue;
      toldAt = systemClock.monotonic();
      log.warn(`waiting for the database at ${describeUrl(url)}: ${causeOf(failure)}`);
    }
  } finally {
    await database.close();
  }
}

async function probe(database: Database, url: string): Promise<DatabaseUnavailable | null> {
  try {
    const [row] = await database.transaction(
      (tx) => tx.sql<{ version: number }[]>`select current_setting('server_version_num')::int / 10000 as version`,
      { deadlineMs: PROBE_MS },
    );
    const version = row?.version ?? 0;
    if (version >= OLDEST_SERVER) return null;
    throw new CannotStart(
      `DATABASE_URL (${describeUrl(url)}): the server is PostgreSQL ${version}, and Rollcall needs ${OLDEST_SERVER} or later`,
    );
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return error;
    throw error;
  }
}

/** Wrong credentials, databases and certificates, also as PgBouncer words them (all of them are 08P01 there). */
function isLasting({ code, message }: DatabaseUnavailable): boolean {
  if (code === '08P01') return /no such|authentication failed|password|does not exist/i.test(message);
  return /^(?:28...|3D000|42501|SASL_SIGNATURE_MISMATCH|AUTH_TYPE_NOT_IMPLEMENTED|.*CERT.*)$/.test(code ?? '');
}

const causeOf = ({ message }: DatabaseUnavailable): string => message.replace(/^database unavailable: /, '');
