import { isDeepStrictEqual } from 'node:util';
import { formatInstant } from '../core/time.ts';
import { createOutageLog } from '../log-outage.ts';
import { operatorChannels } from '../store/channels.ts';
import type { Tx } from '../store/database.ts';
import { findRevision, noteFetchFailure, type StoredWindow, takeFeeds } from '../store/maintenance.ts';
import { enqueueNotice } from '../store/outbox.ts';
import { createMaintenance, type Maintenance, type MaintenanceDeps, putRevision } from './maintenance.ts';

/** What has to be done about windows although nobody asks. */
export type MaintenanceRound = {
  /** One round: reads the feeds that are due, and applies what somebody began to apply. Returns the feeds read. */
  tick(): Promise<number>;
  run(signal: AbortSignal): Promise<void>;
};

const EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TELL_MS = 3 * DAY_MS;

/** The loop behind windows. Any number may run; a feed is read by one. */
export function createMaintenanceRound(deps: MaintenanceDeps): MaintenanceRound {
  const { database, clock, log } = deps;
  const maintenance = createMaintenance(deps);
  const outage = createOutageLog(log, 'the loop behind maintenance windows', clock.monotonic);
  async function tick(): Promise<number> {
    const feeds = await database.transaction((tx) => takeFeeds(tx, { dayMs: DAY_MS, hourMs: HOUR_MS }));
    for (const feed of feeds) await readFeed({ ...deps, maintenance }, feed);
    await maintenance.applyPending();
    return feeds.length;
  }
  return {
    tick,
    async run(signal) {
      while (!signal.aborted) {
        await outage.watch(tick, 'a round of maintenance windows failed');
        await clock.sleep(EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** Reads one feed again: other events are a new revision; where it fails, what is known stays. */
async function readFeed(deps: MaintenanceDeps & { readonly maintenance: Maintenance }, id: number): Promise<void> {
  const feed = await deps.database.transaction((tx) => findRevision(tx, id));
  const when = feed?.definition.when;
  if (!feed || when?.kind !== 'calendar' || when.url === null) return;
  const events = await deps.maintenance.readCalendar({ url: when.url }, when.zone);
  await deps.database.transaction(async (tx) => {
    // Somebody may have defined it anew in the meantime.
    if ((await findRevision(tx, feed.id)) === null) return;
    if (!events.ok) {
      await noteFetchFailure(tx, feed.id, events.reason);
      await tellOperators(tx, feed, events.reason);
      return;
    }
    await putRevision(tx, feed, (old) => {
      const definition = old?.definition ?? feed.definition;
      const isStill = isDeepStrictEqual(definition, feed.definition);
      return isStill ? { ...definition, when: { ...when, events: events.value } } : definition;
    });
  });
  if (!events.ok) deps.log.warn({ calendar: feed.slug, reason: events.reason }, 'a calendar could not be read again');
}

/** Once for each stretch of failures: the last good reading names it. */
async function tellOperators(tx: Tx, { projectId, slug, fetchedAt, knownFrom }: StoredWindow, reason: string) {
  const last = fetchedAt ?? knownFrom;
  if (tx.now - last < TELL_MS) return;
  const text =
    `Calendar ${slug} has not been read since ${formatInstant(last)} (${reason}). ` +
    'The events known by then still hold; new ones are missing. Give it another address, or its text.';
  const subject = `calendar:${projectId}:${slug}:${formatInstant(last)}`;
  await enqueueNotice(tx, { kind: 'operator', subject, text, at: tx.now }, await operatorChannels(tx, projectId));
}
