import { statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { systemClock } from '../clock.ts';
import { HELP, readArguments } from '../exec/arguments.ts';
import type { Environment } from '../exec/command.ts';
import { exec, flush } from '../exec/exec.ts';
import { createOutbox } from '../exec/outbox.ts';
import { createServer } from '../exec/server.ts';
import { readSettings } from '../exec/settings.ts';
import { catchSignals } from '../exec/signals.ts';
import { openSpool, type Spool } from '../exec/spool.ts';
import { EXIT } from './exit-codes.ts';

const SPOOL_PATIENCE_MS = 10_000;

/**
 * `rollcall exec`: the words after it, and its environment. Answers the exit code for the process: the command's own, or
 * one of EXIT. Writes to this process's standard output and error, and catches its signals.
 */
export async function runExec(words: readonly string[], env: Environment, version: string): Promise<number> {
  // Whoever reads our output may go: that ends no run (elsewhere in `rollcall` it ends the process).
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => undefined);
  const warn = (text: string): void => void process.stderr.write(`rollcall: ${text}\n`);
  const read = readArguments(words);
  if (!read.ok) return refuse(read.reason);
  const request = read.value;
  if (request.kind === 'help' || request.kind === 'version') {
    process.stdout.write(request.kind === 'help' ? HELP : `${version}\n`);
    return EXIT.done;
  }
  const settings = readSettings({ env, isRoot: process.getuid?.() === 0 }, request.spool);
  if (!settings.ok) return refuse(settings.reason);

  const signals = catchSignals();
  const server = createServer(settings.value, `rollcall-exec/${version} (${asciiHost()})`);
  const spool = await withinTime(openSpool(settings.value.spool, Date.now)).catch((error: Error) => {
    warn(`pings cannot be kept in ${settings.value.spool} (${error.message}): name a folder with --spool`);
    return null;
  });
  const outbox = createOutbox({ spool, to: settings.value, server, clock: systemClock, now: Date.now, warn });
  const isWatched = request.verbose || process.stderr.isTTY === true;
  const progress = isWatched ? warn : () => undefined;
  if (request.kind === 'flush') {
    return spool === null ? EXIT.notNow : flush(request, { outbox, signals, warn, progress });
  }
  if (!isFolder(tmpdir())) warn(`TMPDIR is no folder (${tmpdir()}): /tmp is used instead`);
  const note = request.quiet ? () => undefined : warn;
  const told = { warn, note, progress, isWatched };
  return exec({ request, env, outbox, server, signals, clock: systemClock, now: Date.now, ...told });

  function refuse(reason: string): number {
    warn(reason);
    return EXIT.refused;
  }
}

/** A folder on a disk that hangs must not hold the command up. */
async function withinTime(opening: Promise<Spool>): Promise<Spool> {
  const over = new AbortController();
  const tooLate = systemClock.sleep(SPOOL_PATIENCE_MS, over.signal).then(() => {
    if (!over.signal.aborted) throw new Error(`no answer from the disk within ${SPOOL_PATIENCE_MS / 1000} s`);
    return opening;
  });
  return Promise.race([opening, tooLate]).finally(() => over.abort());
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Who ran it is shown with the pings; a header holds no other characters than these. */
function asciiHost(): string {
  return hostname().replace(/[^\w.-]/g, '?');
}
