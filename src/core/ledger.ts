import type { Maintenance } from './maintenance.ts';
import type { IncidentKind } from './message.ts';
import {
  type Claim,
  graceMs,
  isOpen,
  isVerdict,
  type Run,
  type Settings,
  type State,
  type Terms,
  termsOf,
} from './occurrence.ts';
import type { Timetable } from './schedule.ts';
import { floorToSecond, type Instant } from './time.ts';
import { type UpstreamOf, waitOf } from './upstream.ts';
import type { Zone } from './zone.ts';

/** A schedule version: covers (startsAfter, endsAt]. A heartbeat has a period and no timetable. */
export type Version = {
  readonly number: number;
  readonly zone: Zone;
  readonly startsAfter: Instant;
  endsAt: Instant | null;
  readonly timetable: Timetable | null;
  readonly periodMs: number | null;
};

/** One row of the ledger; mutable while a transaction works on it. */
export type Row = {
  readonly scheduledFor: Instant;
  readonly version: number;
  readonly standsFor: number;
  state: State;
  reason: string | null;
  settledAt: Instant | null;
  completions: number;
  startedAt: Instant | null;
  completedAt: Instant | null;
  durationMs: number | null;
  completedBy: Run | number | null;
  /** The first later completion; on a running one: it follows when its limit passes. */
  coveredBy: Instant | null;
  matchedBy: string | null;
  wanted: boolean;
  incidentId: number | null;
  doubled: boolean;
  /** An unknown one that a person said to run. */
  confirmed: boolean;
  /** The kinds of incidents it has counted for, one bit each. */
  counted: number;
  /** The upstream occurrence it waits for. */
  blockedOn: number | null;
  blockedFor: Instant | null;
  checkAt: Instant | null;
  note: string | null;
};

/** An open incident, or one that ended in this transaction. `id` is negative until it is stored. */
export type Incident = {
  id: number;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  resolvedAt: Instant | null;
  silent: boolean;
  events: number;
  lastTold: Instant | null;
  /** `unscheduled`: the last off-schedule run; `duplicate`: the newest occurrence in it. */
  lastRunAt: Instant | null;
  occurrenceCount: number;
  troubledCount: number;
  detail: string | null;
};

/** A fact to tell: one outbox row per channel. */
export type LedgerEvent = {
  readonly incident: Incident;
  readonly number: number;
  readonly type: 'opened' | 'reminded' | 'resolved';
  readonly at: Instant;
  readonly first: Instant | null;
  readonly before: IncidentKind | null;
};

/**
 * Database time (after, until] in which what was heard cannot be trusted (blind), or 3 to 30 s without a beat (gap).
 * `repeated`: the clock went back, and a schedule may have run through it twice.
 */
export type Silence = {
  readonly kind: 'blind' | 'gap';
  readonly after: Instant;
  readonly until: Instant;
  readonly repeated?: boolean;
};

/** The last counted ping of a thread (rid or source) and its newest run. */
type Thread = {
  last: { fingerprint: string; receivedAt: Instant; scheduledFor: Instant | null; run: Run | null } | null;
  run: Run | null;
};

/**
 * One job in memory, under the lock of its cursor: a working set, not the whole history. The loader promises: every row
 * with a check instant up to `loadedUntil`; for each ping its key's rows, the newest row at or before it and the first one
 * after it (heartbeats: also around the instant one period later, and the newest of all); the two newest rows with a verdict;
 * under coalesce and for heartbeats every open row; every unended run still in progress and those of the loaded rows; the
 * newest run of each ping's thread, also that on the occurrence its key names; for an edit or a resume also every open or
 * wanted row and, under coalesce, what completed and what failed uncovered.
 */
