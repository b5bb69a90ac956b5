import type { Threshold } from '../../src/core/definition.ts';
import { keyCandidates, parseKey } from '../../src/core/key.ts';
import { type Due, type Timetable, timetable } from '../../src/core/schedule.ts';
import { floorToSecond, type Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import type { Zones } from '../../src/zones.ts';
import {
  type Answer,
  answer,
  type History,
  type HistorySettings,
  type Input,
  type LedgerView,
  type MaintenanceWindow,
} from './history.ts';

/**
 * The slow, perfect evaluator: DESIGN.md sections 3 to 8 and the numbered readings of docs/ledger.md (R1 to R62), in
 * code. It keeps every occurrence, run and ping in a plain array, stops at every instant at which anything could change,
 * and asks of every occurrence, oldest first, which rules hold *now*. Looking at more instants would change nothing.
 */
export function slowLedger(history: History, zones: Zones): LedgerView {
  const zone = zones.get(history.zone);
  if (!zone.ok) throw new Error(zone.reason);
  const ledger = new SlowLedger(history, zone.value);
  for (const input of history.inputs) ledger.accept(input);
  ledger.advance(history.until);
  return ledger.view();
}

type PingInput = Extract<Input, { type: 'ping' }>;
type Settled = 'on_time' | 'late' | 'expired' | 'failed' | 'missed' | 'coalesced' | 'skipped' | 'unknown';
type Troubled = 'not_started' | 'missing' | 'late' | 'overrun';
type IncidentKind = Troubled | 'failed' | 'expired' | 'duplicate' | 'unscheduled' | 'backlog';

type Version = {
  readonly start: Instant;
  end: Instant;
  readonly table: Timetable | null;
  /** Of a heartbeat, in milliseconds. */
  readonly period: number | null;
};
type Occurrence = {
  readonly due: Instant;
  readonly standsFor: number;
  readonly version: Version;
  /** A ping, a person or a check touched it: an edit does not take it away. */
  recorded: boolean;
  state: 'open' | Settled;
  reason: string | null;
  note: string | null;
  /** The kinds of incidents it has joined (R60). */
  readonly countsFor: Set<IncidentKind>;
  /** The start instant that passed while a window was known. */
  excusedStart: Instant | null;
  /** Failed or confirmed, and not wanted under settings that an edit replaced. */
  isGivenUp: boolean;
  /** Unknown, and a person said *run* (R44). */
  confirmed: boolean;
  /** The instant at which it was settled, last. */
  settledAt: Instant | null;
  completedBy: Run | null;
  completedAt: Instant | null;
  /** The instant of its completion, by a run or by a person, and when that was heard; null while not completed. */
  done: { readonly at: Instant; readonly heard: Instant } | null;
  coveredBy: Instant | null;
  duplicateTold: boolean;
  /** While the job is paused: what it was when the pause began, or has become by a start since. */
  frozen: string | null;
};
type End = { readonly at: Instant; readonly ok: boolean };
type Run = {
  occurrence: Occurrence | null;
  readonly rid: string | null;
  readonly source: string;
  /** The instant of its first ping. */
  readonly firstAt: Instant;
  /** Null also while nothing was heard of it: a claim was given for it (R46). */
  start: Instant | null;
  readonly ends: End[];
  /** A claim was given for it: it is at work only while that is live (R41). */
  readonly claimed: boolean;
  /** Of a start that arrived after the end of its run (R15): it or the end, the earlier. */
  lateStart: Instant | null;
  /** An unnamed failure was its last word (R12). */
  overturned: boolean;
  lastArrival: Instant;
};
type Matched = { readonly by: string; readonly occurrence: Occurrence | null; readonly run: Run | null };
type Heard = { readonly input: PingInput; readonly by: string; readonly due: Instant | null; readonly run: Run | null };
type Claim = {
  readonly rid: string;
  readonly occurrence: Occurrence;
  readonly run: Run;
  leaseUntil: Instant;
  over: 'replaced' | 'released' | null;
};
type Incident = {
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  resolvedAt: Instant | null;
  silent: boolean;
  readonly members: { readonly occurrence: Occurrence; left: boolean }[];
  readonly events: LedgerView['incidents'][number]['events'][number][];
  lastTold: Instant | null;
  /** `unscheduled`: the instant of its last off-schedule run. */
  lastRunAt: Instant;
};

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const LEASE = 60 * SECOND;
const TROUBLES: readonly IncidentKind[] = ['not_started', 'missing', 'late', 'overrun'];
const ONE_AT_A_TIME: readonly IncidentKind[] = [...TROUBLES, 'failed', 'expired'];
const FINISHED: readonly string[] = ['on_time', 'late', 'expired', 'coalesced', 'skipped'];
const COMPLETED: readonly string[] = ['on_time', 'late', 'expired'];
const ENDED: readonly string[] = [...COMPLETED, 'failed'];

class SlowLedger {
  readonly #history: History;
  readonly #zone: Zone;
  readonly #versions: Version[] = [];
  /** Every instant of every version up to `history.until` and every row, ascending. */
  readonly #occurrences: Occurrence[] = [];
  readonly #runs: Run[] = [];
  readonly #heard: Heard[] = [];
  readonly #incidents: Incident[] = [];
  readonly #pauses: { readonly from: Instant; until: Instant | null }[] = [];
  readonly #claims: Claim[] = [];
  readonly #answers: Answer[] = [];
  #lastHandOut = Number.NEGATIVE_INFINITY;
  /** The instant of the last decision about a backlog; an edit of what counts counts it anew. */
  #decidedUntil = Number.NEGATIVE_INFINITY;
  #isRecounting = false;
  #hasOtherThresholds = false;
  #settings: HistorySettings;
  #now: Instant;
  /** The one open occurrence of a heartbeat, and the second it is anchored to. */
  #beat: Occurrence | null = null;
  #anchor: Instant = 0;
  #replaying = false;
  /** Only the clock acts. */
  #isAdvancing = false;
  /** Counts what was settled, opened, joined and ended. */
  #changes = 0;
  #nextOf = new Map<Instant, Instant | null>();

  constructor(history: History, zone: Zone) {
    this.#history = history;
    this.#zone = zone;
    this.#settings = history.settings;
    this.#now = history.createdAt;
    this.#beginVersion(history.createdAt, []);
  }

  // ---- Time (R1 to R4) ----------------------------------------------------------------------------------------------

  accept(input: Input): void {
    this.advance(input.at);
    if (input.type === 'ping') this.#acceptPing(input);
    else if (input.type === 'edit') this.#edit(input.settings);
    else if (input.type === 'pause') this.#pause();
    else if (input.type === 'resume') this.#resume();
    else if (input.type === 'settle') this.#personSettles(input.scheduledFor, input.state);
    else if (input.type === 'maintenance') this.#knowMaintenance();
    else this.#answers.push(this.#answer(input));
    this.#judgeAll();
    if (this.#hasOtherThresholds) this.#tellReached();
  }

  advance(to: Instant): void {
    this.#isAdvancing = true;
    while (this.#now < to) {
      const ticks = this.#interestingInstants().filter((at) => at > this.#now && at < to);
      this.#now = ticks.reduce((least, at) => Math.min(least, at), to);
      this.#judgeAll();
    }
    this.#isAdvancing = false;
  }

  /** Every instant at which a rule could begin to hold; too many do no harm, one too few would. */
  #interestingInstants(): Instant[] {
    const { windows, settleSeconds, inputs } = this.#history;
    const list: (Instant | null)[] = inputs.map(({ at }) => at);
    for (const { doneAt } of this.#history.after.flat()) list.push(doneAt);
    for (const { until } of windows) list.push(until, until + 60 * SECOND, until + settleSeconds * SECOND);
    for (const occurrence of this.#occurrences) {
      if (occurrence.state !== 'open') list.push(this.#graceEnd(occurrence));
      if (occurrence.confirmed) list.push(this.#windowEnd(occurrence));
      if (occurrence.state !== 'open' && occurrence.state !== 'failed') continue;
      list.push(occurrence.due, this.#startBy(occurrence), this.#graceEnd(occurrence), this.#deadline(occurrence));
      list.push(this.#windowEnd(occurrence), this.#missedAt(occurrence), this.#coalesceAt(occurrence));
    }
    for (const run of this.#runs) {
      if (run.start === null || run.ends.length > 0) continue;
      list.push(run.start, this.#progressEnd(run), run.occurrence && this.#limit(run, run.occurrence));
    }
    const instants = list.filter((at) => at !== null);
    return [...instants, ...instants.map((at) => this.#heardBy(at))];
  }

  /** Every occurrence, oldest first, until nothing changes any more: the end of one incident may let another begin. */
  #judgeAll(): void {
    for (let before = -1; before !== this.#changes; ) {
      before = this.#changes;
      for (const occurrence of [...this.#occurrences]) {
        this.#cover(occurrence);
        if (!this.#paused() || this.#replaying) this.#judge(occurrence);
        else if (this.#isDueInPause(occurrence)) this.#settle(occurrence, 'skipped', 'paused');
      }
      this.#endIncidents();
    }
    this.#judgeBacklog();
  }

  /** The rules of one occurrence as of now, in the order of R3. */
  #judge(o: Occurrence): void {
    const isCoalescing = this.#settings.missedRuns === 'coalesce';
    if (o.state === 'open' && !o.recorded && isCoalescing && o.coveredBy !== null) {
      this.#settle(o, 'coalesced');
    } else if (this.#isSilentInWindow(o)) {
      this.#skipInWindow(o);
    } else if (o.state === 'open' && this.#isTouched(o)) {
      if (this.#now >= this.#heardBy(Math.max(this.#deadline(o), this.#blindSettleEnd(o))))
        this.#settle(o, 'unknown', 'blind_window');
    } else if (o.state === 'open') {
      const startBy = this.#startBy(o);
      const isBlocked = this.#isBlocked(o);
      // From its first check on it has a row, also where an edit moves that check to a later instant.
      if (isBlocked && this.#now >= this.#firstCheck(o)) o.recorded = true;
      if (!isBlocked && startBy !== null && this.#isPast(startBy) && !this.#isBegun(o)) this.#missStart(o, startBy);
      if (this.#hasOverrun(o)) this.#joinTrouble('overrun', o);
      if (!isBlocked && this.#isPast(this.#deadline(o))) this.#joinTrouble(this.#isBegun(o) ? 'late' : 'missing', o);
      const missedAt = this.#missedAt(o);
      if (missedAt !== null && this.#isPast(missedAt)) this.#settle(o, 'missed');
    }
    if (o.state === 'open' && isCoalescing && !this.#isRunning(o)) {
      const at = this.#coalesceAt(o);
      const nextGraceEnded = at !== null && this.#isPast(at) && !this.#isTouched(o);
      if (nextGraceEnded || o.coveredBy !== null) this.#settle(o, 'coalesced');
    }
  }

  /** R61: past its deadline, or missed, and nobody ever began it. */
  #isSilentInWindow(o: Occurrence): boolean {
    const isSilent = o.state === 'missed' || (o.state === 'open' && this.#isPast(this.#deadline(o)));
    const window = isSilent && !this.#isBegun(o) ? this.#window(o) : null;
    if (window?.knownFrom !== this.#now || !this.#isAdvancing) return window !== null;
    // Its checks of this very instant know it too; what has none waits for the input that tells of the window.
    const checks = [this.#deadline(o), this.#missedAt(o), this.#coalesceAt(o)];
    return checks.some((at) => at !== null && this.#heardBy(at) === this.#now);
  }

  #skipInWindow(o: Occurrence): void {
    const note = this.#window(o)?.name ?? null;
    this.#settle(o, 'skipped', 'maintenance');
    o.note = note;
  }

  /** To say that it was maintenance is a decision: in a pause too it is one about what is shown as overdue. */
  #knowMaintenance(): void {
    if (!this.#paused()) return;
    for (const o of this.#occurrences) {
      const isSilent = ['overdue', 'missed'].includes(this.#stateOf(o)) && !this.#isBegun(o);
      if (isSilent && this.#window(o)) this.#skipInWindow(o);
    }
  }

  /** The maintenance window known at `at` that it is due in; of several the one said last. */
  #window({ due }: Occurrence, at: Instant = this.#now): MaintenanceWindow | null {
    const known = this.#history.maintenance.filter(
      ({ knownFrom, knownUntil }) => knownFrom <= at && (knownUntil === null || at < knownUntil),
    );
    return known.findLast(({ from, until }) => from <= due && due < until) ?? null;
  }

  /** A window that is taken back gives nothing back; an edit of `start_within` asks anew. */
  #missStart(o: Occurrence, startBy: Instant): void {
    if (this.#window(o) !== null || this.#window(o, this.#heardBy(startBy)) !== null) o.excusedStart = startBy;
    if (o.excusedStart !== startBy) this.#joinTrouble('not_started', o);
  }

  /** R23: `covered_by` is the first later completion; once covered stays covered. */
  #cover(o: Occurrence): void {
    const yields =
      ['open', 'failed', 'missed', 'unknown'].includes(o.state) && this.#settings.missedRuns === 'coalesce';
    if (o.coveredBy !== null || !(yields || o.state === 'coalesced')) return;
    const later = this.#occurrences.filter(({ due, done }) => {
      if (due <= o.due || done === null) return false;
      return o.recorded || done.heard >= o.due || this.#now >= this.#firstCheck(o);
    });
    later.sort((a, b) => (a.done?.at ?? 0) - (b.done?.at ?? 0));
    o.coveredBy = later[0]?.due ?? null;
  }

  /** Where the policy or a pause changes, what is covered already and not running comes first: nobody is called about it. */
  #coverFirst(idle: readonly Occurrence[]): void {
    if (this.#settings.missedRuns !== 'coalesce') return;
    for (const o of idle) {
      const isCompletedLater = this.#occurrences.some(({ due, done }) => due > o.due && done !== null);
      if (o.due <= this.#now && isCompletedLater) o.recorded = true;
      this.#cover(o);
      if (o.state === 'open' && o.coveredBy !== null) this.#settle(o, 'coalesced');
    }
  }

  #idle(): Occurrence[] {
    return this.#occurrences.filter((o) => o.state === 'open' && this.#stateOf(o) !== 'running');
  }

  /** R27: a check instant inside a short gap between beats acts 60 s after its end. */
  #heardBy(at: Instant): Instant {
    const gap = this.#history.windows.find((w) => w.kind === 'gap' && w.after < at && at <= w.until);
    return gap ? this.#heardBy(gap.until + 60 * SECOND) : at;
  }

  #isPast(check: Instant): boolean {
    return this.#now >= this.#heardBy(check);
  }

  // ---- Instants (R5, R6) --------------------------------------------------------------------------------------------

  #beginVersion(start: Instant, expected: readonly Occurrence[]): void {
    const { schedules } = this.#settings;
    const table = this.#period() === null ? timetable(schedules, this.#zone) : null;
    const version: Version = { start, end: Number.POSITIVE_INFINITY, table, period: this.#period() };
    const last = this.#versions.at(-1);
    if (last) last.end = start;
    this.#versions.push(version);
    this.#nextOf.clear();
    this.#remove((o) => o.due > start && !o.recorded);
    for (const o of expected) {
      if (!this.#occurrences.includes(o)) continue;
      const isDueToo = table?.previous(o.due + 1)?.at === o.due;
      if (!isDueToo) this.#settle(o, 'skipped', 'schedule_changed');
    }
    for (const due of table?.dueIn(start, this.#history.until) ?? []) this.#add(due, version);
    if (table || !this.#beat || !this.#occurrences.includes(this.#beat)) this.#beat = null;
    if (!table && !this.#beat) this.#anchorBeat(start);
  }

  #add({ at, standsFor }: Due, version: Version): Occurrence {
    const known = this.#occurrences.find(({ due }) => due === at);
    if (known) return known;
    const blank = {
      recorded: false,
      state: 'open',
      reason: null,
      note: null,
      excusedStart: null,
      settledAt: null,
      completedBy: null,
    } as const;
    const rest = {
      completedAt: null,
      done: null,
      coveredBy: null,
      duplicateTold: false,
      frozen: null,
      isGivenUp: false,
      confirmed: false,
    } as const;
    const occurrence: Occurrence = { due: at, standsFor, version, countsFor: new Set(), ...blank, ...rest };
    this.#occurrences.push(occurrence);
    this.#occurrences.sort((a, b) => a.due - b.due);
    return occurrence;
  }

  #remove(isGone: (occurrence: Occurrence) => boolean): void {
    const kept = this.#occurrences.filter((occurrence) => !isGone(occurrence));
    this.#occurrences.splice(0, this.#occurrences.length, ...kept);
  }

  /** The first instant of the versions after this one; rows that no version has do not count. */
  #nextInstant(after: Instant): Instant | null {
    const known = this.#nextOf.get(after);
    if (known !== undefined) return known;
    const found = this.#versions.flatMap(({ start, end, table }) => {
      const due = end > after ? table?.next(Math.max(start, after)) : null;
      return due && due.at <= end ? [due.at] : [];
    });
    const next = found.length > 0 ? Math.min(...found) : null;
    this.#nextOf.set(after, next);
    return next;
  }

  /** The occurrence of the ledger (R5) due at exactly this instant. */
  #occurrenceAt(at: Instant): Occurrence | null {
    const row = this.#occurrences.find(({ due }) => due === at);
    if (row) return row;
    const version = this.#versions.find(({ start, end }) => start < at && at <= end);
    const due = version?.table?.previous(at + 1);
    return version && due?.at === at ? this.#add(due, version) : null;
  }

  /** C: the latest due at or before `at`. */
  #current(at: Instant): Occurrence | null {
    return this.#occurrences.findLast(({ due }) => due <= at) ?? null;
  }

  /** N: the first due after `at`. */
  #upcoming(at: Instant): Occurrence | null {
    const row = this.#occurrences.find(({ due }) => due > at)?.due ?? Number.POSITIVE_INFINITY;
    const first = Math.min(row, this.#nextInstant(at) ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(first) ? this.#occurrenceAt(first) : null;
  }

  /** The instant from which a ping may belong to it (heartbeat: the whole period). */
  #opensAt({ due, version }: Occurrence): Instant {
    if (version.period !== null) return due - version.period;
    if (this.#settings.early !== null) return due - this.#settings.early * SECOND;
    const previous = version.table?.previous(due) ?? null;
    return due - (previous ? Math.min((due - previous.at) / 10, 300 * SECOND) : 300 * SECOND);
  }

  #startBy(o: Occurrence): Instant | null {
    return this.#settings.startWithin === null ? null : this.#countsFrom(o) + this.#settings.startWithin * SECOND;
  }

  /** R62: when what goes first was done, or it began all the same; Infinity: neither yet. */
  #releasedAt(o: Occurrence): Instant {
    const runs = this.#runsOf(o);
    const begun = runs.flatMap(({ start, lateStart }) => start ?? lateStart ?? []);
    // Of a run that was never announced its end says that it began.
    const ended = ENDED.includes(o.state) ? [o.settledAt ?? 0] : runs.flatMap(({ ends }) => ends.map(({ at }) => at));
    return Math.max(o.due, Math.min(this.#upstreamDone(o), ...begun, ...ended));
  }

  /** From then on its start and its grace count; where its window ended before that, nothing counts anew. */
  #countsFrom(o: Occurrence): Instant {
    const released = this.#releasedAt(o);
    const end = this.#windowEnd(o) ?? Number.POSITIVE_INFINITY;
    return released < end || (released === Number.POSITIVE_INFINITY && this.#now < end) ? released : o.due;
  }

  /** It waits for what goes first, or did so when its window ended. */
  #isBlocked(o: Occurrence): boolean {
    const released = this.#releasedAt(o);
    if (released === Number.POSITIVE_INFINITY) return true;
    return !this.#isBegun(o) && released > o.due && released >= (this.#windowEnd(o) ?? Number.POSITIVE_INFINITY);
  }

  /** When the last of the occurrences that go first was done, as is known now; Infinity: one is not. */
  #upstreamDone({ due: at, version }: Occurrence): Instant {
    // A heartbeat waits for nothing; nor does what is left of one.
    if (this.#period() !== null || version.period !== null) return Number.NEGATIVE_INFINITY;
    const latest = this.#history.after.flatMap((upstream) => {
      const before = upstream.filter(({ due }) => due <= at);
      return before.length === 0 ? [] : [before.reduce((last, one) => (one.due >= last.due ? one : last))];
    });
    const done = latest.map(({ doneAt }) =>
      doneAt !== null && doneAt <= this.#now ? doneAt : Number.POSITIVE_INFINITY,
    );
    return Math.max(Number.NEGATIVE_INFINITY, ...done);
  }

  /** Blocked, and it has a row. */
  #isHeldBack(o: Occurrence): boolean {
    const hasRow = o.recorded || this.#now >= this.#firstCheck(o);
    return o.state === 'open' && hasRow && this.#isBlocked(o);
  }

  /** From then on it has a row, whatever else: blocked too. */
  #firstCheck({ due }: Occurrence): Instant {
    const { startWithin } = this.#settings;
    return due + Math.min(this.#grace(), (startWithin ?? Number.POSITIVE_INFINITY) * SECOND);
  }

  #grace(): number {
    const { grace, usefulFor } = this.#settings;
    return (grace ?? Math.min(300, usefulFor ?? 300)) * SECOND;
  }

  #graceEnd(o: Occurrence): Instant {
    return this.#countsFrom(o) + this.#grace();
  }

  #windowEnd(o: Occurrence): Instant | null {
    const { usefulFor, missedRuns } = this.#settings;
    if (missedRuns === null) return null;
    if (usefulFor !== null) return o.due + usefulFor * SECOND;
    return missedRuns === 'skip' ? Math.max(this.#nextInstant(o.due) ?? 0, o.due + this.#grace()) : null;
  }

  #coalesceAt(o: Occurrence): Instant | null {
    const next = this.#nextInstant(o.due);
    return next === null ? null : next + this.#grace();
  }

  /** The period of a heartbeat, else null. */
  #period(): number | null {
    const [only] = this.#settings.schedules;
    return only && 'heartbeat' in only ? only.heartbeat * SECOND : null;
  }

  // ---- Runs and limits (R7 to R10, R22) -----------------------------------------------------------------------------

  #runsOf(o: Occurrence): Run[] {
    return this.#runs.filter(({ occurrence }) => occurrence === o);
  }

  #isBegun(o: Occurrence): boolean {
    return this.#runsOf(o).some(({ start, ends }) => start !== null || ends.length > 0);
  }

  /** The instant at which a run without an end is in progress no longer (R8). */
  #progressEnd(run: Run): Instant {
    const start = run.start ?? run.firstAt;
    if (this.#settings.maxRuntime !== null) return start + this.#settings.maxRuntime * SECOND;
    const index = this.#runs.indexOf(run);
    const followers = this.#runs.flatMap((other, i) => {
      const next = other.start ?? other.lateStart;
      const isSameSource = run.rid === null && other.rid === null && other.source === run.source;
      return isSameSource && next !== null && (next > start || (next === start && i > index)) ? [next] : [];
    });
    return Math.min(start + DAY, ...followers);
  }

  #isInProgress(run: Run, at: Instant): boolean {
    return run.start !== null && run.ends.length === 0 && run.start <= at && at < this.#progressEnd(run);
  }

  #isTimed(run: Run, o: Occurrence): boolean {
    const start = run.start ?? run.lateStart;
    return this.#settings.maxRuntime !== null && start !== null && start < this.#graceEnd(o);
  }

  #limit(run: Run, o: Occurrence): Instant {
    const start = run.start ?? run.lateStart ?? 0;
    return this.#isTimed(run, o) ? start + (this.#settings.maxRuntime ?? 0) * SECOND : this.#graceEnd(o);
  }

  /** The limits of the unended runs that `max_runtime` times. */
  #openLimits(o: Occurrence): Instant[] {
    const timed = this.#runsOf(o).filter((run) => run.ends.length === 0 && this.#isTimed(run, o));
    return timed.map((run) => this.#limit(run, o));
  }

  #deadline(o: Occurrence): Instant {
    const limits = this.#openLimits(o);
    return limits.length > 0 ? Math.max(...limits) : this.#graceEnd(o);
  }

  #hasOverrun(o: Occurrence): boolean {
    return this.#openLimits(o).some((limit) => this.#isPast(limit));
  }

  #missedAt(o: Occurrence): Instant | null {
    const end = this.#windowEnd(o);
    if (end === null) return null;
    // The window of a blocked one ends as ever; of one that waited, not before its deadline.
    return this.#isBlocked(o) ? end : Math.max(end, this.#deadline(o));
  }

  #isRunning(o: Occurrence): boolean {
    return this.#runsOf(o).some((run) => {
      if (run.start === null || run.ends.length > 0 || run.start > this.#now) return false;
      return !this.#isPast(this.#limit(run, o)) && !this.#isPast(this.#progressEnd(run));
    });
  }

  #stateOf(o: Occurrence): string {
    if (o.state !== 'open') return o.state;
    if (this.#paused() && !this.#replaying) return o.frozen ?? 'expected';
    if (this.#isRunning(o)) return 'running';
    return this.#isPast(this.#deadline(o)) && !this.#isBlocked(o) && !this.#isTouched(o) ? 'overdue' : 'expected';
  }

  // ---- Settling (R11 to R14, R22 to R25) ----------------------------------------------------------------------------

  #settle(o: Occurrence, state: Settled, reason: string | null = null, at: Instant = this.#now): void {
    this.#changes++;
    if (state !== 'failed' || o.state !== 'failed') o.settledAt = at;
    o.state = state;
    o.reason = reason;
    o.note = null;
    o.recorded = true;
    o.done = COMPLETED.includes(state) ? { at, heard: this.#now } : null;
    if (o === this.#beat) this.#anchorBeat(at);
  }

  #applyEnd(o: Occurrence, run: Run, end: End): void {
    const before = this.#successes(o);
    run.ends.push(end);
    if (lastEnd(run) !== end) return;
    const isEndedFromBefore = o.state === 'open' && o !== this.#beat;
    if (end.ok) this.#applySuccess(o, run, end.at);
    else this.#applyFailure(o, run, end.at);
    // A run from before the job was a heartbeat is a sign of life too.
    const beat = isEndedFromBefore && o.state !== 'open' ? this.#beat : null;
    if (beat && !beat.recorded && this.#now < this.#firstCheck(beat) && floorToSecond(end.at) > this.#anchor) {
      this.#remove((other) => other === beat);
      this.#anchorBeat(end.at);
    }
    const isExcess = this.#successes(o) > Math.max(before, o.standsFor);
    const isTold = this.#settings.duplicates === 'record' || o.duplicateTold || this.#period() !== null;
    if (!isExcess || isTold || this.#wasPaused(end.at) || this.#wasBlind(end.at)) return;
    o.duplicateTold = true;
    this.#join('duplicate', o);
  }

  #applySuccess(o: Occurrence, run: Run, at: Instant): void {
    if (COMPLETED.includes(o.state) || o.state === 'skipped') return;
    const windowEnd = this.#windowEnd(o) ?? Number.POSITIVE_INFINITY;
    const state = at < this.#limit(run, o) ? 'on_time' : at < windowEnd ? 'late' : 'expired';
    o.completedBy = run;
    o.completedAt = at;
    this.#settle(o, state, null, at);
    if (state === 'expired') this.#join('expired', o);
  }

  #applyFailure(o: Occurrence, run: Run, at: Instant): void {
    if (o.state === 'skipped') return;
    if (COMPLETED.includes(o.state)) {
      const [completing, completedAt] = [o.completedBy, o.completedAt];
      if (completing === null || completedAt === null) return;
      // Of a heartbeat only in the very second: any later end has an occurrence of its own.
      const isInTime = this.#period() === null || floorToSecond(at) === floorToSecond(completedAt);
      const isLastUnnamedWord = completing.rid === null && run.rid === null && at >= completedAt && isInTime;
      if (completing !== run && !isLastUnnamedWord) return;
      completing.overturned = completing !== run;
      o.completedBy = null;
      o.completedAt = null;
    }
    o.isGivenUp = false;
    this.#settle(o, 'failed', null, at);
    this.#join('failed', o);
  }

  #successes(o: Occurrence): number {
    return this.#runsOf(o).filter((run) => lastEnd(run)?.ok && !run.overturned).length;
  }

  #isWanted(o: Occurrence): boolean {
    const { missedRuns } = this.#settings;
    if (missedRuns === null || missedRuns === 'skip') return false;
    if (o.state === 'open') return this.#stateOf(o) === 'overdue';
    if (o.state === 'unknown' && !(o.confirmed && missedRuns === 'catch_up')) return false;
    if ((o.state !== 'failed' && o.state !== 'unknown') || o.isGivenUp) return false;
    const windowEnd = this.#windowEnd(o);
    if (windowEnd !== null && this.#isPast(windowEnd)) return false;
    if (missedRuns === 'catch_up') return true;
    const coalesceAt = this.#coalesceAt(o);
    if (coalesceAt !== null && this.#isPast(coalesceAt)) return false;
    return o.coveredBy === null;
  }

  // ---- Blind windows (R26) ------------------------------------------------------------------------------------------

  #touching(o: Occurrence): History['windows'][number][] {
    const known = this.#history.windows.filter(({ kind, after }) => kind === 'blind' && after < this.#now);
    return known.filter(({ after, until }) => after < this.#deadline(o) && until > this.#opensAt(o));
  }

  /** What people were told about is not taken back to be awaited. */
  #isTouched(o: Occurrence): boolean {
    const told = this.#incidents.some(
      (one) => one.kind !== 'not_started' && TROUBLES.includes(one.kind) && isMember(one, o),
    );
    // Of one that is blocked nothing was to be heard.
    return !told && !this.#isBlocked(o) && this.#touching(o).length > 0;
  }

  #blindSettleEnd(o: Occurrence): Instant {
    return Math.max(...this.#touching(o).map(({ until }) => until)) + this.#history.settleSeconds * SECOND;
  }

  #wasBlind(at: Instant): boolean {
    return this.#history.windows.some(({ kind, after, until }) => kind === 'blind' && after < at && at <= until);
  }

  // ---- Matching (R15 to R21) ----------------------------------------------------------------------------------------

  #acceptPing(ping: PingInput): void {
    const at = ping.ownAt ?? ping.at;
    if (ping.occ !== null && !parseKey(ping.occ).ok) {
      this.#heard.push({ input: ping, by: 'unmatched', due: null, run: null });
      return;
    }
    const earlier = this.#heard.findLast(
      ({ input, by }) => by !== 'retry' && by !== 'unmatched' && sameThread(input, ping),
    );
    if (earlier && this.#isRetry(ping, earlier)) {
      this.#heard.push({ input: ping, by: 'retry', due: earlier.due, run: earlier.run });
      return;
    }
    const matched = this.#period() === null ? this.#match(ping, at) : this.#matchHeartbeat(ping, at);
    if (!matched) {
      this.#heard.push({ input: ping, by: 'unmatched', due: null, run: null });
      return;
    }
    const run = this.#applyPing(ping, at, matched);
    this.#heard.push({ input: ping, by: matched.by, due: matched.occurrence?.due ?? null, run });
  }

  #applyPing(ping: PingInput, at: Instant, { occurrence, run: known }: Matched): Run | null {
    if (known) known.lastArrival = ping.at;
    if (ping.kind === 'log') return known;
    const run = known ?? this.#beginRun(ping, at, occurrence);
    if (occurrence) occurrence.recorded = true;
    if (ping.kind === 'start') {
      if (known && known.start === null && known.ends.length === 0) known.start = at;
      else if (known && known.start === null) known.lateStart ??= Math.min(at, lastEnd(known)?.at ?? at);
    } else {
      run.occurrence = occurrence; // a heartbeat's run ends in the one that is open now (R31)
      const end = { at, ok: ping.kind === 'success' };
      if (occurrence) this.#applyEnd(occurrence, run, end);
      else run.ends.push(end);
    }
    // The occurrence itself first: what leaves one incident for another must not end the first with a message.
    if (occurrence && !this.#paused()) this.#judge(occurrence);
    if (occurrence && this.#paused() && this.#isRunning(occurrence)) occurrence.frozen = 'running';
    return run;
  }

  #beginRun({ rid, source, kind, at: lastArrival }: PingInput, at: Instant, occurrence: Occurrence | null): Run {
    const start = kind === 'start' ? at : null;
    const fresh = { ends: [], lateStart: null, overturned: false, claimed: false };
    const run: Run = { occurrence, rid, source, firstAt: at, start, lastArrival, ...fresh };
    this.#runs.push(run);
    if (!occurrence && this.#period() === null) this.#offSchedule(at);
    return run;
  }

  #isRetry(ping: PingInput, { input, run, due }: Heard): boolean {
    const isSame =
      input.kind === ping.kind &&
      input.exitCode === ping.exitCode &&
      input.occ === ping.occ &&
      input.ownAt === ping.ownAt;
    const age = ping.at - input.at;
    if (!isSame || age >= DAY) return false;
    if (ping.rid === null) {
      if (input.body !== ping.body || this.#period() !== null || !this.#isSameMoment(ping, age)) return false;
      // A later instant has become due: the next run may have been quick (R16).
      const current = this.#current(ping.ownAt ?? ping.at);
      return ping.occ !== null || ping.ownAt !== null || !current || current.due <= (due ?? input.at);
    }
    // A constant run id is no retry of yesterday's run (R17), unless it comes within 2 minutes.
    return run === null || !this.#isOutlived(run, ping) || age < 120 * SECOND;
  }

  /** The retry window of what has no run id. */
  #isSameMoment(ping: PingInput, age: number): boolean {
    const at = ping.ownAt ?? ping.at;
    const [current, upcoming] = [this.#current(at), this.#upcoming(at)];
    const gap = this.#period() ?? (current && upcoming ? upcoming.due - current.due : Number.POSITIVE_INFINITY);
    return age < 120 * SECOND && age < gap / 2;
  }

  /** R17: the run has ended, and the ping says no more than that something ran when a later occurrence is due. */
  #isOutlived(run: Run, { at, occ, ownAt }: PingInput): boolean {
    if (run.ends.length === 0 || occ !== null || ownAt !== null) return false;
    const current = this.#current(at);
    const due = run.occurrence?.due ?? run.start ?? run.lateStart ?? lastEnd(run)?.at ?? run.firstAt;
    return this.#period() !== null || (current !== null && current.due > due);
  }

  #match(ping: PingInput, at: Instant): Matched | null {
    if (ping.occ !== null) {
      const occurrence = this.#keyed(ping.occ);
      if (!occurrence) return null;
      const run = this.#knownRun(ping, at, (run) => run.occurrence === occurrence);
      // Whoever has it already is not sent away when an edit lets it open later.
      const isOpen = this.#opensAt(occurrence) <= ping.at || (run !== null && ping.rid !== null);
      return isOpen ? { by: 'key', occurrence, run } : null;
    }
    const run = this.#knownRun(ping, at, () => true);
    if (run) return { by: ping.rid === null ? 'running' : 'rid', occurrence: run.occurrence, run };
    return { ...this.#matchByTime(at), run: null };
  }

  /** The run that a ping belongs to (key, rid and running rules), if it begins no new one. */
  #knownRun(ping: PingInput, at: Instant, isEligible: (run: Run) => boolean): Run | null {
    const runs = this.#runs.filter(isEligible);
    if (ping.kind === 'start') {
      const ended = runs.findLast((run) => sameThread(run, ping));
      const isStartless = ended && ended.ends.length > 0 && ended.start === null && ended.lateStart === null;
      if (isStartless && this.#isSameMoment(ping, ping.at - ended.lastArrival)) return ended;
    }
    if (ping.rid !== null) {
      const run = runs.findLast(({ rid }) => rid === ping.rid);
      const isKnown = run && (ping.at - run.lastArrival < DAY || this.#isInProgress(run, at));
      return isKnown && !this.#isOutlived(run, ping) ? run : null;
    }
    if (ping.kind !== 'success' && ping.kind !== 'fail') return null;
    const inProgress = runs.filter((run) => run.rid === null && this.#isInProgress(run, at));
    return inProgress.reduce<Run | null>(
      (latest, run) => ((latest?.start ?? 0) > (run.start ?? 0) ? latest : run),
      null,
    );
  }

  #matchByTime(at: Instant): { by: string; occurrence: Occurrence | null } {
    const [current, upcoming] = [this.#current(at), this.#upcoming(at)];
    const isOver = !current || FINISHED.includes(current.state) || at >= this.#graceEnd(current);
    const isEarly = upcoming !== null && at >= this.#opensAt(upcoming);
    const candidate = isEarly && isOver ? upcoming : current;
    if (candidate && !FINISHED.includes(candidate.state)) return { by: 'current', occurrence: candidate };
    if (candidate && candidate === upcoming) return { by: 'again', occurrence: upcoming };
    if (!current) return { by: 'off_schedule', occurrence: null };
    const toCurrent = Math.abs(at - (current.completedAt ?? current.due));
    const toUpcoming = upcoming ? upcoming.due - at : Number.POSITIVE_INFINITY;
    return toCurrent < toUpcoming ? { by: 'again', occurrence: current } : { by: 'off_schedule', occurrence: null };
  }

  #keyed(text: string): Occurrence | null {
    const spelling = parseKey(text);
    if (!spelling.ok) return null;
    const named = keyCandidates(spelling.value, this.#zone);
    let found: Occurrence | null;
    if ('instants' in named) {
      const there = named.instants.map((at) => this.#occurrenceAt(at)).filter((o) => o !== null);
      found = there.find((o) => !COMPLETED.includes(o.state)) ?? there[0] ?? null;
    } else {
      const first = this.#upcoming(named.after);
      const second = first && this.#upcoming(first.due);
      found = first && first.due <= named.until && !(second && second.due <= named.until) ? first : null;
    }
    return found;
  }

  // ---- Heartbeat (R31 to R33) ---------------------------------------------------------------------------------------

  #anchorBeat(at: Instant): void {
    this.#beat = null;
    const [period, version] = [this.#period(), this.#versions.at(-1)];
    if (period === null || !version || this.#paused()) return;
    this.#anchor = floorToSecond(at);
    while (this.#occurrences.some(({ due }) => due === this.#anchor + period)) this.#anchor += SECOND;
    this.#beat = this.#add({ at: this.#anchor + period, standsFor: 1 }, version);
  }

  /** An occurrence of the heartbeat that the job is; what is left from schedules before it is none. */
  #isBeat(o: Occurrence): boolean {
    return this.#versions.slice(this.#versions.indexOf(o.version)).every(({ period }) => period !== null);
  }

  #matchHeartbeat(ping: PingInput, at: Instant): Matched {
    const isEnd = ping.kind === 'success' || ping.kind === 'fail';
    const known = this.#knownRun(ping, at, () => true);
    const isStartOfEnded = ping.kind === 'start' && known?.start === null && known.lateStart === null;
    const run = known && (known.ends.length === 0 || isStartOfEnded) ? known : null;
    // A run begun before the job was a heartbeat ends its own occurrence.
    const isFromBefore = run?.occurrence && !this.#isBeat(run.occurrence);
    if (run && (!isEnd || isFromBefore)) {
      return { by: run.rid === null ? 'running' : 'rid', occurrence: run.occurrence, run };
    }

    const earlier = this.#openThen(at);
    const [second, settled] = [floorToSecond(at), earlier?.settledAt ?? null];
    const isAnchorsSecond = second === this.#anchor && settled !== null && floorToSecond(settled) === second;
    if (this.#beat && !(isEnd && (second < this.#anchor || isAnchorsSecond))) {
      return { by: run ? (run.rid === null ? 'running' : 'rid') : 'current', occurrence: this.#beat, run };
    }
    return { by: earlier ? 'again' : 'off_schedule', occurrence: earlier, run };
  }

  /** The heartbeat occurrence that was open at `at`: the last one anchored before its second, else in it. */
  #openThen(at: Instant): Occurrence | null {
    const beats = this.#occurrences.filter((o) => o !== this.#beat && this.#isBeat(o));
    const anchored = beats.map((o) => ({ o, anchor: o.due - (o.version.period ?? 0) }));
    anchored.sort((a, b) => a.anchor - b.anchor);
    const before = anchored.findLast(({ anchor }) => anchor < floorToSecond(at));
    return (before ?? anchored.find(({ anchor }) => anchor === floorToSecond(at)))?.o ?? null;
  }

  // ---- Edits, pause, person (R28 to R30) ----------------------------------------------------------------------------

  #edit(settings: HistorySettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    const debts = this.#occurrences.filter((o) => o.state === 'failed' || o.confirmed);
    const unwanted = debts.filter((o) => !this.#isWanted(o));
    const isNewVersion = JSON.stringify(settings.schedules) !== JSON.stringify(this.#settings.schedules);
    const expected = this.#occurrences.filter((o) => this.#stateOf(o) === 'expected' && !this.#isClaimed(o));
    const idle = this.#idle();
    const before = this.#settings;
    this.#settings = settings;
    // What is settled may stop being wanted, but an edit makes no debts of it (R28).
    for (const o of unwanted) o.isGivenUp = true;
    if (isNewVersion) {
      this.#beginVersion(this.#now, expected);
      // What is due by then has a row.
      for (const o of this.#occurrences) if (o.due <= this.#now && this.#isBlocked(o)) o.recorded = true;
    }
    if (!this.#paused()) this.#coverFirst(idle);
    const decisive = (one: HistorySettings) =>
      [one.missedRuns, one.maxCatchUp, one.early, one.startWithin, one.grace, one.usefulFor, one.maxRuntime].join();
    this.#isRecounting = decisive(settings) !== decisive(before);
    this.#hasOtherThresholds = JSON.stringify(settings.alertAfter) !== JSON.stringify(before.alertAfter);
  }

  #pause(): void {
    if (this.#paused()) return;
    for (const o of this.#occurrences) o.frozen = this.#stateOf(o);
    this.#pauses.push({ from: this.#now, until: null });
    for (const o of [...this.#occurrences]) {
      const state = this.#stateOf(o);
      const isExpected = state === 'expected' && (o.due <= this.#now || o.recorded);
      const isGivenUp = state === 'overdue' && this.#settings.missedRuns !== 'catch_up';
      if ((isExpected || isGivenUp) && !this.#isClaimed(o)) this.#settle(o, 'skipped', 'paused');
    }
    const beat = this.#beat;
    if (beat && this.#stateOf(beat) !== 'running') {
      this.#remove((o) => o === beat);
      this.#beat = null;
    }
    for (const incident of this.#incidents) if (incident.resolvedAt === null) this.#resolve(incident, true);
  }

  #resume(): void {
    const pause = this.#pauses.at(-1);
    if (!pause || !this.#paused()) return;
    const at = this.#now;
    this.#coverFirst(this.#idle());
    this.#replaying = true;
    this.#now = pause.from;
    this.#judgeAll();
    this.advance(at);
    this.#replaying = false;
    pause.until = at;
    if (this.#beat?.state !== 'open') this.#anchorBeat(at);
    for (const o of [...this.#occurrences]) {
      if (o.state === 'failed' && this.#isWanted(o)) this.#join('failed', o);
      this.#judge(o);
    }
  }

  #paused(): boolean {
    return this.#pauses.at(-1)?.until === null;
  }

  #wasPaused(at: Instant): boolean {
    return this.#paused() || this.#pauses.some(({ from, until }) => from < at && at <= (until ?? at));
  }

  /** Open and due since the pause began; the heartbeat that was running then lives on. */
  #isDueInPause(o: Occurrence): boolean {
    const from = this.#pauses.at(-1)?.from ?? 0;
    return o.state === 'open' && o !== this.#beat && from < o.due && o.due <= this.#now;
  }

  #personSettles(scheduledFor: Instant, state: 'skipped' | 'on_time'): void {
    const o = this.#occurrenceAt(scheduledFor);
    if (!o) return;
    o.completedBy = null;
    o.completedAt = null;
    this.#settle(o, state, 'operator');
  }

  // ---- What is owed, and claims (R41 to R47) ------------------------------------------------------------------------

  #answer(input: Exclude<Input, { type: 'ping' | 'edit' | 'pause' | 'resume' | 'settle' | 'maintenance' }>): Answer {
    if (input.type === 'decide') return this.#decide(input.decision);
    if (input.type === 'claim') return this.#claim(input.rid);
    const claim = this.#claims.find(({ rid }) => rid === input.rid);
    if (!claim) return answer(input.type, 'unknown');
    if (input.type === 'extend') return this.#extend(claim);
    claim.over ??= 'released';
    return answer('release', 'released');
  }

  #isLive(claim: Claim): boolean {
    return this.#holds(claim) && !isDone(claim.occurrence);
  }

  /** Its runner is at work, whatever has become of the occurrence. */
  #holds({ over, leaseUntil, run }: Claim): boolean {
    return over === null && this.#now < leaseUntil && run.ends.length === 0;
  }

  #isClaimed(o: Occurrence): boolean {
    return this.#claims.some((claim) => claim.occurrence === o && this.#isLive(claim));
  }

  /** What works on it, or (null) on anything of the job, now. */
  #atWork(o: Occurrence | null): (Claim | Run)[] {
    const isOfIt = ({ occurrence }: Claim | Run) => o === null || occurrence === o;
    const claims = this.#claims.filter((claim) => isOfIt(claim) && this.#holds(claim));
    const runs = this.#runs.filter((run) => isOfIt(run) && !run.claimed && this.#isInProgress(run, this.#now));
    return [...claims, ...runs];
  }

  #isUseful(o: Occurrence): boolean {
    return this.#now < (this.#windowEnd(o) ?? Number.POSITIVE_INFINITY);
  }

  #isUnconfirmed(o: Occurrence): boolean {
    return this.#settings.missedRuns === 'catch_up' && o.state === 'unknown' && !o.confirmed && this.#isUseful(o);
  }

  #owed(): Occurrence[] {
    const isListed = (o: Occurrence) => this.#isUnconfirmed(o) || (this.#isWanted(o) && this.#isUseful(o));
    return this.#occurrences.filter((o) => isListed(o) && this.#atWork(o).length === 0);
  }

  #claim(rid: string): Answer {
    const mine = this.#claims.find((claim) => claim.rid === rid);
    if (mine && this.#isLive(mine)) return given(mine);
    if (mine || this.#runs.some((run) => run.rid === rid)) return answer('claim', 'rid_used');
    if (this.#paused()) return answer('claim', 'paused');
    if (this.#period() !== null) return answer('claim', 'off_schedule');
    if (this.#openBacklog()) return answer('claim', 'backlog');
    const isCatchUp = this.#settings.missedRuns === 'catch_up';
    const owed = this.#owed().filter((o) => !this.#isUnconfirmed(o));
    const oldest = isCatchUp ? owed[0] : undefined;
    const { by, occurrence: found } = oldest ? { by: 'current', occurrence: oldest } : this.#matchByTime(this.#now);
    if (!found || by !== 'current') return answer('claim', by === 'again' ? 'completed' : 'off_schedule');
    if (this.#isCovered(found)) return answer('claim', 'completed');
    if (!this.#isUseful(found)) return answer('claim', 'off_schedule', { scheduledFor: found.due });
    if (this.#isUnconfirmed(found)) return answer('claim', 'backlog');
    const busy = this.#atWork(this.#settings.overlap === 'forbid' ? null : found);
    if (busy.length > 0) return answer('claim', 'in_progress', { retryAt: this.#idleAt(busy) });
    const next = this.#lastHandOut + this.#throttle();
    if (owed.includes(found) && this.#now < next) return answer('claim', 'not_yet', { retryAt: next });
    return this.#handOut(found, rid);
  }

  /** Nobody need run what a later completion covers. */
  #isCovered({ due: at }: Occurrence): boolean {
    return (
      this.#settings.missedRuns === 'coalesce' && this.#occurrences.some(({ due, done }) => due > at && done !== null)
    );
  }

  #handOut(occurrence: Occurrence, rid: string): Answer {
    const now = this.#now;
    if (this.#settings.overlap === 'replace') {
      for (const other of this.#claims.filter((claim) => this.#holds(claim))) {
        other.over = 'replaced';
        if (other.occurrence.state === 'open') this.#settle(other.occurrence, 'coalesced');
      }
    }
    const blank = { source: '', start: null, lateStart: null, overturned: false, claimed: true };
    const run: Run = { ...blank, occurrence, rid, ends: [], firstAt: now, lastArrival: now };
    const claim: Claim = { rid, occurrence, run, leaseUntil: now + LEASE, over: null };
    this.#runs.push(run);
    this.#claims.push(claim);
    occurrence.recorded = true;
    this.#lastHandOut = now;
    return given(claim);
  }

  /** Its run id stays known for as long as it is extended. */
  #extend(claim: Claim): Answer {
    if (!this.#isLive(claim)) {
      const isOver = isDone(claim.occurrence);
      return answer('extend', claim.over === 'replaced' ? 'replaced' : isOver ? 'completed' : 'lease_lost');
    }
    claim.leaseUntil = this.#now + LEASE;
    claim.run.lastArrival = this.#now;
    return { ...given(claim), to: 'extend', word: 'extended' };
  }

  /** When the first lease in the way ends; but soon, for what is at work may end any moment. */
  #idleAt(busy: readonly (Claim | Run)[]): Instant {
    const ends = busy.map((one) => ('leaseUntil' in one ? one.leaseUntil : Number.POSITIVE_INFINITY));
    return Math.min(this.#now + 10 * SECOND, ...ends);
  }

  #throttle(): number {
    return (this.#settings.throttle ?? 10) * SECOND;
  }

  #decide(decision: 'run' | 'skip'): Answer {
    if (this.#settings.missedRuns !== 'catch_up') return answer('decide', 'no_backlog');
    for (const o of this.#occurrences.filter(({ due }) => due <= this.#now)) {
      const isUnconfirmed = this.#isUnconfirmed(o);
      if (!isUnconfirmed && !(this.#isWanted(o) && this.#isUseful(o))) continue;
      if (decision === 'skip' && this.#atWork(o).length === 0) this.#settle(o, 'skipped', 'operator');
      if (decision === 'run' && isUnconfirmed) o.confirmed = true;
    }
    this.#decidedUntil = this.#now;
    const open = this.#openBacklog();
    if (open) this.#resolve(open, false);
    return answer('decide', 'decided');
  }

  #openBacklog(): Incident | null {
    return this.#incidents.find(({ kind, resolvedAt }) => kind === 'backlog' && resolvedAt === null) ?? null;
  }

  /** R43: when all else of this instant is judged. */
  #judgeBacklog(): void {
    const isRecounting = this.#isRecounting;
    this.#isRecounting = false;
    if (this.#paused()) return;
    const isCounted = (o: Occurrence) => o.due > this.#decidedUntil && this.#isWanted(o);
    const counted = this.#settings.missedRuns === 'catch_up' ? this.#occurrences.filter(isCounted) : [];
    const isTooMany = counted.length > (this.#settings.maxCatchUp ?? 100);
    if (isTooMany && !this.#openBacklog()) this.#tell(this.#open('backlog'), null, null);
    const open = this.#openBacklog();
    if (!open) return;
    if (counted.length === 0 || (isRecounting && !isTooMany)) this.#resolve(open, false);
    else for (const o of counted) if (!isMember(open, o)) open.members.push({ occurrence: o, left: false });
  }

  // ---- Incidents (R34 to R39) ---------------------------------------------------------------------------------------

  #joinTrouble(kind: Troubled, o: Occurrence): void {
    const isInOne = this.#incidents.some(
      (incident) =>
        TROUBLES.includes(incident.kind) &&
        isMember(incident, o) &&
        !(incident.kind === 'not_started' && this.#isBegun(o)),
    );
    o.recorded = true;
    if (!isInOne) this.#join(kind, o);
  }

  #join(kind: IncidentKind, o: Occurrence): void {
    if (this.#paused()) return;
    const open = this.#incidents.find((incident) => incident.kind === kind && incident.resolvedAt === null);
    if (open && isMember(open, o)) return;
    this.#changes++;
    const before = ONE_AT_A_TIME.includes(kind) ? this.#leaveOthers(kind, o) : null;
    const incident = open ?? this.#open(kind);
    const member = incident.members.find(({ occurrence }) => occurrence === o);
    if (member) member.left = false;
    else incident.members.push({ occurrence: o, left: false });
    o.countsFor.add(kind);
    if (!this.#isReached(kind)) return;
    if (incident.events.length > 0) this.#remind(incident, o, before);
    else this.#tell(incident, o, before);
  }

  #tell(incident: Incident, o: Occurrence | null, before: IncidentKind | null): void {
    const first = o?.due ?? null;
    incident.events.push({ type: 'opened', at: this.#now, first, before });
    incident.lastTold = first;
  }

  #remind(incident: Incident, { due }: Occurrence, before: IncidentKind | null): void {
    const [from, to] = [Math.min(incident.lastTold ?? due, due), Math.max(incident.lastTold ?? due, due)];
    const isBetween = (other: Occurrence) => from < other.due && other.due < to;
    if (!this.#occurrences.some((other) => isBetween(other) && this.#endedWell(other, incident.kind))) return;
    incident.events.push({ type: 'reminded', at: this.#now, first: due, before });
    incident.lastTold = to;
  }

  /** R60: enough of the newest that say something about this kind were in trouble of it. */
  #isReached(kind: IncidentKind): boolean {
    const threshold = this.#threshold(kind);
    if (threshold.count === 1) return true;
    const isHeard = ({ state }: Occurrence) => state !== 'skipped' && state !== 'unknown';
    const telling = this.#occurrences.filter((o) => isHeard(o) && (o.countsFor.has(kind) || this.#endedWell(o, kind)));
    return telling.slice(-threshold.of).filter((o) => o.countsFor.has(kind)).length >= threshold.count;
  }

  #threshold(kind: IncidentKind): Threshold {
    const once = { count: 1, of: 1 };
    return kind === 'backlog' || kind === 'unscheduled' ? once : (this.#settings.alertAfter[kind] ?? once);
  }

  /** R60: an edit that lowers a threshold tells at once. */
  #tellReached(): void {
    this.#hasOtherThresholds = false;
    for (const incident of this.#incidents) {
      if (incident.resolvedAt !== null || incident.events.length > 0 || !this.#isReached(incident.kind)) continue;
      const there = incident.members.filter(({ left }) => !left).map(({ occurrence }) => occurrence);
      const newest = there.reduce<Occurrence | null>((last, o) => (last && last.due > o.due ? last : o), null);
      this.#tell(incident, newest, null);
    }
  }

  /** Takes it out of the incident it is in and answers its kind; one that is left empty so ends silently. */
  #leaveOthers(kind: IncidentKind, o: Occurrence): IncidentKind | null {
    const others = this.#incidents.filter((other) => other.kind !== kind && ONE_AT_A_TIME.includes(other.kind));
    const from = others.find((other) => isMember(other, o));
    if (!from) return null;
    for (const member of from.members) if (member.occurrence === o) member.left = true;
    if (from.members.every(({ left }) => left)) this.#resolve(from, true);
    return from.kind;
  }

  #open(kind: IncidentKind): Incident {
    const fresh = { openedAt: this.#now, resolvedAt: null, silent: false, lastTold: null, lastRunAt: 0 };
    const incident: Incident = { kind, members: [], events: [], ...fresh };
    this.#incidents.push(incident);
    return incident;
  }

  #offSchedule(at: Instant): void {
    if (this.#paused() || this.#settings.unscheduled !== 'alert') return;
    const open = this.#incidents.find(({ kind, resolvedAt }) => kind === 'unscheduled' && resolvedAt === null);
    const incident = open ?? this.#open('unscheduled');
    if (!open) this.#tell(incident, null, null);
    incident.lastRunAt = Math.max(incident.lastRunAt, at);
  }

  #resolve(incident: Incident, silent: boolean): void {
    this.#changes++;
    incident.resolvedAt = this.#now;
    incident.silent = silent || incident.events.length === 0;
    if (!incident.silent) incident.events.push({ type: 'resolved', at: this.#now, first: null, before: null });
  }

  #endIncidents(): void {
    const open = this.#incidents.filter(({ resolvedAt }) => resolvedAt === null);
    if (open.length === 0) return;
    const verdicts = this.#occurrences.filter(({ state }) => !['open', 'skipped', 'unknown'].includes(state));
    for (const incident of open.filter(({ kind }) => kind !== 'backlog')) {
      const isDouble = incident.kind === 'duplicate';
      // Whether it ran just once is known when its grace is over (R37).
      const newest = isDouble ? verdicts.findLast((o) => this.#graceEnd(o) <= this.#now) : verdicts.at(-1);
      const newestDouble = Math.max(...incident.members.map(({ occurrence }) => occurrence.due));
      if (isDouble && (!newest || newest.due <= newestDouble)) continue;
      if (incident.members.some(({ occurrence, left }) => !left && this.#isInTrouble(incident.kind, occurrence)))
        continue;
      const isAfterLastRun =
        incident.kind !== 'unscheduled' || (newest !== undefined && newest.due > incident.lastRunAt);
      if (isAfterLastRun && (!newest || this.#endedWell(newest, incident.kind))) this.#resolve(incident, false);
    }
  }

  #isInTrouble(kind: IncidentKind, o: Occurrence): boolean {
    if (kind === 'duplicate') return false;
    if (kind === 'not_started') return o.state === 'open' && !this.#isBegun(o);
    return ['overdue', 'running'].includes(this.#stateOf(o)) || this.#isWanted(o);
  }

  #endedWell(o: Occurrence, kind: IncidentKind): boolean {
    if (kind === 'duplicate' && this.#successes(o) > o.standsFor) return false;
    return o.state === 'on_time' || o.state === 'late';
  }

  // ---- What there is to see (R40) -----------------------------------------------------------------------------------

  view(): LedgerView {
    const isShown = ({ due, recorded, state }: Occurrence) =>
      due <= this.#history.until || (recorded && state !== 'coalesced');
    const shown = this.#occurrences.filter(isShown);
    return {
      occurrences: shown.map((o) => ({
        scheduledFor: o.due,
        state: this.#stateOf(o),
        reason: o.reason,
        note: o.note,
        standsFor: o.standsFor,
        completions: this.#successes(o),
        completedAt: o.completedAt,
        coveredBy: ['coalesced', 'failed'].includes(o.state) ? o.coveredBy : null,
        wanted: this.#isWanted(o),
        confirmed: o.confirmed,
      })),
      pings: this.#heard.map(({ by, due }) => ({ matchedBy: by, scheduledFor: due })),
      incidents: this.#incidents
        .map(({ kind, openedAt, resolvedAt, silent, members, events }) => ({
          kind,
          openedAt,
          resolvedAt,
          silent,
          members: members
            .map(({ occurrence, left }) => ({ scheduledFor: occurrence.due, left }))
            .sort((a, b) => a.scheduledFor - b.scheduledFor),
          events,
        }))
        .sort((a, b) => a.openedAt - b.openedAt || (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)),
      status: this.#status(),
      answers: [...this.#answers],
      owed: this.#owedView(),
    };
  }

  #owedView(): LedgerView['owed'] {
    const first = Math.max(this.#now, this.#lastHandOut + this.#throttle());
    let handedOut = 0;
    return this.#owed().map((o) => {
      const unconfirmed = this.#isUnconfirmed(o);
      const runAfter = unconfirmed ? null : first + handedOut++ * this.#throttle();
      return { scheduledFor: o.due, state: this.#stateOf(o), unconfirmed, runAfter };
    });
  }

  #status(): string {
    const open = this.#incidents.filter(({ resolvedAt }) => resolvedAt === null).map(({ kind }) => kind);
    const newest = this.#occurrences.findLast(({ state }) => state !== 'open');
    if (this.#paused()) return 'paused';
    const down = ['missing', 'not_started', 'overrun', 'failed', 'expired', 'backlog'];
    if (open.some((kind) => down.includes(kind))) return 'down';
    if (open.includes('late')) return 'late';
    if (this.#occurrences.some((o) => this.#isHeldBack(o))) return 'blocked';
    if (!newest) return 'new';
    return newest.state === 'unknown' ? 'unknown' : 'up';
  }
}

function lastEnd(run: Run): End | null {
  return run.ends.reduce<End | null>((last, end) => (last && last.at > end.at ? last : end), null);
}

/** Nothing is left to do: completed, by a later one too, or skipped. */
function isDone({ state, coveredBy }: Occurrence): boolean {
  return COMPLETED.includes(state) || state === 'skipped' || (state === 'coalesced' && coveredBy !== null);
}

function given({ occurrence, leaseUntil }: Claim): Answer {
  return answer('claim', 'given', { scheduledFor: occurrence.due, leaseUntil });
}

function isMember(incident: Incident, o: Occurrence): boolean {
  return incident.resolvedAt === null && incident.members.some(({ occurrence, left }) => occurrence === o && !left);
}

function sameThread(a: { rid: string | null; source: string }, b: { rid: string | null; source: string }): boolean {
  return a.rid !== null || b.rid !== null ? a.rid === b.rid : a.source === b.source;
}
