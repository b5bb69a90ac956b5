import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Every job is due every 10 s: a night, in the time of the demo. */
export const PERIOD_MS = 10_000;
export const GRACE_MS = 5_000;

export type Policy = 'catch_up' | 'coalesce' | 'skip';

export type DemoJob = {
  readonly slug: string;
  readonly policy: Policy;
  readonly why: string;
  /** What `sh` runs for one occurrence, in the folder of the demo; it names the occurrence first in a line of SLUG.txt. */
  readonly work: string;
};

/** Three real jobs, one of each policy. Their work is small, but done. */
export const JOBS: readonly DemoJob[] = [
  {
    slug: 'billing',
    policy: 'catch_up',
    why: 'each run bills its own period',
    work: 'echo "$ROLLCALL_OCCURRENCE bill" >>billing.txt',
  },
  {
    slug: 'cleanup',
    policy: 'coalesce',
    why: 'each run removes everything there is',
    work: 'n=$(ls spool | wc -l); rm -f spool/*; echo "$ROLLCALL_OCCURRENCE removed $((n)) files" >>cleanup.txt',
  },
  {
    slug: 'digest',
    policy: 'skip',
    why: 'old news help nobody',
    work: 'echo "$ROLLCALL_OCCURRENCE news: $(($(wc -l <billing.txt))) bills so far" >>digest.txt',
  },
];

/** The definition for PUT /api/v1/jobs/SLUG. */
export function definitionOf({ policy, why }: DemoJob): object {
  return {
    schedules: [{ every: `${PERIOD_MS / 1000}s` }],
    zone: 'UTC',
    missed_runs: policy,
    missed_runs_reason: why,
    grace: `${GRACE_MS / 1000}s`,
    throttle: '1s',
  };
}

/** How often each occurrence was worked on, by its key, as the job's own file says. */
export async function workDone(folder: string, { slug }: DemoJob): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(join(folder, `${slug}.txt`), 'utf8').catch(() => '');
  const done = new Map<string, number>();
  for (const line of text.split('\n').filter(Boolean)) {
    const key = line.split(' ')[0] ?? '';
    done.set(key, (done.get(key) ?? 0) + 1);
  }
  return done;
}
