import { isBeat, openBeat } from './heartbeat.ts';
import {
  currentVersion,
  dueAt,
  followingInstant,
  isHeartbeat,
  latestInstant,
  versionDueAt,
  versionOf,
} from './instants.ts';
import { type KeySpelling, keyCandidates } from './key.ts';
import type { Ledger, Row } from './ledger.ts';
import { inProgress, isCompleted, isFinished, RUN_MEMORY_MS, type Run } from './occurrence.ts';
import { inPause } from './rows.ts';
import { rowTerms, termsAt } from './terms.ts';
import { floorToSecond, type Instant } from './time.ts';

type PingKind = 'start' | 'success' | 'fail' | 'log';

/** By which rule a ping found its occurrence (DESIGN section 3); `unmatched` and `deferred` are said by the engine. */
type MatchRule = 'key' | 'rid' | 'running' | 'current' | 'again' | 'off_schedule' | 'retry';

/** A ping as the ledger sees it. `at` is its own instant, `arrival` when it came; both on the database's clock. */
export type Ping = {
  readonly kind: PingKind;
  readonly exitCode: number | null;
  readonly arrival: Instant;
  readonly at: Instant;
  readonly ownAt: Instant | null;
  readonly rid: string | null;
  /** rid:… or src:…, what a retry and a reordered start are looked for in. */
  readonly thread: string;
  readonly key: KeySpelling | null;
  readonly fingerprint: string;
  readonly durationMs: number | null;
};

export type Match =
  | { readonly rule: 'retry'; readonly scheduledFor: Instant | null; readonly run: Run | null }
  | {
      readonly rule: Exclude<MatchRule, 'retry'>;
      /** null: off schedule. */
      readonly scheduledFor: Instant | null;
      /** The run it belongs to; null: it begins one, or is one of its own. */
      readonly run: Run | null;
      /** A start that came after the end of its run: changes nothing. */
      readonly reordered?: true;
    }
  | { readonly rule: 'none'; readonly reason: string };

/** An occurrence of the clock: no run is known. */
type ClockMatch = {
  readonly rule: 'current' | 'again' | 'off_schedule';
  readonly scheduledFor: Instant | null;
  readonly run: null;
};

const NAMED_RETRY_MS = 24 * 3_600_000;
const UNNAMED_RETRY_MS = 2 * 60_000;

/** Which occurrence and which run a ping is about, by the first rule that applies. */
export function matchPing(ledger: Ledger, ping: Ping): Match {
  const retried = retryOf(ledger, ping);
  if (retried) return retried;
  if (ping.key && !isHeartbeat(ledger)) return matchKey(ledger, ping, ping.key);
  const late = reorderedStart(ledger, ping);
  const rule = ping.rid === null ? 'running' : 'rid';
  if (late) return { rule, scheduledFor: late.scheduledFor, run: late, reordered: true };
  if (isHeartbeat(ledger)) return matchHeartbeat(ledger, ping);
  if (ping.rid !== null) return matchRid(ledger, ping) ?? matchClock(ledger, ping.at, ping.arrival);
  if (ping.kind === 'success' || ping.kind === 'fail') {
    const run = latestUnnamed(ledger, ping.at);
    if (run) return { rule: 'running', scheduledFor: run.scheduledFor, run };
  }
  return matchClock(ledger, ping.at, ping.arrival);
}

function retryOf(ledger: Ledger, ping: Ping): Match | null {
  const last = ledger.threads.get(ping.thread)?.last;
  if (!last || last.fingerprint !== ping.fingerprint) return null;
  // A constant run id is no retry of an earlier occurrence's run, unless it comes as soon as a retry does.
  const isOld = ping.rid !== null && last.run !== null && isOutlived(ledger, last.run, ping);
  if (ping.arrival - last.receivedAt >= (isOld ? UNNAMED_RETRY_MS : retryWindow(ledger, ping))) return null;
  // Nor is an unnamed one: a long run ended just now may be followed by the quick run of the next occurrence.
  if (ping.rid === null && isDueSince(ledger, ping, last.scheduledFor ?? last.receivedAt)) return null;
  return { rule: 'retry', scheduledFor: last.scheduledFor, run: last.run };
}

/** A later instant has become due, and the ping says no more than that something ran. */
function isDueSince(ledger: Ledger, ping: Ping, since: Instant): boolean {
  if (ping.ownAt !== null || ping.key !== null) return false;
  const latest = latestInstant(ledger, ping.at);
  return latest !== null && latest > since;
}

/** Named: 24 h. Unnamed: 2 minutes and half the gap between the neighbouring due instants; heartbeats have none. */
function retryWindow(ledger: Ledger, ping: Ping): number {
  if (ping.rid !== null) return NAMED_RETRY_MS;
  return isHeartbeat(ledger) ? 0 : Math.min(UNNAMED_RETRY_MS, gapAround(ledger, ping.at) / 2);
}

function gapAround(ledger: Ledger, at: Instant): number {
  const { periodMs } = currentVersion(ledger);
  if (periodMs !== null) return periodMs;
  const before = latestInstant(ledger, at);
  const after = followingInstant(ledger, at);
  return before === null || after === null ? Number.POSITIVE_INFINITY : after - before;
}

