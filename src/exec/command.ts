import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { openPipe, type Pipe } from './pipe.ts';
import { signalExitCode } from './signals.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type Command = {
  readonly argv: readonly [string, ...string[]];
  readonly env: Environment;
  /** Given a copy of the output; null: the command writes straight to where this process does. */
  readonly record: ((chunk: Uint8Array) => void) | null;
};

export type RunningCommand = {
  /** As soon as it has ended: its exit code; 128 + n when signal n ended it; 127: not found; 126: cannot be run. */
  readonly exited: Promise<number>;
  /** When its output is complete, too. */
  readonly closed: Promise<void>;
  send(signal: NodeJS.Signals): void;
};

/**
 * After the command has ended, its output may still be on the way, or a process that it left behind may hold it open: the
 * rest is waited for until there has been nothing for so long,
 */
const SILENCE_MS = 1000;
/** and no longer than this. */
const LONGEST_REST_MS = 30_000;

/**
 * Runs the command as if this process were not there: same standard input, same process group, output passed on as it
 * comes. Never throws.
 */
export function startCommand(command: Command): RunningCommand {
  try {
    return start(command);
  } catch (error) {
    // Some reasons Node throws, such as arguments that are too long; most it tells later.
    const code = notStarted(error as NodeJS.ErrnoException, command.argv[0], command.record);
    return { exited: Promise.resolve(code), closed: Promise.resolve(), send: () => undefined };
  }
}

function start({ argv: [program, ...args], env, record }: Command): RunningCommand {
  const begin = (stdio: StdioOptions): ChildProcess => spawn(program, args, { stdio, env });
  if (record === null) return watch(begin('inherit'), [], null);
  const pipes = openPipes();
  // Without pipes of our own the command gets sockets, which cannot be opened by name: `> /dev/stderr` fails.
  if (pipes === null) {
    const child = begin(['inherit', 'pipe', 'pipe']);
    return watch(child, joined([child.stdout, process.stdout], [child.stderr, process.stderr]), record);
  }
  const child = begin(['inherit', pipes.out.writing, pipes.err.writing]);
  for (const fd of new Set([pipes.out.writing, pipes.err.writing])) closeSync(fd);
  if (pipes.out === pipes.err) return watch(child, joined([pipes.out.reading, process.stdout]), record);
  return watch(child, joined([pipes.out.reading, process.stdout], [pipes.err.reading, process.stderr]), record);
}

type Pipes = { readonly out: Pipe; readonly err: Pipe };

/** One pipe for both, where both go to one place: that keeps what is printed in its order, as in a mail from cron. */
function openPipes(): Pipes | null {
  const out = openPipe();
  if (out === null || isOneFile(1, 2)) return out && { out, err: out };
  const err = openPipe();
  return { out, err: err ?? out };
}

/** Where from, and where to. */
type Passage = readonly [from: Readable, to: Writable];

function joined(...passages: readonly (readonly [Readable | null, Writable])[]): readonly Passage[] {
  return passages.flatMap(([from, to]) => (from === null ? [] : [[from, to] as const]));
}

function watch(child: ChildProcess, passages: readonly Passage[], record: Command['record']): RunningCommand {
  const passed = passages.map(([from, to]) => passOn(from, to, record));
  const exited = new Promise<number>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      // Also said when a signal cannot be sent; then the command runs on.
      if (child.pid === undefined) resolve(notStarted(error, child.spawnfile, record));
    });
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : signalExitCode(signal)));
  });
  const sources = passages.map(([from]) => from);
  const closed = exited
    .then(() => Promise.race([Promise.all(passed), silence(sources)]))
    .then(() => {
      for (const from of sources) from.destroy();
    });
  return { exited, closed, send: (signal) => void child.kill(signal) };
}

/** Resolves when nothing has come for a while, although we were ready for it. */
function silence(sources: readonly Readable[]): Promise<void> {
  const until = performance.now() + LONGEST_REST_MS;
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      const isHeldBack = sources.some((from) => from.isPaused());
      if (isHeldBack && performance.now() < until) timer.refresh();
      else resolve();
    }, SILENCE_MS);
    // Not counted from before a slow reader took what we wrote.
    for (const from of sources) from.on('data', () => performance.now() < until && timer.refresh());
  });
}

function notStarted(error: NodeJS.ErrnoException, program: string, record: Command['record']): number {
  const text = `rollcall: cannot run ${program}: ${REASONS[error.code ?? ''] ?? error.message}\n`;
  record?.(Buffer.from(text));
  process.stderr.write(text);
  return error.code === 'ENOENT' ? 127 : 126;
}

const REASONS: Readonly<Record<string, string>> = { ENOENT: 'not found', EACCES: 'permission denied' };

/** Resolves when there is no more to come. */
function passOn(from: Readable, to: Writable, record: Command['record']): Promise<void> {
  from.on('data', (chunk: Buffer) => {
    record?.(chunk);
    if (to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  // Whoever read our output has gone. The command is to hear of it as it would without us: by a broken pipe.
  const hangUp = (): void => void from.destroy();
  to.on('error', hangUp);
  from.on('error', () => undefined);
  return new Promise((resolve) => {
    from.once('close', () => {
      to.off('error', hangUp);
      resolve();
    });
  });
}

function isOneFile(first: number, second: number): boolean {
  try {
    const [one, other] = [fstatSync(first), fstatSync(second)];
    return one.dev === other.dev && one.ino === other.ino;
  } catch {
    return false;
  }
}
