import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import { newestComplete, type Period, periodsBetween } from '../core/report-period.ts';
import { headline } from '../core/report-words.ts';
import { type Instant, parsed, type Result } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../log-outage.ts';
import { readHearing } from '../store/beats.ts';
import type { Tx } from '../store/database.ts';
import {
  allReports,
  enqueueReport,
  lockReport,
  moveSentUntil,
  type StoredReport,
  wasBlindLately,
} from '../store/reports.ts';
import { type MadeReport, makeReport, type ReportDeps } from './report-making.ts';

export type ReportsDeps = ReportDeps & {
  readonly clock: Clock;
  /** How long after a blind window it is known what was heard. */
  readonly settleMs: number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
};

export type Reports = {
  /** One round: every report that is due is made and promised. Answers how many were. */
  tick(): Promise<number>;
  run(signal: AbortSignal): Promise<void>;
};

const EVERY_MS = 30_000;
/** So long after the end of its period a report is made: most of what was due last has been judged by then. */
export const REPORT_AFTER_MS = 15 * 60_000;
/** What a blind window made unknown is written by then. */
const JUDGED_MS = 5 * 60_000;

/**
 * The loop that sends weekly and monthly reports. Any number may run: who moves `sent_until` has promised the report in the
 * same transaction. Of several periods that are over only the newest is sent; it says so.
 */
export function createReports(deps: ReportsDeps): Reports {
  const outage = createOutageLog(deps.log, 'reports', deps.clock.monotonic);
  async function tick(): Promise<number> {
    const due = await deps.database.transaction((tx) => lookAround(tx, deps));
    let made = 0;
    for (const one of due) {
      try {
        if (await sendDue(deps, one)) made += 1;
      } catch (error) {
        // Its failure is its own: the others are sent, and it is tried again.
        outage.failed(error, 'a report could not be made', { report: one.stored.slug });
      }
    }
    return made;
  }
  return {
    tick,
    async run(signal) {
      while (!signal.aborted) {
        await outage.watch(tick, 'a round of reports failed');
        await deps.clock.sleep(EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

type Due = { readonly stored: StoredReport; readonly period: Period };

/** What is due. Nothing is while nobody knows what was heard of the period: the report would have to guess. */
async function lookAround(tx: Tx, { zones, settleMs, log }: ReportsDeps): Promise<readonly Due[]> {
  const { horizon } = await readHearing(tx);
  const all = horizon === null ? [] : await allReports(tx);
  const due: Due[] = [];
  for (const stored of all) {
    const { every, zone: name } = stored.definition;
    const zone = zones.get(name);
    // Another replica may know it: the zone was known when the report was put.
    if (!zone.ok) continue;
    const period = newestComplete(tx.now, every, zone.value);
    if (stored.sentUntil > tx.now) await beginAnew(tx, stored, period, log);
    else if (period.endsAt > stored.sentUntil && period.endsAt + REPORT_AFTER_MS <= (horizon ?? 0)) {
      due.push({ stored, period });
    }
  }
  const isTooSoon = due.length > 0 && (await wasBlindLately(tx, settleMs + JUDGED_MS));
  return isTooSoon ? [] : due;
}

/** It was sent under a clock that has gone back since: the periods that did not come to pass will be. */
async function beginAnew(tx: Tx, { id, slug }: StoredReport, { endsAt }: Period, log: ReportsDeps['log']) {
  if ((await lockReport(tx, id)) === null) return;
  await moveSentUntil(tx, id, endsAt);
  log.warn({ report: slug }, 'the clock went back behind the last period of a report: it goes on from now');
}

/** False: somebody else was first, or it was changed meanwhile. */
async function sendDue(deps: ReportsDeps, { stored, period }: Due): Promise<boolean> {
  const made = await makeReport(deps, { ...stored, period });
  if (!made.ok) throw new Error(made.reason);
  const { id, slug, sentUntil, definition } = stored;
  const told = await deps.database.transaction(async (tx) => {
    const locked = await lockReport(tx, id);
    if (locked?.sentUntil !== sentUntil || !isDeepStrictEqual(locked.definition, definition)) return null;
    await moveSentUntil(tx, id, period.endsAt);
    return promise(tx, stored, withUnreported(made.value, sentUntil));
  });
  if (told === null) return false;
  const facts = { report: slug, period: period.name, channels: told };
  if (told.length > 0) deps.log.info(facts, 'a report is on its way');
  else deps.log.warn(facts, 'a report has no e-mail channel left that it could be sent to');
  return true;
}

function withUnreported({ report, period, zone }: MadeReport, sentUntil: Instant): MadeReport {
  const between = periodsBetween(sentUntil, period, zone);
  const last = newestComplete(period.startsAt, period.every, zone).name;
  const unreported = between && { count: between.count, first: between.first.name, last };
  return { report: { ...report, unreported }, period, zone };
}

/** Promises the newest period that is over to the report's channels, whatever was sent before. Answers to whom. */
export async function sendReportNow(
  deps: ReportDeps,
  stored: StoredReport,
): Promise<Result<{ readonly period: Period; readonly channels: readonly string[] }>> {
  const made = await makeReport(deps, { ...stored, period: null });
  if (!made.ok) return made;
  const { period } = made.value;
  const channels = await deps.database.transaction((tx) => promise(tx, stored, made.value));
  return parsed({ period, channels });
}

function promise(tx: Tx, { id, projectId, definition: { channels } }: StoredReport, { report, period }: MadeReport) {
  // That it is sent once is decided by sent_until: here two of one period are two.
  const subject = `report:${id}:${period.name}:${randomUUID()}`;
  return enqueueReport(tx, { projectId, channels }, { subject, text: headline(report), report });
}
