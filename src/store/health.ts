import type { Instant } from '../core/time.ts';
import { doubtOf } from './clock-doubt.ts';
import type { Database, Tx } from './database.ts';
import { setFact } from './facts.ts';

/** What /healthz and /metrics show of the whole installation, as the tables tell it. */
export type SharedHealth = {
  readonly now: Instant;
  /** When an evaluator, of whatever process, last ended a tick. */
  readonly evaluatorTickAt: Instant | null;
  /** The instant up to which every ingest replica heard within 10 s has flushed; null: none was heard. */
  readonly horizon: Instant | null;
  readonly deadChannels: number;
  /** Notifications not sent yet; counted to 10,000. */
  readonly outboxWaiting: number;
  /** The last blind window that ended within 24 h. */
  readonly lastBlind: LastBlind | null;
  /** Why the database's clock is not believed; null: it is. */
  readonly clockDoubt: string | null;
  /** What the clock last did that a clock should not, within 24 h. */
  readonly clockEvent: ClockEvent | null;
};

type LastBlind = {
  readonly after: Instant;
  readonly until: Instant;
  readonly cause: 'silent' | 'skipped' | 'repeated';
};

type ClockEvent = { readonly at: Instant; readonly what: string };

/** Name of the fact by which an evaluator shows other processes that it ticks: its instant, RFC 3339. */
export const EVALUATOR_TICK = 'evaluator_tick';

const CLOCK_EVENT = 'clock_event';
const HEARD_MS = 10_000;
const SHOWN_MS = 86_400_000;
/** Transactions read the clock when they begin, and commit later: what is this little ahead is of now. */
const SKEW_MS = 5000;

/** For /healthz: what the clock did, as of now. */
export async function noteClockEvent(tx: Tx, what: string): Promise<void> {
  await setFact(tx, CLOCK_EVENT, JSON.stringify({ at: tx.now, what } satisfies ClockEvent));
}

/** The longest this may take: a health page that hangs says nothing. */
const LIMITS = { statementTimeoutMs: 2000, deadlineMs: 2500 };

/** Reads it all. What lies in the future was written before the clock went back, and says nothing. */
export function readSharedHealth(database: Database): Promise<SharedHealth> {
  return database.transaction(async (tx) => {
    const { sql, now } = tx;
    const [row] = await sql<Row[]>`
      select
        (select value from facts where name = ${EVALUATOR_TICK}) as "evaluatorTick",
        (select value from facts where name = ${CLOCK_EVENT}) as "clockEvent",
        (select min(through) from beats where at between ${now - HEARD_MS} and ${now + SKEW_MS}) as horizon,
        (select max(at) from beats) as "lastBeat",
        (select count(*) from channels where dead_since is not null) as "deadChannels",
        (select count(*) from (select 1 from outbox where state = 'waiting' limit 10000) as waiting) as "outboxWaiting",
        blind.after, blind.until, blind.cause
      from (select 1) as one
      left join lateral (
        select after, until, cause from blind_windows
        where kind = 'blind' and until >= ${now - SHOWN_MS} and after <= ${now}
        order by after desc limit 1
      ) as blind on true`;
    if (!row) throw new Error('a select without a row');
    const { evaluatorTick, clockEvent, horizon, lastBeat, deadChannels, outboxWaiting, after, until, cause } = row;
    const tickAt = evaluatorTick === null ? null : Date.parse(evaluatorTick);
    const event = clockEvent === null ? null : (JSON.parse(clockEvent) as ClockEvent);
    return {
      now,
      evaluatorTickAt: tickAt !== null && tickAt > now + SKEW_MS ? null : tickAt,
      horizon,
      deadChannels,
      outboxWaiting,
      lastBlind: after === null || until === null || cause === null ? null : { after, until, cause },
      clockDoubt: (await doubtOf(tx, lastBeat))?.message ?? null,
      clockEvent: event && event.at > now - SHOWN_MS && event.at <= now + SKEW_MS ? event : null,
    };
  }, LIMITS);
}

type Row = {
  readonly evaluatorTick: string | null;
  readonly clockEvent: string | null;
  readonly horizon: Instant | null;
  readonly lastBeat: Instant | null;
  readonly deadChannels: number;
  readonly outboxWaiting: number;
  readonly after: Instant | null;
  readonly until: Instant | null;
  readonly cause: LastBlind['cause'] | null;
};
