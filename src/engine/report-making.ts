import { clockChanges } from '../core/clock-changes.ts';
import { heartbeatPeriod } from '../core/definition.ts';
import { groupBy } from '../core/group.ts';
import type { State } from '../core/occurrence.ts';
import {
  type Counts,
  countedState,
  type IncidentSummary,
  type JobCounts,
  numbersOf,
  periodLine,
  type Report,
  type ReportDefinition,
} from '../core/report.ts';
import { dueWindow, newestComplete, type Period, periodBefore } from '../core/report-period.ts';
import { formatInstant, type Instant, parsed, type Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { dueJobs } from '../store/jobs.ts';
import {
  countIncidents,
  type IncidentCount,
  type LongestIncident,
  longestIncident,
  scheduleEdits,
} from '../store/report-events.ts';
import {
  countStates,
  type ReportedJob,
  readClockParts,
  readProject,
  reportedJobs,
  type SplitWindow,
  type StateCount,
} from '../store/report-numbers.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';
import type { CatchUp } from './catch-up.ts';
import { clockLedger, clockOccurrences } from './reading-clock.ts';
import { editLine } from './report-edits.ts';
import { owedLines } from './report-owed.ts';

export type ReportDeps = {
  readonly database: Database;
  readonly zones: ZoneSource;
  readonly catchUp: CatchUp;
  readonly log: { error(fields: object, message: string): void };
};

/** Which report, and of which period; null: of the newest one that is over. */
export type ReportRequest = {
  readonly projectId: number;
  readonly slug: string;
  readonly definition: ReportDefinition;
  readonly period: Period | null;
};

/** A report with what its sender goes by. */
export type MadeReport = { readonly report: Report; readonly period: Period; readonly zone: Zone };

/** So many due jobs are brought to now first; more are waiting only while the evaluator is down. */
const MOST_CAUGHT_UP = 1000;
const MOST_OWED = 100;
const MOST_EDITS = 50;
/** Two periods of a large project are counted in one statement. */
const LONG = { statementTimeoutMs: 30_000, deadlineMs: 60_000 };

/** Makes a report of the ledger as it stands now. Refuses where this process does not know the zone of the report. */
export async function makeReport(deps: ReportDeps, request: ReportRequest): Promise<Result<MadeReport>> {
  const { definition, slug } = request;
  const known = deps.zones.get(definition.zone);
  if (!known.ok) return known;
  const zone = known.value;
  await bringForward(deps, request.projectId);
  const found = await deps.database.transaction((tx) => read(tx, deps.zones, { ...request, zone }), LONG);
  const { now, period, before, jobs, project } = found;
  const report: Report = {
    slug,
    project,
    every: period.every,
    zone: definition.zone,
    tags: definition.tags,
    period: { ...periodLine(period), is_complete: period.endsAt <= now },
    as_of: formatInstant(now),
    ...numbersOf(await countsOf(found), period, before),
    owed: found.owed.slice(0, MOST_OWED),
    owed_jobs: found.owed.length,
    schedule_edits: found.edits.map(editLine),
    schedule_edit_count: found.editCount,
    incidents: incidentSummary(found.incidents, found.longest, now),
    clock_changes: clockChanges(jobs.flatMap(scheduled(deps.zones)), now),
    unreported: null,
  };
  return parsed({ report, period, zone });
}

/** As readers do: what is read next is what a tick would have written. A job that cannot be judged hides no other. */
async function bringForward({ database, catchUp, log }: ReportDeps, projectId: number): Promise<void> {
  for (const { id, slug } of await database.transaction((tx) => dueJobs(tx, projectId, MOST_CAUGHT_UP))) {
    try {
      await catchUp([id]);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      log.error({ error, job: slug }, 'a job could not be brought to now before it was reported');
    }
  }
}

type Found = Awaited<ReturnType<typeof read>>;

async function read(tx: Tx, zones: ZoneSource, { projectId, definition, ...of }: ReportRequest & { zone: Zone }) {
  const { now } = tx;
  const period = of.period ?? newestComplete(now, definition.every, of.zone);
  const before = periodBefore(period, of.zone);
  const window = windowOf(period, before, now);
  const jobs = await reportedJobs(tx, projectId, definition.tags);
  const ids = jobs.map(({ id }) => id);
  const unrecorded = jobs.filter(({ nextUnrecorded }) => nextUnrecorded !== null && nextUnrecorded <= window.until);
  const unrecordedIds = unrecorded.map(({ id }) => id);
  // What has no row is looked up first: a row written in between is then counted once, and never not at all.
  const clock = await readClockParts(tx, unrecordedIds, window);
  const { edits, total } = await scheduleEdits(tx, projectId, ids, { ...period, limit: MOST_EDITS });
  return {
    now,
    period,
    before,
    window,
    jobs,
    unrecorded,
    clock,
    zoneOf: await readKeyZones(tx, zones, clock.versions),
    counts: await countStates(tx, ids, window),
    owed: await owedLines(tx, jobs, zones),
    edits,
    editCount: total,
    incidents: await countIncidents(tx, ids, period),
    longest: await longestIncident(tx, ids, period),
    project: await readProject(tx, projectId),
  };
}

/** Both periods in one interval, as far as it is due. */
function windowOf(period: Period, before: Period | null, now: Instant): SplitWindow {
  const { after, until } = dueWindow(period);
  const split = Math.min(after, now);
  return { after: before ? dueWindow(before).after : after, split, until: Math.min(until, now) };
}

/** What the rows and the clock make of each job, in both periods. */
async function countsOf(found: Found): Promise<readonly JobCounts[]> {
  const rows = groupBy(found.counts, ({ jobId }) => jobId);
  const clock = await clockCounts(found);
  return found.jobs.map((job) => {
    const counts = [...(rows.get(job.id) ?? []), ...(clock.get(job.id) ?? [])];
    const { slug, createdAt, definition } = job;
    const part = (isBefore: boolean): Counts =>
      addUp(
        counts.filter((one) => one.isBefore === isBefore),
        job,
      );
    return { slug, name: definition.name, createdAt, now: part(false), before: part(true) };
  });
}

function addUp(counts: readonly StateCount[], { definition }: ReportedJob): Counts {
  const isBeat = heartbeatPeriod(definition.schedules) !== null;
  const sum: Partial<Record<State, number>> = {};
  for (const { state, isInPause, count } of counts) {
    const counted = countedState(state, isInPause && !isBeat);
    sum[counted] = (sum[counted] ?? 0) + count;
  }
  return sum;
}

/** What is due and has no row: skipped in a pause, else expected. Only jobs that have such are expanded. */
async function clockCounts({ unrecorded, clock, window, zoneOf, now }: Found): Promise<Map<number, StateCount[]>> {
  const versions = groupBy(clock.versions, ({ jobId }) => jobId);
  const pauses = groupBy(clock.pauses, ({ jobId }) => jobId);
  const recorded = groupBy(clock.recorded, ({ jobId }) => jobId);
  const all = new Map<number, StateCount[]>();
  for (const { id, nextUnrecorded } of unrecorded) {
    const ledger = clockLedger(nextUnrecorded, versions.get(id) ?? [], pauses.get(id) ?? [], zoneOf);
    const known = new Set((recorded.get(id) ?? []).map(({ at }) => at));
    all.set(id, countClock(id, clockOccurrences(ledger, { ...window, states: null }, now), { known, ...window }));
    // A month of minutes that a pause has left unwritten is long: others get their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return all;
}

function countClock(
  jobId: number,
  occurrences: ReturnType<typeof clockOccurrences>,
  { known, split }: Pick<SplitWindow, 'split'> & { readonly known: ReadonlySet<Instant> },
): StateCount[] {
  const counts = new Map<string, StateCount & { count: number }>();
  for (const { at, state } of occurrences) {
    if (known.has(at)) continue;
    const isBefore = at <= split;
    const name = `${isBefore} ${state}`;
    const one = counts.get(name) ?? { jobId, isBefore, state, isInPause: false, count: 0 };
    one.count += 1;
    counts.set(name, one);
  }
  return [...counts.values()];
}

function incidentSummary(
  counts: readonly IncidentCount[],
  longest: LongestIncident | null,
  now: Instant,
): IncidentSummary {
  return {
    opened: Object.fromEntries(counts.filter(({ opened }) => opened > 0).map(({ kind, opened }) => [kind, opened])),
    still_open: counts.reduce((sum, { stillOpen }) => sum + stillOpen, 0),
    longest: longest && {
      id: longest.id,
      job: longest.job,
      kind: longest.kind,
      opened_at: formatInstant(longest.openedAt),
      resolved_at: longest.resolvedAt === null ? null : formatInstant(longest.resolvedAt),
      seconds: Math.max(0, Math.round(((longest.resolvedAt ?? now) - longest.openedAt) / 1000)),
    },
  };
}

/** A job whose zone this process does not know is touched by no change that it knows. */
function scheduled(zones: ZoneSource) {
  return ({ slug, definition: { zone, schedules } }: ReportedJob) => {
    const known = zones.get(zone);
    return known.ok && heartbeatPeriod(schedules) === null ? [{ slug, zone: known.value, schedules }] : [];
  };
}
