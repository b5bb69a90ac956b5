import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export type Run = {
  readonly child: ChildProcess;
  /** Everything printed so far. */
  readonly printed: { out: string; err: string };
  /** Resolves with what the pattern found on standard output; rejects when the process ends first. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<number | null>;
};

/** What `npm start` has Node run. */
export const FROM_SOURCE: readonly string[] = ['--import', 'tsx', 'src/main.ts'];

/** The file that `rollcall` is when it is installed. */
export const builtMain = (): string => join(inject('program'), 'src/main.js');

/** Starts `rollcall` as its users do, with this environment and no other settings. */
export function rollcall(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program: readonly string[] = [builtMain()],
): Run {
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', err: '' };
  const listeners = new Set<() => void>();
  const note = (stream: 'out' | 'err') => (chunk: Buffer) => {
    printed[stream] += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout?.on('data', note('out'));
  child.stderr?.on('data', note('err'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    printed,
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(printed.out);
          if (!found) return;
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        look();
        void ended.then((code) => reject(new Error(`ended with ${code} first: ${printed.out}${printed.err}`)));
      }),
  };
}
