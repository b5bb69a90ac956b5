import { coverEarlier, endAllSilently, judge, judgeWanted, settleIncidents } from './advance.ts';
import { changeRow, join, joinDuplicate, noteUnscheduled } from './incident.ts';
import {
  anchorHeartbeat,
  currentVersion,
  dueAt,
  firstCheck,
  inPause,
  isHeartbeat,
  isRunning,
  type Ledger,
  nextDue,
  openRow,
  type Row,
  rowAt,
  rowTerms,
  type Version,
} from './ledger.ts';
import { endOf, isCompleted, isOpen, type Run, type Settings } from './occurrence.ts';
import { type Match, matchPing, type Ping } from './ping.ts';
import { floorToSecond, type Instant } from './time.ts';

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
    // A spooled end may anchor a heartbeat whose deadline has passed by now.
    if (isHeartbeat(ledger)) recordDue(ledger, ping.arrival, (due) => firstCheck(ledger, due) <= ping.arrival);
    settleIncidents(ledger, ping.arrival);
    skipRecorded(ledger);
  }
  return { match, scheduledFor: match.scheduledFor, run, counted: true };
}

/** Instants that got their row as evidence need no check of their own: a healthy job never comes due. */
function skipRecorded(ledger: Ledger): void {
  while (ledger.nextUnrecorded !== null && ledger.rows.has(ledger.nextUnrecorded)) {
    ledger.nextUnrecorded = isHeartbeat(ledger) ? null : nextDue(ledger, ledger.nextUnrecorded);
  }
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
    return;
  }
  const from = run.scheduledFor;
  if (isHeartbeat(ledger) && match.scheduledFor !== null) run.scheduledFor = match.scheduledFor;
  const row = run.scheduledFor === null ? null : touchRow(ledger, run.scheduledFor, ping, match);
  if (ping.kind === 'start') begin(ledger, ping, run, row);
  else finish(ledger, ping, run, row);
  const left = from === null || from === run.scheduledFor ? undefined : ledger.rows.get(from);
  if (left) rejudge(ledger, left, ping.arrival);
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
  if (row.startedAt === null || (run.startedAt !== null && run.startedAt < row.startedAt)) {
    changeRow(ledger, row, { startedAt: run.startedAt ?? ping.at });
  }
  rejudge(ledger, row, ping.arrival);
}

function supersede(ledger: Ledger, by: Run, { at, arrival }: Ping): void {
  for (const run of ledger.runs) {
    if (run === by || run.rid !== null || run.thread !== by.thread || run.startedAt === null) continue;
    if (run.startedAt > at) {
      // A spooled start: the next one is here already.
      by.supersededAt = Math.min(by.supersededAt ?? run.startedAt, run.startedAt);
      continue;
    }
    if (run.endedAt !== null || run.supersededAt !== null) continue;
    run.supersededAt = at;
    ledger.changedRuns.add(run);
    const row = run.scheduledFor === null ? undefined : ledger.rows.get(run.scheduledFor);
    if (row) rejudge(ledger, row, arrival);
  }
}

/** What is open is judged again; a paused job's deadlines wait for resume. */
function rejudge(ledger: Ledger, row: Row, at: Instant): void {
  if (!isOpen(row.state)) return;
  if (ledger.pausedAt === null) judge(ledger, row, at);
  else if (isRunning(ledger, row, at)) changeRow(ledger, row, { state: 'running' });
}

function finish(ledger: Ledger, ping: Ping, run: Run, row: Row | null): void {
  const verdict = ping.kind === 'success' ? 'success' : 'fail';
  const before = run.verdict;
  // The last word is the last by its instant: a spooled one may arrive after it.
  if (run.endedAt !== null && ping.at < run.endedAt) return;
  if (before === verdict) {
    // Nothing new of the run; but its occurrence may have failed in between by another word.
    const isAwaited = verdict === 'success' && row !== null && row.state !== 'skipped' && !isCompleted(row.state);
    if (isAwaited) complete(ledger, row, run, endOf(ping.at, run.startedAt, rowTerms(ledger, row)), ping);
    return;
  }
  Object.assign(run, { verdict, endedAt: ping.at, exitCode: ping.exitCode });
  run.durationMs = ping.durationMs ?? (run.startedAt === null ? null : Math.max(0, ping.at - run.startedAt));
  if (!row) return;
  const begun = run.startedAt ?? (ping.durationMs === null ? null : ping.at - ping.durationMs);
  if (row.startedAt === null && begun !== null) changeRow(ledger, row, { startedAt: begun });
  if (verdict === 'success') succeed(ledger, ping, run, row);
  else fail(ledger, ping, run, row, before === 'success');
}

