import type { Ledger, Version } from './ledger.ts';
import type { Instant } from './time.ts';

export function versionOf(ledger: Ledger, number: number): Version {
  const version = ledger.versions.find((one) => one.number === number);
  if (!version) throw new Error(`schedule version ${number} is not loaded`);
  return version;
}

export function currentVersion(ledger: Ledger): Version {
  const version = ledger.versions.at(-1);
  if (!version) throw new Error('a job has at least one schedule version');
  return version;
}

export const isHeartbeat = (ledger: Ledger): boolean => currentVersion(ledger).periodMs !== null;

const covers = (version: Version, at: Instant): boolean =>
  version.startsAfter < at && (version.endsAt === null || at <= version.endsAt);

/** The version whose schedules are due at `at`, with the local times it stands for there; null: none is. */
export function dueAt(ledger: Ledger, at: Instant): { version: Version; standsFor: number } | null {
  for (const version of ledger.versions) {
    if (!covers(version, at) || !version.timetable) continue;
    for (const due of version.timetable.dueIn(at - 1, at)) return { version, standsFor: due.standsFor };
  }
  return null;
}

/** The version that an instant of the ledger without a row belongs to. */
export const versionDueAt = (ledger: Ledger, at: Instant): Version =>
  dueAt(ledger, at)?.version ?? currentVersion(ledger);

/** First instant of the versions after `t`; null: none to come (and for heartbeats). */
export function nextDue(ledger: Ledger, t: Instant): Instant | null {
  for (const version of ledger.versions) {
    if (version.endsAt !== null && version.endsAt <= t) continue;
    const due = version.timetable?.next(Math.max(t, version.startsAfter));
    if (due && (version.endsAt === null || due.at <= version.endsAt)) return due.at;
  }
  return null;
}

/** Last instant of the versions at or before `t`. */
export function previousDue(versions: readonly Version[], t: Instant): Instant | null {
  for (const version of [...versions].reverse()) {
    if (version.startsAfter >= t) continue;
    const until = version.endsAt === null ? t : Math.min(t, version.endsAt);
    const due = version.timetable?.previous(until + 1);
    if (due && due.at > version.startsAfter) return due.at;
  }
  return null;
}

/** C: the latest instant of the ledger at or before `t`, rows included. */
export function latestInstant(ledger: Ledger, t: Instant): Instant | null {
  let latest = previousDue(ledger.versions, t) ?? Number.NEGATIVE_INFINITY;
  for (const at of ledger.rows.keys()) if (at <= t && at > latest) latest = at;
  return Number.isFinite(latest) ? latest : null;
}

/** N: the first instant of the ledger after `t`, rows included. */
export function followingInstant(ledger: Ledger, t: Instant): Instant | null {
  let first = nextDue(ledger, t) ?? Number.POSITIVE_INFINITY;
  for (const at of ledger.rows.keys()) if (at > t && at < first) first = at;
  return Number.isFinite(first) ? first : null;
}
