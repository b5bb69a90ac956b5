import { connect as dial, type Socket } from 'node:net';
import postgres from 'postgres';
import type { Instant } from '../core/time.ts';

/** One statement on its way, as postgres.js sees it: `handler` sends it, `reject` settles it. */
type Statement = Promise<unknown> & { handler: (statement: Statement) => void; reject: (reason: unknown) => void };

/**
 * One connection to PostgreSQL, used by one transaction at a time and never reopened: once closed it stays closed, and a
 * statement sent to it fails. This is what shuts the leak of postgres.js (STO-001): there, a closed connection is opened
 * again in place, and late statements of the transaction that died with it run inside the next one.
 */
export type Connection = {
  readonly sql: postgres.Sql<{}>;
  readonly openedAt: number;
  /** True once the socket is gone, by whichever side. */
  readonly isClosed: () => boolean;
  /** Called once, with the reason, when the connection closes. */
  onClose(listener: ((reason: Error) => void) | null): void;
  /** Closes at once, whatever is under way; works on a connection whose other end no longer answers. */
  destroy(reason: Error): void;
  /** Says goodbye to the server and closes; for idle connections. */
  end(): Promise<void>;
};

/** The longest a connection may take to be opened and authenticated. */
const CONNECT_SECONDS = 10;

/** Where a database URL leads: several hosts are tried in turn. Throws on a URL that postgres.js cannot read. */
export function addressesOf(url: string): readonly postgres.Options<{}>[] {
  const { host, port, path } = postgres(url, { max: 0 }).options as unknown as {
    host: string[];
    port: number[];
    path: string | false;
  };
  if (path) return [{ path }];
  return host.map((name, i) => ({ host: name, port: port[i] ?? 5432 }));
}

/** Prepares a connection; it is opened by its first statement. */
export function createConnection(
  url: string,
  address: postgres.Options<{}>,
  onNotice: (message: string) => void,
): Connection {
  let socket: Socket | null = null;
  let closed: Error | null = null;
  let listener: ((reason: Error) => void) | null = null;

  const close = (reason: Error): void => {
    if (closed) return;
    closed = reason;
    socket?.destroy();
    listener?.(reason);
    // Rejects what postgres.js still holds back; the socket is gone, so there is nothing to wait for.
    void sql.end({ timeout: 0 }).catch(() => undefined);
  };

  const openSocket = async ({ host, port, path }: OpenOptions): Promise<Socket> => {
    if (socket || closed) throw closed ?? new Error('the connection is closed');
    socket = path ? dial({ path }) : dial({ host: host[0] ?? 'localhost', port: port[0] ?? 5432 });
    await connected(socket);
    // postgres.js reads it as the server name for TLS.
    return Object.assign(socket, { host: host[0], noDelay: socket.setNoDelay(true) });
  };

  const sql = postgres(url, {
    ...address,
    ...DRIVER_OPTIONS,
    onnotice: ({ message }) => onNotice(String(message)),
    onclose: () => close(new Error('the server closed the connection')),
    socket: openSocket,
  } as postgres.Options<{}>) as postgres.Sql<{}>;

  return {
    sql,
    openedAt: performance.now(),
    isClosed: () => closed !== null,
    onClose: (next) => {
      listener = next;
      if (closed) next?.(closed);
    },
    destroy: close,
    end: async () => {
      await sql.end({ timeout: 1 }).catch(() => undefined);
      close(new Error('the connection has been ended'));
    },
  };
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

type OpenOptions = { readonly host: string[]; readonly port: number[]; readonly path?: string | false };

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, refuse) => {
    socket.setTimeout(CONNECT_SECONDS * 1000, () => {
      socket.destroy(Object.assign(new Error('no connection within 10 s'), { code: 'CONNECT_TIMEOUT' }));
    });
    const failed = (error?: Error): void => refuse(error ?? new Error('the connection was given up'));
    socket.once('error', failed);
    socket.once('close', () => failed());
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners();
      resolve();
    });
  });
}

/** timestamptz from and to an Instant. Text parameters pass as they are; a Date never does. */
const instantType = {
  to: 1184,
  from: [1184],
  serialize: (value: unknown): string => {
    if (typeof value === 'string') return value;
    if (value === Number.POSITIVE_INFINITY) return 'infinity';
    if (value === Number.NEGATIVE_INFINITY) return '-infinity';
    if (typeof value !== 'number' || Number.isNaN(value)) throw new TypeError(`not an Instant: ${String(value)}`);
    return new Date(value).toISOString();
  },
  parse: parseTimestamp,
};

/** Reads PostgreSQL's ISO output of timestamptz, whatever its offset; microseconds are cut. */
export function parseTimestamp(text: string): Instant {
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  if (text === '-infinity') return Number.NEGATIVE_INFINITY;
  const match = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d+))?([+-]\d{2})(?::?(\d{2}))?(?::?(\d{2}))?$/.exec(text);
  if (!match) throw new RangeError(`not a timestamp of the years 0 to 9999: ${text}`);
  const [, date, time, fraction = '', hours = '+00', minutes = '00', seconds = '00'] = match;
  const at = Date.parse(`${date}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}${hours}:${minutes}`);
  return at - (hours.startsWith('-') ? -1 : 1) * Number(seconds) * 1000;
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for a number`);
  return value;
}

/** drizzle hands JSON columns over as text already; raw queries as values. */
const jsonText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const DRIVER_OPTIONS = {
  max: 1,
  // PgBouncer in transaction mode: no prepared statements, no settings at connect (STO-005).
  prepare: false,
  connection: { application_name: 'rollcall' },
  connect_timeout: CONNECT_SECONDS,
  // postgres.js ends a connection in the middle of a transaction when these run out; the pool does both itself.
  idle_timeout: 0,
  max_lifetime: null,
  types: {
    instant: instantType,
    int8: { to: 20, from: [20], serialize: String, parse: parseInt8 },
    // Dates and timestamps without zone stay text: parsed they would depend on the zone of this machine.
    plain: { to: 1082, from: [1082, 1114], serialize: String, parse: String },
    json: { to: 114, from: [114, 3802], serialize: jsonText, parse: (text: string): unknown => JSON.parse(text) },
  },
};
