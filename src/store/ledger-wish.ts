import type { Instant } from '../core/time.ts';

/** What one job's part of a transaction will look at, beside what its clock needs. */
export type Wish = {
  readonly jobId: number;
  /** Instants of pings: their neighbours are loaded. */
  readonly around: readonly Instant[];
  /** Occurrences named by keys. */
  readonly named: readonly Instant[];
  /** Days named by keys, (after, until]. */
  readonly days: readonly { readonly after: Instant; readonly until: Instant }[];
  readonly threads: readonly string[];
  /** Every open row (heartbeats: at most a few). */
  readonly open: boolean;
  /** Every open and every wanted row (edit, pause, resume). */
  readonly all: boolean;
  /** Completed ones later than the oldest that they may cover, the first 1,000 (edit to coalesce). */
  readonly completed: boolean;
  /** The oldest wanted ones, at most so many. */
  readonly wanted: number;
  /** What a decision is about: wanted and unconfirmed ones in (after, until], the oldest `limit`. */
  readonly undecided: { readonly after: Instant; readonly until: Instant; readonly limit: number } | null;
  /** Thresholds: the newest ones that counted for a kind of trouble (by its bit), and as many that ended well. */
  readonly recent: readonly { readonly bit: number; readonly of: number }[];
  /** Claims whose runs have not ended, and the claim with this id. */
  readonly claims: { readonly id: number | null } | null;
  /** Rows from here on exist as evidence, ahead of the clock; null: none can. */
  readonly aheadFrom: Instant | null;
  readonly aheadLimit: number;
  /** A run may fail: the runs that completed the rows in question, and (coalesces) what covered them, are loaded. */
  readonly fails: boolean;
  readonly coalesces: boolean;
  /** Unended runs begun after this may be in progress. */
  readonly runsSince: Instant;
  readonly withWells: boolean;
};
