import { advance } from './advance.ts';
import { applyPing } from './apply.ts';
import { applyDecision, applyMaintenance, applyPause, applyResume } from './change.ts';
import { anchorHeartbeat } from './heartbeat.ts';
import { nextDue } from './instants.ts';
import { keyCandidates } from './key.ts';
import { type Incident, nothingDone, type Silence, type Version } from './ledger.ts';
import type { Maintenance } from './maintenance.ts';
import type { IncidentKind } from './message.ts';
import type { Claim, Settings } from './occurrence.ts';
import { applyBacklogDecision, applyClaim, applyExtend, applyRelease, endDecision } from './owed.ts';
import type { Ping } from './ping.ts';
import {
  type Archive,
  emptyArchive,
  type Playing,
  restore,
  restoreAround,
  restoreWhere,
  setAside,
} from './replay-archive.ts';
import { byDue } from './rows.ts';
import type { Instant } from './time.ts';
import type { Upstream } from './upstream.ts';

/** What happened to a job, in the order in which it was accepted; `at` is the arrival. */
export type ReplayInput =
  | { readonly type: 'ping'; readonly at: Instant; readonly ping: Ping }
  | { readonly type: 'pause' | 'resume'; readonly at: Instant }
  /** One or more windows have become known. */
  | { readonly type: 'maintenance'; readonly at: Instant }
  | {
      readonly type: 'settle';
      readonly at: Instant;
      readonly scheduledFor: Instant;
      readonly state: 'skipped' | 'on_time';
    }
  | { readonly type: 'decide'; readonly at: Instant; readonly decision: 'run' | 'skip' }
  | { readonly type: 'claim' | 'extend' | 'release'; readonly at: Instant; readonly rid: string };

/** A stretch of a job's past: everything that decided it, but its schedule and its settings. */
export type Past = {
  /** What is due later than this is in it. */
  readonly after: Instant;
  readonly until: Instant;
  readonly isPaused: boolean;
  readonly inputs: readonly ReplayInput[];
  /** Known from their end on. */
  readonly silences: readonly Silence[];
  readonly settleMs: number;
  readonly maintenance: Maintenance;
  /** What goes first of what is due at `due`, as far as it was known at `knownAt`. */
  readonly upstream: (due: Instant, knownAt: Instant) => readonly Upstream[];
};

/** An incident as the ledger would have had it; `told`: when people would have been told of a problem, and about what first. */
export type ReplayedIncident = {
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  /** null: it is still open at the end. */
  readonly resolvedAt: Instant | null;
  readonly silent: boolean;
  readonly occurrences: number;
  readonly told: readonly { readonly at: Instant; readonly first: Instant | null }[];
};

/** Checks at once, and rows that are kept at hand beside those that are needed. */
export type ReplayPace = { readonly steps: number; readonly keep: number };
const PACE: ReplayPace = { steps: 10, keep: 60 };
const INPUTS_AT_ONCE = 3;

/**
 * The ledger over a past, under these settings: every incident it opens, in the order of opening. Yields now and then, so that
 * whoever runs it may do something else in between. Nothing is written anywhere.
 */
export function* replay(
  settings: Settings,
  version: Omit<Version, 'startsAfter' | 'endsAt'>,
  past: Past,
  pace: ReplayPace = PACE,
): Generator<void, readonly ReplayedIncident[]> {
  const player = new Player(settings, version, past, pace);
  for (const [i, input] of past.inputs.entries()) {
    yield* player.advance(input.at);
    player.apply(input);
    // Nobody judges while a job is paused; afterwards all of it is.
    if (input.type === 'resume') yield* player.advance(input.at);
    if (i % INPUTS_AT_ONCE === 0) yield;
  }
  yield* player.advance(past.until);
  return player.incidents();
}

class Player {
  readonly #ledger: Playing;
  readonly #past: Past;
  readonly #pace: ReplayPace;
  readonly #archive: Archive = emptyArchive();
  readonly #claims = new Map<string, Claim>();
  readonly #incidents = new Set<Incident>();
  #tidyAt = 0;

