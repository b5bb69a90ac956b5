#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { runExec } from './cli/exec.ts';
import { EXIT, type ExitCode, type Output } from './cli/exit-codes.ts';
import { migrateOnly } from './cli/migrate.ts';
import { addPersonCommands } from './cli/person-commands.ts';
import { type PreviewOptions, preview } from './cli/preview.ts';
import { parseRoles } from './cli/roles.ts';
import { signInLink } from './cli/sign-in-link.ts';
import { type Config, readConfig } from './config.ts';
import { createLog, type Logger } from './log.ts';
import { CannotStart } from './store/cannot-start.ts';
import { DatabaseUnavailable } from './store/database.ts';
import { loadZones, type Zones } from './zones.ts';

const output: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** Draining ends by itself in less; this is for what hangs (STO-004). */
const LONGEST_STOP_MS = 10_000;

function createProgram(finish: (code: ExitCode) => void): Command {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = new Command('rollcall')
    .description("A dead-man's switch for scheduled jobs. Settings come from the environment: see docs/running.md.")
    .version(version)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'rollcall: ')) })
    .exitOverride();
  program
    .command('serve')
    .description('run the service')
    .option('--role <roles...>', 'web, evaluator, notifier; several with commas (default: all)')
    .action(async ({ role = [] }: { role?: string[] }) => finish(await runServe(role)));
  program
    .command('migrate')
    .description('bring the database to this version, and end')
    .action(async () => finish(await withConfig((config, log) => migrateOnly(config, log, stopSignal(log)))));
  program
    .command('sign-in-link')
    .description('print a one-time link for an owner who is locked out; on the server, with the settings of serve')
    .argument('[email]', 'for a new password of the account of this address, whatever its role')
    .action(async (email: string | undefined) =>
      finish(await withConfig((config, log) => signInLink(email ?? null, { config, log, ...output }))),
    );
  program
    .command('preview')
    .description('show when a schedule is due; needs no server')
    .argument('[cron]', "five fields in quotes, such as '30 2 * * *'")
    .option('--zone <name>', 'time zone, such as Europe/Berlin (required)')
    .option('--every <duration>', 'an interval instead, such as 2h')
    .option('--anchor <instant>', 'an instant at which the interval is due')
    .option('--after <instant>', 'begin after this instant (default: now)')
    .option('--until <instant>', 'end with this instant')
    .option('--limit <number>', 'at most so many, up to 10000 (default: 10)')
    .option('--json', 'print {occurrences, warnings}, or {errors}, as JSON')
    .action((cron: string | undefined, options: PreviewOptions) => finish(runPreview(cron, options)));
  program
    .command('exec')
    .usage('[options] JOB -- COMMAND [ARGS...]')
    .description('run a command for what a job has to run: put it into the crontab (rollcall exec --help)')
    .argument('[words...]')
    // It reads its words itself, as the single-file build does; its exit code is the command's.
    .allowUnknownOption()
    .helpOption(false)
    // biome-ignore lint/style/noProcessEnv: handed to the reader of exec's settings
    .action(async () => process.exit(await runExec(process.argv.slice(3), process.env, version)));
  // biome-ignore lint/style/noProcessEnv: handed to config.ts, which alone reads it
  addPersonCommands(program, { ...output, env: process.env, finish });
  return program;
}

function runPreview(cron: string | undefined, options: PreviewOptions): ExitCode {
  let zones: Zones;
  try {
    zones = loadZones();
  } catch (error) {
    output.err(`rollcall: ${(error as Error).message}\n`);
    return EXIT.cannotStart;
  }
  return preview(cron, options, { ...output, zones, now: Date.now() });
}

async function runServe(role: readonly string[]): Promise<ExitCode> {
  const roles = parseRoles(role);
  if (!roles.ok) {
    output.err(`rollcall: ${roles.reason}\n`);
    return EXIT.refused;
  }
  // Only when it is asked for: on a job's host, exec and the commands of people must start fast, and without it.
  const { serve } = await import('./cli/serve.ts');
  return withConfig(async (config, log) => {
    await serve({ config, roles: roles.value, log, out: output.out }, stopSignal(log));
    return EXIT.done;
  });
}

/** Runs what needs settings and a log; says in one line why it cannot. */
async function withConfig(run: (config: Config, log: Logger) => Promise<ExitCode>): Promise<ExitCode> {
  // biome-ignore lint/style/noProcessEnv: handed to config.ts, which alone reads it
  const config = readConfig(process.env);
  if (!config.ok) {
    output.err(`rollcall: ${config.reason}\n`);
    return EXIT.cannotStart;
  }
  const { logLevel } = config.value;
  const log = createLog(logLevel, { secrets: secretsOf(config.value) });
  endOnBugs(log);
  return run(config.value, log).catch((error: unknown) => explain(error, log));
}

/** What must not stand in the log. A secret of a few letters would take them out of every word. */
function secretsOf({ apiKey, pingKey, oidc }: Config): readonly string[] {
  return [apiKey, pingKey, oidc?.clientSecret].filter((secret) => secret != null && secret.length >= 8) as string[];
}

function explain(error: unknown, log: Logger): ExitCode {
  const [code, reason] = verdict(error);
  if (code === EXIT.failed) log.fatal({ error }, 'rollcall ends because of a bug');
  else if (reason !== null) output.err(`rollcall: ${reason}\n`);
  else log.info('rollcall has stopped');
  return code;
}

function verdict(error: unknown): readonly [ExitCode, string | null] {
  if (error instanceof CannotStart) return [EXIT.cannotStart, error.message];
  if (error instanceof DatabaseUnavailable) return [EXIT.databaseAway, error.message];
  const name = error instanceof Error ? error.name : '';
  if (name === 'TimeoutError') return [EXIT.databaseAway, 'the database did not answer in time'];
  // Stopped while it was still starting.
  if (name === 'AbortError') return [EXIT.done, null];
  return [EXIT.failed, null];
}

/** Aborts at the first SIGTERM or SIGINT; the second ends the process at once. */
function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  const end = (code: number): void => {
    if (stop.signal.aborted) process.exit(code);
    stop.abort();
    setTimeout(() => {
      log.error('stopping took too long: the process ends now');
      process.exit(EXIT.failed);
    }, LONGEST_STOP_MS).unref();
  };
  process.on('SIGTERM', () => end(143));
  process.on('SIGINT', () => end(130));
  return stop.signal;
}

/** After an error nobody expected, nothing in memory can be trusted; the ledger is in the database. */
function endOnBugs(log: Logger): void {
  const end = (error: unknown): void => {
    log.fatal({ error }, 'rollcall ends because of a bug');
    process.exit(EXIT.failed);
  };
  process.on('unhandledRejection', end);
  process.on('uncaughtException', end);
}

/** Ends with `code` when all that was written has left: what goes into a pipe is written later. */
function exitWhenSaid(code: ExitCode): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}

// `rollcall preview … | head` is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.failed),
);

try {
  await createProgram(exitWhenSaid).parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exit(error.exitCode === 0 ? EXIT.done : EXIT.refused);
}
