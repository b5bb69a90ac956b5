import { setImmediate } from 'node:timers/promises';
import type { JobDefinition } from '../core/definition.ts';
import { heartbeatPeriod } from '../core/definition.ts';
import { previousDue } from '../core/instants.ts';
import { parseKey } from '../core/key.ts';
import type { Version } from '../core/ledger.ts';
import { concerns, type Maintenance } from '../core/maintenance.ts';
import { LEASE_MS, RUN_MEMORY_MS } from '../core/occurrence.ts';
import { type Past, type ReplayedIncident, type ReplayInput, type ReplayPace, replay } from '../core/replay.ts';
import type { Instant } from '../core/time.ts';
import type { Upstream } from '../core/upstream.ts';
import { readSilences } from '../store/beats.ts';
import type { Database, Tx } from '../store/database.ts';
import { findJobId, readJob, readPauses, type StoredJob, type StoredPause } from '../store/jobs.ts';
import { readRevisions } from '../store/maintenance.ts';
import {
  nthNewestPing,
  type PastClaim,
  type PastIncident,
  type PastPing,
  pastClaims,
  pastDecisions,
  pastIncidents,
  pastOccurrences,
  pastPings,
} from '../store/replay.ts';
import { readUpstreamJobs } from '../store/upstream.ts';
import type { Zones } from '../zones.ts';
import { compileSchedules, type VersionCache } from './working-set.ts';

export type ReplayDeps = {
  readonly database: Database;
  readonly zones: Zones;
  readonly versions: VersionCache;
  readonly settleMs: number;
  /** Milliseconds that only go forward. */
  readonly monotonic: () => number;
};

/** What settings would have told, beside what was told; all instants in (after, until]. */
export type Replay = {
  readonly after: Instant;
  readonly until: Instant;
  /** Why it does not reach as far back as it should: too many pings or occurrences, or it took too long. */
  readonly cappedBy: 'pings' | 'occurrences' | 'time' | null;
  readonly pings: number;
  /** Those that would have been told, by their opening. */
  readonly incidents: readonly ReplayedIncident[];
  /** Those that opened, and of which nobody would have been told. */
  readonly untold: number;
  /** Those that were told. */
  readonly recorded: readonly PastIncident[];
};

const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
/** More than these are not looked at: a person waits for the answer. */
const MOST_PINGS = 20_000;
const MOST_OCCURRENCES = 10_000;
/** A month of debts that grow takes long: then a shorter time is played. */
const LONGEST_MS = 4000;
const SHORTER = 8;
/** What is due before the first ping that counts: so many occurrences, and so long at the most. */
const LEAD_OCCURRENCES = 3;
const LONGEST_LEAD_MS = 40 * DAY_MS;

type Named = { readonly projectId: number; readonly slug: string };

/**
 * What a job would have told in the last 30 days under a definition, by the ledger itself: over the pings, pauses, windows,
 * decisions and silences as they were. Reads, and writes nothing. null: no such job. Throws ScheduleError for schedules that
 * make no sense.
 */
export async function replayDefinition(
  deps: ReplayDeps,
  job: Named,
  definition: JobDefinition,
  pace?: ReplayPace,
): Promise<Replay | null> {
  const version = { ...compileSchedules(definition.schedules, definition.zone, deps.zones), number: 1 };
  for (let span = SPAN_MS; ; span /= SHORTER) {
    const asked = { job, definition, version, span };
    const read = await deps.database.transaction((tx) => readPast(tx, deps, asked));
    if (read === null) return null;
    const played = await playWithin(deps, replay(definition, version, read.past, pace));
    if (played === null) continue;
    return told({ ...read, cappedBy: span < SPAN_MS ? 'time' : read.cappedBy }, played);
  }
}

/** A little at a time, for pings wait meanwhile; null: it takes too long. */
async function playWithin<T>(
  { monotonic }: Pick<ReplayDeps, 'monotonic'>,
  playing: Generator<void, T>,
): Promise<T | null> {
  const deadline = monotonic() + LONGEST_MS;
  for (;;) {
    const step = playing.next();
    if (step.done) return step.value;
    if (monotonic() > deadline) return null;
    await setImmediate();
  }
}

type ReadPast = NonNullable<Awaited<ReturnType<typeof readPast>>> & Pick<Replay, 'cappedBy'>;

