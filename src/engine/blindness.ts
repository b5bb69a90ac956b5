import { formatInstant, type Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { beat, noteSilence } from '../store/beats.ts';
import type { Tx } from '../store/database.ts';

export type Watch = {
  readonly replica: string;
  /** Everything that reached this replica up to here is committed with, or before, this transaction. */
  readonly through: Instant;
  /** Whether a beat is due; after a silence one is given all the same. */
  readonly isDue: boolean;
  readonly log: Logger;
};

/**
 * Sees a silence (database time without a beat of any replica) before anything is judged by it, and gives the beat that
 * lets the horizon move on. In the transaction of a batch: it shows that a ping would have been committed.
 */
export async function keepWatch(tx: Tx, { replica, through, isDue, log }: Watch): Promise<void> {
  const silence = await noteSilence(tx);
  if (silence) {
    const { kind, after, until } = silence;
    log.warn({ kind, after: formatInstant(after), until: formatInstant(until) }, 'no beat of ingest was heard');
  }
  if (isDue || silence) await beat(tx, replica, through);
}
