import type { Ledger, Row } from './ledger.ts';
import { endedWell, isCompleted, isOpen, isVerdict, progressEnd, RUN_MEMORY_MS, type Run } from './occurrence.ts';
import { byDue } from './rows.ts';
import { thresholdReach } from './threshold.ts';
import type { Instant } from './time.ts';

/** Rows of a replay that nothing is about any more, with their runs: a month of minutes is too much to look through. */
export type Archive = {
  readonly rows: Map<Instant, { readonly row: Row; readonly runs: readonly Run[] }>;
  /** Their due instants, ascending. */
  readonly dues: Instant[];
};

export const emptyArchive = (): Archive => ({ rows: new Map(), dues: [] });

/** As the database's loader: so many that ended well are known by their instant alone. */
const WELLS = 200;
const NEWEST_VERDICTS = 3;

/** A ledger whose loader is the replay. */
export type Playing = { -readonly [field in keyof Ledger]: Ledger[field] };

/**
 * Sets aside what core/ledger.ts does not ask its loader for, but for the newest `keep` rows. What is set aside comes back
 * with `restoreAround` and its like before anything touches it.
 */
export function setAside(ledger: Playing, archive: Archive, keep: number, at: Instant): void {
  const rows = byDue(ledger);
  const needed = neededRows(ledger, rows, at);
  const last = rows.length - keep;
  const next = ledger.nextUnrecorded ?? Number.POSITIVE_INFINITY;
  const old = rows.filter((row, i) => i < last && row.scheduledFor < next && !needed.has(row));
  const runs = runsByDue(ledger);
  for (const row of old) {
    ledger.rows.delete(row.scheduledFor);
    archive.rows.set(row.scheduledFor, { row, runs: runs.get(row.scheduledFor) ?? [] });
    insert(archive.dues, row.scheduledFor);
  }
  noteWells(ledger, old);
  ledger.runs.splice(0, ledger.runs.length, ...ledger.runs.filter((run) => isKept(ledger, run, at)));
  ledger.claims.splice(0, ledger.claims.length, ...ledger.claims.filter(({ run }) => run.endedAt === null));
  ledger.wellRows = null;
  for (const done of [ledger.changed, ledger.changedRuns, ledger.changedClaims]) done.clear();
  ledger.covers.splice(0);
  ledger.members.splice(0);
}

function neededRows(ledger: Ledger, rows: readonly Row[], at: Instant): ReadonlySet<Row> {
  const busy = new Set<Instant | null>([
    ...ledger.runs.filter((run) => mayGoOn(ledger, run, at)).map(({ scheduledFor }) => scheduledFor),
    ...ledger.claims.filter(({ run }) => run.endedAt === null).map(({ scheduledFor }) => scheduledFor),
  ]);
  const newest = [...rows].reverse();
  const reach = Math.max(0, ...thresholdReach(ledger.settings.alertAfter).map(({ of }) => of));
  return new Set([
    ...rows.filter((row) => isOpen(row.state) || row.wanted || row.checkAt !== null || busy.has(row.scheduledFor)),
    ...newest.filter(({ state }) => isVerdict(state)).slice(0, NEWEST_VERDICTS),
    ...newest.filter(({ state }) => isCompleted(state)).slice(0, 1),
    ...newest.filter(({ state }) => endedWell(state)).slice(0, reach),
    ...(reach === 0 ? [] : countedNewest(newest, reach)),
  ]);
}

/** For each kind of trouble the newest ones that counted for it. */
function countedNewest(newest: readonly Row[], reach: number): Row[] {
  const bits = new Set(newest.flatMap(({ counted }) => (counted === 0 ? [] : [counted])));
  return [...bits].flatMap((bit) => newest.filter(({ counted }) => counted === bit).slice(0, reach));
}

/** Not ended, and not so old that it is in progress no longer. */
function mayGoOn({ settings }: Ledger, run: Run, at: Instant): boolean {
  if (run.endedAt !== null || run.startedAt === null) return false;
  return progressEnd(run.startedAt, run, settings) > at - RUN_MEMORY_MS;
}

const isKept = (ledger: Ledger, run: Run, at: Instant): boolean =>
  mayGoOn(ledger, run, at) ||
  (run.scheduledFor !== null && ledger.rows.has(run.scheduledFor)) ||
  ledger.claims.some((claim) => claim.run === run && run.endedAt === null);

function runsByDue({ runs }: Ledger): ReadonlyMap<Instant, readonly Run[]> {
  const found = new Map<Instant, Run[]>();
  for (const run of runs) {
    if (run.scheduledFor === null) continue;
    const own = found.get(run.scheduledFor);
    if (own) own.push(run);
    else found.set(run.scheduledFor, [run]);
  }
  return found;
}

function noteWells(ledger: Playing, rows: readonly Row[]): void {
  const wells = rows.filter(({ state }) => endedWell(state));
  const added = wells.map((row) => ({ at: row.scheduledFor, doubled: row.completions > row.standsFor }));
  ledger.wells = [...ledger.wells, ...added].sort((a, b) => a.at - b.at).slice(-WELLS);
}

/** Brings back what this instant lies between, two on each side. */
export function restoreAround(ledger: Playing, archive: Archive, at: Instant): void {
  if (archive.dues.length === 0) return;
  const after = position(archive.dues, at);
  restore(ledger, archive, archive.dues.slice(Math.max(0, after - 2), after + 2));
}

/** Brings back every row of which `has` is true. */
export function restoreWhere(ledger: Playing, archive: Archive, has: (row: Row) => boolean): void {
  const dues = [...archive.rows.values()].filter(({ row }) => has(row)).map(({ row }) => row.scheduledFor);
  restore(ledger, archive, dues);
}

/** Brings back the rows of these instants, and what ran of them. */
export function restore(ledger: Playing, archive: Archive, dues: readonly Instant[]): void {
  let isAny = false;
  for (const due of dues) {
    const kept = archive.rows.get(due);
    if (!kept) continue;
    isAny = true;
    archive.rows.delete(due);
    archive.dues.splice(position(archive.dues, due) - 1, 1);
    ledger.rows.set(due, kept.row);
    for (const run of kept.runs) if (!ledger.runs.includes(run)) ledger.runs.push(run);
  }
  if (!isAny) return;
  // In the order in which they began: new ones have ever lower ids.
  ledger.runs.sort((a, b) => b.id - a.id);
  ledger.wells = ledger.wells.filter(({ at }) => !ledger.rows.has(at));
  ledger.wellRows = null;
}

/** How many are at or before `at`. */
function position(dues: readonly Instant[], at: Instant): number {
  let low = 0;
  let high = dues.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((dues[middle] as Instant) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert(dues: Instant[], due: Instant): void {
  if ((dues.at(-1) ?? Number.NEGATIVE_INFINITY) < due) dues.push(due);
  else dues.splice(position(dues, due), 0, due);
}
