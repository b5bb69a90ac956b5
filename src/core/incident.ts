import { DEFAULT_MAX_CATCH_UP } from './definition.ts';
import type { Incident, Ledger, Row } from './ledger.ts';
import type { IncidentKind } from './message.ts';
import { endedWell, isOpen } from './occurrence.ts';
import { newestVerdict } from './rows.ts';
import { rowTerms } from './terms.ts';
import { countedWith, isReached } from './threshold.ts';
import type { Instant } from './time.ts';

/** What a member of an incident needs for the incident to stay (docs/ledger.md, rule 36). */
function inTrouble(row: Row, kind: IncidentKind): boolean {
  if (kind === 'not_started') return isOpen(row.state) && row.startedAt === null;
  return row.state === 'overdue' || row.state === 'running' || row.wanted;
}

/** The open incident, of the six kinds that exclude each other, that the occurrence is in. */
export function incidentOf(ledger: Ledger, row: Row): Incident | null {
  if (row.incidentId === null) return null;
  for (const incident of ledger.incidents.values()) if (incident.id === row.incidentId) return incident;
  return null;
}

/** Applies a change to a row and keeps the counts of its incident right. Every write to a row goes through here. */
export function changeRow(ledger: Ledger, row: Row, change: Partial<Row>): void {
  const incident = incidentOf(ledger, row);
  const before = incident !== null && inTrouble(row, incident.kind);
  const counted = countsForBacklog(ledger, row);
  const wasWell = endedWell(row.state);
  Object.assign(row, change);
  if (wasWell !== endedWell(row.state)) ledger.wellRows = null;
  ledger.changed.add(row);
  if (counted !== countsForBacklog(ledger, row)) recount(ledger, row, counted ? -1 : 1);
  if (!incident) return;
  const after = inTrouble(row, incident.kind);
  if (before === after) return;
  incident.troubledCount += after ? 1 : -1;
  ledger.changedIncidents.add(incident);
}

/** Wanted under catch_up, and due after the last decision (docs/ledger.md, rule 43). */
const countsForBacklog = (ledger: Ledger, row: Row): boolean =>
  row.wanted && ledger.settings.missedRuns === 'catch_up' && row.scheduledFor > (ledger.decidedUntil ?? -Infinity);

function recount(ledger: Ledger, row: Row, by: 1 | -1): void {
  ledger.backlog += by;
  if (by === 1) ledger.backlogged.add(row);
}

/** Counts anew over the loaded rows: what is wanted or decided has changed for all of them. */
export function recountBacklog(ledger: Ledger): void {
  ledger.backlog = [...ledger.rows.values()].filter((row) => countsForBacklog(ledger, row)).length;
}

/** More than a person allowed for: nothing is handed out until they decide, or until nothing is left. */
export function settleBacklog(ledger: Ledger, at: Instant): void {
  if (ledger.quiet || ledger.pausedAt !== null) return;
  const known = ledger.incidents.get('backlog');
  const joined = [...ledger.backlogged].filter((row) => countsForBacklog(ledger, row));
  ledger.backlogged.clear();
  if (known) for (const row of joined) list(ledger, known, row);
  if (known && ledger.backlog === 0) end(ledger, known, at, false);
  if (known || ledger.backlog <= (ledger.settings.maxCatchUp ?? DEFAULT_MAX_CATCH_UP)) return;
  const incident = open(ledger, 'backlog', at);
  for (const row of ledger.rows.values()) if (countsForBacklog(ledger, row)) list(ledger, incident, row);
  // The store lists those that are not loaded, and counts them.
  ledger.backlogs.push({ incident, since: ledger.decidedUntil });
  incident.occurrenceCount = ledger.backlog;
  tell(ledger, incident, null, at, null);
}

/** Listed in the backlog, which counts an occurrence once however often it comes to be owed. */
function list(ledger: Ledger, incident: Incident, { scheduledFor }: Row): void {
  ledger.members.push({ incident, scheduledFor, moved: false });
  ledger.changedIncidents.add(incident);
}

