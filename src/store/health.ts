import type { Instant } from '../core/time.ts';
import type { Database } from './database.ts';

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
  readonly lastBlind: { readonly after: Instant; readonly until: Instant } | null;
};

/** Name of the fact by which an evaluator shows other processes that it ticks: its instant, RFC 3339. */
export const EVALUATOR_TICK = 'evaluator_tick';

/** The longest this may take: a health page that hangs says nothing. */
const LIMITS = { statementTimeoutMs: 2000, deadlineMs: 2500 };

/** Reads it all in one statement. */
export function readSharedHealth(database: Database): Promise<SharedHealth> {
  return database.transaction(async ({ sql, now }) => {
    const [row] = await sql<Row[]>`
      select
        (select value from facts where name = ${EVALUATOR_TICK}) as "evaluatorTick",
        (select min(through) from beats where through >= ${now - 10_000}) as horizon,
        (select count(*) from channels where dead_since is not null) as "deadChannels",
        (select count(*) from (select 1 from outbox where state = 'waiting' limit 10000) as waiting) as "outboxWaiting",
        blind.after, blind.until
      from (select 1) as one
      left join lateral (
        select after, until from blind_windows
        where kind = 'blind' and until >= ${now - 86_400_000}
        order by after desc limit 1
      ) as blind on true`;
    if (!row) throw new Error('a select without a row');
    const { evaluatorTick, horizon, deadChannels, outboxWaiting, after, until } = row;
    return {
      now,
      evaluatorTickAt: evaluatorTick === null ? null : Date.parse(evaluatorTick),
      horizon,
      deadChannels,
      outboxWaiting,
      lastBlind: after === null || until === null ? null : { after, until },
    };
  }, LIMITS);
}

type Row = {
  readonly evaluatorTick: string | null;
  readonly horizon: Instant | null;
  readonly deadChannels: number;
  readonly outboxWaiting: number;
  readonly after: Instant | null;
  readonly until: Instant | null;
};
