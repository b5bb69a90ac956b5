import type { Instant } from '../../../core/time.ts';
import type { Tx } from '../../../store/database.ts';
import { readShares, type Share } from '../../../store/shares.ts';

/** The on-time shares of these jobs over the last 30 days. */
export type ReadRecentShares = (tx: Tx, jobIds: readonly number[]) => Promise<ReadonlyMap<number, Share>>;

const MONTH_MS = 30 * 86_400_000;
/** From so many occurrences on one more moves a share by less than is shown, and counting them takes a while. */
const MANY = 500;
const FRESH_MS = 60_000;
const MOST_KEPT = 20_000;

/**
 * Keeps the shares of jobs that run often for a minute: a list that is looked at is read every few seconds, and would count
 * the same hundred thousand rows each time. What has few occurrences is counted anew.
 */
export function createRecentShares(): ReadRecentShares {
  const kept = new Map<number, { readonly share: Share; readonly at: Instant }>();
  return async (tx, jobIds) => {
    const found = new Map<number, Share>();
    for (const id of jobIds) {
      const known = kept.get(id);
      // The clock may have gone back.
      if (known && Math.abs(tx.now - known.at) < FRESH_MS) found.set(id, known.share);
    }
    const missing = jobIds.filter((id) => !found.has(id));
    for (const [id, share] of await readShares(tx, missing, { after: tx.now - MONTH_MS, until: tx.now })) {
      found.set(id, share);
      kept.delete(id);
      if (share.counted >= MANY) kept.set(id, { share, at: tx.now });
    }
    for (const id of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(id);
    return found;
  };
}