/** An edit that allows for what is owed has decided: nobody is asked any more. */
export function endAllowedBacklog(ledger: Ledger, at: Instant): void {
  const known = ledger.incidents.get('backlog');
  if (known && ledger.backlog <= (ledger.settings.maxCatchUp ?? DEFAULT_MAX_CATCH_UP)) end(ledger, known, at, false);
}

/** The occurrence joins the incident of that kind, which opens if it is not open; it leaves the one it was in. */
export function join(ledger: Ledger, row: Row, kind: IncidentKind, at: Instant): void {
  if (ledger.quiet || ledger.pausedAt !== null) return;
  const from = incidentOf(ledger, row);
  if (from?.kind === kind) return;
  if (from) leave(ledger, row, from, at);
  const incident = ledger.incidents.get(kind) ?? open(ledger, kind, at);
  row.incidentId = incident.id;
  row.counted = countedWith(row, kind);
  ledger.changed.add(row);
  addMember(ledger, incident, row);
  if (inTrouble(row, kind)) incident.troubledCount += 1;
  tell(ledger, incident, row.scheduledFor, at, from?.kind ?? null);
}

/** The newest occurrence in an incident, as far as it is loaded. */
function newestIn(ledger: Ledger, { id, kind, lastRunAt }: Incident): Instant | null {
  if (kind === 'duplicate') return lastRunAt;
  const own = [...ledger.rows.values()].filter(({ incidentId }) => incidentId === id);
  return own.length === 0 ? null : Math.max(...own.map(({ scheduledFor }) => scheduledFor));
}

/** An edit lowered a threshold: what is open may be told now. */
export function tellReached(ledger: Ledger, at: Instant): void {
  for (const incident of ledger.incidents.values()) {
    if (incident.events === 0) tell(ledger, incident, newestIn(ledger, incident), at, null);
  }
}

/** A duplicate stands beside the other kinds; an occurrence joins it once. */
export function joinDuplicate(ledger: Ledger, row: Row, at: Instant): void {
  if (row.doubled) return;
  changeRow(ledger, row, { doubled: true, counted: countedWith(row, 'duplicate') });
  const incident = ledger.incidents.get('duplicate') ?? open(ledger, 'duplicate', at);
  incident.lastRunAt = Math.max(incident.lastRunAt ?? row.scheduledFor, row.scheduledFor);
  addMember(ledger, incident, row);
  tell(ledger, incident, row.scheduledFor, at, null);
}

/** An off-schedule run, at `runAt`, of a job that asks to hear of it. */
export function noteUnscheduled(ledger: Ledger, runAt: Instant, at: Instant): void {
  if (ledger.settings.unscheduled !== 'alert' || ledger.pausedAt !== null) return;
  const known = ledger.incidents.get('unscheduled');
  const incident = known ?? open(ledger, 'unscheduled', at);
  incident.lastRunAt = Math.max(incident.lastRunAt ?? runAt, runAt);
  ledger.changedIncidents.add(incident);
  if (!known) tell(ledger, incident, null, at, null);
}

function open(ledger: Ledger, kind: IncidentKind, at: Instant): Incident {
  ledger.newIds -= 1;
  const incident: Incident = {
    id: ledger.newIds,
    kind,
    openedAt: at,
    resolvedAt: null,
    silent: false,
    events: 0,
    lastTold: null,
    lastRunAt: null,
    occurrenceCount: 0,
    troubledCount: 0,
    detail: null,
  };
  ledger.incidents.set(kind, incident);
  return incident;
}

function addMember(ledger: Ledger, incident: Incident, row: Row): void {
  incident.occurrenceCount += 1;
  ledger.members.push({ incident, scheduledFor: row.scheduledFor, moved: false });
  ledger.changedIncidents.add(incident);
}

