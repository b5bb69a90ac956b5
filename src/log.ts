import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
export type Logger = PinoLogger;

export type LogOptions = {
  /** Values that must never be written, such as keys from the environment. */
  readonly secrets?: readonly string[];
  /** Where the lines go (standard output). */
  readonly destination?: DestinationStream;
};

/**
 * JSON lines. Whatever is logged, a line never carries keys, passwords, authorization headers, or the paths of URLs
 * (of a webhook, a ping and a sign-in link the path is the secret): the finished line is searched for them. Errors go
 * under `error`, several with other things under `details`.
 */
export function createLog(
  level: LogLevel,
  { secrets = [], destination = pino.destination(1) }: LogOptions = {},
): Logger {
  const known = secrets.filter((secret) => secret !== '');
  const write = (line: string): void => {
    destination.write(scrub(known.reduce((text, secret) => text.replaceAll(secret, '…'), line)));
  };
  return pino({ level, serializers: { err: plainError, error: plainError, details: plainDetails } }, { write });
}

/** Fields that are secret whatever they hold, at any depth. */
const SECRET_FIELD =
  /"((?:proxy-)?authorization|(?:set-)?cookie|password|secret|token|api_?key|ping_?key|(?:smtp|database|watchdog|webhook|ping|sign_?in)_?url)":"(?:[^"\\]|\\.)*"/gi;
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [SECRET_FIELD, '"$1":"…"'],
  // user:password@ of any URL.
  [/([a-z][a-z\d+.-]*:\/\/[^\s"'/:@\\]*):[^\s"'/@\\]+@/gi, '$1:…@'],
  [/(https?:\/\/[^\s"'/?#\\]+)[/?#][^\s"'\\]+/gi, '$1/…'],
  [/\/ping\/[^\s"'\\]+/g, '/ping/…'],
  [/\b(Bearer|Basic) +[\w.~+/=-]+/gi, '$1 …'],
  [/\bwhsec_[\w+/=-]+/g, 'whsec_…'],
];

function scrub(line: string): string {
  return PATTERNS.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}

type PlainError = { type: string; message: string; code?: string; stack?: string; cause?: unknown };

/** What helps to find a fault. Not the parameters that drizzle and postgres.js attach: they are what users sent. */
function plainError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const stack = error.stack ? withoutParameters(error.stack) : undefined;
  const plain: PlainError = { type: error.name, message: withoutParameters(error.message) };
  if (typeof code === 'string') plain.code = code;
  if (stack) plain.stack = stack;
  if (error.cause !== undefined && depth < 5) plain.cause = plainError(error.cause, depth + 1);
  return plain;
}

function plainDetails(details: unknown): unknown {
  return Array.isArray(details) ? details.map((each: unknown) => plainError(each)) : plainError(details);
}

function withoutParameters(text: string): string {
  return text.replace(/(Failed query: [\s\S]*?)\nparams: [\s\S]*?(?=\n {4}at |$)/, '$1');
}
