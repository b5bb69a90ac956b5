import { heartbeatPeriod } from '../core/definition.ts';
import { type Due, type Timetable, timetable } from '../core/schedule.ts';
import type { Instant } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { StoredPause, StoredVersion } from '../store/jobs.ts';
import type { OccurrenceWindow } from '../store/reading.ts';

/** A schedule version ready for expansion. No timetable: a heartbeat, or a stored schedule that makes no sense. */
export type ClockVersion = {
  readonly number: number;
  readonly zone: Zone;
  readonly startsAfter: Instant;
  readonly endsAt: Instant;
  readonly isHeartbeat: boolean;
  readonly timetable: Timetable | null;
};

/** What the clock alone knows of a job: its instants from `nextUnrecorded` on. */
export type ClockLedger = {
  readonly nextUnrecorded: Instant | null;
  /** Newest first. */
  readonly versions: readonly ClockVersion[];
  /** Newest first. */
  readonly pauses: readonly StoredPause[];
};

/** An occurrence without a row. Until the horizon passes its deadline it is expected; in a pause it is skipped. */
export type ClockOccurrence = {
  readonly at: Instant;
  readonly zone: Zone;
  readonly standsFor: number;
  readonly state: 'expected' | 'skipped';
  readonly reason: 'paused' | null;
};

/** Makes the stored versions ready; both lists oldest first. */
export function clockLedger(
  nextUnrecorded: Instant | null,
  versions: readonly StoredVersion[],
  pauses: readonly StoredPause[],
  zoneOf: (version: StoredVersion) => Zone,
): ClockLedger {
  return {
    nextUnrecorded,
    versions: versions
      .map((version) => {
        const zone = zoneOf(version);
        return {
          number: version.number,
          zone,
          startsAfter: version.startsAfter,
          endsAt: version.endsAt ?? Number.POSITIVE_INFINITY,
          ...expansionOf(version, zone),
        };
      })
      .reverse(),
    pauses: [...pauses].reverse(),
  };
}

/** A schedule that stopped making sense has its own incident; it must not make the ledger unreadable. */
function expansionOf({ schedules }: StoredVersion, zone: Zone): Pick<ClockVersion, 'isHeartbeat' | 'timetable'> {
  try {
    const isHeartbeat = heartbeatPeriod(schedules) !== null;
    return { isHeartbeat, timetable: isHeartbeat ? null : timetable(schedules, zone) };
  } catch {
    return { isHeartbeat: false, timetable: null };
  }
}

/** The version in force at an instant, if there is one. */
export function versionAt({ versions }: ClockLedger, at: Instant): ClockVersion | null {
  return versions.find(({ startsAfter, endsAt }) => startsAfter < at && at <= endsAt) ?? null;
}

/** A part (after, until] of one version in which every occurrence without a row has the same state. */
type Stretch = {
  readonly version: ClockVersion;
  readonly after: Instant;
  readonly until: Instant;
  readonly isPaused: boolean;
};

/** What may have no row in a window, newest first, found one by one. Some of these instants may have rows as evidence. */
export function* clockOccurrences(
  ledger: ClockLedger,
  { after, until, states }: OccurrenceWindow,
  now: Instant,
): Generator<ClockOccurrence, void, undefined> {
  const { nextUnrecorded } = ledger;
  if (nextUnrecorded === null) return;
  const from = Math.max(after, nextUnrecorded - 1);
  for (const { version, ...stretch } of stretches(ledger, from, until, now)) {
    const state = stretch.isPaused ? 'skipped' : 'expected';
    if (states !== null && !states.includes(state)) continue;
    const { zone } = version;
    const reason = stretch.isPaused ? 'paused' : null;
    for (const { at, standsFor } of instantsOf(version, stretch, nextUnrecorded)) {
      yield { at, zone, standsFor, state, reason };
    }
  }
}

function* instantsOf(
  { isHeartbeat, timetable: instants }: ClockVersion,
  { after, until }: { readonly after: Instant; readonly until: Instant },
  nextUnrecorded: Instant,
): Generator<Due, void, undefined> {
  // The open occurrence of a heartbeat is the only one that time alone makes.
  if (isHeartbeat && after < nextUnrecorded && nextUnrecorded <= until) yield { at: nextUnrecorded, standsFor: 1 };
  if (!instants) return;
  for (let due = instants.previous(until + 1); due !== null && due.at > after; due = instants.previous(due.at)) {
    yield due;
  }
}

/** Cuts (after, until] at the versions and pauses, newest first. */
function* stretches(
  { versions, pauses }: ClockLedger,
  after: Instant,
  until: Instant,
  now: Instant,
): Generator<Stretch, void, undefined> {
  for (const version of versions) {
    const low = Math.max(version.startsAfter, after);
    let high = Math.min(version.endsAt, until);
    for (const pause of pauses) {
      // Nobody knows how long a pause lasts that goes on: what lies ahead is expected.
      const end = pause.until ?? now;
      if (end <= low || pause.after >= high) continue;
      if (end < high) yield { version, after: end, until: high, isPaused: false };
      const begin = Math.max(pause.after, low);
      yield { version, after: begin, until: Math.min(end, high), isPaused: true };
      high = begin;
    }
    if (low < high) yield { version, after: low, until: high, isPaused: false };
  }
}

/** The first instant after this one that may have no row; null: none to come. */
export function firstClockInstantAfter({ nextUnrecorded, versions }: ClockLedger, after: Instant): Instant | null {
  if (nextUnrecorded === null) return null;
  for (const version of [...versions].reverse()) {
    const from = Math.max(after, nextUnrecorded - 1, version.startsAfter);
    if (from >= version.endsAt) continue;
    const at = version.isHeartbeat ? nextUnrecorded : version.timetable?.next(from)?.at;
    if (at !== undefined && at > from && at <= version.endsAt) return at;
  }
  return null;
}
