import { nextCheckOf } from '../core/advance.ts';
import { heartbeatPeriod } from '../core/definition.ts';
import { groupBy } from '../core/group.ts';
import type { KeySpelling } from '../core/key.ts';
import { keyCandidates } from '../core/key.ts';
import { type Ledger, nothingDone, type Version } from '../core/ledger.ts';
import { RUN_MEMORY_MS, type Run } from '../core/occurrence.ts';
import type { Ping } from '../core/ping.ts';
import { type ScheduleSpec, timetable } from '../core/schedule.ts';
import { thresholdReach } from '../core/threshold.ts';
import { floorToSecond, type Instant, LAST_INSTANT, type Seconds } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import type { StoredVersion } from '../store/jobs.ts';
import { type Loaded, load, versionsOf } from '../store/ledger.ts';
import type { Outcome } from '../store/ledger-save.ts';
import type { Wish } from '../store/ledger-wish.ts';
import type { LockedJob } from '../store/locking.ts';
import { createMaintenanceBook, type KnownMaintenance, type MaintenanceBook } from '../store/maintenance-book.ts';
import { createVersionZones, type ZoneOfVersion, type ZoneSource } from '../store/version-zones.ts';
import { findUnrecorded, isTakenBack } from './clock-repair.ts';
import { readUpstream } from './upstream.ts';

/** A job under its cursor's lock, in memory. */
export type OpenJob = { readonly job: LockedJob; readonly ledger: Ledger };

/** A stored schedule that cannot be expanded (any more): that job's trouble, nobody else's. Its message is the reason. */
export class ScheduleError extends Error {}

/**
 * Compiled schedule versions of recently touched jobs; valid as long as the cursor names the same version, and that is
 * read by the same tz version: new tz data that move none of its instants are put under it in place.
 */
export type VersionCache = {
  /** What is known about maintenance, by the same zones. */
  readonly book: MaintenanceBook;
  /** Versions of these jobs, oldest first; a job whose schedules make no sense has a ScheduleError instead. */
  read(
    tx: Tx,
    jobs: readonly Pick<LockedJob, 'id' | 'version' | 'tzVersion'>[],
  ): Promise<Map<number, Version[] | ScheduleError>>;
};

const CACHED_JOBS = 20_000;

export function createVersionCache(zones: ZoneSource): VersionCache {
  const cache = new Map<number, { version: number; tzVersion: string; compiled: Version[] }>();
  const versionZones = createVersionZones(zones);
  return {
    book: createMaintenanceBook(zones),
    async read(tx, jobs) {
      const result = new Map<number, Version[] | ScheduleError>();
      for (const { id, version, tzVersion } of jobs) {
        const hit = cache.get(id);
        if (hit && hit.version === version && hit.tzVersion === tzVersion) result.set(id, copies(hit.compiled));
      }
      const missing = jobs.filter(({ id }) => !result.has(id));
      const stored = await versionsOf(
        tx,
        missing.map(({ id }) => id),
      );
      const zoneOf = await versionZones.read(tx, stored);
      for (const job of missing) {
        const versions = stored.filter(({ jobId }) => jobId === job.id);
        const compiled = compile(versions, zoneOf);
        cache.delete(job.id);
        const tzVersion = versions.at(-1)?.tzVersion ?? '';
        if (Array.isArray(compiled)) cache.set(job.id, { version: job.version, tzVersion, compiled });
        result.set(job.id, Array.isArray(compiled) ? copies(compiled) : compiled);
      }
      for (const jobId of cache.keys()) if (cache.size > CACHED_JOBS) cache.delete(jobId);
      return result;
    },
  };
}

/** The ledger ends versions in place; what is cached must not change with a transaction that may fail. */
const copies = (versions: readonly Version[]): Version[] => versions.map((version) => ({ ...version }));

function compile(versions: readonly StoredVersion[], zoneOf: ZoneOfVersion): Version[] | ScheduleError {
  if (versions.length === 0) return new ScheduleError('it has none');
  try {
    return versions.map((version) => ({
      ...compileSchedules(version.schedules, version.zone, { get: () => zoneOf(version) }),
      number: version.number,
      startsAfter: version.startsAfter,
      endsAt: version.endsAt,
    }));
  } catch (error) {
    return new ScheduleError(error instanceof Error ? error.message : String(error));
  }
}

