import { parseArgs } from 'node:util';
import { parseDuration, parsed, type Result, refused } from '../core/time.ts';

/** What `rollcall exec` was asked to do. */
export type ExecRequest =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** Only deliver what waits; `all`: also what was rejected; `adopt`: also what was written for another key or URL. */
  | ({ readonly kind: 'flush'; readonly all: boolean; readonly adopt: boolean } & Manner)
  | ({ readonly kind: 'run' } & RunRequest & Manner);

export type RunRequest = {
  readonly job: string;
  readonly command: readonly [string, ...string[]];
  /** A line for the shell; a success counts only if it agrees. */
  readonly check: string | null;
  readonly catchUp: boolean;
  /** How many occurrences are run at most. */
  readonly max: number;
  readonly waitMs: number;
  /** Whether the tail of the output goes with the end. */
  readonly output: boolean;
};

type Manner = {
  /** As typed; null: from the environment. */
  readonly spool: string | null;
  readonly verbose: boolean;
  readonly quiet: boolean;
};

export const HELP = `Usage: rollcall exec [options] JOB -- COMMAND [ARGS...]
       rollcall exec --flush [--all] [--adopt]

Runs COMMAND once for each occurrence of JOB that Rollcall hands out, the owed ones first, and reports how it ended.

  --catch-up       only what is owed; never the current occurrence
  --max NUMBER     at most so many occurrences (default: all)
  --check LINE     a line for sh: a success counts only if this ends with 0 too
  --wait DURATION  how long to wait for another run, or for the next hand-out (default: 10m)
  --no-output      send no output, and hand the command our own standard output
  --spool DIR      where pings wait until Rollcall has them (or ROLLCALL_SPOOL)
  --flush          only deliver what waits there
  --all            with --flush: also what was rejected
  --adopt          with --flush: also what was written under another key or ROLLCALL_URL, as if it were for this one
  --verbose        say what is done
  --quiet          say nothing when there was nothing to run
  --version
  --help

Environment: ROLLCALL_URL, ROLLCALL_API_KEY, ROLLCALL_PING_KEY (optional). COMMAND gets ROLLCALL_RUN_ID,
ROLLCALL_OCCURRENCE and ROLLCALL_SCHEDULED_FOR. Exit code: that of COMMAND, or 75: nothing was run, try again later;
2: wrong use. See docs/exec.md.
`;

const OPTIONS = {
  'catch-up': { type: 'boolean' },
  max: { type: 'string' },
  check: { type: 'string' },
  wait: { type: 'string' },
  'no-output': { type: 'boolean' },
  spool: { type: 'string' },
  flush: { type: 'boolean' },
  all: { type: 'boolean' },
  adopt: { type: 'boolean' },
  verbose: { type: 'boolean' },
  quiet: { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const SLUG = /^[a-z0-9_-]{1,100}$/;
const RESERVED = /^(?:start|fail|log|\d+)$/;
const DEFAULT_WAIT = '10m';

/** Reads the words after `exec`. The command begins after the first `--`, and nothing in it is read. */
export function readArguments(words: readonly string[]): Result<ExecRequest> {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const read = readOptions(own);
  if (!read.ok) return read;
  const { values, positionals } = read.value;
  if (values.help) return parsed({ kind: 'help' });
  if (values.version) return parsed({ kind: 'version' });
  const manner = { spool: values.spool ?? null, verbose: values.verbose ?? false, quiet: values.quiet ?? false };
  if (values.spool === '') return refused('--spool: name a folder');
  if (values.flush) {
    if (positionals.length > 0 || end !== -1) return refused('--flush stands alone: no job and no command');
    return parsed({ kind: 'flush', all: values.all ?? false, adopt: values.adopt ?? false, ...manner });
  }
  if (values.all) return refused('--all belongs to --flush');
  if (values.adopt) return refused('--adopt belongs to --flush');
  const run = readRun(values, positionals, end === -1 ? [] : words.slice(end + 1));
  return run.ok ? parsed({ kind: 'run', ...run.value, ...manner }) : run;
}

type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>;

function readOptions(words: readonly string[]): Result<Options> {
  try {
    return parsed(parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true }));
  } catch (error) {
    // Node adds advice of its own, about a `--` that means something else here.
    const [reason = ''] = (error as Error).message.split(/[.\n]/);
    return refused(`${reason} (rollcall exec --help)`);
  }
}

function readRun(
  values: Options['values'],
  positionals: readonly string[],
  command: readonly string[],
): Result<RunRequest> {
  const [job, stray] = positionals;
  const usage = 'rollcall exec JOB -- COMMAND [ARGS...]';
  if (job === undefined) return refused(`which job? ${usage}`);
  if (stray !== undefined) return refused(`the command begins after a --: ${usage}`);
  if (!SLUG.test(job) || RESERVED.test(job)) {
    return refused(`${JSON.stringify(job)} is no name of a job: a-z, 0-9, _ and -; not start, fail, log or a number`);
  }
  const [program, ...args] = command;
  if (program === undefined || program === '') return refused(`no command: ${usage}`);
  if (values.max !== undefined && !/^[1-9]\d{0,8}$/.test(values.max)) return refused('--max: a whole number from 1');
  if (values.check?.trim() === '') return refused('--check: a line for the shell');
  const wait = parseDuration(values.wait ?? DEFAULT_WAIT);
  if (!wait.ok) return refused(`--wait: ${wait.reason}`);
  return parsed({
    job,
    command: [program, ...args],
    check: values.check ?? null,
    catchUp: values['catch-up'] ?? false,
    max: values.max === undefined ? Number.POSITIVE_INFINITY : Number(values.max),
    waitMs: wait.value * 1000,
    output: !(values['no-output'] ?? false),
  });
}
