import { heartbeatPeriod } from '../../../core/definition.ts';
import type { IncidentKind } from '../../../core/message.ts';
import { isOpen } from '../../../core/occurrence.ts';
import type { ScheduleSpec } from '../../../core/schedule.ts';
import type { JobStatus } from '../../../core/status.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { owedLines } from '../../../engine/report-owed.ts';
import { type RollEntry, readRolls } from '../../../engine/rolls.ts';
import { type JobDetails, jobsThatMayOwe, readJobDetails, readJobLines } from '../../../store/dashboard.ts';
import { type IncidentLine, readIncidentLines } from '../../../store/dashboard-incidents.ts';
import { readMarks } from '../../../store/dashboard-mark.ts';
import type { Tx } from '../../../store/database.ts';
import { dueJobs } from '../../../store/jobs.ts';
import type { Share } from '../../../store/shares.ts';
import { orUtc } from '../../../store/version-zones.ts';
import { bringToNow } from '../../api/bring-to-now.ts';
import type { PageDeps } from '../deps.ts';
import { type Filter, isInTrouble, matching, PAGE_SIZE, type RatedJob, rated } from './filter.ts';
import type { ReadRecentShares } from './recent-shares.ts';

/** One line of the list. */
export type BoardRow = {
  readonly slug: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly status: JobStatus;
  readonly openKinds: readonly IncidentKind[];
  readonly schedules: readonly ScheduleSpec[];
  readonly zone: Zone;
  readonly unreviewed: boolean;
  readonly isHeard: boolean;
  readonly roll: readonly RollEntry[];
  readonly lastSuccess: Instant | null;
  /** Of a heartbeat its open occurrence, which may be past; null: none to come, or paused. */
  readonly nextDue: Instant | null;
  /** Over the last 30 days; null: nothing was due. */
  readonly share: Share | null;
  readonly owed: number;
};

/** The list of jobs of a project at one instant. */
export type Board = {
  readonly now: Instant;
  /** What changes are told by (store/dashboard-mark.ts). */
  readonly mark: string;
  /** Jobs of the project, those in trouble, and those that owe something. */
  readonly total: number;
  readonly troubled: number;
  readonly owing: number;
  /** Open incidents, the first few of them, and how many there are. */
  readonly incidents: readonly (IncidentLine & { readonly jobZone: Zone })[];
  readonly incidentCount: number;
  /** All tags of the project, with the number of their jobs, by name. */
  readonly tags: readonly (readonly [tag: string, jobs: number])[];
  /** How many jobs the filter lets through, and those of its page. */
  readonly matching: number;
  readonly rows: readonly BoardRow[];
  readonly page: number;
  readonly pages: number;
};

const ROLL = { past: 24, ahead: 3 };
const INCIDENTS_SHOWN = 6;
/** What the evaluator has not come to yet is judged first, a few jobs of it: it has more only while it is down. */
const MOST_CAUGHT_UP = 25;

type BoardDeps = Pick<PageDeps, 'database' | 'zones' | 'catchUp' | 'log'> & { readonly recentShares: ReadRecentShares };

/** Reads it by a number of statements that does not depend on how many jobs there are. */
export async function readBoard(deps: BoardDeps, projectId: number, filter: Filter): Promise<Board> {
  await bringToNow(deps, await deps.database.transaction((tx) => dueJobs(tx, projectId, MOST_CAUGHT_UP)));
  return deps.database.transaction((tx) => read(tx, deps, projectId, filter));
}

async function read(tx: Tx, { zones, recentShares }: BoardDeps, projectId: number, filter: Filter): Promise<Board> {
  // First of all, so that what is written in between is told as a change.
  const mark = (await readMarks(tx, [projectId])).get(projectId) ?? '';
  const jobs = await readRated(tx, zones, projectId);
  const found = matching(jobs, filter);
  const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE));
  const page = Math.min(filter.page, pages);
  const shown = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  const ids = shown.map(({ id }) => id);
  const details = new Map((await readJobDetails(tx, ids)).map((one) => [one.id, one]));
  const rolls = await readRolls(tx, zones, ids, ROLL);
  const shares = await recentShares(tx, ids);
  const open = { state: 'open', slug: null, kind: null, offset: 0, limit: INCIDENTS_SHOWN } as const;
  const incidents = await readIncidentLines(tx, projectId, open);
  const zoneOf = (name: string): Zone => orUtc(zones.get(name));
  return {
    now: tx.now,
    mark,
    total: jobs.length,
    troubled: jobs.filter(isInTrouble).length,
    owing: jobs.filter(({ owed }) => owed > 0).length,
    incidents: incidents.lines.map((line) => ({ ...line, jobZone: zoneOf(line.zone) })),
    incidentCount: incidents.total,
    tags: tagsOf(jobs),
    matching: found.length,
    rows: shown.flatMap((job) => {
      const known = details.get(job.id);
      const parts = { roll: rolls.get(job.id) ?? [], share: shares.get(job.id) ?? null, now: tx.now };
      return known ? [rowOf(job, known, { ...parts, zone: zoneOf(known.definition.zone) })] : [];
    }),
    page,
    pages,
  };
}

/** Every job of a project with its status and what it owes. */
async function readRated(tx: Tx, zones: PageDeps['zones'], projectId: number): Promise<readonly RatedJob[]> {
  const owed = new Map(
    (await owedLines(tx, await jobsThatMayOwe(tx, projectId), zones)).map(({ job, count, unconfirmed }) => [
      job,
      count + unconfirmed,
    ]),
  );
  return (await readJobLines(tx, projectId)).map((line) => rated(line, owed.get(line.slug) ?? 0));
}

/** The slugs a filter lets through, on all its pages. */
export async function readMatchingSlugs(
  { database, zones }: Pick<BoardDeps, 'database' | 'zones'>,
  projectId: number,
  filter: Filter,
): Promise<readonly string[]> {
  const jobs = await database.transaction((tx) => readRated(tx, zones, projectId));
  return matching(jobs, filter).map(({ slug }) => slug);
}

function rowOf(
  { slug, name, tags, status, openKinds, owed, isPaused }: RatedJob,
  { definition, unreviewed, lastSuccess, isHeard }: JobDetails,
  { roll, share, zone, now }: Pick<BoardRow, 'roll' | 'share' | 'zone'> & { readonly now: Instant },
): BoardRow {
  const last = roll.at(-1);
  const isBeat = heartbeatPeriod(definition.schedules) !== null;
  const first = roll.find(({ scheduledFor }) => scheduledFor > now) ?? null;
  const next = isBeat ? (last && isOpen(last.state) ? last : null) : first;
  return {
    slug,
    name,
    tags,
    status,
    openKinds,
    schedules: definition.schedules,
    zone,
    unreviewed,
    isHeard,
    roll,
    lastSuccess,
    nextDue: isPaused ? null : (next?.scheduledFor ?? null),
    share,
    owed,
  };
}

function tagsOf(jobs: readonly RatedJob[]): Board['tags'] {
  const counts = new Map<string, number>();
  for (const { tags } of jobs) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}
