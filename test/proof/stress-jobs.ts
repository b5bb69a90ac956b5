/** What the runner of a job does about its n-th occurrence. */
export type Report = 'success' | 'keyed' | 'start and success' | 'fail' | 'nothing';

export type StressJob = {
  readonly slug: string;
  /** Seconds; the anchor is the Unix epoch, so that runners need no calendar. */
  readonly every: number;
  readonly grace: number;
  readonly definition: Readonly<Record<string, unknown>>;
  readonly reports: (count: number) => Report;
};

const POLICIES = ['catch_up', 'coalesce', 'skip'] as const;

/** Every third and fourth time something is wrong. */
const nowAndThen = (wrong: Report) => (count: number) => (count % 4 < 2 ? 'success' : wrong);

const BEHAVIOURS: Readonly<Record<string, { readonly every: number; readonly reports: StressJob['reports'] }>> = {
  healthy: { every: 5, reports: () => 'success' },
  keyed: { every: 4, reports: () => 'keyed' },
  started: { every: 10, reports: () => 'start and success' },
  failing: { every: 3, reports: nowAndThen('fail') },
  flapping: { every: 4, reports: nowAndThen('nothing') },
  busy: { every: 1, reports: (count) => (count % 7 === 0 ? 'nothing' : 'keyed') },
  silent: { every: 2, reports: () => 'nothing' },
};

/** Each behaviour under each policy. */
export const JOBS: readonly StressJob[] = POLICIES.flatMap((policy, i) =>
  Object.entries(BEHAVIOURS).map(([name, { every, reports }]) => ({
    slug: `${name}-${policy}`,
    every,
    grace: 1 + i,
    definition: {
      schedules: [{ every: `${every}s` }],
      zone: 'Europe/Berlin',
      missed_runs: policy,
      grace: `${1 + i}s`,
    },
    reports,
  })),
);

const beat = (slug: string, every: number, reports: StressJob['reports']): StressJob => ({
  slug,
  every,
  grace: 2,
  definition: { schedules: [{ heartbeat: `${every}s` }], zone: 'UTC', grace: '2s' },
  reports,
});

/** Pinged by runners, now and then, or not at all. */
export const HEARTBEATS: readonly StressJob[] = [
  beat('beat-healthy', 4, () => 'success'),
  beat('beat-failing', 3, nowAndThen('fail')),
  beat('beat-flapping', 3, nowAndThen('nothing')),
  beat('beat-silent', 5, () => 'nothing'),
];

/** Made by their first ping, and pinged as fast as the answers come. */
export const HAMMERED: readonly string[] = Array.from({ length: 12 }, (_, i) => `hammered-${i}`);