function succeed(ledger: Ledger, ping: Ping, run: Run, row: Row): void {
  changeRow(ledger, row, { completions: row.completions + 1 });
  if (row.state !== 'skipped' && !isCompleted(row.state)) {
    const state = endOf(ping.at, run.startedAt, rowTerms(ledger, row));
    complete(ledger, row, run, state, ping);
  }
  if (row.completions > row.standsFor && callsDuplicate(ledger, ping)) joinDuplicate(ledger, row, ping.arrival);
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
  coverEarlier(ledger, row, ping.arrival);
  if (wasOpen) anchorHeartbeat(ledger, ping.at);
}

function callsDuplicate(ledger: Ledger, ping: Ping): boolean {
  if (ledger.settings.duplicates !== 'alert' || isHeartbeat(ledger)) return false;
  if (ledger.pausedAt !== null || inPause(ledger, ping.at)) return false;
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

/** Under coalesce a failed one that a later completion preceded is covered already. */
function coverByLater(ledger: Ledger, row: Row): void {
  if (ledger.settings.missedRuns !== 'coalesce' || row.coveredBy !== null) return;
  const later = [...ledger.rows.values()].filter(
    (one) => one.scheduledFor > row.scheduledFor && isCompleted(one.state),
  );
  later.sort((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0));
  if (later[0]) changeRow(ledger, row, { coveredBy: later[0].scheduledFor });
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

/** Other deadlines and another policy, from `at` on; what is settled stays. The job has been advanced to `at`. */
export function applySettings(ledger: Ledger, settings: Settings, at: Instant): void {
  ledger.settings = settings;
  if (ledger.pausedAt !== null) {
    for (const row of byDue(ledger)) judgeWanted(ledger, row, at);
    return;
  }
  // A check that the edit moved into the past acts now, the older occurrence first.
  const moved = ledger.nextUnrecorded !== null && firstCheck(ledger, ledger.nextUnrecorded) <= at;
  for (const row of moved ? byDue(ledger) : []) {
    judge(ledger, row, at);
    settleIncidents(ledger, at);
  }
  recordDue(ledger, at, (due) => firstCheck(ledger, due) <= at);
  if (settings.missedRuns === 'coalesce') coverByKnown(ledger, at);
  for (const row of byDue(ledger)) {
    judge(ledger, row, at);
    settleIncidents(ledger, at);
  }
  settleIncidents(ledger, at);
}

/** A job that coalesces from now on: what was completed before covers what is older, in the order of completion. */
function coverByKnown(ledger: Ledger, at: Instant): void {
  const done = [...ledger.rows.values()].filter(({ state }) => isCompleted(state));
  done.sort((a, b) => (a.settledAt ?? 0) - (b.settledAt ?? 0));
  for (const row of done) coverEarlier(ledger, row, at);
}

const byDue = (ledger: Ledger): Row[] => [...ledger.rows.values()].sort((a, b) => a.scheduledFor - b.scheduledFor);

/**
 * A new schedule version, from `at` on (DESIGN section 2, "Edits never invent the past"). Call before applySettings. What is
 * expected closes as skipped, except where the new schedules are due too.
 */
export function applyVersion(ledger: Ledger, version: Omit<Version, 'startsAfter' | 'endsAt'>, at: Instant): void {
  recordDue(ledger, at, (due) => due <= at);
  const old = currentVersion(ledger);
  old.endsAt = at;
  ledger.versions.push({ ...version, startsAfter: at, endsAt: null });
  for (const row of byDue(ledger)) {
    if (row.state !== 'expected' || version.timetable?.previous(row.scheduledFor + 1)?.at === row.scheduledFor)
      continue;
    changeRow(ledger, row, {
      state: 'skipped',
      reason: 'schedule_changed',
      settledAt: at,
      wanted: false,
      checkAt: null,
    });
  }
  ledger.nextUnrecorded = null;
  if (version.periodMs === null) ledger.nextUnrecorded = nextDue(ledger, at);
  else anchorHeartbeat(ledger, at);
  settleIncidents(ledger, at);
}

/** Rows for instants that have none yet, as long as `has` says so: an edit or a pause has to say what became of them. */
function recordDue(ledger: Ledger, at: Instant, has: (due: Instant) => boolean): void {
  while (ledger.nextUnrecorded !== null && has(ledger.nextUnrecorded)) {
    const due = ledger.nextUnrecorded;
    const fresh = !ledger.rows.has(due);
    const row = rowAt(ledger, due, at);
    ledger.nextUnrecorded = isHeartbeat(ledger) ? null : nextDue(ledger, due);
    if (!fresh || ledger.pausedAt !== null) continue;
    judge(ledger, row, at);
    settleIncidents(ledger, at);
  }
}

/** Pauses the job at `at`, to which it has been advanced (rule 29). Again: no change. */
export function applyPause(ledger: Ledger, at: Instant): void {
  if (ledger.pausedAt !== null) return;
  recordDue(ledger, at, (due) => due <= at);
  endAllSilently(ledger, at);
  for (const row of byDue(ledger)) {
    const stays = row.state === 'running' || (row.state === 'overdue' && ledger.settings.missedRuns === 'catch_up');
    if (!isOpen(row.state) || stays) continue;
    changeRow(ledger, row, { state: 'skipped', reason: 'paused', settledAt: at, wanted: false, checkAt: null });
  }
  ledger.pausedAt = at;
  if (isHeartbeat(ledger)) ledger.nextUnrecorded = null;
}

/** Resumes the job: what lived on is judged as of its own instants, and what is then past its deadline opens anew. */
export function applyResume(ledger: Ledger, at: Instant): void {
  if (ledger.pausedAt === null) return;
  skipDue(ledger, at);
  if (ledger.settings.missedRuns === 'coalesce') coverByKnown(ledger, at);
  const since = ledger.pausedAt;
  ledger.pauses.push({ after: since, until: at });
  ledger.pausedAt = null;
  ledger.quiet = true;
  for (const row of byDue(ledger)) if (isOpen(row.state)) catchUp(ledger, row, since, at);
  ledger.quiet = false;
  for (const row of byDue(ledger)) {
    if (isOpen(row.state)) judge(ledger, row, at);
    else if (row.state === 'failed') {
      judgeWanted(ledger, row, at);
      if (row.wanted) join(ledger, row, 'failed', at);
    }
  }
  if (isHeartbeat(ledger)) {
    const open = openRow(ledger);
    ledger.nextUnrecorded = null;
    if (!open) anchorHeartbeat(ledger, at);
  }
  settleIncidents(ledger, at);
}

/** What became due while the job is paused is skipped as of then; a heartbeat's running one lives on. */
function skipDue(ledger: Ledger, at: Instant): void {
  const since = ledger.pausedAt;
  if (since === null || isHeartbeat(ledger)) return;
  for (const row of byDue(ledger)) {
    const { scheduledFor: settledAt } = row;
    if (!isOpen(row.state) || settledAt <= since || settledAt > at) continue;
    changeRow(ledger, row, { state: 'skipped', reason: 'paused', settledAt, wanted: false, checkAt: null });
  }
}

/** One row through a pause: its own check instants in order. */
function catchUp(ledger: Ledger, row: Row, since: Instant, at: Instant): void {
  // First as of the pause, for other settings may be in force since.
  judge(ledger, row, since);
  while (isOpen(row.state) && row.checkAt !== null && row.checkAt <= at) judge(ledger, row, row.checkAt);
}

/** A person's word. `on_time` is a completion, for what it covers. False: not an instant of this ledger. */
export function applyDecision(
  ledger: Ledger,
  scheduledFor: Instant,
  decision: { readonly state: 'skipped' | 'on_time'; readonly note: string },
  at: Instant,
): boolean {
  const isNext = ledger.nextUnrecorded === scheduledFor;
  if (!ledger.rows.has(scheduledFor) && !dueAt(ledger, scheduledFor) && !isNext) return false;
  skipDue(ledger, at);
  const row = rowAt(ledger, scheduledFor, at);
  if (isHeartbeat(ledger) && isNext) ledger.nextUnrecorded = null;
  const wasOpen = isOpen(row.state);
  const { note, state } = decision;
  const unsaid = { completedAt: null, completedBy: null, wanted: false, checkAt: null };
  changeRow(ledger, row, { state, reason: 'operator', note, settledAt: at, ...unsaid });
  if (state === 'on_time') coverEarlier(ledger, row, at);
  if (wasOpen) anchorHeartbeat(ledger, at);
  settleIncidents(ledger, at);
  skipRecorded(ledger);
  return true;
}
