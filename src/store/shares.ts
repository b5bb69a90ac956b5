import { isOpen, type State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';

/** How the occurrences of a job within a window ended: `onTime` of `counted`; skipped and unknown ones are in neither. */
export type Share = {
  readonly counted: number;
  readonly onTime: number;
  readonly skipped: number;
  readonly unknown: number;
};

type StateCount = {
  readonly jobId: number;
  readonly state: State;
  readonly isInPause: boolean;
  readonly count: number;
};

const NOTHING: Share = { counted: 0, onTime: 0, skipped: 0, unknown: 0 };

/**
 * The on-time shares of these jobs over what is due in (after, until], by one statement: as reports count it, all but
 * skipped, unknown and pending ones count. A window that reaches now has in it what is settled already although due later,
 * as a heartbeat mostly is. A job of which nothing is recorded there has no entry.
 */
export async function readShares(
  tx: Tx,
  jobIds: readonly number[],
  { after, until }: { readonly after: Instant; readonly until: Instant },
): Promise<ReadonlyMap<number, Share>> {
  if (jobIds.length === 0) return new Map();
  // Counted job by job over the primary key: a plan over all of them would read the whole table. What is open and due since
  // a pause began is skipped, though no row says so yet (docs/ledger.md, 29).
  const rows = await tx.sql<StateCount[]>`
    select j.id as "jobId", counted.*
    from jobs j cross join lateral (
      select o.state, coalesce(
          o.scheduled_for > j.paused_at and not (j.definition -> 'schedules' -> 0 ? 'heartbeat'), false) as "isInPause",
        count(*) as count
      from occurrences o
      where o.job_id = j.id and o.scheduled_for > ${after} and (o.scheduled_for <= ${Math.min(until, tx.now)}
        or (${until >= tx.now} and o.state not in ('expected', 'running', 'overdue')))
      group by 1, 2) counted
    where j.id = any(${jobIds as number[]}::bigint[])`;
  const shares = new Map<number, Share>();
  for (const { jobId, ...one } of rows) shares.set(jobId, added(shares.get(jobId) ?? NOTHING, one));
  return shares;
}

function added(share: Share, { state, isInPause, count }: Omit<StateCount, 'jobId'>): Share {
  if (state === 'skipped' || (isInPause && isOpen(state))) return { ...share, skipped: share.skipped + count };
  if (state === 'unknown') return { ...share, unknown: share.unknown + count };
  if (state === 'expected' || state === 'running') return share;
  return { ...share, counted: share.counted + count, onTime: share.onTime + (state === 'on_time' ? count : 0) };
}