/** A start that lost the race against the end of its own run. */
function reorderedStart(ledger: Ledger, ping: Ping, of?: Instant): Run | null {
  const run = lastRun(ledger, ping, of);
  if (ping.kind !== 'start' || !run || run.endedAt === null || run.startedAt !== null) return null;
  return ping.arrival - run.heardAt < reorderWindow(ledger, ping, run) ? run : null;
}

/** The newest run of a ping's thread, or of its thread on that occurrence. */
function lastRun(ledger: Ledger, { thread }: Ping, of?: Instant): Run | null {
  if (of === undefined) return ledger.threads.get(thread)?.run ?? null;
  return ledger.runs.findLast((run) => run.thread === thread && run.scheduledFor === of) ?? null;
}

function reorderWindow(ledger: Ledger, ping: Ping, run: Run): number {
  if (ping.rid !== null && !isOutlived(ledger, run, ping)) return NAMED_RETRY_MS;
  return Math.min(UNNAMED_RETRY_MS, gapAround(ledger, ping.at) / 2);
}

function latestUnnamed(ledger: Ledger, at: Instant, of?: Instant): Run | null {
  let latest: Run | null = null;
  for (const run of ledger.runs) {
    if (run.rid !== null || !inProgress(run, ledger.settings, at)) continue;
    if (of !== undefined && run.scheduledFor !== of) continue;
    if (!latest || (run.startedAt ?? 0) >= (latest.startedAt ?? 0)) latest = run;
  }
  return latest;
}

/** The instants a key may mean, in the zone of the version in force there. */
export function keyInstants(ledger: Ledger, key: KeySpelling): Instant[] {
  const found = new Set<Instant>();
  for (const version of ledger.versions) {
    const candidates = keyCandidates(key, version.zone);
    const instants =
      'instants' in candidates ? candidates.instants : [...instantsIn(ledger, candidates.after, candidates.until)];
    for (const at of instants) if (ledger.rows.has(at) || dueAt(ledger, at)) found.add(at);
  }
  return [...found].sort((a, b) => a - b);
}

/** Instants of the ledger in (after, until], at most two: a date names an occurrence only if it has just one. */
function* instantsIn(ledger: Ledger, after: Instant, until: Instant): Generator<Instant> {
  let count = 0;
  for (let at = followingInstant(ledger, after); at !== null && at <= until && count < 2; count += 1) {
    yield at;
    at = followingInstant(ledger, at);
  }
}

function matchKey(ledger: Ledger, ping: Ping, key: KeySpelling): Match {
  const instants = keyInstants(ledger, key);
  const open = instants.find((at) => !isCompleted(ledger.rows.get(at)?.state ?? 'expected'));
  const at = key.kind === 'date' && instants.length > 1 ? undefined : (open ?? instants[0]);
  if (at === undefined) {
    const reason = instants.length > 1 ? 'this date has more than one occurrence' : 'no occurrence has this key';
    return { rule: 'none', reason };
  }
  const version = versionDueAt(ledger, at);
  const row = ledger.rows.get(at);
  const { opensAt } = row ? rowTerms(ledger, row) : termsAt(ledger, at, version);
  // A run that has it, by its claim or its start, is not sent away by an edit of `early`.
  const own = ping.rid === null ? null : keyedRun(ledger, ping, at);
  if (opensAt > ping.arrival && !own) return { rule: 'none', reason: 'this occurrence is not open yet' };
  const late = reorderedStart(ledger, ping, at);
  if (late) return { rule: 'key', scheduledFor: at, run: late, reordered: true };
  return { rule: 'key', scheduledFor: at, run: keyedRun(ledger, ping, at) };
}

function keyedRun(ledger: Ledger, ping: Ping, at: Instant): Run | null {
  if (ping.rid === null) return ping.kind === 'start' ? null : latestUnnamed(ledger, ping.at, at);
  const run = lastRun(ledger, ping, at);
  return run && isKnown(ledger, run, ping) ? run : null;
}

const isKnown = (ledger: Ledger, run: Run, ping: Ping): boolean =>
  ping.arrival - run.heardAt < RUN_MEMORY_MS || inProgress(run, ledger.settings, ping.at);

function matchRid(ledger: Ledger, ping: Ping): Match | null {
  const run = ledger.threads.get(ping.thread)?.run;
  if (!run || !isKnown(ledger, run, ping)) return null;
  if (isOutlived(ledger, run, ping)) {
    ledger.constantRid = true;
    return null;
  }
  return { rule: 'rid', scheduledFor: run.scheduledFor, run };
}

/** The run has ended, and the ping says no more than that something ran when a later occurrence is due. */
function isOutlived(ledger: Ledger, run: Run, ping: Ping): boolean {
  if (run.endedAt === null || ping.ownAt !== null || ping.key !== null) return false;
  if (isHeartbeat(ledger)) return true;
  const latest = latestInstant(ledger, ping.at);
  return latest !== null && latest > (run.scheduledFor ?? run.startedAt ?? run.endedAt);
}

