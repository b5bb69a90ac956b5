import { createHash } from 'node:crypto';
import { advance } from '../../src/core/advance.ts';
import { applyPing } from '../../src/core/apply.ts';
import {
  applyDecision,
  applyMaintenance,
  applyPause,
  applyResume,
  applySettings,
  applyVersion,
} from '../../src/core/change.ts';
import { heartbeatPeriod } from '../../src/core/definition.ts';
import { anchorHeartbeat } from '../../src/core/heartbeat.ts';
import { nextDue } from '../../src/core/instants.ts';
import { parseKey } from '../../src/core/key.ts';
import { type Incident, type Ledger, nothingDone, type Row } from '../../src/core/ledger.ts';
import { type Claim, inProgress, type Run } from '../../src/core/occurrence.ts';
import {
  applyBacklogDecision,
  applyClaim,
  applyExtend,
  applyRelease,
  endDecision,
  isClaimed,
  isUnconfirmed,
  throttleMs,
} from '../../src/core/owed.ts';
import { byDue, runsOf } from '../../src/core/rows.ts';
import { timetable } from '../../src/core/schedule.ts';
import { jobStatus } from '../../src/core/status.ts';
import { rowTerms } from '../../src/core/terms.ts';
import type { Instant } from '../../src/core/time.ts';
import type { Upstream } from '../../src/core/upstream.ts';
import type { Zone } from '../../src/core/zone.ts';
import type { Zones } from '../../src/zones.ts';
import { type Answer, answer, type History, type HistorySettings, type Input, type LedgerView } from './history.ts';

/**
 * The fast ledger (src/core) over a whole history, in memory. `ticks`: instants at which an evaluator happened to look;
 * they must change nothing in the end.
 */
export function fastLedger(history: History, zones: Zones, ticks: readonly Instant[] = []): LedgerView {
  const found = zones.get(history.zone);
  if (!found.ok) throw new Error(found.reason);
  const job = new FastJob(history, found.value);
  const steps = [
    ...history.inputs.map((input) => ({ at: input.at, run: () => job.apply(input) })),
    ...ticks.map((at) => ({ at, run: () => job.tick(at) })),
  ].sort((a, b) => a.at - b.at);
  for (const step of steps) step.run();
  job.tick(history.until);
  return job.view(history.until);
}

/** What there is to see before the first input, after the clock has come to each input, and after the input itself. */
export function fastSteps(
  history: History,
  zones: Zones,
): { readonly by: Input | 'clock'; readonly view: LedgerView }[] {
  const found = zones.get(history.zone);
  if (!found.ok) throw new Error(found.reason);
  const job = new FastJob(history, found.value);
  const steps: { by: Input | 'clock'; view: LedgerView }[] = [];
  for (const input of history.inputs) {
    job.tick(input.at);
    steps.push({ by: 'clock', view: job.view(input.at) });
    job.apply(input);
    steps.push({ by: input, view: job.view(input.at) });
  }
  job.tick(history.until);
  steps.push({ by: 'clock', view: job.view(history.until) });
  return steps;
}

class FastJob {
  private readonly ledger: Ledger;
  private readonly incidents = new Set<Incident>();
  private readonly pings: { matchedBy: string; scheduledFor: Instant | null }[] = [];
  private readonly answers: Answer[] = [];
  private readonly claims = new Map<string, Claim>();
  private readonly history: History;
  private readonly zone: Zone;

  constructor(history: History, zone: Zone) {
    this.history = history;
    this.zone = zone;
    const version = { ...this.version(history.settings, 1), startsAfter: history.createdAt, endsAt: null };
    this.ledger = {
      settings: history.settings,
      versions: [version],
      pausedAt: null,
      pauses: [],
      silences: [],
      settleMs: history.settleSeconds * 1000,
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
      now: history.createdAt,
      maintenance: (due, t) => this.window(due, t),
      upstream: (due) => this.upstream(due),
      ...nothingDone(),
    };
    if (version.periodMs === null) this.ledger.nextUnrecorded = nextDue(this.ledger, history.createdAt);
    else anchorHeartbeat(this.ledger, history.createdAt);
  }

  private version(settings: HistorySettings, number: number) {
    const period = heartbeatPeriod(settings.schedules);
    return {
      number,
      zone: this.zone,
      timetable: period === null ? timetable(settings.schedules, this.zone) : null,
      periodMs: period === null ? null : period * 1000,
    };
  }

  private window(due: Instant, t: Instant) {
    const known = this.history.maintenance.filter(
      ({ knownFrom, knownUntil }) => knownFrom <= t && (knownUntil === null || t < knownUntil),
    );
    const found = known.findLast(({ from, until }) => from <= due && due < until);
    return found ? ({ reason: 'maintenance', note: found.name } as const) : null;
  }

