import type { Clock } from '../clock.ts';
import { formatKey } from '../core/key.ts';
import { formatInstant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../log-outage.ts';
import { type ChannelRow, lockChannel, recordAttempt, recordExpiry } from '../store/channels.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { isGathering } from '../store/gathering.ts';
import { WORTH_MS } from '../store/outbox.ts';
import {
  firstMessage,
  type Lease,
  lease,
  leasedPayloads,
  type NoticeLine,
  newMessageId,
  type Settlement,
  settle,
} from '../store/sending.ts';
import {
  type ChannelWithWork,
  channelsWithWork,
  giveUp,
  type Waiting,
  type WaitingRow,
  waitingRows,
} from '../store/waiting.ts';
import { hold, type ReadMaintenance, standings } from '../store/withholding.ts';
import {
  type Batch,
  type BatchEvent,
  type ChannelContext,
  type Delivery,
  type Grouping,
  type NoticeOccurrence,
  rejected,
} from './channel.ts';
import { type GivenUp, planMessage } from './grouping.ts';
import { type InTurn, limited } from './in-turn.ts';
import { leaving } from './leaving.ts';
import { channelKinds, sendOnce } from './registry.ts';
import { withhold } from './withholding.ts';

const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 15 * 60_000;
/** Channels sent to at the same time, most of which may be hanging: a service is down, and everybody has channels there. */
const MOST_AT_ONCE = 500;
/** Transactions at the same time: others need the database too. */
const MOST_TRANSACTIONS = 20;
const ROUND_MS = 500;

export type DispatcherDeps = {
  readonly database: Database;
  readonly context: ChannelContext;
  /** Which jobs are in maintenance; left out: none ever is. */
  readonly readMaintenance?: ReadMaintenance | undefined;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** For the jitter: 0 to 1. */
  readonly random?: () => number;
};

export type Dispatcher = {
  /** One round: every channel for which a message is due gets it. Answers how many messages were delivered. */
  tick(): Promise<number>;
};

/**
 * Sends what waits in the outbox. Any number may run: a channel's row lock and a lease decide who sends. Rounds may
 * overlap: a channel that an earlier round is still busy with is left to it.
 */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const busy = new Set<number>();
  const inLine = limited(MOST_TRANSACTIONS);
  const transaction: Transaction = (work) => inLine(() => deps.database.transaction(work));
  const lanes = new Map<string, InTurn>();
  const laneOf = (kind: string): InTurn => {
    const lane = lanes.get(kind) ?? limited(channelKinds.get(kind)?.atOnce ?? MOST_AT_ONCE);
    lanes.set(kind, lane);
    return lane;
  };
  const serve = async ({ id, kind }: ChannelWithWork): Promise<boolean> => {
    busy.add(id);
    try {
      return await laneOf(kind)(() => serveChannel(id, { ...deps, transaction }));
    } catch (error) {
      // The lease runs out, and the message is sent again with the same id.
      const isAway = error instanceof DatabaseUnavailable;
      if (isAway) deps.log.warn({ error: error.message, channel: id }, 'a channel could not be served');
      else deps.log.error({ error, channel: id }, 'a channel could not be served');
      return false;
    } finally {
      busy.delete(id);
    }
  };
  return {
    async tick() {
      const channels = await deps.database.transaction(channelsWithWork);
      const results = await Promise.all(channels.filter(({ id }) => !busy.has(id)).map(serve));
      return results.filter(Boolean).length;
    },
  };
}

/** Runs rounds until the signal aborts, then waits for what is under way. A slow channel holds up no round. */
export async function runDispatcher(
  {
    dispatcher,
    clock,
    log,
  }: { readonly dispatcher: Dispatcher; readonly clock: Clock; readonly log: DispatcherDeps['log'] },
  signal: AbortSignal,
): Promise<void> {
  const rounds = new Set<Promise<void>>();
  const outage = createOutageLog(log, 'the dispatcher', clock.monotonic);
  while (!signal.aborted) {
    const round = outage
      .watch(() => dispatcher.tick(), 'a round of the dispatcher failed')
      .finally(() => rounds.delete(round));
    rounds.add(round);
    await clock.sleep(ROUND_MS, signal);
  }
  await Promise.all(rounds);
}

