import type postgres from 'postgres';
import { type Connection, guarded, reject } from './connection.ts';
import { DatabaseUnavailable, unavailable } from './unavailable.ts';

/** The state of one transaction on one connection, and the gate that each of its statements passes. */
export class Scope {
  readonly connection: Connection;
  /** Rejects when the connection is lost or `signal` aborts, which gives it up. */
  readonly died: Promise<never>;
  /** Why the transaction is lost, or null while it is not. */
  lost: DatabaseUnavailable | null = null;
  /** The first statement error since the beginning, or since the last rollback to a savepoint. */
  failure: unknown = null;
  readonly #pending = new Set<object>();
  #hasEnded = false;

  constructor(connection: Connection, signal: AbortSignal) {
    this.connection = connection;
    let die: (reason: Error) => void = () => undefined;
    this.died = new Promise<never>((_, refuse) => {
      die = refuse;
    });
    this.died.catch(() => undefined);
    connection.onClose((reason) => {
      this.lost = unavailable(reason);
      die(this.lost);
      for (const statement of this.#pending) reject(statement, this.lost);
    });
    const giveUp = (): void => connection.destroy(signal.reason as Error);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
  }

  /** From here on the work's statements are refused; only run() sends anything. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Makes a statement of the work subject to this transaction: asked again at the moment at which it is sent. */
  watch<S extends object>(statement: S): S {
    const refusal = (): Error | null =>
      this.lost ?? (this.#hasEnded ? new DatabaseUnavailable('the transaction has ended') : null);
    return guarded(statement, refusal, (sent) => this.#follow(sent));
  }

  /** Sends a statement of the transaction function itself. */
  async run<T extends object[] = object[]>(statement: string): Promise<postgres.RowList<T>> {
    const query = this.connection.sql.unsafe<T>(statement);
    return guarded(
      query,
      () => this.lost,
      (sent) => this.#follow(sent),
    );
  }

  #follow(statement: object): void {
    this.#pending.add(statement);
    // A failure is handled here too: a statement that nobody awaits fails the commit, not the process.
    (statement as Promise<unknown>).then(
      () => this.#pending.delete(statement),
      (error: unknown) => {
        this.#pending.delete(statement);
        this.failure ??= error;
      },
    );
  }
}
