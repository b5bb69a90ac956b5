import { settleIncidents } from './advance.ts';
import { coverByLater, coverEarlier } from './cover.ts';
import { anchorHeartbeat, openBeat } from './heartbeat.ts';
import { changeRow, join, joinDuplicate, noteUnscheduled } from './incident.ts';
import { isHeartbeat, versionOf } from './instants.ts';
import { isRunning, judge } from './judge.ts';
import type { Ledger, Row } from './ledger.ts';
import { endOf, isCompleted, isOpen, type Run } from './occurrence.ts';
import { type Match, matchPing, type Ping } from './ping.ts';
import { recordDue, skipDue, skipRecorded } from './record.ts';
import { inPause, rowAt, runsOf } from './rows.ts';
import { begunAt, firstCheck, rowTerms, termsAt, touching } from './terms.ts';
import { floorToSecond, type Instant } from './time.ts';
import { judgeWanted } from './wanted.ts';

/** What became of a ping; `run` is the one it began, ended or belongs to. `none`: it names no occurrence (422). */
export type Applied = {
  readonly match: Match;
  readonly scheduledFor: Instant | null;
  readonly run: Run | null;
  readonly counted: boolean;
};

/**
 * Applies a ping to a job that has been advanced to the ping's arrival (or is paused). Never fails: a ping that finds
 * nothing is evidence all the same.
 */
export function applyPing(ledger: Ledger, ping: Ping): Applied {
  skipDue(ledger, ping.arrival);
  const match = matchPing(ledger, ping);
  if (match.rule === 'none') return { match, scheduledFor: null, run: null, counted: false };
  if (match.rule === 'retry') return { match, scheduledFor: match.scheduledFor, run: match.run, counted: false };
  const run = ping.kind === 'log' ? match.run : runOf(ledger, ping, match);
  const thread = threadOf(ledger, ping.thread);
  thread.last = {
    fingerprint: ping.fingerprint,
    receivedAt: ping.arrival,
    scheduledFor: match.scheduledFor,
    run,
  };
  if (run) {
    run.heardAt = ping.arrival;
    ledger.changedRuns.add(run);
  }
  if (run && ping.kind !== 'log') {
    if (match.run === null) thread.run = run;
    applyRun(ledger, ping, match, run);
    if (isHeartbeat(ledger)) judgeNewBeat(ledger, ping.arrival);
    settleIncidents(ledger, ping.arrival);
    skipRecorded(ledger);
  }
  return { match, scheduledFor: match.scheduledFor, run, counted: true };
}

/** A spooled end may anchor a heartbeat whose deadline has passed by now. */
function judgeNewBeat(ledger: Ledger, at: Instant): void {
  recordDue(ledger, at, (due) => firstCheck(ledger, due) <= at);
  const open = openBeat(ledger);
  if (open && ledger.pausedAt === null) judge(ledger, open, at);
}

function threadOf(ledger: Ledger, name: string) {
  const known = ledger.threads.get(name);
  if (known) return known;
  const fresh = { last: null, run: null };
  ledger.threads.set(name, fresh);
  return fresh;
}

type Matched = Exclude<Match, { rule: 'none' | 'retry' }>;

/** The run a ping belongs to: the one it matched, or a new one. */
function runOf(ledger: Ledger, ping: Ping, match: Matched): Run {
  if (match.run) return match.run;
  ledger.newIds -= 1;
  const run: Run = {
    id: ledger.newIds,
    thread: ping.thread,
    rid: ping.rid,
    scheduledFor: match.scheduledFor,
    startedAt: null,
    supersededAt: null,
    endedAt: null,
    verdict: null,
    exitCode: null,
    durationMs: null,
    heardAt: ping.arrival,
  };
  ledger.runs.push(run);
  if (match.scheduledFor === null && !isHeartbeat(ledger)) noteUnscheduled(ledger, ping.at, ping.arrival);
  return run;
}

