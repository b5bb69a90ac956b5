import type { Maintenance } from './maintenance.ts';
import type { IncidentKind } from './message.ts';
import type { Claim, Run, Settings, State } from './occurrence.ts';
import type { Timetable } from './schedule.ts';
import type { Instant } from './time.ts';
import type { UpstreamOf } from './upstream.ts';
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
