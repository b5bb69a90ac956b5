/** What `rollcall` ends with, for every command; docs/exit-codes.md says the same to people. */
export const EXIT = {
  done: 0,
  /** A bug, or an end that had to be forced. */
  failed: 1,
  /** What was asked for makes no sense: an option, an argument, a schedule. */
  refused: 2,
  /** The service or a command cannot start: a setting, the port, the data folder, a wrong key. */
  cannotStart: 3,
  /** The database cannot be reached. */
  databaseAway: 4,
  /** Rollcall knows no such job or occurrence. */
  notFound: 5,
  /** Rollcall did not answer as it should. */
  unreachable: 6,
  /** `exec`: nothing was run now, and later it may be (EX_TEMPFAIL). */
  notNow: 75,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Where a command writes: what was asked for, and what went wrong. */
export type Output = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};