/** A message somebody holds a lease for, ready to be sent outside of any transaction. */
type Taken = { readonly channel: ChannelRow; readonly lease: Lease; readonly attempts: number; readonly batch: Batch };

type Transaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

async function serveChannel(channelId: number, deps: DispatcherDeps & { readonly transaction: Transaction }) {
  const { transaction, context, log, random = Math.random } = deps;
  const taken = await transaction((tx) => take(tx, channelId, deps));
  if (!taken) return false;
  const { channel, batch } = taken;
  const report = (error: unknown): void => log.error({ error, channel: channel.slug }, 'sending failed by a bug');
  const delivery = lastWord(await sendOnce(channel, batch, { context, report }), taken.attempts);
  await transaction((tx) => record(tx, taken, delivery, random()));
  const facts = { channel: channel.slug, message: batch.id, events: batch.events.length };
  if (delivery.outcome === 'delivered') log.info(facts, 'message delivered');
  else log.warn({ ...facts, outcome: delivery.outcome, reason: delivery.reason }, 'message not delivered');
  return delivery.outcome === 'delivered';
}

/** Takes the next message of a channel under a lease; null when none is due or another dispatcher is at it. */
async function take(
  tx: Tx,
  channelId: number,
  { context, readMaintenance = noWindows }: DispatcherDeps,
): Promise<Taken | null> {
  const channel = await lockChannel(tx, channelId, { wait: false });
  if (!channel) return null;
  const grouping = channelKinds.get(channel.kind)?.grouping;
  // A message about each incident gains nothing by waiting.
  if (grouping !== 'incident' && (await isGathering(tx, channelId))) return null;
  const all = await waitingRows(tx, channelId);
  const waiting = await withoutWithheld(tx, all, { readMaintenance, grouping });
  const { givenUp, message } = planMessage(waiting, tx.now, grouping);
  await giveUp(tx, givenUp);
  await judgeExpired(tx, channel, expiredOf(waiting.rows, givenUp));
  if (!message) return null;
  const leased = await lease(tx, message.rowIds, idOf(message, all.rows));
  const ids = new Set(leased.rowIds);
  const rows = waiting.rows.filter(({ id }) => ids.has(id));
  const attempts = 1 + Math.max(...rows.map((row) => row.attempts));
  return { channel, lease: leased, attempts, batch: await batchOf(tx, channel, { leased, rows, context }) };
}

/**
 * A message that is tried again keeps its id, though it may say more than before or less. Not both: whoever has seen the id
 * already would look for nothing new in it.
 */
function idOf(
  { id, rowIds }: { readonly id: string | null; readonly rowIds: readonly number[] },
  all: readonly WaitingRow[],
): string {
  if (id === null) return newMessageId();
  const said = new Set(all.filter(({ messageId }) => messageId === id).map((row) => row.id));
  const isLess = [...said].some((rowId) => !rowIds.includes(rowId));
  const isMore = rowIds.some((rowId) => !said.has(rowId));
  return isLess && isMore ? newMessageId() : id;
}

const noWindows: ReadMaintenance = async () => new Map();

type Asking = { readonly readMaintenance: ReadMaintenance; readonly grouping: Grouping | undefined };

/** What waits, without what may not go out now: that is kept back, or ends, and says why. */
async function withoutWithheld(tx: Tx, waiting: Waiting, { readMaintenance, grouping }: Asking): Promise<Waiting> {
  const rows = await standings(
    tx,
    waiting.rows.flatMap(({ id, incidentId }) => (incidentId === null ? [] : [id])),
  );
  const { held, ended } = withhold(rows, {
    now: tx.now,
    isDoubted: waiting.isDoubted ?? false,
    maintenance: await readMaintenance(tx, [...new Set(rows.map(({ jobId }) => jobId))]),
    keepsAlerts: grouping === 'incident',
    told: new Set(waiting.rows.filter(({ told }) => told).map(({ id }) => id)),
  });
  await hold(tx, held);
  await giveUp(tx, ended);
  const withheld = new Set([...held, ...ended].map(({ id }) => id));
  return { ...waiting, rows: waiting.rows.filter(({ id }) => !withheld.has(id)) };
}