function applyRun(ledger: Ledger, ping: Ping, match: Matched, run: Run): void {
  if (match.reordered) {
    run.startedAt = Math.min(ping.at, run.endedAt ?? ping.at);
    if (run.rid === null) supersede(ledger, run, ping);
    const row = run.scheduledFor === null ? undefined : ledger.rows.get(run.scheduledFor);
    if (row) noteStart(ledger, row, run.startedAt);
    return;
  }
  const from = run.scheduledFor;
  if (isHeartbeat(ledger)) run.scheduledFor = match.scheduledFor;
  const row = run.scheduledFor === null ? null : touchRow(ledger, run.scheduledFor, ping, match);
  if (ping.kind === 'start') begin(ledger, ping, run, row);
  else finish(ledger, ping, run, row);
  const left = from === null || from === run.scheduledFor ? undefined : ledger.rows.get(from);
  if (left) lose(ledger, left, ping.arrival);
}

/** A heartbeat's run went over to another occurrence. */
function lose(ledger: Ledger, row: Row, at: Instant): void {
  const starts = runsOf(ledger, row).flatMap(({ startedAt }) => (startedAt === null ? [] : [startedAt]));
  changeRow(ledger, row, { startedAt: starts.length > 0 ? Math.min(...starts) : null });
  rejudge(ledger, row, at);
}

function touchRow(ledger: Ledger, at: Instant, ping: Ping, match: Matched): Row {
  const row = rowAt(ledger, at, ping.arrival);
  if (isHeartbeat(ledger) && ledger.nextUnrecorded === at) ledger.nextUnrecorded = null;
  if (row.matchedBy === null) changeRow(ledger, row, { matchedBy: match.rule });
  return row;
}

/** A start: the run is in progress; an older unnamed one of the same source is given up (rule 8). */
function begin(ledger: Ledger, ping: Ping, run: Run, row: Row | null): void {
  if (run.startedAt === null && run.endedAt === null) {
    run.startedAt = ping.at;
    if (run.rid === null) supersede(ledger, run, ping);
  }
  if (!row) return;
  noteStart(ledger, row, run.startedAt ?? ping.at);
  if (isOpen(row.state)) coverByLater(ledger, row);
  rejudge(ledger, row, ping.arrival);
}

/** The first start of an occurrence is its own. */
function noteStart(ledger: Ledger, row: Row, at: Instant): void {
  if (row.startedAt === null || at < row.startedAt) changeRow(ledger, row, { startedAt: at });
}

function supersede(ledger: Ledger, by: Run, { arrival }: Ping): void {
  const at = by.startedAt ?? arrival;
  for (const run of ledger.runs) {
    if (run === by || run.rid !== null || run.thread !== by.thread || run.startedAt === null) continue;
    if (run.startedAt > at) {
      // A spooled start: the next one is here already.
      by.supersededAt = Math.min(by.supersededAt ?? run.startedAt, run.startedAt);
      continue;
    }
    if (run.endedAt !== null) continue;
    run.supersededAt = Math.min(run.supersededAt ?? at, at);
    ledger.changedRuns.add(run);
    const row = run.scheduledFor === null ? undefined : ledger.rows.get(run.scheduledFor);
    // In a pause it stays what it was: to be given up makes nothing run.
    if (row && ledger.pausedAt === null) rejudge(ledger, row, arrival);
  }
}

/** What is open is judged again; a paused job's deadlines wait for resume. */
function rejudge(ledger: Ledger, row: Row, at: Instant): void {
  if (!isOpen(row.state)) return;
  if (ledger.pausedAt === null) judge(ledger, row, at);
  else if (isRunning(ledger, row, at)) changeRow(ledger, row, { state: 'running' });
}

function finish(ledger: Ledger, ping: Ping, run: Run, row: Row | null): void {
  // The last word is the last by its instant: a spooled one may arrive after it.
  if (run.endedAt !== null && ping.at < run.endedAt) return;
  const before = run.verdict;
  const verdict = ping.kind === 'success' ? 'success' : 'fail';
  Object.assign(run, { verdict, endedAt: ping.at, exitCode: ping.exitCode });
  run.durationMs = ping.durationMs ?? (run.startedAt === null ? null : Math.max(0, ping.at - run.startedAt));
  if (!row) return;
  const begun = run.startedAt ?? (ping.durationMs === null ? null : ping.at - ping.durationMs);
  if (row.startedAt === null && begun !== null) changeRow(ledger, row, { startedAt: begun });
  if (verdict === 'success') succeed(ledger, ping, run, row, before !== 'success');
  else fail(ledger, ping, run, row, before === 'success');
}

