import type { ChildProcess } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GRACE_MS, JOBS, PERIOD_MS } from './jobs.ts';
import { eventually, until } from './pace.ts';
import type { Rollcall } from './rollcall.ts';

/** The machine that the jobs run on: its cron starts them at every tick, unless the machine is down. */
export type Host = {
  boot(): void;
  crash(): void;
  /** The ticks at which the jobs were started. */
  readonly started: ReadonlySet<number>;
  /**
   * Waits until so many more ticks have started jobs, no job runs, everything due has been judged, and the next tick is
   * not too near; answers the last tick.
   */
  quiet(ticks: number): Promise<number>;
};

type HostDeps = {
  readonly rollcall: Rollcall;
  /** Where the jobs keep their files. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
};

/** After the deadline of what is due at a tick, and not so near to the next one that something might still begin. */
const isCalmAt = (phase: number): boolean => phase > GRACE_MS + 500 && phase < PERIOD_MS - 1500;

export const nextTick = (after: number): number => (Math.floor(after / PERIOD_MS) + 1) * PERIOD_MS;

/** Sets up the machine, still off, and lets time pass for it until the signal aborts. */
export async function createHost({ rollcall, folder, signal, tell }: HostDeps): Promise<Host> {
  const started = new Set<number>();
  const running = new Set<ChildProcess>();
  let isUp = false;
  await mkdir(join(folder, 'spool'));
  await writeFile(join(folder, 'billing.txt'), '');

  const note = (text: string): void => {
    appendFile(join(folder, 'jobs.log'), text).catch(() => undefined);
  };
  const run = ({ slug, work }: (typeof JOBS)[number]): void => {
    const child = rollcall.command(['exec', slug, '--', 'sh', '-c', work]);
    running.add(child);
    child.once('close', (code) => {
      running.delete(child);
      if (code !== 0) note(`${slug} ended with ${code}\n`);
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => note(chunk.toString()));
    }
  };
  const live = async (): Promise<void> => {
    for (let tick = nextTick(Date.now()); ; tick += PERIOD_MS) {
      await until(tick, signal);
      // The world goes on whether the machine does or not.
      await writeFile(join(folder, 'spool', `session-${tick / PERIOD_MS}`), '');
      if (isUp) {
        started.add(tick);
        JOBS.forEach(run);
      }
      if (started.size > 0) tell(isUp ? `cron starts ${JOBS.map(({ slug }) => slug).join(', ')}` : 'nothing runs');
    }
  };
  const crash = (): void => {
    isUp = false;
    for (const { pid } of running) killGroup(pid);
  };
  live().catch(() => crash());

  return {
    started,
    boot() {
      isUp = true;
    },
    crash,
    async quiet(ticks) {
      const enough = started.size + ticks;
      return eventually('the jobs of this period have ended', signal, async () => {
        const now = Date.now();
        const isCalm = running.size === 0 && isCalmAt(now % PERIOD_MS);
        return started.size >= enough && isCalm && now - (now % PERIOD_MS);
      });
    },
  };
}

/** The runner and its command are one process group. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}
