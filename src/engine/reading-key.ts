import { type KeySpelling, keyCandidates } from '../core/key.ts';
import { isCompleted } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Tx } from '../store/database.ts';
import { firstOccurrenceAfter, occurrencesAt } from '../store/reading.ts';
import {
  listOccurrences,
  type OccurrenceReading,
  type ReadableJob,
  readingOfClock,
  withOwed,
  type ZoneSource,
} from './reading.ts';
import { clockOccurrences, firstClockInstantAfter, versionAt } from './reading-clock.ts';

/** What a key leads to. `several`: a date with more than one occurrence. `nearest`: at most one before and one after. */
export type KeyLookup =
  | { readonly found: 'one'; readonly occurrence: OccurrenceReading }
  | { readonly found: 'none' | 'several'; readonly nearest: readonly OccurrenceReading[] };

/**
 * The occurrence a key names in the ledger of a job, recorded or not (DESIGN section 3): of a local time that two
 * occurrences share, the earliest not yet completed, else the earliest; of a date, the only one.
 */
export async function findOccurrence(
  tx: Tx,
  job: ReadableJob,
  spelling: KeySpelling,
  zones: ZoneSource,
): Promise<KeyLookup> {
  const searched = zonesOf(job).map((zone) => ({ zone, candidate: keyCandidates(spelling, zone) }));
  const found = new Map<Instant, OccurrenceReading>();
  for (const { zone, candidate } of searched) {
    const some =
      'instants' in candidate
        ? await readingsAt(tx, job, candidate.instants, zones)
        : await listOccurrences(tx, job, { ...candidate, states: null }, { limit: 2, zones });
    for (const occurrence of some) {
      if (isReadBy(job, occurrence.scheduledFor, zone)) found.set(occurrence.scheduledFor, occurrence);
    }
  }
  const matches = [...found.values()].sort((a, b) => a.scheduledFor - b.scheduledFor);
  if (spelling.kind === 'date' && matches.length > 1) return { found: 'several', nearest: matches.slice(0, 2) };
  const occurrence = matches.find(({ state }) => !isCompleted(state)) ?? matches[0];
  if (occurrence) return { found: 'one', occurrence };
  const first = searched[0]?.candidate;
  if (!first) return { found: 'none', nearest: [] };
  const asked = 'instants' in first ? (first.instants[0] ?? 0) : first.until;
  return { found: 'none', nearest: await nearestTo(tx, job, asked, zones) };
}

/** The zones in which keys of this job are written, the newest first, each once. */
function zonesOf({ clock }: ReadableJob): readonly Zone[] {
  return [...new Set(clock.versions.map(({ zone }) => zone))];
}

/** Of two tables of one zone only that of the version in force may find it: an hour apart, a date has other ends. */
function isReadBy({ clock }: ReadableJob, at: Instant, zone: Zone): boolean {
  const inForce = versionAt(clock, at)?.zone;
  return inForce === undefined || inForce === zone || inForce.name !== zone.name;
}

async function readingsAt(
  tx: Tx,
  job: ReadableJob,
  instants: readonly Instant[],
  zones: ZoneSource,
): Promise<readonly OccurrenceReading[]> {
  const recorded = await withOwed(tx, job, await occurrencesAt(tx, job.stored.id, instants), zones);
  const known = new Set(recorded.map(({ scheduledFor }) => scheduledFor));
  const others = instants.filter((at) => !known.has(at)).flatMap((at) => clockReadingAt(job, at, tx.now));
  return [...recorded, ...others];
}

/** The occurrence of this very instant that only the clock knows, if there is one. */
function clockReadingAt({ clock }: ReadableJob, at: Instant, now: Instant): OccurrenceReading[] {
  return [...clockOccurrences(clock, { after: at - 1, until: at, states: null }, now)].map(readingOfClock);
}

async function nearestTo(
  tx: Tx,
  job: ReadableJob,
  at: Instant,
  zones: ZoneSource,
): Promise<readonly OccurrenceReading[]> {
  const window = { after: Number.NEGATIVE_INFINITY, until: at, states: null };
  const before = await listOccurrences(tx, job, window, { limit: 1, zones });
  const row = await firstOccurrenceAfter(tx, job.stored.id, at);
  const clockAt = firstClockInstantAfter(job.clock, at);
  const rowIsFirst = row !== null && (clockAt === null || row.scheduledFor <= clockAt);
  if (rowIsFirst) return [...before, ...(await withOwed(tx, job, [row], zones))];
  return clockAt === null ? before : [...before, ...clockReadingAt(job, clockAt, tx.now)];
}
