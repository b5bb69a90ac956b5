import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

const CAUGHT = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;
export type CaughtSignal = (typeof CAUGHT)[number];

/** Signals that ask this process to end. */
export type Signals = {
  /** Aborts at the first one. */
  readonly stop: AbortSignal;
  /** The first one, or null. */
  first(): CaughtSignal | null;
  /** Where they go while a command runs; null: nowhere. */
  forwardTo(receive: ((signal: CaughtSignal) => void) | null): void;
};

/** Catches them from now on, for the life of the process. */
export function catchSignals(): Signals {
  const stop = new AbortController();
  let first: CaughtSignal | null = null;
  let receive: ((signal: CaughtSignal) => void) | null = null;
  for (const signal of CAUGHT) {
    process.on(signal, () => {
      first ??= signal;
      // The terminal has sent Ctrl-C to the command too: two of them would be a stronger wish than one.
      const isShared = (signal === 'SIGINT' || signal === 'SIGQUIT') && isInForeground();
      if (!isShared) receive?.(signal);
      stop.abort();
    });
  }
  return {
    stop: stop.signal,
    first: () => first,
    forwardTo(next) {
      receive = next;
    },
  };
}

/** What a shell says of a process that a signal has ended. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}

/** Whether this process, with its command, is what a terminal's Ctrl-C goes to. */
function isInForeground(): boolean {
  try {
    // After the name in parentheses: state, parent, group, session, terminal, foreground group of the terminal.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return hasTerminal();
  }
}

/** Where there is no /proc. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
