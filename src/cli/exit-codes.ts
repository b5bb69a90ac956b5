/** What `rollcall` ends with, for every command; docs/exit-codes.md says the same to people. */
export const EXIT = {
  done: 0,
  /** A bug, or an end that had to be forced. */
  failed: 1,
  /** What was asked for makes no sense: an option, an argument, a schedule. */
  refused: 2,
  /** The service cannot start: a setting, the port, the data folder. */
  cannotStart: 3,
  /** The database cannot be reached. */
  databaseAway: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Where a command writes: what was asked for, and what went wrong. */
export type Output = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};
