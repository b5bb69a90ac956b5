import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/store/database.ts';

/** When the promises to tell stood in the outbox, committed, in milliseconds after the common deadline. */
export type Enqueued = { readonly p50: number; readonly p99: number; readonly all: number };

type Watching = {
  readonly database: Database;
  /** Of this event of each incident. */
  readonly event: number;
  readonly rows: number;
  readonly since: number;
  readonly seconds: number;
};

/** Looks many times a second until all of them are there; throws when time is over. */
export async function watchEnqueued({ database, event, rows, since, seconds }: Watching): Promise<Enqueued> {
  const seen: { readonly count: number; readonly at: number }[] = [];
  for (let count = 0; count < rows; ) {
    if (Date.now() - since > seconds * 1000) throw new Error(`only ${count} of ${rows} rows within ${seconds} s`);
    await sleep(50);
    const [row] = await database.transaction(
      ({ sql }) => sql<{ count: number }[]>`select count(*) as count from outbox where event = ${event}`,
    );
    count = row?.count ?? 0;
    // After the answer: what was committed while it was on its way is not called earlier than it was.
    seen.push({ count, at: Date.now() - since });
  }
  const reached = (share: number): number => seen.find(({ count }) => count >= share * rows)?.at ?? Number.NaN;
  return { p50: reached(0.5), p99: reached(0.99), all: reached(1) };
}
