import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { DatabaseUnavailable } from './unavailable.ts';

/** A clock this far from the last sign of life is not believed before a person says so. */
const DOUBT_MS = 400 * 86_400_000;
/** An installation younger than this was begun under a wrong clock, if that goes far back now. */
const YOUNG_MS = 86_400_000;

/**
 * The database's clock is too far from the last sign of life to be believed: pings are kept and wait, nothing is judged,
 * nothing can be changed. It ends by itself when the clock comes back, or with `rollcall trust-clock`.
 */
export class ClockInDoubt extends DatabaseUnavailable {
  /** The last sign of life. */
  readonly last: Instant;

  constructor(now: Instant, last: Instant) {
    super(
      `the database's clock says ${formatInstant(now)}, more than 400 days ${now > last ? 'after' : 'before'} the last sign ` +
        `of life (${formatInstant(last)}): nothing is judged or changed. Set the clock right, or, if it is right, run ` +
        'rollcall trust-clock',
    );
    this.last = last;
  }
}

/** What says how the clock stands: the newest beat of any replica, and whether the clock was in doubt before. */
export type Life = { readonly last: Instant | null; readonly wasDoubted: boolean };

/** Name of the fact that the clock is in doubt; its value is the last sign of life. */
const DOUBT = 'clock_doubt';

export async function readLife({ sql }: Tx): Promise<Life> {
  const [row] = await sql<Life[]>`
    select max(at) as last, exists (select from facts where name = ${DOUBT}) as "wasDoubted" from beats`;
  return row ?? { last: null, wasDoubted: false };
}

/** Whether the clock is in doubt, and why. Back over a life of less than a day it is believed: that began in a wrong year. */
export async function doubtOf(tx: Tx, last: Instant | null): Promise<ClockInDoubt | null> {
  if (last === null || Math.abs(tx.now - last) <= DOUBT_MS) return null;
  const begun = tx.now < last ? await lifeBegan(tx) : null;
  return begun !== null && last - begun < YOUNG_MS ? null : new ClockInDoubt(tx.now, last);
}

/** Throws ClockInDoubt while it is. */
export async function refuseInDoubt(tx: Tx): Promise<void> {
  const { last } = await readLife(tx);
  const doubt = await doubtOf(tx, last);
  if (doubt) throw doubt;
}

/** When this installation was made, as the clock was then. */
export async function lifeBegan({ sql }: Tx): Promise<Instant | null> {
  const [row] = await sql<{ begun: Instant | null }[]>`select min(created_at) as begun from projects`;
  return row?.begun ?? null;
}

export async function noteDoubt({ sql }: Tx, { last }: ClockInDoubt): Promise<void> {
  await sql`insert into facts (name, value) values (${DOUBT}, ${formatInstant(last)}) on conflict do nothing`;
}

export async function forgetDoubt({ sql }: Tx): Promise<void> {
  await sql`delete from facts where name = ${DOUBT}`;
}

/** The clock is right, says a person: what lies between the last sign of life and now was not heard. */
export async function believeClock({ sql, now }: Tx, last: Instant): Promise<void> {
  await sql`
    insert into blind_windows (after, until, kind, cause) values (${last}, ${now}, 'blind', 'skipped')
    on conflict (after) do update set until = excluded.until, kind = 'blind', cause = 'skipped'`;
  await sql`update beats set through = ${now}, at = ${now} where at = ${last}`;
}
