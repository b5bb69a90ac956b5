import { settleIncidents } from './advance.ts';
import { coverByKnown, coverEarlier } from './cover.ts';
import { anchorHeartbeat, isBeat } from './heartbeat.ts';
import { changeRow, end, endAllowedBacklog, join, recountBacklog, tellReached } from './incident.ts';
import { currentVersion, dueAt, isHeartbeat, nextDue } from './instants.ts';
import { judge, skipNow } from './judge.ts';
import type { Ledger, Row, Version } from './ledger.ts';
import { isOpen, type Settings } from './occurrence.ts';
import { isClaimed } from './owed.ts';
import { recordDue, skipDue, skipRecorded } from './record.ts';
import { byDue, rowAt } from './rows.ts';
import { firstCheck } from './terms.ts';
import type { Instant } from './time.ts';
import { isStillWanted, judgeWanted } from './wanted.ts';

/** Other deadlines and another policy, from `at` on; what is settled stays. The job has been advanced to `at`. */
export function applySettings(ledger: Ledger, settings: Settings, at: Instant): void {
  const given = byDue(ledger).filter((row) => isWithheld(ledger, row, at));
  const before = ledger.settings;
  ledger.settings = settings;
  recountBacklog(ledger);
  const isPaused = ledger.pausedAt !== null;
  // A check that the edit moved into the past acts now.
  if (!isPaused) recordDue(ledger, at, (due) => firstCheck(ledger, due) <= at);
  // First what is covered already: nobody is called about it.
  coverByKnown(ledger, at);
  for (const row of byDue(ledger)) {
    // What is settled may stop being wanted, but an edit makes no debts of it.
    if (given.includes(row)) changeRow(ledger, row, { wanted: false, checkAt: null });
    else (isPaused ? judgeWanted : judge)(ledger, row, at);
  }
  if (isOtherwise(before, settings)) endAllowedBacklog(ledger, at);
  settleIncidents(ledger, at);
  // A new name calls nobody.
  if (JSON.stringify(before.alertAfter) !== JSON.stringify(settings.alertAfter)) tellReached(ledger, at);
}

/** A new name, or new tz data, is no word on what is owed. */
function isOtherwise(before: Settings, settings: Settings): boolean {
  const fields = ['missedRuns', 'maxCatchUp', 'early', 'startWithin', 'grace', 'usefulFor', 'maxRuntime'] as const;
  return fields.some((field) => before[field] !== settings[field]);
}

/** Settled, may be wanted by its state, and is not: an edit makes no debt of it. */
const isWithheld = (ledger: Ledger, row: Row, at: Instant): boolean =>
  (row.state === 'failed' || row.state === 'unknown') && !isStillWanted(ledger, row, at);

/**
 * A new schedule version, from `at` on (DESIGN section 2, "Edits never invent the past"). Call before applySettings. What is
 * expected closes as skipped, except where the new schedules are due too.
 */
export function applyVersion(ledger: Ledger, version: Omit<Version, 'startsAfter' | 'endsAt'>, at: Instant): void {
  skipDue(ledger, at);
  recordDue(ledger, at, (due) => due <= at);
  const old = currentVersion(ledger);
  old.endsAt = at;
  ledger.versions.push({ ...version, startsAfter: at, endsAt: null });
  const skipped = {
    state: 'skipped',
    reason: 'schedule_changed',
    settledAt: at,
    wanted: false,
    checkAt: null,
  } as const;
  for (const row of byDue(ledger)) {
    const isDueToo = version.timetable?.previous(row.scheduledFor + 1)?.at === row.scheduledFor;
    if (row.state === 'expected' && !isDueToo && !isClaimed(ledger, row, at)) changeRow(ledger, row, skipped);
  }
  ledger.nextUnrecorded = null;
  if (version.periodMs === null) ledger.nextUnrecorded = nextDue(ledger, at);
  else anchorHeartbeat(ledger, at);
}

/** Pauses the job at `at`, to which it has been advanced (rule 29). Again: no change. */
export function applyPause(ledger: Ledger, at: Instant): void {
  if (ledger.pausedAt !== null) return;
  recordDue(ledger, at, (due) => due <= at);
  endAllSilently(ledger, at);
  for (const row of byDue(ledger)) {
    const isOwed = row.state === 'overdue' && ledger.settings.missedRuns === 'catch_up';
    const stays = row.state === 'running' || isOwed || isClaimed(ledger, row, at);
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
  const since = ledger.pausedAt;
  ledger.pauses.push({ after: since, until: at });
  ledger.pausedAt = null;
  ledger.quiet = true;
  coverByKnown(ledger, at);
  for (const row of byDue(ledger)) if (isOpen(row.state)) catchUp(ledger, row, since, at);
  ledger.quiet = false;
  for (const row of byDue(ledger)) {
    if (isOpen(row.state)) judge(ledger, row, at);
    else if (row.state === 'failed' && row.wanted) {
      judgeWanted(ledger, row, at);
      if (row.wanted) join(ledger, row, 'failed', at);
    }
  }
  anchorHeartbeat(ledger, at);
  settleIncidents(ledger, at);
}

/** One row through a pause: its own check instants in order. */
function catchUp(ledger: Ledger, row: Row, since: Instant, at: Instant): void {
  // First as of the pause, for other settings may be in force since.
  judge(ledger, row, since);
  while (isOpen(row.state) && row.checkAt !== null && row.checkAt <= at) judge(ledger, row, row.checkAt);
  // A window that became known meanwhile says what its silence was.
  const window = row.startedAt === null ? ledger.maintenance(row.scheduledFor, at) : null;
  if (window && row.state === 'missed') skipNow(ledger, row, window, at);
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
  judgeWanted(ledger, row, at);
  if (state === 'on_time') coverEarlier(ledger, row, at);
  if (wasOpen && isBeat(ledger, row)) anchorHeartbeat(ledger, at);
  settleIncidents(ledger, at);
  skipRecorded(ledger);
  return true;
}

/** A window that has become known at `at`: what was silent in it, of those due at `dues`, is skipped after the fact (rule 61). */
export function applyMaintenance(
  ledger: Ledger,
  at: Instant,
  dues: readonly Instant[] = [...ledger.rows.keys()],
): void {
  const among = new Set(dues);
  for (const row of byDue(ledger)) {
    if (!among.has(row.scheduledFor)) continue;
    const window = row.startedAt === null ? ledger.maintenance(row.scheduledFor, at) : null;
    if (!window) continue;
    if (row.state === 'overdue' || row.state === 'missed') skipNow(ledger, row, window, at);
    // One that is awaited because of a blind window is past its deadline too.
    else if (isOpen(row.state) && ledger.pausedAt === null) judge(ledger, row, at);
  }
  settleIncidents(ledger, at);
}

/** Ends every open incident without a word. */
function endAllSilently(ledger: Ledger, at: Instant): void {
  for (const incident of [...ledger.incidents.values()]) end(ledger, incident, at, true);
}
