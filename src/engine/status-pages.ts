import type { Instant } from '../core/time.ts';
import { readHearing, readSilences } from '../store/beats.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { readShares, type Share } from '../store/shares.ts';
import type { StatusPageDefinition, StoredStatusPage } from '../store/status-pages.ts';
import { findStatusJobs, readStatusIncidents, readStatusJobs } from '../store/status-pages-reading.ts';
import { orUtc, type ZoneSource } from '../store/version-zones.ts';
import type { CatchUp } from './catch-up.ts';
import { type RollEntry, readRolls } from './rolls.ts';
import { createReadStretches, type ReadStretches } from './status-pages-maintenance.ts';
import {
  groupsOf,
  type Hearing,
  publicStatus,
  publicStretches,
  type StatusView,
  shownIncidents,
} from './status-pages-view.ts';

export type StatusPageDeps = {
  readonly database: Database;
  readonly zones: ZoneSource;
  readonly catchUp: CatchUp;
  readonly log: { error(fields: object, message: string): void };
};

/** Reads a page as it stands now. */
export type ReadStatusView = (page: StoredStatusPage) => Promise<StatusView>;

export const DAY_MS = 86_400_000;
const MOST_JOBS = 200;
const MOST_INCIDENTS = 200;
const MOST_BLIND = 20;
/** A restart is shorter, and no news to anybody. */
const LAG_MS = 30_000;
const ROLL = { past: 24, ahead: 2 };
/** A quarter of a year of fifty jobs is counted in it. */
const LONG = { statementTimeoutMs: 20_000, deadlineMs: 30_000 };
const SHARES_MS = 30_000;
const NOTHING: Share = { counted: 0, onTime: 0, skipped: 0, unknown: 0 };

/** A fixed number of statements a page, and one round of judging for each job that is due. */
export function createReadStatusView(deps: StatusPageDeps): ReadStatusView {
  const readStretches = createReadStretches(deps.zones);
  const readPageShares = createReadPageShares();
  return async (page) => {
    const ids = await jobsToNow(deps, page);
    return deps.database.transaction(
      (tx) => readView(tx, deps.zones, { page, ids, readStretches, readPageShares }),
      LONG,
    );
  };
}

type Shares = ReadonlyMap<number, Share>;
type PageShares = { readonly d7: Shares; readonly d30: Shares; readonly d90: Shares };
type ReadPageShares = (tx: Tx, pageId: number, jobIds: readonly number[]) => Promise<PageShares>;

/** The shares of a page, counted anew after half a minute: of a job that runs every minute a quarter is 130,000 rows. */
function createReadPageShares(): ReadPageShares {
  const kept = new Map<number, { readonly at: Instant; readonly ids: string; readonly shares: PageShares }>();
  return async (tx, pageId, jobIds) => {
    const { now } = tx;
    const ids = jobIds.join(' ');
    const known = kept.get(pageId);
    if (known && known.ids === ids && now >= known.at && now < known.at + SHARES_MS) return known.shares;
    const over = (days: number) => readShares(tx, jobIds, { after: now - days * DAY_MS, until: now });
    const shares = { d7: await over(7), d30: await over(30), d90: await over(90) };
    kept.set(pageId, { at: now, ids, shares });
    return shares;
  };
}

/** When these jobs are expected to run by `until`: at most `most` instants each, oldest first. */
export function readExpected(
  { database, zones }: Pick<StatusPageDeps, 'database' | 'zones'>,
  jobIds: readonly number[],
  { until, most }: { readonly until: Instant; readonly most: number },
): Promise<ReadonlyMap<number, readonly Instant[]>> {
  return database.transaction(async (tx) => {
    const rolls = await readRolls(tx, zones, jobIds, { past: 0, ahead: most });
    const instants = (entries: readonly RollEntry[]) =>
      entries.map(({ scheduledFor }) => scheduledFor).filter((at) => at > tx.now && at <= until);
    return new Map([...rolls].map(([id, entries]) => [id, instants(entries)]));
  });
}

