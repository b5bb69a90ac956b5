import type { Clock } from '../clock.ts';
import { applySettings, applyVersion } from '../core/change.ts';
import { groupBy } from '../core/group.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Move } from '../core/zone-difference.ts';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../log-outage.ts';
import { operatorChannels } from '../store/channels.ts';
import type { Tx } from '../store/database.ts';
import { setFact } from '../store/facts.ts';
import { insertVersion, recordAudit } from '../store/job-writing.ts';
import { enqueueNotice } from '../store/outbox.ts';
import { createVersionZones } from '../store/version-zones.ts';
import * as tables from '../store/zone-tables.ts';
import { isOlderTz, type Zones } from '../zones.ts';
import { type ChangingDeps, change, whole } from './changing.ts';
import { createTzComparison, type Verdict } from './tz-comparison.ts';
import { compileSchedules, ScheduleError } from './working-set.ts';

export type TzChangeDeps = ChangingDeps & { readonly zones: Zones; readonly clock: Clock; readonly log: Logger };

export type TzChange = {
  /**
   * Looks at every job that is read by an older tz database than this process's. Those whose instants it moves get a new
   * schedule version from now on, as an edit would make it; the others are read by it from now on. Nobody is called; the
   * operators get one notice. Returns the slugs of the moved ones. A job that fails is left for the next pass and holds up
   * no other; at the end its error is thrown, DatabaseUnavailable where that is it.
   */
  pass(): Promise<readonly string[]>;
  /** Passes at once, and again while other replicas with older data may still be making versions. */
  run(signal: AbortSignal): Promise<void>;
};

const PAGE = 500;
const EVERY_MS = 600_000;
const RETRY_MS = 30_000;
/** So many jobs that fail one after the other are not the jobs' fault. */
const MOST_FAILURES = 3;
const TOLD = 'tz_version';
const LISTED = 20;

type Found = { readonly version: tables.NewestVersion; readonly verdict: Verdict };