  /** As read in a transaction of that instant. A heartbeat goes after nothing. */
  private upstream(at: Instant): readonly Upstream[] {
    const { settings, now } = this.ledger;
    if (heartbeatPeriod((settings as HistorySettings).schedules) !== null) return [];
    return this.history.after.flatMap((occurrences, jobId) => {
      const before = occurrences.filter(({ due }) => due <= at);
      if (before.length === 0) return [];
      const { due, doneAt } = before.reduce((last, one) => (one.due >= last.due ? one : last));
      return [{ jobId, due, doneAt: doneAt !== null && doneAt <= now ? doneAt : null }];
    });
  }

  private know(at: Instant): void {
    (this.ledger as { now: Instant }).now = at;
    (this.ledger as { silences: unknown }).silences = this.history.windows.filter(({ until }) => until <= at);
  }

  /** As the evaluator: inside a window the horizon stands still. */
  tick(at: Instant): void {
    const inside = this.history.windows.find(({ after, until }) => after < at && at < until);
    this.advance(inside ? inside.after : at);
  }

  private advance(at: Instant): void {
    this.know(at);
    if (!advance(this.ledger, at, 1_000_000)) throw new Error('not reached');
  }

  apply(input: Input): void {
    this.advance(input.at);
    const { ledger } = this;
    switch (input.type) {
      case 'ping':
        this.pings.push(this.ping(input));
        break;
      case 'edit': {
        const before = ledger.settings as HistorySettings;
        // As the engine: what changes nothing is no edit.
        if (JSON.stringify(before) === JSON.stringify(input.settings)) break;
        if (JSON.stringify(before.schedules) !== JSON.stringify(input.settings.schedules)) {
          applyVersion(ledger, this.version(input.settings, ledger.versions.length + 1), input.at);
        }
        applySettings(ledger, input.settings, input.at);
        break;
      }
      case 'pause':
        applyPause(ledger, input.at);
        break;
      case 'resume':
        applyResume(ledger, input.at);
        this.advance(input.at);
        break;
      case 'settle':
        applyDecision(ledger, input.scheduledFor, { state: input.state, note: '' }, input.at);
        break;
      case 'maintenance':
        applyMaintenance(ledger, input.at);
        break;
      case 'claim':
        this.answers.push(this.claim(input.rid, input.at));
        break;
      case 'extend':
        this.answers.push(this.extend(input.rid, input.at));
        break;
      case 'release':
        this.answers.push(this.release(input.rid, input.at));
        break;
      case 'decide':
        this.answers.push(this.decide(input.decision, input.at));
        break;
    }
  }

  private claim(rid: string, at: Instant): Answer {
    const claimed = applyClaim(this.ledger, rid, at);
    if (claimed.kind === 'rid_used') return answer('claim', 'rid_used');
    if (claimed.kind === 'refused') {
      const { why, about, retryAfterMs } = claimed;
      const scheduledFor = why === 'off_schedule' ? about : null;
      return answer('claim', why, { scheduledFor, retryAt: retryAfterMs === null ? null : at + retryAfterMs });
    }
    const { scheduledFor, leaseUntil } = claimed.claim;
    this.claims.set(rid, claimed.claim);
    return answer('claim', 'given', { scheduledFor, leaseUntil });
  }

  private extend(rid: string, at: Instant): Answer {
    const claim = this.claims.get(rid);
    if (!claim) return answer('extend', 'unknown');
    const word = applyExtend(this.ledger, claim, at);
    const { scheduledFor, leaseUntil } = claim;
    return answer('extend', word, word === 'extended' ? { scheduledFor, leaseUntil } : {});
  }

  private release(rid: string, at: Instant): Answer {
    const claim = this.claims.get(rid);
    if (claim) applyRelease(this.ledger, claim, at);
    return answer('release', claim ? 'released' : 'unknown');
  }

  private decide(decision: 'run' | 'skip', at: Instant): Answer {
    const { ledger } = this;
    if (ledger.settings.missedRuns !== 'catch_up') return answer('decide', 'no_backlog');
    applyBacklogDecision(ledger, decision, byDue(ledger), at);
    endDecision(ledger, at);
    return answer('decide', 'decided');
  }