/** The opening is told; a joining one only if something between it and the last one told ended well. */
function tell(
  ledger: Ledger,
  incident: Incident,
  first: Instant | null,
  at: Instant,
  before: IncidentKind | null,
): void {
  const opening = incident.events === 0;
  // Also of one that joins: whoever asked to hear of three in a row is not called about the first.
  if (!isReached(ledger, incident.kind)) return;
  if (!opening && !(first !== null && wellBetween(ledger, incident, first))) return;
  incident.events += 1;
  ledger.changedIncidents.add(incident);
  // An older one that joins does not make the newest news again.
  incident.lastTold = first === null || incident.lastTold === null ? first : Math.max(incident.lastTold, first);
  const type = opening ? 'opened' : 'reminded';
  ledger.events.push({ incident, number: incident.events, type, at, first, before });
}

function wellBetween(ledger: Ledger, { kind, lastTold }: Incident, first: Instant): boolean {
  if (lastTold === null) return false;
  const [low, high] = lastTold < first ? [lastTold, first] : [first, lastTold];
  const isBetween = (at: Instant) => at > low && at < high;
  ledger.wellRows ??= [...ledger.rows.values()].filter(({ state }) => endedWell(state));
  for (const row of ledger.wellRows) if (isBetween(row.scheduledFor) && endedWellFor(row, kind)) return true;
  return ledger.wells.some(
    ({ at, doubled }) => isBetween(at) && !ledger.rows.has(at) && !(doubled && kind === 'duplicate'),
  );
}

/** on_time or late; for `duplicate` also without a completion too many. */
const endedWellFor = (row: Row, kind: IncidentKind): boolean =>
  endedWell(row.state) && (kind !== 'duplicate' || row.completions <= row.standsFor);

function leave(ledger: Ledger, row: Row, from: Incident, at: Instant): void {
  if (inTrouble(row, from.kind)) from.troubledCount -= 1;
  from.occurrenceCount -= 1;
  row.incidentId = null;
  ledger.members.push({ incident: from, scheduledFor: row.scheduledFor, moved: true });
  ledger.changed.add(row);
  ledger.changedIncidents.add(from);
  if (from.occurrenceCount === 0) end(ledger, from, at, true);
}

/** Ends an incident; silently: no event (paused, or left empty). */
export function end(ledger: Ledger, incident: Incident, at: Instant, silent: boolean): void {
  incident.resolvedAt = at;
  // What nobody was told of ends without a word.
  incident.silent = silent || incident.events === 0;
  ledger.incidents.delete(incident.kind);
  ledger.changedIncidents.add(incident);
  if (incident.silent) return;
  incident.events += 1;
  ledger.events.push({ incident, number: incident.events, type: 'resolved', at, first: null, before: null });
}

/** Ends every incident whose occurrences are out of trouble and whose job's newest verdict is well (rule 37). */
export function endIncidents(ledger: Ledger, at: Instant): Incident[] {
  if (ledger.incidents.size === 0 || ledger.quiet) return [];
  const newest = newestVerdict(ledger);
  const newestOver = newestVerdict(ledger, (row) => rowTerms(ledger, row).graceEnd <= at);
  const ended: Incident[] = [];
  for (const incident of [...ledger.incidents.values()]) {
    if (incident.kind === 'schedule_error' || incident.kind === 'backlog' || incident.troubledCount > 0) continue;
    const isOver = incident.kind === 'duplicate' ? isOnceAgain(incident, newestOver) : isWell(incident, newest);
    if (!isOver) continue;
    end(ledger, incident, at, false);
    ended.push(incident);
  }
  return ended;
}

/** A later one whose grace is over, so that nothing more of it is awaited, ran just once. */
const isOnceAgain = ({ lastRunAt }: Incident, newestOver: Row | null): boolean =>
  newestOver !== null && newestOver.scheduledFor > (lastRunAt ?? 0) && endedWellFor(newestOver, 'duplicate');

function isWell(incident: Incident, newest: Row | null): boolean {
  if (incident.kind === 'unscheduled') {
    return newest !== null && newest.scheduledFor > (incident.lastRunAt ?? 0) && endedWell(newest.state);
  }
  return !newest || endedWellFor(newest, incident.kind);
}