export function createTzChange(deps: TzChangeDeps): TzChange {
  const { database, zones, clock, log } = deps;
  const outage = createOutageLog(log, 'the look at new time zone data', clock.monotonic);
  const versionZones = createVersionZones(zones);
  const warned = new Set<string>();

  async function pass(): Promise<readonly string[]> {
    const { now, older } = await database.transaction((tx) => lookAround(tx, zones));
    const compare = createTzComparison(zones, now);
    const outcome: Outcome = { moved: [], failures: [], inARow: 0 };
    for (let after = 0; older.length > 0; ) {
      const page = await database.transaction(async (tx) => {
        const versions = await tables.pageOfNewestVersions(tx, older, { after, limit: PAGE });
        return { versions, zoneOf: await versionZones.read(tx, versions) };
      });
      const last = page.versions.at(-1);
      if (!last) break;
      const found = page.versions.map((version) => ({ version, verdict: compare(version, page.zoneOf(version)) }));
      await adopt(deps, found);
      await moveAll(deps, found, outcome);
      warnOfLost(found);
      after = last.jobId;
    }
    if (outcome.failures.length > 0) throw outcome.failures[0];
    await database.transaction((tx) => tellOnce(tx, zones));
    return outcome.moved;
  }

  function warnOfLost(found: readonly Found[]): void {
    const lost = groupBy(
      found.filter(({ verdict, version }) => verdict.kind === 'lost' && !warned.has(version.zone)),
      ({ version }) => version.zone,
    );
    for (const [zone, about] of lost) {
      warned.add(zone);
      const jobs = about.slice(0, LISTED).map(({ version }) => version.slug);
      log.warn(
        { zone, jobs, from: about[0]?.version.tzVersion, to: zones.version },
        'the new time zone data have lost a zone: its jobs go on by the old data; give them another zone',
      );
    }
  }

  return {
    pass,
    async run(signal) {
      while (!signal.aborted) {
        let isDone = false;
        const once = async (): Promise<void> => {
          await pass();
          isDone = true;
        };
        await outage.watch(once, 'a look at new time zone data failed');
        await clock.sleep(isDone ? EVERY_MS : RETRY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** Keeps tables that are not kept yet, and finds out by which older tz databases jobs are read. */
async function lookAround(tx: Tx, zones: Zones) {
  await tables.keepTables(tx, zones, await tables.zonesWithoutTable(tx, zones.version));
  const inUse = await tables.tzVersionsInUse(tx);
  return { now: tx.now, older: inUse.filter((version) => isOlderTz(version, zones.version)) };
}

/** What does not move is read by the new data in place: one statement for many jobs, and no version of its own. */
async function adopt({ database, zones }: TzChangeDeps, found: readonly Found[]): Promise<void> {
  const same = found.filter(({ verdict }) => verdict.kind === 'same').map(({ version }) => version);
  if (same.length > 0) await database.transaction((tx) => tables.readBy(tx, zones, same));
}

/** What a pass did so far. `inARow`: the last so many jobs failed. */
type Outcome = { readonly moved: string[]; readonly failures: unknown[]; inARow: number };

async function moveAll(deps: TzChangeDeps, found: readonly Found[], outcome: Outcome): Promise<void> {
  for (const { version, verdict } of found) {
    if (verdict.kind !== 'moved' && verdict.kind !== 'unknown') continue;
    try {
      if (await moveOne(deps, version, verdict.kind === 'moved' ? verdict.move : null))
        outcome.moved.push(version.slug);
      outcome.inARow = 0;
    } catch (error) {
      outcome.failures.push(error);
      outcome.inARow += 1;
      if (outcome.inARow >= MOST_FAILURES) throw error;
    }
  }
}

/** False: somebody else was first, or it did not move after all. */
async function moveOne(deps: TzChangeDeps, version: tables.NewestVersion, move: Move | null): Promise<boolean> {
  const { jobId, slug, schedules, zone, tzVersion: from } = version;
  const { zones, log } = deps;
  const find = (): Promise<number> => Promise.resolve(jobId);
  try {
    const told = await change(deps, whole(find), async (tx, { job, ledger }) => {
      if (job.version !== version.number) return null;
      const compiled = compileSchedules(schedules, zone, zones);
      if (move === null && isStillDue(ledger.nextUnrecorded, compiled.timetable?.next(tx.now)?.at)) {
        await tables.readBy(tx, zones, [version]);
        return null;
      }
      const number = job.version + 1;
      await insertVersion(tx, jobId, number, { definition: { schedules, zone }, zones });
      applyVersion(ledger, { ...compiled, number }, tx.now);
      applySettings(ledger, ledger.settings, tx.now);
      const detail = { zone, from, to: zones.version, was: instantText(move?.was), is: instantText(move?.is) };
      await recordAudit(tx, {
        projectId: job.projectId,
        actor: 'rollcall',
        action: tables.MOVED,
        subject: slug,
        detail,
      });
      return detail;
    });
    if (told) log.info({ job: slug, ...told }, 'new time zone data move the due times of a job');
    return told !== null;
  } catch (error) {
    // Its schedule_error tells; whoever defines it anew makes a version by the new data.
    if (error instanceof ScheduleError) return false;
    throw error;
  }
}

/** Nobody kept the old table: only the next instant, which is stored, can tell whether it moved. */
const isStillDue = (stored: Instant | null, next: Instant | undefined): boolean => stored === (next ?? null);

const instantText = (due: { readonly at: Instant } | null | undefined): string | null =>
  due ? formatInstant(due.at) : null;

/** One notice per project about all that moved, once for each tz version, when every job has been looked at. */
async function tellOnce(tx: Tx, { version }: Zones): Promise<void> {
  const last = await tables.readFact(tx, TOLD);
  if (last === version || (last !== null && isOlderTz(version, last))) return;
  for (const [projectId, moved] of groupBy(await tables.movedBy(tx, version), (one) => one.projectId)) {
    const notice = {
      kind: 'operator',
      subject: `tz:${version}:${projectId}`,
      text: noticeText(version, moved),
      at: tx.now,
    };
    await enqueueNotice(tx, { ...notice, kind: 'operator' }, await operatorChannels(tx, projectId));
  }
  await setFact(tx, TOLD, version);
}

function noticeText(version: string, moved: readonly tables.MovedJob[]): string {
  const jobs = moved.slice(0, LISTED).map(({ slug, was, is }) => {
    if (was === null && is === null) return slug;
    return `${slug} (${was ?? 'nothing'} becomes ${is ?? 'nothing'})`;
  });
  const more = moved.length > LISTED ? ` and ${moved.length - LISTED} more` : '';
  const what = moved.length === 1 ? 'one job' : `${moved.length} jobs`;
  return `New time zone data (${version}) move the due times of ${what}: ${jobs.join(', ')}${more}. What was due before stays as it is recorded.`;
}
