import type { Instant } from '../core/time.ts';
import { doubtOf } from './clock-doubt.ts';
import type { Tx } from './database.ts';

/** What the health page shows beside /healthz. */
export type HealthDetail = {
  readonly now: Instant;
  /** Why the clock is not believed until a person says that it is right; null: it is. */
  readonly clockDoubt: string | null;
  /** Ingest replicas heard within an hour, the newest first. */
  readonly replicas: readonly { readonly replica: string; readonly at: Instant; readonly through: Instant }[];
  /** Of the last 30 days, the newest first, at most 50. */
  readonly blindWindows: readonly {
    readonly after: Instant;
    readonly until: Instant;
    readonly cause: 'silent' | 'skipped' | 'repeated';
  }[];
  readonly databaseBytes: number;
  readonly serverVersion: string;
  readonly jobs: number;
  /** Notifications by state: those that wait, and those of the last 24 h. */
  readonly outbox: readonly { readonly state: string; readonly count: number }[];
  /** How long the oldest that waits has waited; null: nothing waits. */
  readonly oldestWaiting: Instant | null;
  /** Jobs whose evaluation failed and is tried again later. */
  readonly pushedBack: number;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A few statements. */
export async function readHealthDetail(tx: Tx): Promise<HealthDetail> {
  const { sql, now } = tx;
  const [row] = await sql<(Row & { readonly lastBeat: Instant | null })[]>`
    select (select max(at) from beats) as "lastBeat", pg_database_size(current_database()) as "databaseBytes", current_setting('server_version') as "serverVersion",
      (select count(*) from jobs) as jobs,
      (select count(*) from cursors where failures > 0) as "pushedBack",
      (select min(created_at) from outbox where state = 'waiting') as "oldestWaiting",
      (select coalesce(json_agg(json_build_object('state', state, 'count', count)), '[]') from (
        select state, count(*) as count from outbox where state = 'waiting' or created_at > ${now - DAY_MS} group by state order by state
      ) as states) as outbox`;
  if (!row) throw new Error('a select without a row');
  const replicas = await sql<HealthDetail['replicas'][number][]>`
    select replica, at, through from beats where at > ${now - HOUR_MS} order by at desc limit 50`;
  const blindWindows = await sql<HealthDetail['blindWindows'][number][]>`
    select after, until, cause from blind_windows where kind = 'blind' and until > ${now - 30 * DAY_MS}
    order by after desc limit 50`;
  const { lastBeat, ...facts } = row;
  const clockDoubt = (await doubtOf(tx, lastBeat))?.message ?? null;
  return { now, clockDoubt, ...facts, replicas, blindWindows };
}

type Row = Omit<HealthDetail, 'now' | 'clockDoubt' | 'replicas' | 'blindWindows'>;
