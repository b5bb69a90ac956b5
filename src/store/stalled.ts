import type { Tx } from './database.ts';

/** As long as a session may be idle in a transaction. */
const STALLED_MS = 10_000;

/**
 * Ends our sessions that wait, in the middle of a statement of a transaction, for a client that has said nothing for
 * `forMs`; returns how many. Asking for the types of a statement's parameters and giving them takes two messages. A process
 * that is stopped between the two is neither idle nor in a statement that the server would cancel, and keeps its locks.
 */
export async function endStalledSessions({ sql }: Tx, forMs = STALLED_MS): Promise<number> {
  const ended = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name = 'rollcall'
      and pid <> pg_backend_pid() and xact_start is not null and state = 'active' and wait_event = 'ClientRead'
      and clock_timestamp() - state_change > make_interval(secs => ${forMs / 1000}::float8)`;
  return ended.length;
}
