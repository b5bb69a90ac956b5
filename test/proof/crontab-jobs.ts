export const TICK_S = 6;
export const GRACE_S = 5;
/** For what must be over before the next run comes along. */
const LONG_S = 3 * TICK_S;
/** For what ends late: the next run must be further away than a retry could be (half the gap). */
const LONGER_S = 5 * TICK_S;
/** A half-hour offset: the key must carry it. */
export const ZONE = 'Asia/Kolkata';
const OFFSET_S = 5.5 * 3600;

export type Breakage = {
  readonly policy: 'catch_up' | 'coalesce' | 'skip';
  /** A mode of crontab.sh. */
  readonly mode: string;
  readonly every: number;
  readonly kind: string;
  /** The status of the job meanwhile, and the state of its first broken run. */
  readonly status: string;
  readonly state: string;
  /** What people read: the problem, when it is told, the end, and what became of each run. */
  readonly says: string;
  readonly ended: string;
  readonly became: string;
  /** That in the API. */
  readonly end: string;
  /** What a person does about it; without, it passes before anybody was told. */
  readonly mend?: 'the crontab' | 'the lock' | 'the debt';
};

const MISSING = {
  kind: 'missing',
  status: 'down',
  state: 'overdue',
  says: 'did not run',
  ended: 'runs again',
} as const;
export const BROKEN: Readonly<Record<string, Breakage>> = {
  'missing-skip': {
    ...MISSING,
    policy: 'skip',
    mode: 'silent',
    every: TICK_S,
    became: 'never ran',
    end: 'missed',
    mend: 'the crontab',
  },
  'missing-coalesce': {
    ...MISSING,
    policy: 'coalesce',
    mode: 'silent',
    every: TICK_S,
    became: 'covered by a later run',
    end: 'coalesced',
    mend: 'the crontab',
  },
  'missing-catch-up': {
    ...MISSING,
    policy: 'catch_up',
    mode: 'silent',
    every: TICK_S,
    became: 'completed late',
    end: 'late',
    mend: 'the debt',
  },
  'wrong-key': {
    ...MISSING,
    policy: 'skip',
    mode: 'wrong-key',
    every: TICK_S,
    became: 'never ran',
    end: 'missed',
    mend: 'the crontab',
  },
  'wrong-slug': {
    ...MISSING,
    policy: 'coalesce',
    mode: 'wrong-slug',
    every: TICK_S,
    became: 'covered by a later run',
    end: 'coalesced',
    mend: 'the crontab',
  },
  failing: {
    policy: 'skip',
    mode: 'fails',
    every: TICK_S,
    kind: 'failed',
    status: 'down',
    state: 'failed',
    says: 'failed (exit code 7)',
    ended: 'runs again',
    became: 'failed',
    end: 'failed',
    mend: 'the crontab',
  },
  late: {
    ...MISSING,
    policy: 'coalesce',
    mode: 'late',
    every: LONGER_S,
    ended: 'ran after all',
    became: 'completed late',
    end: 'late',
    mend: 'the lock',
  },
  'late-quick': {
    ...MISSING,
    policy: 'skip',
    mode: 'late-quick',
    every: LONG_S,
    ended: 'did not run in time, but ran after all',
    became: 'completed late',
    end: 'late',
  },
  slow: {
    policy: 'skip',
    mode: 'slow',
    every: LONGER_S,
    kind: 'late',
    status: 'late',
    state: 'overdue',
    says: 'started but has not finished',
    ended: 'has finished',
    became: 'completed late',
    end: 'late',
    mend: 'the lock',
  },
  twice: {
    policy: 'catch_up',
    mode: 'twice',
    every: LONG_S,
    kind: 'duplicate',
    status: 'up',
    state: 'on_time',
    says: 'ran twice',
    ended: 'ran just once this time',
    became: 'completed in time, more than once',
    end: 'on_time',
    mend: 'the crontab',
  },
};

/** Nobody may hear of these: a job that is well, and three whose replies are lost, so that their curl comes again. */
const QUIET: Readonly<Record<string, Pick<Breakage, 'policy' | 'mode' | 'every'>>> = {
  healthy: { policy: 'catch_up', mode: 'output', every: TICK_S },
  'retried-503': { policy: 'skip', mode: 'proxied', every: LONG_S },
  'retried-drop': { policy: 'coalesce', mode: 'proxied-all-errors', every: LONG_S },
  'retried-timeout': { policy: 'catch_up', mode: 'proxied-hurry', every: LONG_S },
};
export const JOBS = { ...QUIET, ...BROKEN };
export const slugs = Object.keys(JOBS);

/** The key of an instant, by hand. */
export function keyOf(dueSeconds: number): string {
  const local = new Date((dueSeconds + OFFSET_S) * 1000).toISOString();
  return `${local.slice(0, 19).replace(/:00$/, '')}+05:30`;
}
/** A key as people read it, without its date. */
export const timeOf = (key: string): string => key.replace(/^.*T/, '').replace('+', ' +');
