import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import type { Instant } from '../core/time.ts';
import { Pool } from './pool.ts';
import { Scope } from './scope.ts';
import { DatabaseUnavailable, type Trouble, unavailable, unavailableOr } from './unavailable.ts';

export { DatabaseUnavailable } from './unavailable.ts';

/**
 * postgres.js tagged templates and helpers, bound to one transaction. timestamptz reads as an Instant (a number), and a
 * number is taken wherever the server expects a timestamptz: `where due_at <= ${now}`; where nothing says so, cast:
 * `${now}::timestamptz`. int8 (also count(*)) reads as a number. A string given for json is JSON text.
 */
type TransactionSql = postgres.ISql & {
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
  /**
   * This transaction at a new reading of the clock: for whoever waited for a lock, and must not judge by an instant before
   * that of what its holder did.
   */
  later(): Promise<Tx>;
};

type TransactionOptions = {
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
  /** Named prepared statements (false): half the round trips, but not behind a pooler in transaction mode. */
  readonly prepare?: boolean;
};

const CLOSE_MS = 5000;
const IDLE_IN_TRANSACTION_MS = 10_000;
const READ_CLOCK = 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now';

/** Opens no connection yet: the first transaction does. */
export function connect(url: string, options: ConnectOptions = {}): Database {
  const pool = new Pool(url, options.max ?? 10, {
    onNotice: options.onNotice ?? (() => undefined),
    prepare: options.prepare ?? false,
  });
  const clock = options.now ?? 'database';
  return {
    transaction: (work, { statementTimeoutMs = 10_000, deadlineMs = 15_000 } = {}) =>
      withDeadline(deadlineMs, async (deadline) => {
        const scope = await begin(pool, { statementTimeoutMs, deadlineMs }, deadline.signal);
        // A server answers: what is not done in time takes it too long.
        deadline.trouble = 'slow';
        const now = clock === 'database' ? scope.now : clock();
        return runWork(scope, work, { now, clock }).finally(() => pool.giveBack(scope.connection));
      }),
    close: () => pool.close(CLOSE_MS),
  };
}

/** What it means if it passes now. */
type Deadline = { readonly signal: AbortSignal; trouble: Trouble };

async function withDeadline<T>(ms: number, run: (deadline: Deadline) => Promise<T>): Promise<T> {
  const passed = new AbortController();
  const deadline: Deadline = { signal: passed.signal, trouble: 'away' };
  const timer = setTimeout(() => {
    const { trouble } = deadline;
    passed.abort(new DatabaseUnavailable(`database unavailable: not done within ${ms} ms`, { trouble }));
  }, ms);
  try {
    return await run(deadline);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Begins a transaction. An idle connection may have been closed unnoticed by the other side (EVL-018): as nothing has
 * been done yet, another one is taken silently, until a new connection fails as well.
 */
async function begin(
  pool: Pool,
  limits: Required<TransactionOptions>,
  signal: AbortSignal,
): Promise<Scope & { now: Instant }> {
  for (let failures = 0; ; ) {
    const connection = await pool.borrow(signal).catch((error: unknown) => {
      throw unavailable(error);
    });
    const isFresh = connection.isFresh;
    const scope = new Scope(connection, signal);
    try {
      return Object.assign(scope, { now: await openTransaction(scope, limits) });
    } catch (error) {
      connection.destroy(unavailable(error));
      pool.giveBack(connection);
      pool.dropIdle();
      if (isFresh) failures += 1;
      if (signal.aborted || failures >= pool.hosts) throw unavailable(scope.lost ?? error);
    }
  }
}

/**
 * One round trip: begins, makes every setting local (behind a pooler the session is not ours), reads the clock.
 *
 * A process that is stopped between asking for the types of a statement's parameters and giving them is neither idle nor
 * in a statement that the server would cancel: its locks would stay. From PostgreSQL 17 on, the server ends what its client
 * gave up.
 */
async function openTransaction(
  scope: Scope,
  { statementTimeoutMs, deadlineMs }: Required<TransactionOptions>,
): Promise<Instant> {
  const results = (await scope.run(
    `begin isolation level read committed read write;
     set local TimeZone = 'UTC'; set local DateStyle = 'ISO';
     set local statement_timeout = ${Math.max(0, Math.round(statementTimeoutMs))};
     set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS};
     select case when current_setting('server_version_num')::int >= 170000
       then set_config('transaction_timeout', '${Math.max(1, Math.round(deadlineMs))}', true) end;
     ${READ_CLOCK}`,
  )) as unknown as { now?: Instant }[][];
  return toldTime(results.at(-1));
}

function toldTime(rows: readonly { readonly now?: Instant }[] | undefined): Instant {
  const now = rows?.[0]?.now;
  if (now === undefined) throw new Error('the database did not tell its time');
  return now;
}

type Time = { readonly now: Instant; readonly clock: NowSource };

async function runWork<T>(scope: Scope, work: (tx: Tx) => Promise<T>, time: Time): Promise<T> {
  let result: T;
  try {
    result = await Promise.race([work(createTx(scope, time)), scope.died]);
  } catch (error) {
    scope.end();
    // The answer matters only for the connection: one that cannot even roll back is not used again.
    await scope.run('rollback').catch((failure: unknown) => scope.connection.destroy(unavailable(failure)));
    throw scope.lost ?? unavailableOr(error);
  }
  scope.end();
  await commit(scope);
  return result;
}

async function commit(scope: Scope): Promise<void> {
  if (scope.lost) throw scope.lost;
  const reply = await scope.run('commit').catch((error: unknown) => {
    // A plain error is an answer: rolled back. After anything else nobody knows what the server still did.
    const isAnswer = (error as { severity?: string }).severity === 'ERROR';
    throw isAnswer ? unavailableOr(error) : unavailable(scope.lost ?? error, true);
  });
  // PostgreSQL answers ROLLBACK, not an error, when a statement failed and `work` went on regardless.
  if (reply.command !== 'COMMIT') throw unavailableOr(scope.failure ?? new Error('the server rolled back'));
}

function createTx(scope: Scope, { now, clock }: Time): Tx {
  const { sql } = scope.connection;
  const tag = (first: never, ...rest: never[]): object => scope.watch(sql(first, ...rest));
  const unsafe = (text: string, parameters: never[] = [], options: object = {}): object =>
    scope.watch(sql.unsafe(text, parameters, options));
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
        scope.failure = null;
        throw error;
      }
    },
    async later() {
      const at = clock === 'database' ? toldTime(await tx.sql.unsafe(READ_CLOCK)) : clock();
      // Not a copy: `db` is made only when it is asked for.
      return Object.create(tx, { now: { value: at, enumerable: true } });
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
