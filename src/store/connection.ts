import { connect as dial, type Socket } from 'node:net';
import postgres from 'postgres';
import { arrayTypeOf, valueTypes } from './values.ts';

/** One statement on its way, as postgres.js sees it: `handler` sends it, `reject` settles it. */
type Statement = Promise<unknown> & { handler: (statement: Statement) => void; reject: (reason: unknown) => void };

/** One host, or one socket in the file system. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

/** The longest a connection may take to be opened and authenticated. */
const CONNECT_SECONDS = 10;

/** Where a database URL leads: several hosts are tried in turn. Throws on a URL that postgres.js cannot read. */
export function addressesOf(url: string): readonly Address[] {
  const { host, port, path } = postgres(url, { max: 0 }).options as unknown as OpenOptions;
  if (path) return [{ path }];
  return host.map((name, i) => ({ host: name, port: port[i] ?? 5432 }));
}

/** A database URL for people: `user@host:port/database`, without the password. */
export function describeUrl(url: string): string {
  const { user, database } = postgres(url, { max: 0 }).options;
  const hosts = addressesOf(url).map((address) =>
    'path' in address ? address.path : `${address.host}:${address.port}`,
  );
  return `${user}@${hosts.join(',')}/${database}`;
}

/**
 * One connection to PostgreSQL, used by one transaction at a time and never reopened: once closed it stays closed, and a
 * statement sent to it fails. This is what shuts the leak of postgres.js (STO-001): there, a closed connection is opened
 * again in place, and late statements of the transaction that died with it run inside the next one.
 */
export class Connection {
  readonly sql: postgres.Sql;
  readonly openedAt = performance.now();
  #socket: Socket | null = null;
  #closed: Error | null = null;
  #listener: ((reason: Error) => void) | null = null;

  /** Opens nothing yet: its first statement does. */
  constructor(url: string, address: Address, { onNotice, prepare }: DriverChoices) {
    this.sql = postgres(url, {
      ...address,
      ...DRIVER_OPTIONS,
      prepare,
      onnotice: ({ message }: { message?: string }) => onNotice(String(message)),
      onclose: () => this.destroy(new Error('the server closed the connection')),
      socket: (options: OpenOptions) => this.#open(options),
    } as never) as postgres.Sql;
    Object.assign(
      (this.sql.options as unknown as { shared: { typeArrayMap: object } }).shared.typeArrayMap,
      arrayTypeOf,
    );
  }

  /** True once the socket is gone, by whichever side. */
  get isClosed(): boolean {
    return this.#closed !== null;
  }

  /** True until the first statement opens it. */
  get isFresh(): boolean {
    return this.#socket === null;
  }

  /** Names who is told, once and with the reason, when the connection closes. */
  onClose(listener: ((reason: Error) => void) | null): void {
    this.#listener = listener;
    if (this.#closed) listener?.(this.#closed);
  }

  /** Closes at once, whatever is under way; works on a connection whose other end no longer answers. */
  destroy(reason: Error): void {
    if (this.#closed) return;
    this.#closed = reason;
    // Only the socket: asked to end as well, postgres.js would write to it, and with TLS that error ends the process.
    this.#socket?.destroy();
    this.#listener?.(reason);
  }

  /** Says goodbye to the server and closes; for idle connections. */
  async end(): Promise<void> {
    await this.sql.end({ timeout: 1 }).catch(() => undefined);
    this.destroy(new Error('the connection has been ended'));
  }

  async #open({ host, port, path }: OpenOptions): Promise<Socket> {
    if (this.#socket || this.#closed) throw this.#closed ?? new Error('the connection is closed');
    const socket = path ? dial({ path }) : dial({ host: host[0] ?? 'localhost', port: port[0] ?? 5432 });
    this.#socket = socket;
    let reason = new Error('the connection was closed');
    // Stays: an error between here and the moment at which postgres.js listens itself must not end the process.
    socket.on('error', (error) => {
      reason = error;
    });
    socket.once('close', () => this.destroy(reason));
    await connected(socket);
    socket.setNoDelay(true);
    // postgres.js reads it as the server name for TLS.
    return Object.assign(socket, { host: host[0] });
  }
}

/** Lets a statement be sent only while `refusal` has nothing against it; asked again at the moment of sending. */
export function guarded<S extends object>(statement: S, refusal: () => Error | null, sent: (statement: S) => void): S {
  const inner = statement as unknown as Statement;
  // Fragments (`sql` inside `sql`), and helpers such as sql(rows), are never sent themselves.
  if (typeof inner.handler !== 'function') return statement;
  const send = inner.handler;
  inner.handler = (self) => {
    const reason = refusal();
    if (reason) return self.reject(reason);
    sent(statement);
    send(self);
  };
  return statement;
}

/** Settles a statement from outside, when its connection is given up before an answer came. */
export function reject(statement: object, reason: Error): void {
  (statement as Statement).reject(reason);
}

/** `prepare`: named prepared statements, half the round trips; never behind a pooler in transaction mode (STO-005). */
export type DriverChoices = { readonly onNotice: (message: string) => void; readonly prepare: boolean };

type OpenOptions = { readonly host: string[]; readonly port: number[]; readonly path?: string | false };

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, refuse) => {
    const tooLate = (): void => {
      socket.destroy(
        Object.assign(new Error(`no connection within ${CONNECT_SECONDS} s`), { code: 'CONNECT_TIMEOUT' }),
      );
    };
    socket.setTimeout(CONNECT_SECONDS * 1000, tooLate);
    socket.once('error', refuse);
    socket.once('close', () => refuse(new Error('the connection was given up')));
    socket.once('connect', () => {
      socket.setTimeout(0).removeListener('timeout', tooLate);
      resolve();
    });
  });
}

const DRIVER_OPTIONS = {
  max: 1,
  // PgBouncer in transaction mode: no settings at connect (STO-005).
  connection: { application_name: 'rollcall' },
  connect_timeout: CONNECT_SECONDS,
  // postgres.js ends a connection in the middle of a transaction when these run out; the pool does both itself.
  idle_timeout: 0,
  max_lifetime: null,
  // Asking the server for its array types at connect, postgres.js ends the process when the connection breaks just then
  // (STO-014): ours are a fixed list.
  fetch_types: false,
  types: valueTypes,
};
