import { type Clock, systemClock } from '../../src/clock.ts';
import { readArguments } from '../../src/exec/arguments.ts';
import { exec, flush } from '../../src/exec/exec.ts';
import { createOutbox } from '../../src/exec/outbox.ts';
import { createServer } from '../../src/exec/server.ts';
import { readSettings } from '../../src/exec/settings.ts';
import type { Signals } from '../../src/exec/signals.ts';
import { openSpool, type Spool } from '../../src/exec/spool.ts';

type Hurried = {
  readonly code: number;
  /** All that was said. */
  readonly err: string;
  /** How long each wait would have been, in milliseconds. */
  readonly slept: readonly number[];
};

const NO_SIGNALS: Signals = { stop: new AbortController().signal, first: () => null, forwardTo: () => undefined };

/**
 * `rollcall exec` in this process, put together as the command line does, and a thousand times quicker in its waits: for
 * what only shows after minutes. `change`: what is different about its spool.
 */
export async function execHurried(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  change: (spool: Spool) => Spool = (spool) => spool,
): Promise<Hurried> {
  const read = readArguments(words);
  const settings = readSettings({ env, isRoot: false }, null);
  if (!read.ok || !settings.ok) throw new Error(JSON.stringify([read, settings]));
  const request = read.value;
  const said: string[] = [];
  const slept: number[] = [];
  const clock: Clock = {
    monotonic: systemClock.monotonic,
    sleep(ms, signal) {
      slept.push(ms);
      return systemClock.sleep(ms / 1000, signal);
    },
  };
  const warn = (text: string): void => void said.push(text);
  const server = createServer(settings.value, 'rollcall-exec/test');
  const spool = change(await openSpool(settings.value.spool, Date.now));
  const outbox = createOutbox({ spool, to: settings.value, server, clock, now: Date.now, warn });
  const told = { warn, note: warn, progress: () => undefined, isWatched: false };
  const deps = { env: { ...process.env, ...env }, outbox, server, signals: NO_SIGNALS, clock, now: Date.now, ...told };
  if (request.kind === 'flush') return { code: await flush(request, deps), err: said.join('\n'), slept };
  if (request.kind !== 'run') throw new Error(request.kind);
  return { code: await exec({ request, ...deps }), err: said.join('\n'), slept };
}
