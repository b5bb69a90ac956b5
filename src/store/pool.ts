import { type Address, addressesOf, Connection, type DriverChoices } from './connection.ts';

/** Firewalls forget silent connections, so the pool closes them first (EVL-018). */
const IDLE_MS = 30_000;
const LIFETIME_MS = 30 * 60_000;

type Waiter = { readonly take: (connection: Connection) => void; readonly refuse: (reason: Error) => void };

/** Connections kept open for the next transaction; each is lent to one transaction at a time. */
export class Pool {
  readonly #url: string;
  readonly #max: number;
  readonly #driver: DriverChoices;
  readonly #addresses: readonly Address[];
  readonly #open = new Set<Connection>();
  readonly #idle = new Map<Connection, NodeJS.Timeout>();
  readonly #waiters = new Set<Waiter>();
  readonly #goodbyes = new Set<Promise<void>>();
  #opened = 0;
  #onDrained: (() => void) | null = null;

  constructor(url: string, max: number, driver: DriverChoices) {
    this.#url = url;
    this.#max = max;
    this.#driver = driver;
    this.#addresses = addressesOf(url);
  }

  /** How many different hosts the URL names. */
  get hosts(): number {
    return this.#addresses.length;
  }

  /** Lends a connection: an idle one, else a new one, else the first that comes back. Waits until `signal` aborts. */
  async borrow(signal: AbortSignal): Promise<Connection> {
    if (this.#onDrained) throw new Error('the database is closed');
    const idle = [...this.#idle.keys()].at(-1);
    if (idle) {
      clearTimeout(this.#idle.get(idle));
      this.#idle.delete(idle);
      return idle;
    }
    return this.#open.size < this.#max ? this.#create() : this.#wait(signal);
  }

  /** Takes a connection back after its transaction. A closed one is forgotten. */
  giveBack(connection: Connection): void {
    const [next] = this.#waiters;
    const isOld = performance.now() - connection.openedAt > LIFETIME_MS;
    if (connection.isClosed) this.#forget(connection);
    else if (this.#onDrained || isOld) this.#retire(connection);
    else if (next) next.take(connection);
    else {
      connection.onClose(() => this.#forget(connection));
      this.#idle.set(connection, setTimeout(() => this.#retire(connection), IDLE_MS).unref());
    }
  }

  /** Closes what is idle: one connection that stopped answering puts the others in doubt. */
  dropIdle(): void {
    for (const connection of [...this.#idle.keys()]) this.#retire(connection);
  }

  /** Refuses new borrowers, lets those at work finish, and closes what is left after `ms`. */
  async close(ms: number): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    for (const { refuse } of [...this.#waiters]) refuse(new Error('the database is closed'));
    this.dropIdle();
    if (this.#open.size === 0) this.#onDrained?.();
    const timer = setTimeout(() => {
      for (const connection of [...this.#open]) connection.destroy(new Error('the database is closed'));
      this.#onDrained?.();
    }, ms);
    await drained;
    clearTimeout(timer);
    // The server knows that they are gone when this returns: a database can be dropped, a server stopped.
    await Promise.all(this.#goodbyes);
  }

  #create(): Connection {
    // Another host with every new connection, so that a dead one is passed over.
    const address = this.#addresses[this.#opened % this.#addresses.length];
    if (!address) throw new Error('the database URL names no host');
    this.#opened += 1;
    const connection = new Connection(this.#url, address, this.#driver);
    this.#open.add(connection);
    return connection;
  }

  #wait(signal: AbortSignal): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => waiter.refuse(new Error('no free connection'));
      const waiter: Waiter = {
        take: (connection) => {
          leave();
          resolve(connection);
        },
        refuse: (reason) => {
          leave();
          reject(reason);
        },
      };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', giveUp);
    });
  }

  #forget(connection: Connection): void {
    clearTimeout(this.#idle.get(connection));
    this.#idle.delete(connection);
    this.#open.delete(connection);
    connection.onClose(null);
    const [next] = this.#waiters;
    if (next && this.#open.size < this.#max) next.take(this.#create());
    if (this.#open.size === 0) this.#onDrained?.();
  }

  #retire(connection: Connection): void {
    this.#forget(connection);
    const goodbye = connection.end().finally(() => this.#goodbyes.delete(goodbye));
    this.#goodbyes.add(goodbye);
  }
}
