import { formatKey } from '../core/key.ts';
import { deadlineOf, isCompleted, type Run, type State, type Terms, termsOf } from '../core/occurrence.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Tx } from '../store/database.ts';
import type { RowFacts } from '../store/job-page.ts';
import type { WholePing } from '../store/job-page-pings.ts';
import { readUpstreamJobs, readUpstreamRows } from '../store/upstream.ts';
import { readKeyZones, type ZoneSource } from '../store/version-zones.ts';
import type { TableName } from '../store/zone-tables.ts';
import type { ReadableJob } from './reading.ts';
import { type ClockLedger, versionAt } from './reading-clock.ts';

/** An occurrence as far as its deadlines depend on it. */
export type Dated = {
  readonly scheduledFor: Instant;
  readonly state: State;
  readonly startedAt: Instant | null;
};

/** The deadlines of one occurrence under the settings in force. `deadline`: with the limits of its runs in progress. */
export type Deadlines = Terms & { readonly deadline: Instant; readonly isBlocked: boolean };

/** The deadlines of an occurrence (DESIGN section 4); one that waits for another job is timed once it has begun or is released. */
export async function readDeadlines(
  tx: Tx,
  job: ReadableJob,
  occurrence: Dated,
  {
    runs,
    facts,
    projectId,
  }: { readonly runs: readonly Run[]; readonly facts: RowFacts | null; readonly projectId: number },
): Promise<Deadlines> {
  const { clock, stored } = job;
  const due = occurrence.scheduledFor;
  const version = versionAt(clock, due) ?? clock.versions[0];
  const plain = termsOf(due, stored.definition, {
    previous: () => version?.timetable?.previous(due)?.at ?? null,
    next: () => nextDue(clock, due),
  });
  const [only] = stored.definition.schedules;
  const terms = only && 'heartbeat' in only ? { ...plain, opensAt: due - only.heartbeat * 1000 } : plain;
  const isBlocked = facts !== null && facts.blockedOn !== null;
  const released = await releasedAt(tx, projectId, job, due);
  const from = Math.min(released, begunAt(occurrence, facts));
  const counted = from > due && from < terms.usefulUntil ? moved(terms, from - due) : terms;
  return { ...counted, deadline: deadlineOf(counted, runs), isBlocked };
}

/** When its first run began, as far as that is known; of a run that was never announced, when it ended. Infinity: not yet. */
function begunAt({ state, startedAt }: Dated, facts: RowFacts | null): Instant {
  const ended = isCompleted(state) || state === 'failed' ? facts?.settledAt : null;
  return Math.min(startedAt ?? Number.POSITIVE_INFINITY, ended ?? Number.POSITIVE_INFINITY);
}

/** `start_within` and grace count from when the last of what goes first was done. */
function moved(terms: Terms, byMs: number): Terms {
  const { startBy, graceEnd } = terms;
  return { ...terms, startBy: startBy === null ? null : startBy + byMs, graceEnd: graceEnd + byMs };
}

/** When the last recorded upstream occurrence was done; -Infinity: nothing goes first, or none is done. */
async function releasedAt(tx: Tx, projectId: number, { stored }: ReadableJob, due: Instant): Promise<Instant> {
  const { after } = stored.definition;
  if (after.length === 0) return Number.NEGATIVE_INFINITY;
  const jobs = await readUpstreamJobs(
    tx,
    after.map((slug) => ({ projectId, slug })),
  );
  const rows = await readUpstreamRows(
    tx,
    jobs.map(({ id }) => ({ job: id, at: due })),
  );
  return Math.max(Number.NEGATIVE_INFINITY, ...rows.flatMap(({ doneAt }) => (doneAt === null ? [] : [doneAt])));
}

/** The first instant of the schedule after this one, whichever version has it; null: none. */
function nextDue({ versions }: ClockLedger, after: Instant): Instant | null {
  for (const { timetable, startsAfter, endsAt } of [...versions].reverse()) {
    if (endsAt <= after) continue;
    const at = timetable?.next(Math.max(after, startsAfter))?.at;
    if (at !== undefined && at <= endsAt) return at;
  }
  return null;
}

/** A ping with the key of its occurrence; null: it is about none. */
export type PingReading = WholePing & { readonly key: string | null; readonly keyZone: Zone | null };

/** Pings with the keys of their occurrences. */
export async function withPingKeys(
  tx: Tx,
  { clock }: ReadableJob,
  pings: readonly WholePing[],
  zones: ZoneSource,
): Promise<readonly PingReading[]> {
  const zoneOf = await readKeyZones(tx, zones, pings.flatMap(tableOf));
  return pings.map((ping) => {
    const { scheduledFor: at } = ping;
    if (at === null) return { ...ping, key: null, keyZone: null };
    const [table] = tableOf(ping);
    // A log ping makes no row: its occurrence may be known to the clock alone.
    const zone = table ? zoneOf(table) : (versionAt(clock, at) ?? clock.versions[0])?.zone;
    return { ...ping, key: zone ? formatKey(at, zone) : formatInstant(at), keyZone: zone ?? null };
  });
}

function tableOf({ zone, tzVersion }: WholePing): readonly TableName[] {
  return zone === null || tzVersion === null ? [] : [{ zone, tzVersion }];
}