  private ping(input: Extract<Input, { type: 'ping' }>) {
    const key = input.occ === null ? null : parseKey(input.occ);
    if (key && !key.ok) return { matchedBy: 'unmatched', scheduledFor: null };
    const rid = input.rid?.toLowerCase() ?? null;
    const parts = [input.kind, input.exitCode, input.occ, input.ownAt, rid === null ? input.body : ''];
    const applied = applyPing(this.ledger, {
      kind: input.kind,
      exitCode: input.exitCode,
      arrival: input.at,
      at: input.ownAt ?? input.at,
      ownAt: input.ownAt,
      rid,
      thread: rid === null ? `src:${input.source}` : `rid:${rid}`,
      key: key ? key.value : null,
      fingerprint: createHash('sha256').update(JSON.stringify(parts)).digest('hex'),
      durationMs: null,
    });
    const matchedBy = applied.match.rule === 'none' ? 'unmatched' : applied.match.rule;
    return { matchedBy, scheduledFor: applied.scheduledFor };
  }

  view(until: Instant): LedgerView {
    const { ledger } = this;
    for (const incident of ledger.changedIncidents) this.incidents.add(incident);
    // What a later one covered before it was due is recorded early; the slow ledger says so when it is due.
    const shown = [...ledger.rows.values()].filter((row) => row.scheduledFor <= until || row.state !== 'coalesced');
    const rows = shown.sort((a, b) => a.scheduledFor - b.scheduledFor);
    const occurrences = rows.map((row) => ({
      scheduledFor: row.scheduledFor,
      state: row.state,
      reason: row.reason,
      note: row.reason === 'maintenance' ? row.note : null,
      standsFor: row.standsFor,
      completions: row.completions,
      completedAt: row.completedAt,
      coveredBy: row.state === 'coalesced' || row.state === 'failed' ? row.coveredBy : null,
      wanted: row.wanted,
      confirmed: row.confirmed,
    }));
    // Due, but no deadline of it has passed yet: expected, without a row; in a pause that lasts: skipped.
    for (let due = ledger.nextUnrecorded; due !== null && due <= until; due = nextDue(ledger, due)) {
      if (ledger.rows.has(due)) continue;
      const paused = ledger.pausedAt !== null && due > ledger.pausedAt;
      const standsFor = [...(ledger.versions.at(-1)?.timetable?.dueIn(due - 1, due) ?? [])][0]?.standsFor ?? 1;
      occurrences.push({
        scheduledFor: due,
        state: paused ? 'skipped' : 'expected',
        reason: paused ? 'paused' : null,
        note: null,
        standsFor,
        completions: 0,
        completedAt: null,
        coveredBy: null,
        wanted: false,
        confirmed: false,
      });
    }
    occurrences.sort((a, b) => a.scheduledFor - b.scheduledFor);
    const [pings, answers] = [[...this.pings], [...this.answers]];
    const [incidents, owed] = [this.incidentViews(), this.owed(until)];
    return { occurrences, pings, incidents, status: jobStatus(ledger), answers, owed };
  }

  /** As the API lists it. */
  private owed(now: Instant): LedgerView['owed'] {
    const { ledger } = this;
    const first = Math.max(now, (ledger.lastHandOut ?? now) + (ledger.lastHandOut === null ? 0 : throttleMs(ledger)));
    const isListed = (row: Row) =>
      (row.wanted && now < rowTerms(ledger, row).usefulUntil) || isUnconfirmed(ledger, row, now);
    const listed = byDue(ledger).filter((row) => isListed(row) && !this.isWorkedOn(row, now));
    let waiting = 0;
    return listed.map((row) => {
      const unconfirmed = isUnconfirmed(ledger, row, now);
      const runAfter = unconfirmed ? null : first + waiting++ * throttleMs(ledger);
      return { scheduledFor: row.scheduledFor, state: row.state, unconfirmed, runAfter };
    });
  }

  private isWorkedOn(row: Row, now: Instant): boolean {
    const { ledger } = this;
    const isClaimedRun = (run: Run) => ledger.claims.some((claim) => claim.run === run);
    const ownRuns = runsOf(ledger, row).filter((run) => !isClaimedRun(run));
    return isClaimed(ledger, row, now) || ownRuns.some((run) => inProgress(run, ledger.settings, now));
  }

  private incidentViews(): LedgerView['incidents'] {
    const byOpening = (a: Incident, b: Incident) => a.openedAt - b.openedAt || a.kind.localeCompare(b.kind);
    return [...this.incidents].sort(byOpening).map((incident) => {
      const members = new Map<Instant, boolean>();
      for (const one of this.ledger.members) if (one.incident === incident) members.set(one.scheduledFor, one.moved);
      const events = this.ledger.events.filter((event) => event.incident === incident);
      return {
        kind: incident.kind,
        openedAt: incident.openedAt,
        resolvedAt: incident.resolvedAt,
        silent: incident.silent,
        members: [...members].sort(([a], [b]) => a - b).map(([scheduledFor, left]) => ({ scheduledFor, left })),
        events: events.map(({ type, at, first, before }) => ({ type, at, first, before })),
      };
    });
  }
}