function succeed(ledger: Ledger, ping: Ping, run: Run, row: Row, isNew: boolean): void {
  if (isNew) changeRow(ledger, row, { completions: row.completions + 1 });
  if (row.state !== 'skipped' && !isCompleted(row.state)) {
    // One that was blocked begins with its first run, at the latest with this end.
    const from = Math.min(begunAt(row) ?? ping.at, run.startedAt ?? ping.at, ping.at);
    const terms = termsAt(ledger, row.scheduledFor, versionOf(ledger, row.version), from);
    const state = endOf(ping.at, run.startedAt, terms);
    complete(ledger, row, run, state, ping);
  }
  if (!isNew || row.completions <= row.standsFor || !callsDuplicate(ledger, ping, row)) return;
  joinDuplicate(ledger, row, ping.arrival);
  // Whether a later one, completed early, ran just once is known only when its grace is over.
  for (const one of ledger.rows.values()) if (isCompleted(one.state)) judgeWanted(ledger, one, ping.arrival);
}

function complete(ledger: Ledger, row: Row, run: Run, state: 'on_time' | 'late' | 'expired', ping: Ping): void {
  const wasOpen = isOpen(row.state);
  changeRow(ledger, row, {
    state,
    reason: null,
    settledAt: ping.at,
    completedAt: ping.at,
    durationMs: run.durationMs,
    completedBy: run,
    wanted: false,
    checkAt: null,
  });
  if (state === 'expired') join(ledger, row, 'expired', ping.arrival);
  judgeWanted(ledger, row, ping.arrival);
  coverEarlier(ledger, row, ping.arrival);
  if (wasOpen) anchorHeartbeat(ledger, ping.at);
}

function callsDuplicate(ledger: Ledger, ping: Ping, row: Row): boolean {
  if (ledger.settings.duplicates !== 'alert' || isHeartbeat(ledger)) return false;
  if (ledger.pausedAt !== null || inPause(ledger, ping.at)) return false;
  const { opensAt, graceEnd } = rowTerms(ledger, row);
  // A host whose clock went back too ran it in both passes, and the second run may end after the stretch.
  if (touching(ledger, opensAt, graceEnd).some(({ repeated }) => repeated)) return false;
  return !ledger.silences.some(({ kind, after, until }) => kind === 'blind' && after < ping.at && ping.at <= until);
}

/** A failure: the word on an occurrence nobody completed, or the last word of the run that completed it (rule 12). */
function fail(ledger: Ledger, ping: Ping, run: Run, row: Row, overturns: boolean): void {
  if (overturns) changeRow(ledger, row, { completions: row.completions - 1 });
  if (row.state === 'skipped') return;
  if (isCompleted(row.state)) {
    const completing = completingRun(ledger, row);
    if (completing !== run) {
      if (!isLastWord(ledger, ping, row)) return;
      if (run.rid !== null || completing === null || completing.rid !== null) return;
      completing.verdict = 'fail';
      ledger.changedRuns.add(completing);
      changeRow(ledger, row, { completions: row.completions - 1 });
    }
  }
  const wasOpen = isOpen(row.state);
  const settledAt = row.state === 'failed' ? row.settledAt : ping.at;
  changeRow(ledger, row, {
    state: 'failed',
    reason: null,
    settledAt,
    completedAt: null,
    completedBy: null,
    checkAt: null,
  });
  coverByLater(ledger, row);
  judgeWanted(ledger, row, ping.arrival);
  join(ledger, row, 'failed', ping.arrival);
  if (wasOpen) anchorHeartbeat(ledger, ping.at);
}

/** Later by its own instant; a heartbeat's later end is another occurrence's, but in the very second. */
function isLastWord(ledger: Ledger, ping: Ping, row: Row): boolean {
  if (row.completedAt === null || ping.at < row.completedAt) return false;
  return !isHeartbeat(ledger) || floorToSecond(ping.at) === floorToSecond(row.completedAt);
}

function completingRun(ledger: Ledger, row: Row): Run | null {
  const { completedBy } = row;
  if (completedBy === null || typeof completedBy !== 'number') return completedBy;
  return ledger.runs.find((run) => run.id === completedBy) ?? null;
}