/** Throws ScheduleError if the zone is unknown or the schedules make no sense. */
export function compileSchedules(
  schedules: readonly ScheduleSpec[],
  zoneName: string,
  zones: Pick<ZoneSource, 'get'>,
): Pick<Version, 'zone' | 'timetable' | 'periodMs'> {
  const zone = zones.get(zoneName);
  if (!zone.ok) throw new ScheduleError(`time zone ${zoneName}: ${zone.reason}`);
  try {
    const period = heartbeatPeriod(schedules);
    if (period !== null) return { zone: zone.value, timetable: null, periodMs: checkedPeriod(period) * 1000 };
    return { zone: zone.value, timetable: timetable(schedules, zone.value), periodMs: null };
  } catch (error) {
    throw new ScheduleError(error instanceof Error ? error.message : String(error));
  }
}

/** A stored period that is none would make occurrences without end. */
function checkedPeriod(period: Seconds): Seconds {
  if (Number.isInteger(period) && period >= 1) return period;
  throw new Error(`not a heartbeat: ${JSON.stringify(period)}; its period must be whole seconds`);
}

/** What the pings of one job will look at. */
export type Ahead = {
  readonly pings: readonly Ping[];
  readonly named: readonly Instant[];
  readonly all: boolean;
  /** How many checks the job will be advanced by, at most. */
  readonly steps: number;
  /** What a claim or a decision looks at besides. */
  readonly owed?: OwedAhead;
};

type OwedAhead = {
  /** The run id of a claim. */
  readonly rid?: string;
  /** A claim by its id. */
  readonly claimId?: number;
  /** What a decision is about, due after this, the oldest `limit`. */
  readonly undecided?: { readonly after: Instant; readonly limit: number };
};

/** Of the oldest wanted ones that nobody has claimed, at most so many are looked at: others may run some of them unclaimed. */
const WANTED_AT_ONCE = 100;

/** What an edit or a pause looks at, at most, of evidence ahead of the clock. */
const MOST_ROWS_AHEAD = 100_000;

/** Loads the working sets of locked jobs; the ones whose schedules make no sense are told apart. */
export async function openJobs(
  tx: Tx,
  jobs: readonly LockedJob[],
  ahead: ReadonlyMap<number, Ahead>,
  { versions: cache, settleMs }: { readonly versions: VersionCache; readonly settleMs: number },
): Promise<{ open: OpenJob[]; broken: { job: LockedJob; error: ScheduleError }[] }> {
  const versions = await cache.read(tx, jobs);
  const broken: { job: LockedJob; error: ScheduleError }[] = [];
  const sound: { job: LockedJob; versions: Version[] }[] = [];
  for (const job of jobs) {
    const compiled = versions.get(job.id);
    if (Array.isArray(compiled)) sound.push({ job, versions: compiled });
    else broken.push({ job, error: compiled instanceof ScheduleError ? compiled : new ScheduleError('it has none') });
  }
  if (sound.length === 0) return { open: [], broken };
  const wishes = sound.map(({ job, versions: list }) => wishOf(job, list, ahead.get(job.id), tx.now));
  const maintenance = await cache.book.read(
    tx,
    sound.map(({ job }) => job.projectId),
  );
  const open = assemble(sound, await load(tx, wishes), { settleMs, now: tx.now, maintenance });
  await readUpstream(tx, cache, open, (jobId) => ({
    instants: wishes.find((wish) => wish.jobId === jobId)?.around ?? [],
    steps: (ahead.get(jobId)?.steps ?? 0) + 1,
  }));
  return { open, broken };
}

function wishOf(job: LockedJob, versions: readonly Version[], ahead: Ahead | undefined, now: Instant): Wish {
  const pings = ahead?.pings ?? [];
  const keys = pings.flatMap(({ key }) => (key ? [key] : []));
  const spans = versions.flatMap(({ zone }) => keys.map((key: KeySpelling) => keyCandidates(key, zone)));
  const owed = ahead?.owed;
  const instants = [...pings.map(({ at }) => at), ...(owed ? [now] : [])];
  const named = owed?.rid === undefined ? [] : [`rid:${owed.rid}`];
  // A heartbeat's earlier occurrence is found by its anchor, one period before it was due; its newest row may be open.
  const periods = versions.flatMap(({ periodMs }) => (periodMs === null ? [] : [periodMs]));
  const heartbeat = versions.at(-1)?.periodMs !== null;
  const anchored = heartbeat
    ? [LAST_INSTANT, ...instants.flatMap((at) => periods.map((period) => floorToSecond(at) + period - 1))]
    : [];
  return {
    jobId: job.id,
    around: [...new Set([...instants, ...anchored, ...(ahead?.named ?? [])])],
    named: [...(ahead?.named ?? []), ...spans.flatMap((span) => ('instants' in span ? span.instants : []))],
    days: spans.flatMap((span) => ('instants' in span ? [] : [span])),
    threads: [...new Set([...pings.map(({ thread }) => thread), ...named])],
    open: heartbeat,
    all: ahead?.all ?? false,
    completed: ahead?.all ?? false,
    wanted: owed ? WANTED_AT_ONCE : 0,
    undecided: owed?.undecided ? undecidedOf(job, owed.undecided, now) : null,
    recent: thresholdReach(job.definition.alertAfter),
    claims: owed || ahead?.all ? { id: owed?.claimId ?? null } : null,
    aheadFrom: job.nextUnrecorded,
    aheadLimit: ahead?.all ? MOST_ROWS_AHEAD : (ahead?.steps ?? 0) + 1,
    fails: pings.some(({ kind }) => kind === 'fail'),
    coalesces: job.definition.missedRuns === 'coalesce' || job.definition.overlap === 'replace',
    runsSince: Math.min(now, ...instants) - Math.max(RUN_MEMORY_MS, (job.definition.maxRuntime ?? 0) * 1000) - 1,
    withWells: job.openIncidents > 0,
  };
}

