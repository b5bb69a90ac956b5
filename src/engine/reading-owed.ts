import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';

/** One entry of the owed list. `usefulUntil` null: unbounded; `runAfter` null: unconfirmed, a person says run first. */
export type OwedReading = {
  readonly key: string;
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly usefulUntil: Instant | null;
  readonly runAfter: Instant | null;
  readonly unconfirmed: boolean;
};

/** Where a page begins: after this due instant, with so many before it that wait for a hand-out. */
export type OwedCursor = { readonly after: Instant; readonly waiting: number };
