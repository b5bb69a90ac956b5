/** `away`: no server answers. `slow`: it does, and this took it too long. `behind`: the job has to be judged first. */
export type Trouble = 'away' | 'slow' | 'behind';

/**
 * The database could not be reached, or gave up in the middle: nothing is wrong with the request, and trying again later
 * is right (HTTP 503 with Retry-After). When `mayHaveCommitted` is set, the connection broke during the commit and
 * nobody can say on which side of it; otherwise nothing was written.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly mayHaveCommitted: boolean;
  /** The SQLSTATE or socket error code behind it, where there is one. */
  readonly code: string | null;
  /** What a caller is told. */
  readonly trouble: Trouble;

  constructor(message: string, options: { cause?: unknown; mayHaveCommitted?: boolean; trouble?: Trouble } = {}) {
    super(message, { cause: options.cause });
    this.mayHaveCommitted = options.mayHaveCommitted ?? false;
    this.code = codeOf(options.cause);
    this.trouble = options.trouble ?? (this.code === STATEMENT_TIMEOUT ? 'slow' : 'away');
  }
}

const STATEMENT_TIMEOUT = '57014';

/** SQLSTATE classes and codes that say "not now" rather than "not so". */
const NOT_NOW =
  /^(?:08...|53...|57P0[1-5]|57014|25P0[34]|25006|40001|40P01|55P03|58...|CONNECT_TIMEOUT|CONNECTION_(?:CLOSED|ENDED|DESTROYED)|ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|ENOENT|EMFILE|ENFILE)$/;

/** Turns an error that means "try again later" into DatabaseUnavailable; every other error passes as it is. */
export function unavailableOr(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const code = codeOf(error);
  return code !== null && NOT_NOW.test(code) ? unavailable(error) : error;
}

export function unavailable(cause: unknown, mayHaveCommitted = false): DatabaseUnavailable {
  if (cause instanceof DatabaseUnavailable && cause.mayHaveCommitted === mayHaveCommitted) return cause;
  // Lost because it took too long: that is still what is true of it.
  const known = cause instanceof DatabaseUnavailable ? { trouble: cause.trouble } : {};
  return new DatabaseUnavailable(`database unavailable: ${reasonOf(cause)}`, { cause, mayHaveCommitted, ...known });
}

/** The code of an error or of what caused it: drizzle wraps the driver's errors. */
function codeOf(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const code = (current as { code?: unknown }).code;
    if (typeof code === 'string') return code;
    // Several addresses of one host, each refused.
    current = current instanceof AggregateError ? (current.errors as unknown[])[0] : current.cause;
  }
  return null;
}

function reasonOf(error: unknown): string {
  let current = error;
  while (current instanceof Error) {
    if (current instanceof AggregateError && current.message === '') current = (current.errors as unknown[])[0];
    // drizzle's own message repeats the statement with its parameters: not for a log line.
    else if (current.message.startsWith('Failed query:') && current.cause) current = current.cause;
    else return current.message.replace(/^database unavailable: /, '');
  }
  return String(error);
}
