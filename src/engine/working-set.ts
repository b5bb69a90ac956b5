import { nextCheckOf } from '../core/advance.ts';
import { heartbeatPeriod } from '../core/definition.ts';
import { groupBy } from '../core/group.ts';
import type { KeySpelling } from '../core/key.ts';
import { keyCandidates } from '../core/key.ts';
import { type Ledger, nothingDone, type Version } from '../core/ledger.ts';
import { RUN_MEMORY_MS, type Run } from '../core/occurrence.ts';
import type { Ping } from '../core/ping.ts';
import { type ScheduleSpec, timetable } from '../core/schedule.ts';
import { floorToSecond, type Instant, LAST_INSTANT } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import type { StoredVersion } from '../store/jobs.ts';
import { type Loaded, type LockedJob, load, versionsOf, type Wish } from '../store/ledger.ts';
import type { Outcome } from '../store/ledger-save.ts';
import type { Zones } from '../zones.ts';

/** A job under its cursor's lock, in memory. */
export type OpenJob = { readonly job: LockedJob; readonly ledger: Ledger };

/** A stored schedule that cannot be expanded (any more): that job's trouble, nobody else's. */
export class ScheduleError extends Error {}

/** Compiled schedule versions of recently touched jobs; valid as long as the cursor names the same version. */
export type VersionCache = {
  /** Versions of these jobs, oldest first; a job whose schedules make no sense has a ScheduleError instead. */
  read(tx: Tx, jobs: readonly LockedJob[]): Promise<Map<number, Version[] | ScheduleError>>;
};

const CACHED_JOBS = 20_000;

export function createVersionCache(zones: Zones): VersionCache {
  const cache = new Map<number, { version: number; versions: readonly StoredVersion[]; compiled: Version[] }>();
  return {
    async read(tx, jobs) {
      const known = jobs.map((job) => ({ job, hit: cache.get(job.id) }));
      const missing = known.filter(({ job, hit }) => hit?.version !== job.version).map(({ job }) => job);
      const stored = await versionsOf(
        tx,
        missing.map(({ id }) => id),
      );
      const result = new Map<number, Version[] | ScheduleError>();
      for (const { job, hit } of known) if (hit?.version === job.version) result.set(job.id, copies(hit.compiled));
      for (const job of missing) {
        const versions = stored.filter(({ jobId }) => jobId === job.id);
        const compiled = compile(versions, zones);
        cache.delete(job.id);
        if (Array.isArray(compiled)) cache.set(job.id, { version: job.version, versions, compiled });
        result.set(job.id, Array.isArray(compiled) ? copies(compiled) : compiled);
      }
      for (const jobId of cache.keys()) if (cache.size > CACHED_JOBS) cache.delete(jobId);
      return result;
    },
  };
}

/** The ledger ends versions in place; what is cached must not change with a transaction that may fail. */
const copies = (versions: readonly Version[]): Version[] => versions.map((version) => ({ ...version }));

function compile(versions: readonly StoredVersion[], zones: Zones): Version[] | ScheduleError {
  try {
    return versions.map((version) => ({
      ...compileSchedules(version.schedules, version.zone, zones),
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
  zones: Zones,
): Pick<Version, 'zone' | 'timetable' | 'periodMs'> {
  const zone = zones.get(zoneName);
  if (!zone.ok) throw new ScheduleError(`time zone ${zoneName}: ${zone.reason}`);
  const period = heartbeatPeriod(schedules);
  if (period !== null) return { zone: zone.value, timetable: null, periodMs: period * 1000 };
  try {
    return { zone: zone.value, timetable: timetable(schedules, zone.value), periodMs: null };
  } catch (error) {
    throw new ScheduleError(error instanceof Error ? error.message : String(error));
  }
}

/** What the pings of one job will look at. */
export type Ahead = {
  readonly pings: readonly Ping[];
  readonly named: readonly Instant[];
  readonly all: boolean;
  /** How many checks the job will be advanced by, at most. */
  readonly steps: number;
};

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
    if (Array.isArray(compiled) && compiled.length > 0) sound.push({ job, versions: compiled });
    else broken.push({ job, error: compiled instanceof ScheduleError ? compiled : new ScheduleError('no schedule') });
  }
  if (sound.length === 0) return { open: [], broken };
  const loaded = await load(
    tx,
    sound.map(({ job, versions: list }) => wishOf(job, list, ahead.get(job.id), tx.now)),
  );
  return { open: assemble(sound, loaded, settleMs), broken };
}

function wishOf(job: LockedJob, versions: readonly Version[], ahead: Ahead | undefined, now: Instant): Wish {
  const pings = ahead?.pings ?? [];
  const keys = pings.flatMap(({ key }) => (key ? [key] : []));
  const spans = versions.flatMap(({ zone }) => keys.map((key: KeySpelling) => keyCandidates(key, zone)));
  const instants = pings.map(({ at }) => at);
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
    threads: [...new Set(pings.map(({ thread }) => thread))],
    open: heartbeat,
    all: ahead?.all ?? false,
    completed: ahead?.all ?? false,
    aheadFrom: job.nextUnrecorded,
    aheadLimit: ahead?.all ? MOST_ROWS_AHEAD : (ahead?.steps ?? 0) + 1,
    fails: pings.some(({ kind }) => kind === 'fail'),
    coalesces: job.definition.missedRuns === 'coalesce',
    runsSince: Math.min(now, ...instants) - Math.max(RUN_MEMORY_MS, (job.definition.maxRuntime ?? 0) * 1000) - 1,
    withWells: job.openIncidents > 0,
  };
}

const jobOf = ({ jobId }: { readonly jobId: number }): number => jobId;

function assemble(
  jobs: readonly { job: LockedJob; versions: Version[] }[],
  loaded: Loaded,
  settleMs: number,
): OpenJob[] {
  const runs = groupBy(loaded.runs, jobOf);
  const rows = groupBy(loaded.rows, jobOf);
  const incidents = groupBy(loaded.incidents, jobOf);
  const threads = groupBy(loaded.threads, jobOf);
  const pauses = groupBy(loaded.pauses, jobOf);
  const wells = groupBy(loaded.wells, jobOf);
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
      loadedUntil: loaded.loadedUntil.get(job.id) ?? Number.POSITIVE_INFINITY,
      knownUntil: loaded.knownUntil.get(job.id) ?? Number.POSITIVE_INFINITY,
      rows: new Map((rows.get(job.id) ?? []).map((row) => [row.scheduledFor, row])),
      runs: [...own],
      threads: new Map(),
      incidents: new Map((incidents.get(job.id) ?? []).map((incident) => [incident.kind, incident])),
      wells: wells.get(job.id) ?? [],
      ...nothingDone(),
    };
    for (const { thread, fingerprint, receivedAt, scheduledFor, lastRunId, runId } of threads.get(job.id) ?? []) {
      const last =
        fingerprint === null || receivedAt === null
          ? null
          : { fingerprint, receivedAt, scheduledFor, run: byId.get(lastRunId) ?? null };
      ledger.threads.set(thread, { last, run: byId.get(runId) ?? null });
    }
    return { job, ledger };
  });
}

/** How save() leaves the job; one with deferred pings is due at once. */
export function outcomeOf({ job, ledger }: OpenJob, deferred: number, now: Instant): Outcome {
  const nextCheckAt = deferred > 0 ? now : nextCheckOf(ledger);
  return { jobId: job.id, ledger, nextCheckAt, version: ledger.versions.at(-1)?.number ?? job.version, deferred };
}