/** Rules 4 and 5: the clock alone says what a ping of the instant `at`, or a claim, is about. */
export function matchClock(ledger: Ledger, at: Instant, arrival: Instant): ClockMatch {
  const c = latestInstant(ledger, at);
  const n = followingInstant(ledger, at);
  const candidate = n !== null && opensBy(ledger, n, at) && isOver(ledger, c, at) ? n : c;
  if (candidate === null) return { rule: 'off_schedule', scheduledFor: null, run: null };
  if (!isFinishedAt(ledger, candidate, arrival)) return { rule: 'current', scheduledFor: candidate, run: null };
  if (candidate === n || isNearer(ledger, candidate, n, at)) {
    return { rule: 'again', scheduledFor: candidate, run: null };
  }
  return { rule: 'off_schedule', scheduledFor: null, run: null };
}

function opensBy(ledger: Ledger, due: Instant, at: Instant): boolean {
  const row = ledger.rows.get(due);
  const version = versionDueAt(ledger, due);
  return (row ? rowTerms(ledger, row) : termsAt(ledger, due, version)).opensAt <= at;
}

/** Whether nothing more is awaited for it at `at`; in a pause it is skipped as soon as it is due. */
const isFinishedAt = (ledger: Ledger, due: Instant, at: Instant): boolean => {
  const row = ledger.rows.get(due);
  return row ? isFinished(row.state) : due <= at && inPause(ledger, due);
};

function isOver(ledger: Ledger, c: Instant | null, at: Instant): boolean {
  if (c === null || isFinishedAt(ledger, c, at)) return true;
  const row = ledger.rows.get(c);
  return at >= (row ? rowTerms(ledger, row) : termsAt(ledger, c, versionDueAt(ledger, c))).graceEnd;
}

function isNearer(ledger: Ledger, c: Instant, n: Instant | null, at: Instant): boolean {
  if (n === null) return true;
  const done = ledger.rows.get(c)?.completedAt ?? c;
  return Math.abs(at - done) < Math.abs(n - at);
}

/** A heartbeat's pings are about its one open occurrence; an end in or before the anchor's second about an earlier one. */
function matchHeartbeat(ledger: Ledger, ping: Ping): Match {
  const run = heartbeatRun(ledger, ping);
  const rule = run ? (ping.rid === null ? 'running' : 'rid') : 'current';
  const isEnd = ping.kind === 'success' || ping.kind === 'fail';
  if (run && (!isEnd || isFromBefore(ledger, run))) return { rule, scheduledFor: run.scheduledFor, run };
  const open = openBeat(ledger)?.scheduledFor ?? ledger.nextUnrecorded;
  if (open !== null && !(isEnd && isOfAnEarlier(ledger, ping.at, open))) return { rule, scheduledFor: open, run };
  const earlier = openThen(ledger, ping.at, open);
  return earlier
    ? { rule: 'again', scheduledFor: earlier.scheduledFor, run }
    : { rule: 'off_schedule', scheduledFor: null, run };
}

/** Begun under an occurrence of the schedules that the job had before it was a heartbeat: it ends that one. */
function isFromBefore(ledger: Ledger, { scheduledFor }: Run): boolean {
  const row = scheduledFor === null ? undefined : ledger.rows.get(scheduledFor);
  return row !== undefined && !isBeat(ledger, row);
}

/** Before the second of the anchor, or in it where that is the second in which the one before was settled. */
function isOfAnEarlier(ledger: Ledger, at: Instant, open: Instant): boolean {
  const second = floorToSecond(at);
  const anchor = anchorOf(ledger, open);
  if (second !== anchor) return second < anchor;
  const settledAt = openThen(ledger, at, open)?.settledAt ?? null;
  return settledAt !== null && floorToSecond(settledAt) === second;
}

/** The run a heartbeat's ping belongs to; one that has ended takes no more pings. */
function heartbeatRun(ledger: Ledger, ping: Ping): Run | null {
  const isEnd = ping.kind === 'success' || ping.kind === 'fail';
  if (ping.rid === null) return isEnd ? latestUnnamed(ledger, ping.at) : null;
  const run = ledger.threads.get(ping.thread)?.run;
  return run && run.endedAt === null && isKnown(ledger, run, ping) ? run : null;
}

/** The occurrence of a heartbeat that was open at `at`: the last one anchored before its second, else in it. */
function openThen(ledger: Ledger, at: Instant, open: Instant | null): Row | null {
  const second = floorToSecond(at);
  const beats = [...ledger.rows.values()].filter((row) => row.scheduledFor !== open && isBeat(ledger, row));
  const anchored = beats.map((row) => ({ row, anchor: anchorOf(ledger, row.scheduledFor) }));
  anchored.sort((a, b) => a.anchor - b.anchor || a.row.scheduledFor - b.row.scheduledFor);
  const before = anchored.findLast(({ anchor }) => anchor < second);
  return (before ?? anchored.find(({ anchor }) => anchor === second))?.row ?? null;
}

function anchorOf(ledger: Ledger, due: Instant): Instant {
  const row = ledger.rows.get(due);
  const version = row ? versionOf(ledger, row.version) : currentVersion(ledger);
  return due - (version.periodMs ?? 0);
}
