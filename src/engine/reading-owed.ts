import { heartbeatPeriod } from '../core/definition.ts';
import { formatKey } from '../core/key.ts';
import type { Settings, State } from '../core/occurrence.ts';
import { throttleMs } from '../core/owed.ts';
import { type Instant, LAST_INSTANT } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import type { StoredJob } from '../store/jobs.ts';
import { type OwedCandidate, owedCandidates, readLastHandOut } from '../store/owed.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';
import { owedAmong, usefulSince } from './owing.ts';

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

/** At most `limit` entries from `from` on; `next` is where the page after them begins, null: there is none. */
export type OwedPage = { readonly owed: readonly OwedReading[]; readonly next: OwedCursor | null };

/** A page of what a job owes, oldest first (docs/ledger.md, rules 41 and 47); empty for skip and heartbeats. */
export async function readOwed(
  tx: Tx,
  job: StoredJob,
  { from, limit, zones }: { readonly from: OwedCursor | null; readonly limit: number; readonly zones: ZoneSource },
): Promise<OwedPage> {
  const { definition } = job;
  if (definition.missedRuns === 'skip' || heartbeatPeriod(definition.schedules) !== null) return NOTHING;
  // One more than is shown: it says whether there is a next page.
  const found = await owedAfter(tx, job, from?.after ?? Number.NEGATIVE_INFINITY, limit + 1);
  const runAfter = spread(tx.now, await readLastHandOut(tx, job.id), definition);
  const zoneOf = await readKeyZones(tx, zones, found);
  let waiting = from?.waiting ?? 0;
  const owed = found.slice(0, limit).map(({ zone, tzVersion, ...entry }) => ({
    ...entry,
    key: formatKey(entry.scheduledFor, zoneOf({ zone, tzVersion })),
    usefulUntil: definition.usefulFor === null ? null : entry.scheduledFor + definition.usefulFor * 1000,
    runAfter: entry.unconfirmed ? null : runAfter(waiting++),
  }));
  const last = owed.at(-1);
  return { owed, next: found.length > limit && last ? { after: last.scheduledFor, waiting } : null };
}

const NOTHING: OwedPage = { owed: [], next: null };

/** The first `limit` candidates after an instant, without those that somebody is at work on. */
async function owedAfter(tx: Tx, job: StoredJob, after: Instant, limit: number): Promise<readonly OwedCandidate[]> {
  const found: OwedCandidate[] = [];
  const withUnconfirmed = job.definition.missedRuns === 'catch_up';
  let from = Math.max(after, usefulSince(job.definition, tx.now));
  while (found.length < limit) {
    const candidates = await owedCandidates(tx, job.id, { after: from, limit, withUnconfirmed });
    const wanted = candidates.filter(({ unconfirmed }) => !unconfirmed).map(({ scheduledFor }) => scheduledFor);
    const owed = await owedAmong(tx, job, wanted);
    found.push(...candidates.filter(({ unconfirmed, scheduledFor }) => unconfirmed || owed.has(scheduledFor)));
    const last = candidates.at(-1);
    if (!last || candidates.length < limit) break;
    from = last.scheduledFor;
  }
  return found.slice(0, limit);
}

/** When the i-th may be handed out. A rest longer than the throttle is void: the clock went back. */
function spread(now: Instant, lastHandOut: Instant | null, settings: Settings): (i: number) => Instant {
  const gapMs = throttleMs({ settings });
  const first = lastHandOut !== null && lastHandOut <= now ? Math.max(now, lastHandOut + gapMs) : now;
  return (i) => Math.min(LAST_INSTANT, first + i * gapMs);
}
