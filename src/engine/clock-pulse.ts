import type { Instant } from '../core/time.ts';

/** A clock that runs this far ahead of the monotonic one between two commits has skipped time. */
const AHEAD_MS = 5000;

/** Compares the database's clock with the monotonic one of this process, from commit to commit. */
export type Pulse = {
  /**
   * The instant of the last commit, if the clock has run ahead since; else null. `asked`: the monotonic clock after `now`
   * was read.
   */
  jumpedFrom(now: Instant, asked: number): Instant | null;
  /** A transaction of instant `now`, begun at `begun` of the monotonic clock, was committed. */
  keep(now: Instant, begun: number): void;
};

export function createPulse(): Pulse {
  let last: { readonly now: Instant; readonly begun: number } | null = null;
  return {
    jumpedFrom(now, asked) {
      if (last === null) return null;
      // From before the one reading to after the other: a process that was held up in between sees no jump.
      const elapsed = asked - last.begun;
      // A monotonic clock that stands still, as in tests, measures nothing.
      return elapsed > 0 && now - last.now >= elapsed + AHEAD_MS ? last.now : null;
    },
    keep(now, begun) {
      last = { now, begun };
    },
  };
}
