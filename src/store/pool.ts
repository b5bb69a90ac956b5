import { type Address, addressesOf, type Connection, createConnection } from './connection.ts';

/** Connections kept open for the next transaction; each is lent to one transaction at a time. */
export type Pool = {
  /** Lends a connection: an idle one, else a new one, else the first that comes back. Waits until `signal` aborts. */
  borrow(signal: AbortSignal): Promise<Connection>;
  /** Takes a connection back after a transaction that ended cleanly. A closed one is forgotten. */
  giveBack(connection: Connection): void;
  /** Closes what is idle: one connection that stopped answering puts the others in doubt. */
  dropIdle(): void;
  /** How many different hosts the URL names. */
  readonly hosts: number;
  /** Refuses new borrowers, lets those at work finish, and closes what is left after `ms`. */
  close(ms: number): Promise<void>;
};

/** Firewalls forget silent connections, so the pool closes them first (EVL-018). */
const IDLE_MS = 30_000;
const LIFETIME_MS = 30 * 60_000;

type Waiter = { readonly take: (connection: Connection) => void; readonly refuse: (reason: Error) => void };

export function createPool(url: string, max: number, onNotice: (message: string) => void): Pool {
  const addresses = addressesOf(url);
  const open = new Set<Connection>();
  const idle = new Map<Connection, NodeJS.Timeout>();
  const waiters = new Set<Waiter>();
  const goodbyes = new Set<Promise<void>>();
  let opened = 0;
  let closing: (() => void) | null = null;

  const create = (): Connection => {
    // Another host with every new connection, so that a dead one is passed over.
    const address = addresses[opened++ % addresses.length] as Address;
    const connection = createConnection(url, address, onNotice);
    open.add(connection);
    return connection;
  };

  const forget = (connection: Connection): void => {
    clearTimeout(idle.get(connection));
    idle.delete(connection);
    open.delete(connection);
    connection.onClose(null);
    const [next] = waiters;
    if (next && open.size < max) next.take(create());
    if (open.size === 0) closing?.();
  };

  const retire = (connection: Connection): void => {
    forget(connection);
    const goodbye = connection.end().finally(() => goodbyes.delete(goodbye));
    goodbyes.add(goodbye);
  };

  return {
    hosts: addresses.length,
    borrow(signal) {
      if (closing) return Promise.reject(new Error('the database is closed'));
      const connection = [...idle.keys()].at(-1);
      if (connection) {
        clearTimeout(idle.get(connection));
        idle.delete(connection);
        return Promise.resolve(connection);
      }
      if (open.size < max) return Promise.resolve(create());
      return waitForTurn(waiters, signal);
    },
    giveBack(connection) {
      if (connection.isClosed()) return forget(connection);
      if (closing || performance.now() - connection.openedAt > LIFETIME_MS) return retire(connection);
      const [next] = waiters;
      if (next) return next.take(connection);
      connection.onClose(() => forget(connection));
      idle.set(connection, setTimeout(() => retire(connection), IDLE_MS).unref());
    },
    dropIdle() {
      for (const connection of [...idle.keys()]) retire(connection);
    },
    async close(ms) {
      const drained = new Promise<void>((resolve) => {
        closing = resolve;
      });
      for (const { refuse } of [...waiters]) refuse(new Error('the database is closed'));
      for (const connection of [...idle.keys()]) retire(connection);
      if (open.size === 0) closing?.();
      const timer = setTimeout(() => {
        for (const connection of [...open]) connection.destroy(new Error('the database is closed'));
        closing?.();
      }, ms);
      await drained;
      clearTimeout(timer);
      // The server knows that they are gone when this returns: a database can be dropped, a server stopped.
      await Promise.all(goodbyes);
    },
  };
}

function waitForTurn(waiters: Set<Waiter>, signal: AbortSignal): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiters.delete(waiter);
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
    waiters.add(waiter);
    signal.addEventListener('abort', giveUp);
  });
}