  constructor(settings: Settings, version: Omit<Version, 'startsAfter' | 'endsAt'>, past: Past, pace: ReplayPace) {
    this.#past = past;
    this.#pace = pace;
    this.#ledger = {
      settings,
      versions: [{ ...version, startsAfter: past.after, endsAt: null }],
      pausedAt: past.isPaused ? past.after : null,
      pauses: [],
      silences: [],
      settleMs: past.settleMs,
      nextUnrecorded: null,
      constantRid: false,
      decidedUntil: null,
      backlog: 0,
      lastHandOut: null,
      claims: [],
      loadedUntil: Number.POSITIVE_INFINITY,
      knownUntil: Number.POSITIVE_INFINITY,
      rows: new Map(),
      runs: [],
      threads: new Map(),
      incidents: new Map(),
      wells: [],
      now: past.after,
      maintenance: past.maintenance,
      upstream: version.periodMs === null ? (due) => past.upstream(due, this.#ledger.now) : () => [],
      ...nothingDone(),
    };
    if (version.periodMs === null) this.#ledger.nextUnrecorded = nextDue(this.#ledger, past.after);
    else anchorHeartbeat(this.#ledger, past.after);
  }

  *advance(at: Instant): Generator<void, void> {
    this.#ledger.now = at;
    this.#ledger.silences = this.#past.silences.filter(({ until }) => until <= at);
    while (!advance(this.#ledger, at, this.#pace.steps)) {
      this.#tidy(at);
      yield;
    }
    this.#tidy(at);
  }

  #tidy(at: Instant): void {
    for (const incident of this.#ledger.changedIncidents) this.#incidents.add(incident);
    this.#ledger.changedIncidents.clear();
    if (this.#ledger.rows.size < this.#tidyAt) return;
    setAside(this.#ledger, this.#archive, this.#pace.keep, at);
    this.#tidyAt = 2 * this.#ledger.rows.size + this.#pace.keep;
  }

  apply(input: ReplayInput): void {
    const ledger = this.#ledger;
    const { at } = input;
    switch (input.type) {
      case 'ping':
        this.#bringBackFor(input.ping);
        applyPing(ledger, input.ping);
        break;
      case 'pause':
        applyPause(ledger, at);
        break;
      case 'resume':
        applyResume(ledger, at);
        break;
      case 'maintenance':
        restoreWhere(ledger, this.#archive, ({ state }) => state === 'missed');
        applyMaintenance(ledger, at);
        break;
      case 'settle':
        restoreAround(ledger, this.#archive, input.scheduledFor);
        applyDecision(ledger, input.scheduledFor, { state: input.state, note: '' }, at);
        break;
      case 'decide':
        this.#decide(input.decision, at);
        break;
      case 'claim':
      case 'extend':
      case 'release':
        this.#hand(input.type, input.rid, at);
        break;
      default:
        input satisfies never;
    }
  }

  #decide(decision: 'run' | 'skip', at: Instant): void {
    if (this.#ledger.settings.missedRuns !== 'catch_up') return;
    restoreWhere(this.#ledger, this.#archive, ({ state }) => state === 'unknown');
    applyBacklogDecision(this.#ledger, decision, byDue(this.#ledger), at);
    endDecision(this.#ledger, at);
  }

  /** Under other settings a runner is given what they would have given it. */
  #hand(type: 'claim' | 'extend' | 'release', rid: string, at: Instant): void {
    const known = this.#claims.get(rid);
    if (type === 'claim') {
      restoreAround(this.#ledger, this.#archive, at);
      const given = applyClaim(this.#ledger, rid, at);
      if (given.kind === 'given') this.#claims.set(rid, given.claim);
    } else if (known && type === 'extend') applyExtend(this.#ledger, known, at);
    else if (known) applyRelease(this.#ledger, known, at);
  }

  /** What a ping may be about: what its key names, what was due around its instant, and the last run of its thread. */
  #bringBackFor(ping: Ping): void {
    const [ledger, archive] = [this.#ledger, this.#archive];
    if (archive.dues.length === 0) return;
    for (const { zone, periodMs } of ledger.versions) {
      restoreAround(ledger, archive, ping.at);
      if (periodMs !== null) restoreAround(ledger, archive, ping.at + periodMs);
      const named = ping.key ? keyCandidates(ping.key, zone) : null;
      if (named && 'instants' in named) restore(ledger, archive, named.instants);
      else if (named)
        restore(
          ledger,
          archive,
          archive.dues.filter((due) => named.after < due && due <= named.until),
        );
    }
    const thread = ledger.threads.get(ping.thread);
    for (const run of [thread?.run, thread?.last?.run]) {
      if (!run) continue;
      if (run.scheduledFor !== null) restore(ledger, archive, [run.scheduledFor]);
      if (!ledger.runs.includes(run)) ledger.runs.push(run);
    }
  }

  incidents(): readonly ReplayedIncident[] {
    const told = new Map<Incident, { at: Instant; first: Instant | null }[]>();
    for (const { incident, type, at, first } of this.#ledger.events) {
      if (type !== 'resolved') told.set(incident, [...(told.get(incident) ?? []), { at, first }]);
    }
    return [...this.#incidents]
      .map((incident) => {
        const { kind, openedAt, resolvedAt, silent, occurrenceCount: occurrences } = incident;
        return { kind, openedAt, resolvedAt, silent, occurrences, told: told.get(incident) ?? [] };
      })
      .sort((a, b) => a.openedAt - b.openedAt || (a.kind < b.kind ? -1 : 1));
  }
}