export type Ledger = {
  settings: Settings;
  readonly versions: Version[];
  pausedAt: Instant | null;
  /** Earlier pauses (after, until] that may still hold instants without a row. */
  readonly pauses: { readonly after: Instant; readonly until: Instant }[];
  readonly silences: readonly Silence[];
  readonly settleMs: number;
  nextUnrecorded: Instant | null;
  constantRid: boolean;
  /** Rows with a check instant later than this are not loaded (Infinity: all are). */
  readonly loadedUntil: Instant;
  /** Evidence rows from this due instant on are not loaded (Infinity: all are). */
  readonly knownUntil: Instant;
  readonly rows: Map<Instant, Row>;
  readonly runs: Run[];
  readonly threads: Map<string, Thread>;
  /** Open incidents by kind. */
  readonly incidents: Map<IncidentKind, Incident>;
  /** Instants that ended well, of rows not loaded (the newest ones; only while an incident is open). */
  readonly wells: readonly { readonly at: Instant; readonly doubled: boolean }[];
  /** A person has decided about what was due by then; null: never. */
  decidedUntil: Instant | null;
  /** What is wanted under catch_up and due later than that. */
  backlog: number;
  lastHandOut: Instant | null;
  /** Claims whose runs have not ended: those that may be live, and those of runs in progress (only where they matter). */
  readonly claims: Claim[];
  /** The instant of the transaction: what is blocked is looked at again a little later. */
  readonly now: Instant;
  readonly maintenance: Maintenance;
  upstream: UpstreamOf;
  /** The loaded rows that ended well, while they are known; a month of debts asks for them with each one that joins. */
  wellRows: Row[] | null;
  /** At resume what lived on is judged without a word. */
  quiet: boolean;

  // What this transaction did, for the store:
  readonly changed: Set<Row>;
  readonly changedRuns: Set<Run>;
  readonly changedClaims: Set<Claim>;
  readonly changedIncidents: Set<Incident>;
  /** Rows that have come to count for the backlog since it was last looked at. */
  readonly backlogged: Set<Row>;
  /** Backlogs that opened: what counted after `since` and is not loaded is in them too. */
  readonly backlogs: { readonly incident: Incident; readonly since: Instant | null }[];
  readonly members: { readonly incident: Incident; readonly scheduledFor: Instant; readonly moved: boolean }[];
  readonly events: LedgerEvent[];
  readonly unknown: { readonly scheduledFor: Instant; readonly at: Instant; readonly window: Silence }[];
  /** Completions, in order: every uncovered coalesced (or also failed) row before one is covered by it. */
  readonly covers: { readonly by: Instant; readonly failed: boolean }[];
  newIds: number;
};

/** A ledger as it is loaded: its transaction has done nothing yet. */
export function nothingDone() {
  return {
    quiet: false,
    wellRows: null,
    changed: new Set<Row>(),
    changedRuns: new Set<Run>(),
    changedClaims: new Set<Claim>(),
    changedIncidents: new Set<Incident>(),
    backlogged: new Set<Row>(),
    backlogs: [],
    members: [],
    events: [],
    unknown: [],
    covers: [],
    newIds: 0,
  };
}

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

/** Deadlines of the occurrence due at `due` under the settings in force; one that waits for others is timed once it has begun. */
export function termsAt(ledger: Ledger, due: Instant, version: Version, begunAt: Instant | null = null): Terms {
  const terms = termsOf(due, ledger.settings, {
    previous: () => version.timetable?.previous(due)?.at ?? null,
    next: () => nextDue(ledger, due),
  });
  if (version.periodMs !== null) return { ...terms, opensAt: due - version.periodMs };
  const from = Math.min(waitOf(ledger.upstream(due)), begunAt ?? Number.POSITIVE_INFINITY);
  // Released when it was of no use any more: nothing counts anew.
  if (Math.min(from, ledger.now) >= terms.usefulUntil) return terms;
  return from > due ? counted(terms, due, from) : terms;
}

/** Once what goes first is done, `start_within` and grace count from then. */
function counted(terms: Terms, due: Instant, from: Instant): Terms {
  const { startBy, graceEnd } = terms;
  return { ...terms, startBy: startBy === null ? null : startBy - due + from, graceEnd: graceEnd - due + from };
}

export const rowTerms = (ledger: Ledger, row: Row): Terms =>
  termsAt(ledger, row.scheduledFor, versionOf(ledger, row.version), row.startedAt);

export const runsOf = (ledger: Ledger, row: Row): Run[] =>
  ledger.runs.filter((run) => run.scheduledFor === row.scheduledFor);

