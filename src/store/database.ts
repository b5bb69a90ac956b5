import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import type { Instant } from '../core/time.ts';
import { type Connection, guarded, reject } from './connection.ts';
import { createPool, type Pool } from './pool.ts';
import { DatabaseUnavailable, unavailable, unavailableOr } from './unavailable.ts';

export { DatabaseUnavailable } from './unavailable.ts';

/**
 * postgres.js tagged templates and helpers, bound to one transaction. timestamptz reads as an Instant (a number), and a
 * number is taken wherever the server expects a timestamptz: `where due_at <= ${now}`; where nothing says so, cast:
 * `${now}::timestamptz`. int8 (also count(*)) reads as a number. A string given for json is JSON text.
 */
export type TransactionSql = postgres.ISql & {
  readonly notify: never;
  readonly file: never;
  readonly types: never;
};

/** One transaction. All of it is refused once the transaction has ended, whichever way. */
export type Tx = {
  /** The instant of this transaction on the database's clock, read once as it begins. */
  readonly now: Instant;
  readonly sql: TransactionSql;
  /** drizzle over the same connection. */
  readonly db: PostgresJsDatabase;
  /** Runs `work` so that its failure undoes only its own writes, and is thrown. One at a time. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
};

export type TransactionOptions = {
  /** The longest one statement may run, on the server (10 s). */
  readonly statementTimeoutMs?: number;
  /** The longest the whole may take, waiting for a connection included (15 s). */
  readonly deadlineMs?: number;
};

export type Database = {
  /**
   * Runs `work` in one transaction: all of it is committed, or nothing. Inside, await nothing but SQL. `work` runs at
   * most once; trying again is the caller's decision. Throws DatabaseUnavailable when the database is away, the
   * connection is lost or the deadline passes, and what `work` threw otherwise.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Refuses new transactions, lets running ones end, and is done within 5 s. */
  close(): Promise<void>;
};

/** Where a transaction's instant comes from; tests pass a manual clock. */
export type NowSource = 'database' | (() => Instant);

export type ConnectOptions = {
  readonly now?: NowSource;
  /** Connections at most (10). */
  readonly max?: number;
  readonly onNotice?: (message: string) => void;
};

const CLOSE_MS = 5000;
const IDLE_IN_TRANSACTION_MS = 10_000;

/** Opens no connection yet: the first transaction does. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const pool = createPool(url, options.max ?? 10, options.onNotice ?? (() => undefined));
  const clock = options.now ?? 'database';
  return {
    transaction: (work, { statementTimeoutMs = 10_000, deadlineMs = 15_000 } = {}) =>
      withDeadline(deadlineMs, async (signal) => {
        const scope = await begin(pool, statementTimeoutMs, signal);
        const now = clock === 'database' ? scope.now : clock();
        return runWork(scope, work, now).finally(() => pool.giveBack(scope.connection));
      }),
    close: () => pool.close(CLOSE_MS),
  };
}

async function withDeadline<T>(ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(
    () => deadline.abort(new DatabaseUnavailable(`no answer from the database in ${ms} ms`)),
    ms,
  );
  try {
    return await run(deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Begins a transaction. An idle connection may have been closed unnoticed by the other side (EVL-018): as nothing has
 * been done yet, another one is taken silently, until a new connection fails as well.
 */
async function begin(pool: Pool, statementTimeoutMs: number, signal: AbortSignal): Promise<Scope & { now: Instant }> {
  for (let failures = 0; ; ) {
    const connection = await pool.borrow(signal).catch((error: unknown) => {
      throw unavailable(error);
    });
    const isFresh = connection.isFresh();
    const scope = createScope(connection, signal);
    try {
      return Object.assign(scope, { now: await openTransaction(scope, statementTimeoutMs) });
    } catch (error) {
      connection.destroy(unavailable(error));
      pool.giveBack(connection);
      pool.dropIdle();
      if (isFresh) failures += 1;
      if (signal.aborted || failures >= pool.hosts) throw unavailable(scope.lost() ?? error);
    }
  }
}

/** One round trip: begins, makes every setting local (behind a pooler the session is not ours), reads the clock. */
async function openTransaction(scope: Scope, statementTimeoutMs: number): Promise<Instant> {
  const results = (await scope.run(
    `begin isolation level read committed read write;
     set local TimeZone = 'UTC'; set local DateStyle = 'ISO';
     set local statement_timeout = ${Math.max(0, Math.round(statementTimeoutMs))};
     set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS};
     select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`,
  )) as unknown as { now?: Instant }[][];
  const now = results.at(-1)?.[0]?.now;
  if (now === undefined) throw new Error('the database did not tell its time');
  return now;
}

