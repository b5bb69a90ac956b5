import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Database } from '../../src/store/database.ts';

/** Looks at the database's sessions, four times a second, through a connection of its own. */
export type SessionWatch = {
  /** Milliseconds: the oldest transaction seen, and the longest wait of a statement for a lock. */
  readonly longest: { transaction: number; lock: number };
  /** What the oldest transaction was at, and who waited longest for whom. */
  readonly oldest: () => string;
  /** A session that has been waiting for its client in the middle of a transaction for 150 ms: its process is stopped. */
  heldByStopped(): Promise<Held | null>;
  /** Sessions in the middle of a transaction for longer than a second. */
  left(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
};

/** `idle in transaction`, or `active`: in the middle of one statement, between asking for its parameters and giving them. */
export type Held = { readonly pid: number; readonly state: string; readonly query: string };

type Session = Held & { readonly age: number; readonly lockAge: number; readonly blockers: string | null };

export function startSessionWatch(url: string): SessionWatch {
  const database = connect(url, { max: 2 });
  const longest = { transaction: 0, lock: 0 };
  let oldest = '';
  let lock = '';
  const stopping = new AbortController();
  const look = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // A database under load may not answer in time; what lasts is seen the next time.
      const sessions = await readSessions(database).catch(() => []);
      for (const { age, lockAge, state, query, blockers } of sessions) {
        if (age > longest.transaction) oldest = `${state}: ${brief(query)}`;
        if (lockAge > longest.lock) lock = `${brief(query)} waited for ${blockers}`;
        longest.transaction = Math.max(longest.transaction, age);
        longest.lock = Math.max(longest.lock, lockAge);
      }
      await sleep(250);
    }
  };
  const looking = look();
  return {
    longest,
    oldest: () => `${oldest}; ${lock}`,
    heldByStopped: () =>
      database.transaction(async ({ sql }) => {
        const [held] = await sql<Held[]>`
        select pid, state, query from pg_stat_activity
        where ${OURS(sql)} and wait_event = 'ClientRead' and state in ('active', 'idle in transaction')
          and clock_timestamp() - state_change > interval '150 ms'
        limit 1`;
        return held ?? null;
      }),
    left: () =>
      database.transaction(
        ({ sql }) => sql`
      select pid, state, query, xact_start from pg_stat_activity
      where ${OURS(sql)} and clock_timestamp() - xact_start > interval '1 s'`,
      ),
    async stop() {
      stopping.abort();
      await looking;
      await database.close();
    },
  };
}

const brief = (query: string): string => query.replace(/\s+/g, ' ').trim().slice(0, 80);

type Sql = Parameters<Parameters<Database['transaction']>[0]>[0]['sql'];

/** Not this connection itself, nor the server's own workers. */
const OURS = (sql: Sql) => sql`
  datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null`;

function readSessions(database: Database): Promise<readonly Session[]> {
  const age = (sql: Sql, column: 'xact_start' | 'query_start') =>
    sql`(extract(epoch from clock_timestamp() - ${sql.unsafe(column)}) * 1000)::float8`;
  return database.transaction(
    ({ sql }) => sql<Session[]>`
    select pid, state, query, ${age(sql, 'xact_start')} as age,
      case when wait_event_type = 'Lock' then (
        select string_agg(b.state || ': ' || left(regexp_replace(b.query, '\\s+', ' ', 'g'), 80), '; ')
        from pg_stat_activity b where b.pid = any(pg_blocking_pids(pg_stat_activity.pid))) end as blockers,
      case when wait_event_type = 'Lock' then ${age(sql, 'query_start')} else 0 end as "lockAge"
    from pg_stat_activity where ${OURS(sql)}`,
  );
}