/** Whether `at` lies in a pause; one that lasts counts up to `now`. */
export function inPause(ledger: Ledger, at: Instant): boolean {
  if (ledger.pausedAt !== null && at > ledger.pausedAt) return true;
  return ledger.pauses.some((pause) => pause.after < at && at <= pause.until);
}

/** The row of an instant of the ledger, made if it has none. `now` tells whether a pause already skipped it. */
export function rowAt(ledger: Ledger, at: Instant, now: Instant): Row {
  const known = ledger.rows.get(at);
  if (known) return known;
  const due = dueAt(ledger, at);
  const version = due?.version ?? currentVersion(ledger);
  const row: Row = {
    scheduledFor: at,
    version: version.number,
    standsFor: due?.standsFor ?? 1,
    state: 'expected',
    reason: null,
    settledAt: null,
    completions: 0,
    startedAt: null,
    completedAt: null,
    durationMs: null,
    completedBy: null,
    coveredBy: null,
    matchedBy: null,
    wanted: false,
    incidentId: null,
    doubled: false,
    confirmed: false,
    counted: 0,
    blockedOn: null,
    blockedFor: null,
    checkAt: null,
    note: null,
  };
  ledger.rows.set(at, row);
  ledger.changed.add(row);
  if (due && at <= now && inPause(ledger, at))
    Object.assign(row, { state: 'skipped', reason: 'paused', settledAt: at });
  return row;
}

/** Blind windows that touch an occurrence: [opens, deadline) overlaps (after, until]. */
export function touching(ledger: Ledger, opensAt: Instant, deadline: Instant): Silence[] {
  return ledger.silences.filter(({ kind, after, until }) => kind === 'blind' && after < deadline && until > opensAt);
}

const GAP_WAIT_MS = 60_000;

/** When a check instant acts: one inside a gap between beats waits until 60 s after the gap's end, which may be in another. */
export function actsAt(ledger: Ledger, check: Instant): Instant {
  const gap = ledger.silences.find(({ kind, after, until }) => kind === 'gap' && after < check && check <= until);
  return gap ? actsAt(ledger, gap.until + GAP_WAIT_MS) : check;
}

/** The first check of an occurrence without a row: its start or its completion is due, or a pause skips it. */
export function firstCheck(ledger: Ledger, due: Instant): Instant {
  if (inPause(ledger, due) && !isHeartbeat(ledger)) return due;
  const grace = graceMs(ledger.settings);
  const start = ledger.settings.startWithin === null ? grace : ledger.settings.startWithin * 1000;
  return due + Math.min(grace, start);
}

/** The newest row with a verdict (of those that `has` takes), by due instant. */
export function newestVerdict(ledger: Ledger, has: (row: Row) => boolean = () => true): Row | null {
  let newest: Row | null = null;
  for (const row of ledger.rows.values()) {
    if (!isVerdict(row.state) || (newest && row.scheduledFor < newest.scheduledFor)) continue;
    if (has(row)) newest = row;
  }
  return newest;
}

/** The loaded rows, the oldest first. */
export const byDue = (ledger: Ledger): Row[] =>
  [...ledger.rows.values()].sort((a, b) => a.scheduledFor - b.scheduledFor);

/** An occurrence of the heartbeat that the job is; what is left from schedules before it is none. */
export const isBeat = (ledger: Ledger, row: Row): boolean =>
  ledger.versions.every((version) => version.number < row.version || version.periodMs !== null);

/** The one open occurrence of a heartbeat that has a row, if any. */
export function openBeat(ledger: Ledger): Row | null {
  for (const row of ledger.rows.values()) if (isOpen(row.state) && isBeat(ledger, row)) return row;
  return null;
}

/** A heartbeat's anchor: its next occurrence is one period later, on a second that has no row yet; never an earlier one. */
export function anchorHeartbeat(ledger: Ledger, at: Instant): void {
  const { periodMs } = currentVersion(ledger);
  if (periodMs === null || ledger.pausedAt !== null || openBeat(ledger)) return;
  let due = floorToSecond(at) + periodMs;
  while (ledger.rows.has(due)) due += 1000;
  ledger.nextUnrecorded = Math.max(due, ledger.nextUnrecorded ?? due);
}