async function runWork<T>(scope: Scope, work: (tx: Tx) => Promise<T>, now: Instant): Promise<T> {
  let result: T;
  try {
    result = await Promise.race([work(createTx(scope, now)), scope.died]);
  } catch (error) {
    scope.end();
    // The answer matters only for the connection: one that cannot even roll back is not used again.
    await scope.run('rollback').catch((failure: unknown) => scope.connection.destroy(unavailable(failure)));
    throw scope.lost() ?? unavailableOr(error);
  }
  scope.end();
  await commit(scope);
  return result;
}

async function commit(scope: Scope): Promise<void> {
  try {
    const { command } = await scope.run('commit');
    // PostgreSQL answers ROLLBACK, not an error, when a statement failed and `work` went on regardless.
    if (command !== 'COMMIT') throw scope.failure() ?? new Error('the server rolled the transaction back');
  } catch (error) {
    const lost = scope.lost();
    if (lost) throw unavailable(lost, true);
    throw unavailableOr(error);
  }
}

/** What is known about the transaction on one connection. */
type Scope = {
  readonly connection: Connection;
  /** Rejects when the connection is lost or the deadline passes. */
  readonly died: Promise<never>;
  /** Why the transaction is lost, or null while it is not. */
  lost(): DatabaseUnavailable | null;
  /** The first statement error since the beginning or the last rollback to a savepoint. */
  failure(): unknown;
  forgiveFailure(): void;
  /** From here on only run() sends anything. */
  end(): void;
  /** Makes a statement of `work` subject to this transaction. */
  watch<S extends object>(statement: S): S;
  /** Sends a statement of the transaction function itself. */
  run(statement: string): Promise<{ readonly command: string }>;
};

function createScope(connection: Connection, signal: AbortSignal): Scope {
  const pending = new Set<object>();
  let lost: DatabaseUnavailable | null = null;
  let failure: unknown = null;
  let hasEnded = false;
  let die: (reason: Error) => void = () => undefined;
  const died = new Promise<never>((_, refuse) => {
    die = refuse;
  });
  died.catch(() => undefined);

  const lose = (reason: Error): void => {
    lost = unavailable(reason);
    die(lost);
    for (const statement of pending) reject(statement, lost);
  };
  const abort = (): void => connection.destroy(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  connection.onClose(lose);

  const sent = (statement: object): void => {
    pending.add(statement);
    // Handled here too: a statement nobody awaits still fails the commit, not the process.
    (statement as Promise<unknown>).then(
      () => pending.delete(statement),
      (error: unknown) => {
        pending.delete(statement);
        failure ??= error;
      },
    );
  };
  const refusal = (): Error | null => lost ?? (hasEnded ? new DatabaseUnavailable('the transaction has ended') : null);

  return {
    connection,
    died,
    lost: () => lost,
    failure: () => failure,
    forgiveFailure: () => {
      failure = null;
    },
    end: () => {
      hasEnded = true;
    },
    watch: (statement) => guarded(statement, refusal, sent),
    run: async (statement) => guarded(connection.sql.unsafe(statement), () => lost, sent),
  };
}

function createTx(scope: Scope, now: Instant): Tx {
  const { sql } = scope.connection;
  const tag = (first: never, ...rest: never[]): object => scope.watch(sql(first, ...rest));
  const unsafe = (text: string, parameters: never[] = [], options: object = {}): object =>
    scope.watch(sql.unsafe(text, parameters, { ...options, prepare: false }));
  const { json, array, typed } = sql;
  let db: PostgresJsDatabase | null = null;
  let savepoints = 0;
  const tx: Tx = {
    now,
    sql: Object.assign(tag, { json, array, typed, unsafe }) as unknown as TransactionSql,
    get db() {
      db ??= drizzle({ client: drizzleClient(unsafe) });
      return db;
    },
    async savepoint(work) {
      savepoints += 1;
      const name = `s${savepoints}`;
      await tx.sql.unsafe(`savepoint ${name}`);
      try {
        const result = await work();
        await tx.sql.unsafe(`release savepoint ${name}`);
        return result;
      } catch (error) {
        await tx.sql.unsafe(`rollback to savepoint ${name}`);
        scope.forgiveFailure();
        throw error;
      }
    },
  };
  return tx;
}

/** drizzle changes the parsers of the client it is given, so it gets one with nothing but the guarded `unsafe`. */
function drizzleClient(unsafe: (text: string, parameters?: never[], options?: object) => object): postgres.Sql {
  const nested = (): never => {
    throw new Error('transactions do not nest: use tx.savepoint()');
  };
  return { options: { parsers: {}, serializers: {} }, unsafe, begin: nested, savepoint: nested } as never;
}
