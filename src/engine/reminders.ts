import type { Clock } from '../clock.ts';
import type { Incident, Ledger } from '../core/ledger.ts';
import type { IncidentMessage } from '../core/message.ts';
import { isOpen } from '../core/occurrence.ts';
import type { Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../log-outage.ts';
import { doubtOf, readLife } from '../store/clock-doubt.ts';
import type { Database, Tx } from '../store/database.ts';
import { type LockedJob, lockJobs } from '../store/locking.ts';
import type { MaintenanceBook } from '../store/maintenance-book.ts';
import { enqueue } from '../store/outbox.ts';
import {
  channelsThatKnow,
  channelsToRemind,
  type DueReminder,
  dueReminders,
  endSnooze,
  lastMessage,
  nextEvent,
} from '../store/reminders.ts';
import { lookAgainAtIncident } from '../store/withholding.ts';
import type { AdvanceDeps } from './advancing.ts';
import { messageAgain } from './telling.ts';
import { openJobs } from './working-set.ts';

export type RemindersDeps = AdvanceDeps & {
  readonly book: Pick<MaintenanceBook, 'heldNow'>;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
};

export type Reminders = {
  /** One round: says again what is to be said again now. Answers of how many incidents. */
  tick(): Promise<number>;
  run(signal: AbortSignal): Promise<void>;
};

const EVERY_MS = 1000;
/** At the same time, so that what belongs together leaves in one message. */
const AT_ONCE = 4;

/**
 * The loop that tells again: at the end of a snooze, and at the interval a channel asks for. Any number may run: the lock of
 * the job's cursor decides who does it, and what was written meanwhile is seen behind that lock.
 */
export function createReminders(deps: RemindersDeps): Reminders {
  const outage = createOutageLog(deps.log, 'reminders', deps.clock.monotonic);
  async function tick(): Promise<number> {
    const due = [...(await deps.database.transaction((tx) => lookAround(tx, deps)))];
    let told = 0;
    const work = async (): Promise<void> => {
      for (let one = due.shift(); one !== undefined; one = due.shift()) {
        if (await tellOne(one)) told += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return told;
  }
  /** Its failure is its own: the others are told. */
  async function tellOne(one: DueReminder): Promise<boolean> {
    try {
      return await deps.database.transaction((tx) => remind(tx, deps, one));
    } catch (error) {
      outage.failed(error, 'a reminder could not be made', one);
      return false;
    }
  }
  return {
    tick,
    async run(signal) {
      while (!signal.aborted) {
        await outage.watch(tick, 'a round of reminders failed');
        await deps.clock.sleep(EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** A clock that nobody believes reminds nobody, and nobody is reminded in maintenance. */
async function lookAround(tx: Tx, { book }: RemindersDeps): Promise<readonly DueReminder[]> {
  const doubt = await doubtOf(tx, (await readLife(tx)).last);
  const due = doubt ? [] : await dueReminders(tx);
  const jobs = [...new Set(due.filter(({ isSnoozeOver }) => !isSnoozeOver).map(({ jobId }) => jobId))];
  const inMaintenance = await book.heldNow(tx, jobs);
  return due.filter(({ isSnoozeOver, jobId }) => isSnoozeOver || !inMaintenance.has(jobId));
}

async function remind(tx: Tx, deps: RemindersDeps, { incidentId, jobId }: DueReminder): Promise<boolean> {
  const [job] = await lockJobs(tx, [jobId], false);
  if (!job) return false;
  // Asked again behind the lock: another replica may have been first.
  const isSnoozeOver = await endSnooze(tx, incidentId);
  const channels = await (isSnoozeOver ? channelsThatKnow : channelsToRemind)(tx, incidentId);
  if (channels.length === 0) return false;
  const event = { number: await nextEvent(tx, incidentId), at: tx.now };
  const message = await messageFor(tx, deps, { job, incidentId, ...event });
  if (!message) throw new Error(`nothing is known of incident ${incidentId}`);
  const payload: IncidentMessage = { ...message, again: isSnoozeOver ? 'snooze_over' : 'interval' };
  await enqueue(
    tx,
    channels.map((channelId) => ({ channelId, incidentId, event: event.number, payload })),
  );
  // What the snooze withheld goes out with this, in one message.
  if (isSnoozeOver) await lookAgainAtIncident(tx, incidentId);
  return true;
}

type About = {
  readonly job: LockedJob;
  readonly incidentId: number;
  readonly number: number;
  readonly at: Instant;
};

/** The incident as it stands now; of a job whose schedules make no sense, as it was told last. */
async function messageFor(tx: Tx, deps: AdvanceDeps, about: About): Promise<IncidentMessage | null> {
  const { job, incidentId, number, at } = about;
  const ahead = new Map([[job.id, { pings: [], named: [], all: true, steps: 0 }]]);
  const [open] = (await openJobs(tx, [job], ahead, deps)).open;
  const incident = [...(open?.ledger.incidents.values() ?? [])].find(({ id }) => id === incidentId);
  if (open && incident) {
    const first = oldestInTrouble(open.ledger, incident) ?? incident.lastTold;
    return messageAgain(tx, open, { incident, number, type: 'reminded', at, first, before: null });
  }
  const last = await lastMessage(tx, incidentId);
  return last && { ...last, type: 'incident.reminded' };
}

/** What the reminder is about first: not a run that has been made good. */
function oldestInTrouble(ledger: Ledger, { id, kind }: Incident): Instant | null {
  let oldest: Instant | null = null;
  for (const row of ledger.rows.values()) {
    const isInTrouble = kind === 'not_started' ? row.startedAt === null && isOpen(row.state) : isOpen(row.state);
    if (row.incidentId !== id || !(row.wanted || isInTrouble)) continue;
    if (oldest === null || row.scheduledFor < oldest) oldest = row.scheduledFor;
  }
  return oldest;
}
