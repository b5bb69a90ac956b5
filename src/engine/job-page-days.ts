import type { State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { LocalTime, Zone } from '../core/zone.ts';
import type { Tx } from '../store/database.ts';
import { countDays } from '../store/job-page.ts';
import type { ReadableJob } from './reading.ts';
import { clockOccurrences } from './reading-clock.ts';

/** A local day: `date` is the reading of its midnight. Empty counts: nothing was due. */
export type Day = { readonly date: LocalTime; readonly counts: ReadonlyMap<State, number> };

const DAY_MS = 86_400_000;
/** Of what only the clock knows, so many a day are counted: enough to say what the day was. */
const COUNTED_A_DAY = 100;

/** The last `length` local days in a zone, today the last of them, oldest first, with what became of what was due on each. */
export async function readDays(tx: Tx, job: ReadableJob, zone: Zone, length: number): Promise<readonly Day[]> {
  const today = Math.floor(zone.localAt(tx.now) / DAY_MS) * DAY_MS;
  const dates = Array.from({ length }, (_, i) => today - (length - 1 - i) * DAY_MS);
  const starts = [...dates, today + DAY_MS].map((date) => zone.firstInstantAtOrPast(date));
  const { stored } = job;
  const isBeat = job.clock.versions[0]?.isHeartbeat ?? false;
  const days = dates.map((date) => ({ date, counts: new Map<State, number>() }));
  // Before the rows: one that is written in between then counts once more, and never not at all.
  const unrecorded = unrecordedDays(job, starts, tx.now);
  for (const { day, state, count } of await countDays(tx, stored.id, {
    starts,
    pausedAt: isBeat ? null : stored.pausedAt,
  })) {
    days[day]?.counts.set(state, count);
  }
  for (const [day, counts] of unrecorded) {
    for (const [state, count] of counts) {
      const known = days[day]?.counts;
      known?.set(state, (known.get(state) ?? 0) + count);
    }
  }
  return days;
}

/** What is due by now and has no row yet: of a paused job all that it has skipped so far, else what is awaited. */
function unrecordedDays(
  { stored, clock }: ReadableJob,
  starts: readonly Instant[],
  now: Instant,
): ReadonlyMap<number, ReadonlyMap<State, number>> {
  const found = new Map<number, ReadonlyMap<State, number>>();
  const { nextUnrecorded } = clock;
  if (nextUnrecorded === null) return found;
  for (let day = 0; day + 1 < starts.length; day++) {
    const until = Math.min(now, (starts[day + 1] ?? 0) - 1);
    const after = Math.max(stored.createdAt, (starts[day] ?? 0) - 1);
    if (until < nextUnrecorded || after >= until) continue;
    const counts = new Map<State, number>();
    let left = COUNTED_A_DAY;
    for (const { state } of clockOccurrences(clock, { after, until, states: null }, now)) {
      if (left-- === 0) break;
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    found.set(day, counts);
  }
  return found;
}