function expiredOf(rows: readonly WaitingRow[], givenUp: readonly GivenUp[]): WaitingRow | undefined {
  const expired = new Set(givenUp.filter(({ state }) => state === 'expired').map(({ id }) => id));
  return rows.find(({ id, attempts }) => expired.has(id) && attempts > 0);
}

async function judgeExpired(tx: Tx, channel: ChannelRow, oldest: WaitingRow | undefined): Promise<void> {
  if (!oldest) return;
  const reason = channel.lastFailure ?? 'no attempt succeeded in 24 h';
  await recordExpiry(tx, channel, { since: oldest.createdAt, reason });
}

type Leased = { readonly leased: Lease; readonly rows: readonly WaitingRow[]; readonly context: ChannelContext };

async function batchOf(tx: Tx, channel: ChannelRow, { leased, rows, context }: Leased): Promise<Batch> {
  const { payloads, lines } = await leasedPayloads(tx, leased);
  const incidents = [...new Set(rows.flatMap(({ incidentId }) => (incidentId === null ? [] : [incidentId])))];
  const kind = channelKinds.get(channel.kind);
  const { tell, about } = await leaving(tx, channel, { incidents, kind, context });
  const events = payloads.map((payload): BatchEvent => {
    if (payload.type !== 'notice') return tell(payload);
    const own = lines.filter(({ noticeId }) => noticeId === payload.notice.id);
    const occurrences = own.map((line) => noticeOccurrence(line, context.zones));
    return { ...payload, occurrences, occurrenceCount: own[0]?.total ?? 0 };
  });
  const inReplyTo = incidents.length === 0 ? null : await firstMessage(tx, channel.id, incidents);
  return { id: leased.messageId, sentAt: tx.now, inReplyTo, events, ...about };
}

function noticeOccurrence(line: NoticeLine, zones: ChannelContext['zones']): NoticeOccurrence {
  const { slug, name, tags, zone: zoneName, missedRuns, scheduledFor, state } = line;
  const zone = zones.get(zoneName);
  const key = zone.ok ? formatKey(scheduledFor, zone.value) : formatInstant(scheduledFor);
  return { job: { slug, name, tags, zone: zoneName }, missedRuns, key, scheduledFor, state };
}

/** A message that is not worth another attempt is over. */
function lastWord(delivery: Delivery, attempts: number): Delivery {
  const isOver = delivery.outcome === 'retry' && attempts >= (delivery.mostAttempts ?? Number.POSITIVE_INFINITY);
  return isOver ? rejected(delivery.reason) : delivery;
}

async function record(tx: Tx, { channel, lease: leased, attempts }: Taken, delivery: Delivery, random: number) {
  // First, as `take` does: two transactions that lock in different orders would wait for each other.
  await lockChannel(tx, channel.id, { wait: true });
  const { messageId, rowIds } = leased;
  const isCurrent = await recordAttempt(tx, { to: channel, messageId, rows: rowIds.length, delivery });
  await settle(tx, leased, isCurrent ? settlementOf(delivery, attempts, random) : withNewSettings(delivery));
}

/** What the old settings came to ends nothing: the new ones are tried at once. */
function withNewSettings(delivery: Delivery): Settlement {
  if (delivery.outcome === 'delivered') return delivery;
  const uncertain = delivery.outcome === 'retry' && delivery.uncertain === true;
  return { outcome: 'retry', reason: delivery.reason, uncertain, delayMs: 0, quietMs: 0 };
}

function settlementOf(delivery: Delivery, attempts: number, random: number): Settlement {
  if (delivery.outcome !== 'retry') return delivery;
  const { reason, retryAfterMs = 0, uncertain = false } = delivery;
  const delayMs = Math.min(Math.max(backOff(attempts, random), retryAfterMs), WORTH_MS);
  return { outcome: 'retry', reason, uncertain, delayMs, quietMs: Math.min(retryAfterMs, WORTH_MS) };
}

/** 5 s, 10 s, 20 s, … 15 min, a fifth more or less, so that what failed together does not come back together. */
export function backOff(attempts: number, random: number): number {
  const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempts - 1, 20), LONGEST_DELAY_MS);
  return Math.round(delay * (0.8 + 0.4 * random));
}