function told({ past, from, cappedBy, recorded }: ReadPast, played: readonly ReplayedIncident[]): Replay {
  const shown = played
    .map((incident) => ({ ...incident, told: incident.told.filter(({ at }) => at >= from) }))
    .filter((incident) => incident.told.length > 0 || incident.openedAt >= from);
  return {
    after: from,
    until: past.until,
    cappedBy,
    pings: past.inputs.filter(({ type, at }) => type === 'ping' && at >= from).length,
    incidents: shown.filter((incident) => incident.told.length > 0),
    untold: shown.filter((incident) => incident.told.length === 0).length,
    recorded: recorded.filter((incident) => incident.told > 0),
  };
}

type Asked = {
  readonly job: Named;
  readonly definition: JobDefinition;
  readonly version: Pick<Version, 'timetable' | 'periodMs'>;
  readonly span: number;
};

async function readPast(
  tx: Tx,
  deps: ReplayDeps,
  { job: { projectId, slug }, definition, version, span: wanted }: Asked,
) {
  const id = await findJobId(tx, projectId, slug);
  const job = id === null ? null : await readJob(tx, id);
  if (job === null) return null;
  const span = await spanOf(tx, job, { version, span: wanted });
  const { after } = span;
  const pauses = await readPauses(tx, job.id, after);
  const pings = await pastPings(tx, job.id, after);
  const claims = await pastClaims(tx, job.id, after);
  const decisions = await pastDecisions(tx, { projectId, slug }, Math.max(after, job.createdAt));
  const windows = await readWindows(tx, deps, { projectId, slug, definition, after });
  const silences = await readSilences(tx, after);
  const upstream = await readUpstreamPast(tx, deps, { projectId, definition, after });
  const recorded = await pastIncidents(tx, job.id, span.from);
  const decided = decisions.map(
    (one): ReplayInput => ('decision' in one ? { type: 'decide', ...one } : { type: 'settle', ...one }),
  );
  const others = [...pausesOf(pauses, after), ...windows.inputs, ...decided, ...claims.flatMap(claimInputs)];
  const past: Past = {
    after,
    until: tx.now,
    isPaused: pauses.some((pause) => pause.after <= after && (pause.until === null || pause.until > after)),
    inputs: inOrder(pings.flatMap(pingInput), others),
    silences,
    settleMs: deps.settleMs,
    maintenance: windows.maintenance,
    upstream,
  };
  return { past, recorded, from: span.from, cappedBy: span.cappedBy };
}

type Span = { readonly after: Instant; readonly from: Instant; readonly cappedBy: Replay['cappedBy'] };

/** From where on it is told what happened (`from`), and from where on it is played, so that what was under way is known. */
async function spanOf(tx: Tx, job: StoredJob, { version, span }: Pick<Asked, 'version' | 'span'>): Promise<Span> {
  const full = Math.max(job.createdAt, tx.now - span);
  const dense = tx.now - SPAN_MS * Math.min(1, MOST_OCCURRENCES / occurrencesIn(version, tx.now));
  const begun = Math.max(full, dense);
  const after = begun === job.createdAt ? begun : Math.max(job.createdAt, begun - leadOf(version, begun));
  const oldest = await nthNewestPing(tx, job.id, { after, nth: MOST_PINGS });
  if (oldest === null) return { after, from: begun, cappedBy: begun > full ? 'occurrences' : null };
  return {
    after: oldest,
    from: Math.max(begun, Math.min(tx.now, oldest + leadOf(version, oldest))),
    cappedBy: 'pings',
  };
}

/** About how many are due in 30 days, by those of the last one; at least one. */
function occurrencesIn({ timetable }: Asked['version'], now: Instant): number {
  let count = 0;
  for (const _ of timetable?.dueIn(now - DAY_MS, now) ?? []) if (++count >= MOST_OCCURRENCES) break;
  return Math.max(1, (count * SPAN_MS) / DAY_MS);
}

function leadOf({ timetable, periodMs }: Asked['version'], from: Instant): number {
  let at: Instant | null = periodMs === null ? from : from - LEAD_OCCURRENCES * periodMs;
  for (let left = LEAD_OCCURRENCES; timetable && at !== null && left > 0; left -= 1)
    at = timetable.previous(at)?.at ?? null;
  return Math.min(LONGEST_LEAD_MS, Math.max(RUN_MEMORY_MS, from - (at ?? 0)));
}

