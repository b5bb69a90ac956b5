import { heartbeatPeriod } from '../core/definition.ts';
import { formatKey } from '../core/key.ts';
import { isOpen, type State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { readPauses, readVersions, type StoredJob } from '../store/jobs.ts';
import {
  type OccurrenceWindow,
  pageOfOccurrences,
  pageOfSettledAhead,
  recordedAmong,
  type SettledAhead,
  type StoredOccurrence,
} from '../store/reading.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';
import type { TableName } from '../store/zone-tables.ts';
import { owedAmong } from './owing.ts';
import { type ClockLedger, type ClockOccurrence, clockLedger, clockOccurrences } from './reading-clock.ts';

export type { ZoneSource } from '../store/version-zones.ts';

/** One occurrence as the API shows it, whether it has a row or only the clock knows it. */
export type OccurrenceReading = {
  readonly key: string;
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly reason: string | null;
  readonly owed: boolean;
  readonly completions: number;
  readonly standsFor: number;
  readonly startedAt: Instant | null;
  readonly completedAt: Instant | null;
  /** When it came to its state, of a run the instant of its end; null: it is open. */
  readonly settledAt: Instant | null;
  readonly durationMs: number | null;
  /** A key. */
  readonly coveredBy: string | null;
  readonly matchedBy: string | null;
  readonly note: string | null;
};

/** A job with what its ledger is read by. */
export type ReadableJob = { readonly stored: StoredJob; readonly clock: ClockLedger };

/** Loads what reading the ledger of a job takes. */
export async function readableJob(tx: Tx, stored: StoredJob, zones: ZoneSource): Promise<ReadableJob> {
  const versions = await readVersions(tx, stored.id);
  const pauses = stored.nextUnrecorded === null ? [] : await readPauses(tx, stored.id, stored.nextUnrecorded);
  const zoneOf = await readKeyZones(tx, zones, versions);
  return { stored, clock: clockLedger(stored.nextUnrecorded, versions, pauses, zoneOf) };
}

/**
 * The occurrences of a window, newest first, at most `limit`: rows and what only the clock knows, each instant once.
 * Expands no more than it shows, so a minutely job over a year costs what a page costs. `ahead`: with those that are due
 * later than the window and now, but settled already.
 */
export async function listOccurrences(
  tx: Tx,
  job: ReadableJob,
  window: OccurrenceWindow,
  { limit, zones, ahead }: { readonly limit: number; readonly zones: ZoneSource; readonly ahead?: SettledAhead | null },
): Promise<readonly OccurrenceReading[]> {
  // What has no row is looked up first: a row written in between then appears as a row, and never not at all.
  const fromClock = await unrecorded(tx, job, window, limit);
  const { id } = job.stored;
  const early = ahead ? await pageOfSettledAhead(tx, id, window, { ahead, limit }) : [];
  const rows = [...early, ...(await pageOfOccurrences(tx, id, window, limit))];
  const recorded = new Set(rows.map(({ scheduledFor }) => scheduledFor));
  const page = [
    ...(await withOwed(tx, job, rows, zones)),
    ...fromClock.filter(({ at }) => !recorded.has(at)).map(readingOfClock),
  ];
  return page.sort((a, b) => b.scheduledFor - a.scheduledFor).slice(0, limit);
}

async function unrecorded(
  tx: Tx,
  { stored, clock }: ReadableJob,
  window: OccurrenceWindow,
  limit: number,
): Promise<readonly ClockOccurrence[]> {
  const found: ClockOccurrence[] = [];
  const source = clockOccurrences(clock, window, tx.now);
  // Rows in a wanted state fill the page too: without counting them, a paused job that pings would be walked to its end.
  for (let shown = 0; shown < limit; ) {
    const candidates = take(source, limit);
    if (candidates.length === 0) break;
    const instants = candidates.map(({ at }) => at);
    const recorded = await recordedAmong(tx, stored.id, instants);
    found.push(...candidates.filter(({ at }) => !recorded.has(at)));
    const isShown = (state: State | undefined): boolean =>
      state === undefined || window.states === null || window.states.includes(state);
    shown += instants.filter((at) => isShown(recorded.get(at))).length;
  }
  return found;
}

function take<T>(source: Iterator<T>, count: number): T[] {
  const taken: T[] = [];
  while (taken.length < count) {
    const one = source.next();
    if (one.done) break;
    taken.push(one.value);
  }
  return taken;
}

/** Rows as readings; what is wanted is owed unless somebody is at work on it (docs/ledger.md, rule 41). */
export async function withOwed(
  tx: Tx,
  { stored }: Pick<ReadableJob, 'stored'>,
  rows: readonly StoredOccurrence[],
  zones: ZoneSource,
): Promise<readonly OccurrenceReading[]> {
  const wanted = rows.filter((row) => row.wanted).map(({ scheduledFor }) => scheduledFor);
  const owed = await owedAmong(tx, stored, wanted);
  const zoneOf = await readKeyZones(tx, zones, [...rows, ...rows.map(coveringVersion)]);
  // Begun early and due since the pause began: skipped, though only the next input writes it down (docs/ledger.md, 29).
  const { pausedAt, definition } = stored;
  const since = heartbeatPeriod(definition.schedules) === null ? pausedAt : null;
  const isSkipped = ({ scheduledFor, state }: StoredOccurrence): boolean =>
    since !== null && isOpen(state) && scheduledFor > since && scheduledFor <= tx.now;
  const shown = rows.map((row) => (isSkipped(row) ? { ...row, state: 'skipped' as const, reason: 'paused' } : row));
  return shown.map((row) => {
    const { zone, tzVersion, wanted: _, coveredBy, coveredByZone, coveredByTz, ...rest } = row;
    return {
      ...rest,
      key: formatKey(row.scheduledFor, zoneOf(row)),
      owed: owed.has(row.scheduledFor),
      coveredBy: coveredBy === null ? null : formatKey(coveredBy, zoneOf(coveringVersion(row))),
    };
  });
}

/** The version of the occurrence that covers this one; of one that has no row, its own. */
function coveringVersion({ zone, tzVersion, coveredByZone, coveredByTz }: StoredOccurrence): TableName {
  return { zone: coveredByZone ?? zone, tzVersion: coveredByTz ?? tzVersion };
}

/** An occurrence that has no row as the reader sees it. */
export function readingOfClock({ at, zone, standsFor, state, reason }: ClockOccurrence): OccurrenceReading {
  return {
    key: formatKey(at, zone),
    scheduledFor: at,
    state,
    reason,
    owed: false,
    completions: 0,
    standsFor,
    startedAt: null,
    completedAt: null,
    settledAt: null,
    durationMs: null,
    coveredBy: null,
    matchedBy: null,
    note: null,
  };
}