/** What is past its usefulness window is no matter of a decision. */
function undecidedOf({ definition }: LockedJob, { after, limit }: { after: Instant; limit: number }, now: Instant) {
  const useful = definition.usefulFor === null ? 0 : now - 1000 * definition.usefulFor - 1;
  return { after: Math.max(after, useful), until: now, limit };
}

const jobOf = ({ jobId }: { readonly jobId: number }): number => jobId;

/** What is the same for all jobs of a transaction. */
type Surroundings = { readonly settleMs: number; readonly now: Instant; readonly maintenance: KnownMaintenance };

const noMaintenance = (): null => null;

function assemble(
  jobs: readonly { job: LockedJob; versions: Version[] }[],
  loaded: Loaded,
  { settleMs, now, maintenance }: Surroundings,
): OpenJob[] {
  const runs = groupBy(loaded.runs, jobOf);
  const rows = groupBy(loaded.rows, jobOf);
  const incidents = groupBy(loaded.incidents, jobOf);
  const threads = groupBy(loaded.threads, jobOf);
  const pauses = groupBy(loaded.pauses, jobOf);
  const wells = groupBy(loaded.wells, jobOf);
  const claims = groupBy(loaded.claims, jobOf);
  return jobs.map(({ job, versions }) => {
    const own = runs.get(job.id) ?? [];
    const byId = new Map<number | null, Run>(own.map((run) => [run.id, run]));
    const ledger: Ledger = {
      settings: job.definition,
      versions,
      pausedAt: job.pausedAt,
      pauses: [...(pauses.get(job.id) ?? [])],
      silences: loaded.silences,
      settleMs,
      nextUnrecorded: job.nextUnrecorded,
      constantRid: job.constantRid,
      decidedUntil: job.decidedUntil,
      backlog: job.backlog,
      lastHandOut: job.lastHandOut,
      claims: (claims.get(job.id) ?? []).map((claim) => ({ ...claim, run: byId.get(claim.run.id) ?? claim.run })),
      loadedUntil: loaded.loadedUntil.get(job.id) ?? Number.POSITIVE_INFINITY,
      knownUntil: loaded.knownUntil.get(job.id) ?? Number.POSITIVE_INFINITY,
      rows: new Map((rows.get(job.id) ?? []).map((row) => [row.scheduledFor, row])),
      runs: [...own],
      threads: new Map(),
      incidents: new Map((incidents.get(job.id) ?? []).map((incident) => [incident.kind, incident])),
      wells: wells.get(job.id) ?? [],
      now,
      maintenance: maintenance(job.projectId, { slug: job.slug, tags: job.definition.tags }) ?? noMaintenance,
      upstream: () => [],
      ...nothingDone(),
    };
    for (const { thread, fingerprint, receivedAt, scheduledFor, lastRunId, runId } of threads.get(job.id) ?? []) {
      const last =
        fingerprint === null || receivedAt === null || isTakenBack(receivedAt, now)
          ? null
          : { fingerprint, receivedAt, scheduledFor, run: byId.get(lastRunId) ?? null };
      ledger.threads.set(thread, { last, run: byId.get(runId) ?? null });
    }
    findUnrecorded(ledger);
    return { job, ledger };
  });
}

/** How save() leaves the job; one with deferred pings is due at once. */
export function outcomeOf({ job, ledger }: OpenJob, deferred: number, now: Instant): Outcome {
  const nextCheckAt = deferred > 0 ? now : nextCheckOf(ledger);
  return { jobId: job.id, ledger, nextCheckAt, version: ledger.versions.at(-1)?.number ?? job.version, deferred };
}