/** The ids of the jobs of a page, brought to now as a tick would: one that cannot be judged hides no other. */
async function jobsToNow(
  { database, catchUp, log }: StatusPageDeps,
  { projectId, definition }: StoredStatusPage,
): Promise<readonly number[]> {
  const found = await database.transaction((tx) =>
    findStatusJobs(tx, projectId, { ...namedIn(definition), limit: MOST_JOBS * 10 }),
  );
  for (const { id, slug, isDue } of found.slice(0, MOST_JOBS)) {
    if (!isDue) continue;
    try {
      await catchUp([id]);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error;
      log.error({ error, job: slug }, 'a job could not be brought to now before a status page showed it');
    }
  }
  return found.map(({ id }) => id);
}

function namedIn({ groups }: StatusPageDefinition) {
  const slugs = groups.flatMap(({ shows }) => (shows.kind === 'jobs' ? shows.jobs.map(({ job }) => job) : []));
  const tags = groups.flatMap(({ shows }) => (shows.kind === 'tag' ? [shows.tag] : []));
  return { slugs: [...new Set(slugs)], tags: [...new Set(tags)] };
}

type Reading = {
  readonly page: StoredStatusPage;
  readonly ids: readonly number[];
  readonly readStretches: ReadStretches;
  readonly readPageShares: ReadPageShares;
};

async function readView(
  tx: Tx,
  zones: ZoneSource,
  { page, ids, readStretches, readPageShares }: Reading,
): Promise<StatusView> {
  const { now } = tx;
  const { definition, projectId } = page;
  const shown = ids.slice(0, MOST_JOBS);
  const jobs = await readStatusJobs(tx, shown);
  const stretches = await readStretches(tx, projectId, {
    jobs,
    until: now + 30 * DAY_MS,
    showReasons: definition.showReasons,
  });
  const rolls = await readRolls(tx, zones, shown, ROLL);
  const { d7, d30, d90 } = await readPageShares(tx, page.id, shown);
  const incidents = await readStatusIncidents(tx, shown, { since: now - 30 * DAY_MS, limit: MOST_INCIDENTS });
  const held = new Set(stretches.filter(({ from }) => from <= now).flatMap(({ jobIds }) => jobIds));
  const groups = groupsOf(definition.groups, jobs, ({ id, ...job }) => ({
    jobId: id,
    status: publicStatus(job, held.has(id)),
    roll: rolls.get(id) ?? [],
    lastSuccess: job.lastSuccess,
    nextExpected: (rolls.get(id) ?? []).find(({ scheduledFor }) => scheduledFor > now)?.scheduledFor ?? null,
    shares: { d7: d7.get(id) ?? NOTHING, d30: d30.get(id) ?? NOTHING, d90: d90.get(id) ?? NOTHING },
  }));
  return {
    title: definition.title,
    text: definition.text,
    zone: orUtc(zones.get(definition.zone)),
    asOf: now,
    groups,
    hidden: ids.length - shown.length,
    incidents: shownIncidents(incidents, groups, page.id),
    maintenance: publicStretches(stretches, groups),
    hearing: await readOwnHealth(tx),
  };
}

async function readOwnHealth(tx: Tx): Promise<Hearing> {
  const { horizon, last, doubt } = await readHearing(tx);
  const silences = await readSilences(tx, tx.now - 30 * DAY_MS);
  const blind = silences.filter(({ kind }) => kind === 'blind').map(({ after, until }) => ({ after, until }));
  const heard = horizon ?? last;
  const lagMs = heard === null ? null : Math.max(0, tx.now - heard);
  const isDeaf = lagMs === null || (horizon === null && lagMs >= LAG_MS);
  return {
    trouble: doubt ? 'clock' : isDeaf ? 'deaf' : lagMs >= LAG_MS ? 'behind' : null,
    lagMs,
    lastHeard: last,
    blind: blind.slice(-MOST_BLIND).toReversed(),
  };
}