/** One that could not be read at the door, or was never applied, says nothing. */
function pingInput(stored: PastPing): ReplayInput[] {
  const { matchedBy, receivedAt: arrival, occ, ...ping } = stored;
  const key = occ === null ? null : parseKey(occ);
  const isFlawed = matchedBy === 'unmatched' && (key === null || (ping.exitCode ?? 0) > 255);
  if (isFlawed || (key && !key.ok)) return [];
  return [{ type: 'ping', at: arrival, ping: { ...ping, arrival, key: key?.ok ? key.value : null } }];
}

function pausesOf(pauses: readonly StoredPause[], start: Instant): ReplayInput[] {
  return pauses.flatMap(({ after, until }): ReplayInput[] => [
    ...(after > start ? [{ type: 'pause', at: after } as const] : []),
    ...(until !== null && until > start ? [{ type: 'resume', at: until } as const] : []),
  ]);
}

/** Only the end of its lease is kept: it was renewed often enough to last until then. */
function claimInputs({ rid, claimedAt, leaseUntil, releasedAt }: PastClaim): ReplayInput[] {
  const renewed: ReplayInput[] = [];
  const last = leaseUntil - LEASE_MS;
  for (let at = claimedAt + LEASE_MS / 2; at < last; at += LEASE_MS / 2) renewed.push({ type: 'extend', at, rid });
  if (last > claimedAt) renewed.push({ type: 'extend', at: last, rid });
  return [
    { type: 'claim', at: claimedAt, rid },
    ...renewed,
    ...(releasedAt === null ? [] : [{ type: 'release', at: releasedAt, rid } as const]),
  ];
}

/** Pings as they were accepted; what else happened in between, at one instant before them. */
function inOrder(pings: readonly ReplayInput[], others: readonly ReplayInput[]): ReplayInput[] {
  const rest = [...others].sort((a, b) => a.at - b.at);
  const all: ReplayInput[] = [];
  let next = 0;
  for (const ping of pings) {
    for (let other = rest[next]; other && other.at <= ping.at; other = rest[++next]) all.push(other);
    all.push(ping);
  }
  return [...all, ...rest.slice(next)];
}

async function readWindows(
  tx: Tx,
  { versions }: ReplayDeps,
  asked: Named & { readonly definition: JobDefinition; readonly after: Instant },
): Promise<{ readonly maintenance: Maintenance; readonly inputs: readonly ReplayInput[] }> {
  const { projectId, slug, after } = asked;
  const concerned = { slug, tags: asked.definition.tags };
  const known = await versions.book.read(tx, [projectId]);
  const revisions = await readRevisions(tx, [projectId]);
  const own = revisions.filter(({ definition, knownFrom }) => knownFrom > after && concerns(definition, concerned));
  return {
    maintenance: known(projectId, concerned) ?? (() => null),
    inputs: own.map(({ knownFrom }) => ({ type: 'maintenance', at: knownFrom })),
  };
}

/** What went first of each instant: what is recorded of the upstream jobs, else what their schedules say. */
async function readUpstreamPast(
  tx: Tx,
  { versions }: ReplayDeps,
  asked: { readonly projectId: number; readonly definition: JobDefinition; readonly after: Instant },
): Promise<Past['upstream']> {
  const { projectId, definition, after } = asked;
  if (definition.after.length === 0 || heartbeatPeriod(definition.schedules) !== null) return () => [];
  const names = definition.after.map((slug) => ({ projectId, slug }));
  const jobs = await readUpstreamJobs(tx, names);
  const compiled = await versions.read(tx, jobs);
  const all: {
    id: number;
    pausedAt: Instant | null;
    rows: Awaited<ReturnType<typeof pastOccurrences>>;
    versions: readonly Version[];
  }[] = [];
  for (const { id, pausedAt } of jobs) {
    const rows = await pastOccurrences(tx, id, { after, limit: MOST_OCCURRENCES });
    const own = compiled.get(id);
    all.push({ id, pausedAt, rows, versions: Array.isArray(own) ? own : [] });
  }
  return (due, knownAt) =>
    all.flatMap(({ id, pausedAt, rows, versions: own }): Upstream[] => {
      const row = rows.findLast((one) => one.due <= due);
      const clock = previousDue(own, due);
      const isDone = (at: Instant | null): at is Instant => at !== null && at <= knownAt;
      if (row && (clock === null || row.due >= clock))
        return [{ jobId: id, due: row.due, doneAt: isDone(row.doneAt) ? row.doneAt : null }];
      if (clock === null) return [];
      return [{ jobId: id, due: clock, doneAt: pausedAt !== null && clock > pausedAt ? clock : null }];
    });
}
