import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';

/** The database's clock is read again when an answer took longer: this process, or the way there, was held up. */
const WIDE_MS = 250;
const READINGS = 3;

/** A reading of the database's clock, between two of the monotonic one of this process. */
export type Reading = {
  /** The transaction at the instant that was read. */
  readonly tx: Tx;
  /** Clock.monotonic() before the clock was asked, and after it had answered. */
  readonly before: number;
  readonly after: number;
};

/**
 * The reading with which a transaction began, `before` being taken before it was asked for, or a later one, if a stop (of
 * this process, of the machine's scheduler, of the network) may lie between the two clocks.
 */
export async function readClock(begun: Tx, before: number, monotonic: () => number): Promise<Reading> {
  let reading: Reading = { tx: begun, before, after: monotonic() };
  for (let left = READINGS; left > 0 && reading.after - reading.before > WIDE_MS; left -= 1) {
    const asked = monotonic();
    const tx = await begun.later();
    reading = { tx, before: asked, after: monotonic() };
  }
  return reading;
}

/**
 * When a ping arrived, at the latest: never before it was sent, and hardly ever more than a quarter of a second after it
 * came. Too early it might be refused (its key is not open yet) or belong to the occurrence before.
 */
export function arrivalOf({ tx, before }: Reading, arrivedMs: number): Instant {
  return tx.now - Math.max(0, Math.floor(before - arrivedMs));
}

/** When a ping arrived, at the earliest: what has been flushed ends before. No later reading gives it an arrival before this. */
export function earliestArrivalOf({ tx, after }: Reading, arrivedMs: number): Instant {
  return tx.now - Math.max(0, Math.ceil(after - arrivedMs));
}
