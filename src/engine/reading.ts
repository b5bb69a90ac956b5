import { heartbeatPeriod } from '../core/definition.ts';
import { formatKey } from '../core/key.ts';
import { isOpen, type State } from '../core/occurrence.ts';
import type { Instant, Result } from '../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../core/zone.ts';
import type { Tx } from '../store/database.ts';
import { readPauses, readVersions, type StoredJob } from '../store/jobs.ts';
import { type OccurrenceWindow, pageOfOccurrences, recordedAmong, type StoredOccurrence } from '../store/reading.ts';
import { versionsOfRows } from '../store/zone-tables.ts';
import { owedAmong } from './owing.ts';
import { type ClockLedger, type ClockOccurrence, clockLedger, clockOccurrences } from './reading-clock.ts';
import { createVersionZones, type ZoneSource } from './version-zones.ts';

export type { ZoneSource } from './version-zones.ts';

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
  const zoneOf = await createVersionZones(zones).read(tx, versions);
  return { stored, clock: clockLedger(stored.nextUnrecorded, versions, pauses, (version) => orUtc(zoneOf(version))) };
}

/** The zone of this name, as this process has it. */
export function zoneNamed(zones: ZoneSource, name: string): Zone {
  return orUtc(zones.get(name));
}

/** A zone that is nowhere to be found must not keep a ledger from being read: then UTC. */
const orUtc = (zone: Result<Zone>): Zone => (zone.ok ? zone.value : zoneOf(UTC_TABLE));

/**
 * The zones that keys of these rows are written in: those of their versions, so that new tz data never respell what was.
 * The versions are looked up only where two of them are read by different tables of one zone.
 */
async function keyZones(
  tx: Tx,
  { stored, clock: { versions } }: ReadableJob,
  instants: readonly Instant[],
  zones: ZoneSource,
): Promise<(at: Instant, name: string) => Zone> {
  const count = (values: readonly unknown[]): number => new Set(values).size;
  const isOneEach = count(versions.map(({ zone }) => zone)) === count(versions.map(({ zone }) => zone.name));
  const numbers = isOneEach ? null : await versionsOfRows(tx, stored.id, instants);
  return (at, name) => {
    const number = numbers?.get(at);
    const own = versions.find((version) => version.zone.name === name && (number ?? version.number) === version.number);
    return own?.zone ?? zoneNamed(zones, name);
  };
}

/**
 * The occurrences of a window, newest first, at most `limit`: rows and what only the clock knows, each instant once.
 * Expands no more than it shows, so a minutely job over a year costs what a page costs.
 */
export async function listOccurrences(
  tx: Tx,
  job: ReadableJob,
  window: OccurrenceWindow,
  { limit, zones }: { readonly limit: number; readonly zones: ZoneSource },
): Promise<readonly OccurrenceReading[]> {
  // What has no row is looked up first: a row written in between then appears as a row, and never not at all.
  const fromClock = await unrecorded(tx, job, window, limit);
  const rows = await pageOfOccurrences(tx, job.stored.id, window, limit);
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
  job: ReadableJob,
  rows: readonly StoredOccurrence[],
  zones: ZoneSource,
): Promise<readonly OccurrenceReading[]> {
  const wanted = rows.filter((row) => row.wanted).map(({ scheduledFor }) => scheduledFor);
  const { stored } = job;
  const owed = await owedAmong(tx, stored, wanted);
  const covering = rows.flatMap(({ coveredBy }) => (coveredBy === null ? [] : [coveredBy]));
  const zoneAt = await keyZones(tx, job, [...rows.map(({ scheduledFor }) => scheduledFor), ...covering], zones);
  // Begun early and due since the pause began: skipped, though only the next input writes it down (docs/ledger.md, 29).
  const { pausedAt, definition } = stored;
  const since = heartbeatPeriod(definition.schedules) === null ? pausedAt : null;
  const isSkipped = ({ scheduledFor, state }: StoredOccurrence): boolean =>
    since !== null && isOpen(state) && scheduledFor > since && scheduledFor <= tx.now;
  const shown = rows.map((row) => (isSkipped(row) ? { ...row, state: 'skipped' as const, reason: 'paused' } : row));
  return shown.map(({ zone, wanted: _, coveredBy, coveredByZone, ...row }) => ({
    ...row,
    key: formatKey(row.scheduledFor, zoneAt(row.scheduledFor, zone)),
    owed: owed.has(row.scheduledFor),
    coveredBy: coveredBy === null ? null : formatKey(coveredBy, zoneAt(coveredBy, coveredByZone ?? zone)),
  }));
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
    durationMs: null,
    coveredBy: null,
    matchedBy: null,
    note: null,
  };
}
