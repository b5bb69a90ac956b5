import { heartbeatPeriod } from '../core/definition.ts';
import { groupBy } from '../core/group.ts';
import { formatKey } from '../core/key.ts';
import { isOpen, type State } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Tx } from '../store/database.ts';
import { type RollJob, type RollParts, type RollRow, readRollParts } from '../store/rolls.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';
import type { TableName } from '../store/zone-tables.ts';
import { type ClockLedger, clockLedger, clockOccurrences, firstClockInstantAfter, versionAt } from './reading-clock.ts';

/** One cell of the roll of a job. */
export type RollEntry = {
  readonly scheduledFor: Instant;
  readonly key: string;
  readonly state: State;
  /** It was completed more often than it stands for. */
  readonly twice: boolean;
};

/** How many occurrences a roll shows that are due by now, and how many that are to come. */
export type RollLength = { readonly past: number; readonly ahead: number };

/**
 * The rolls of these jobs, oldest first: the newest `past` occurrences that are due, in the states in which the API lists
 * them, then the first `ahead` to come; of a paused job nothing is to come. Of a heartbeat what was done before it was due
 * is past, and its open occurrence is to come until it is due. The jobs are shown as far as they have been judged. Four or
 * five statements, however many jobs; a job that is gone has no entry.
 */
export async function readRolls(
  tx: Tx,
  zones: ZoneSource,
  jobIds: readonly number[],
  length: RollLength,
): Promise<ReadonlyMap<number, readonly RollEntry[]>> {
  if (jobIds.length === 0) return new Map();
  const parts = await readRollParts(tx, jobIds, length);
  const zoneOf = await readKeyZones(tx, zones, [...parts.versions, ...parts.rows]);
  const ledgerOf = clockLedgers(parts, zoneOf);
  const rows = groupBy(parts.rows, ({ jobId }) => jobId);
  return new Map(
    parts.jobs.map((job) => {
      const { now } = tx;
      const isBeat = heartbeatPeriod(job.schedules) !== null;
      const rolling: Rolling = {
        job,
        rows: (rows.get(job.id) ?? []).map((row) => entryOfRow(row, job, { zone: zoneOf(row), now })),
        clock: ledgerOf(job),
        now,
        isAhead: ({ scheduledFor, state }) => scheduledFor > now && (!isBeat || isOpen(state)),
      };
      return [job.id, [...pastOf(rolling, length.past), ...aheadOf(rolling, length.ahead)]];
    }),
  );
}

function clockLedgers(
  { versions, pauses }: RollParts,
  zoneOf: (version: TableName) => Zone,
): (job: RollJob) => ClockLedger {
  const versionsOf = groupBy(versions, ({ jobId }) => jobId);
  const pausesOf = groupBy(pauses, ({ jobId }) => jobId);
  return ({ id, nextUnrecorded }) =>
    clockLedger(nextUnrecorded, versionsOf.get(id) ?? [], pausesOf.get(id) ?? [], zoneOf);
}

/** Begun early and due since the pause began: skipped, though only the next input writes it down (docs/ledger.md, 29). */
function entryOfRow(
  { scheduledFor, state, twice }: RollRow,
  { schedules, pausedAt }: RollJob,
  { zone, now }: { readonly zone: Zone; readonly now: Instant },
): RollEntry {
  const isBeat = heartbeatPeriod(schedules) !== null;
  const isInPause = pausedAt !== null && scheduledFor > pausedAt && scheduledFor <= now;
  return {
    scheduledFor,
    key: formatKey(scheduledFor, zone),
    state: isInPause && isOpen(state) && !isBeat ? 'skipped' : state,
    twice: twice && !isBeat,
  };
}

/** A job while its roll is made. `isAhead`: of its rows those that are to come. */
type Rolling = {
  readonly job: RollJob;
  readonly rows: readonly RollEntry[];
  readonly clock: ClockLedger;
  readonly now: Instant;
  readonly isAhead: (row: RollEntry) => boolean;
};

/** Rows and what only the clock knows, each instant once, the newest `limit`, oldest first. */
function pastOf({ job, rows, clock, now, isAhead }: Rolling, limit: number): readonly RollEntry[] {
  const found = new Map(rows.filter((row) => !isAhead(row)).map((row) => [row.scheduledFor, row]));
  const window = { after: job.createdAt, until: now, states: null };
  let taken = 0;
  for (const { at, zone, state } of clockOccurrences(clock, window, now)) {
    if (taken === limit) break;
    taken += 1;
    if (!found.has(at)) found.set(at, { scheduledFor: at, key: formatKey(at, zone), state, twice: false });
  }
  return [...found.values()].sort(byDue).slice(Math.max(0, found.size - limit));
}

function aheadOf({ job, rows, clock, now, isAhead }: Rolling, limit: number): readonly RollEntry[] {
  if (job.pausedAt !== null) return [];
  const found = new Map(rows.filter(isAhead).map((row) => [row.scheduledFor, row]));
  let at = firstClockInstantAfter(clock, now);
  for (let taken = 0; at !== null && taken < limit; taken += 1) {
    const zone = versionAt(clock, at)?.zone;
    if (zone && !found.has(at)) {
      found.set(at, { scheduledFor: at, key: formatKey(at, zone), state: 'expected', twice: false });
    }
    at = firstClockInstantAfter(clock, at);
  }
  return [...found.values()].sort(byDue).slice(0, limit);
}

const byDue = (a: RollEntry, b: RollEntry): number => a.scheduledFor - b.scheduledFor;
