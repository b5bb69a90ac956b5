import { formatInstant, type Instant } from '../core/time.ts';
import type { Hold, MaintenanceNow, Standing } from '../store/withholding.ts';
import { LONGEST_HOLD_MS } from '../store/withholding.ts';
import type { GivenUp } from './grouping.ts';

/** The evaluator says so when a snooze ends, and what was withheld goes out with that; if it is down, without it. */
const SNOOZE_END_MS = 30_000;

export type Withheld = {
  /** Kept back for now. */
  readonly held: readonly Hold[];
  /** Never sent. */
  readonly ended: readonly GivenUp[];
};

type Circumstances = {
  readonly now: Instant;
  /** Nobody knows whether that is the time: what is withheld stays so, and nothing ends. */
  readonly isDoubted: boolean;
  /** By job. */
  readonly maintenance: ReadonlyMap<number, MaintenanceNow>;
  /** The receiver keeps an alert of its own for each incident, which only the recovery closes. */
  readonly keepsAlerts: boolean;
  /** Rows whose problem was delivered to this channel. */
  readonly told: ReadonlySet<number>;
};

/**
 * Asks of every row that waits whether it may go out now: first whether somebody snoozed its incident, then whether its
 * job is in maintenance. What is withheld goes out at the end of that if its incident is still open. A problem that has
 * ended by then is not told any more; its recovery only where the problem went, and never one that came while it was
 * snoozed. A recovery that closes an alert at its receiver calls nobody: it is not withheld.
 */
export function withhold(rows: readonly Standing[], circumstances: Circumstances): Withheld {
  const held: Hold[] = [];
  const ended: GivenUp[] = [];
  for (const row of rows) {
    if (circumstances.isDoubted) {
      if (row.heldUntil !== null) held.push({ id: row.id, until: row.heldUntil, reason: row.heldFor ?? '' });
      continue;
    }
    if (row.type === 'incident.resolved' && circumstances.keepsAlerts && circumstances.told.has(row.id)) continue;
    const hold = holdOf(row, circumstances);
    if (hasEnded(row, hold?.until ?? row.heldUntil)) {
      const why = endedWhileSnoozed(row) ? snoozedText(row) : (hold?.reason ?? row.heldFor);
      ended.push({ id: row.id, state: 'withheld', reason: `${why}; the incident ended before` });
    } else if (hold) held.push({ id: row.id, ...hold });
  }
  return { held, ended };
}

type Reason = { readonly until: Instant; readonly reason: string };

function holdOf(row: Standing, { now, maintenance }: Circumstances): Reason | null {
  return snoozed(row, now) ?? inMaintenance(maintenance.get(row.jobId), now);
}

function snoozed(row: Standing, now: Instant): Reason | null {
  const { snoozedUntil: until } = row;
  if (until === null || until + SNOOZE_END_MS <= now || until - now > LONGEST_HOLD_MS) return null;
  // It ended after the snooze did: nothing stands in the way any more.
  if (row.resolvedAt !== null && row.resolvedAt >= until) return null;
  return { until, reason: snoozedText(row) };
}

const snoozedText = ({ snoozedUntil }: Standing): string => `snoozed until ${formatInstant(snoozedUntil ?? 0)}`;

function inMaintenance(window: MaintenanceNow | undefined, now: Instant): Reason | null {
  if (!window || window.until <= now) return null;
  return { until: window.until, reason: `maintenance ${window.slug} until ${formatInstant(window.until)}` };
}

/** Whether the incident was over before the row could go out. */
function hasEnded(row: Standing, heldUntil: Instant | null): boolean {
  if (row.resolvedAt === null) return false;
  if (endedWhileSnoozed(row)) return true;
  return row.type !== 'incident.resolved' && heldUntil !== null && row.resolvedAt <= heldUntil;
}

function endedWhileSnoozed({ resolvedAt, snoozedUntil }: Standing): boolean {
  return resolvedAt !== null && snoozedUntil !== null && resolvedAt < snoozedUntil;
}
