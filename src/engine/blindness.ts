import { formatInstant, type Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import {
  BLIND_MS,
  beat,
  type Hearing,
  lookAtClock,
  noteStretch,
  type SeenSilence,
  takeBackClock,
} from '../store/beats.ts';
import { operatorChannels } from '../store/channels.ts';
import { beginNow, type TakenBack } from '../store/clock-back.ts';
import { type ClockInDoubt, forgetDoubt, noteDoubt } from '../store/clock-doubt.ts';
import type { Tx } from '../store/database.ts';
import { noteClockEvent } from '../store/health.ts';
import { enqueueNotice } from '../store/outbox.ts';

export type Watch = {
  readonly replica: string;
  /** Everything that reached this replica up to here is committed with, or before, this transaction. */
  readonly through: Instant;
  /** The instant of this replica's last commit, if the clock has run ahead of the monotonic one since. */
  readonly jumpedFrom: Instant | null;
};

/** Something about the clock, or a silence, has to be recorded before anything is judged: call keepWatch first. */
export class WatchFirst extends Error {
  override readonly name = 'WatchFirst';

  constructor() {
    super('a silence, or what the clock did, has to be recorded first');
  }
}

/**
 * The beat that lets the horizon move on, if one is due, in the transaction of a batch: it shows that a ping would have been
 * committed. While the clock is in doubt there is none; the answer says why. Throws WatchFirst, before it writes anything:
 * all replicas would record the same, and a batch that is held up must not hold up the others.
 */
export async function beatCalmly(tx: Tx, watch: Watch & { readonly isDue: boolean }): Promise<ClockInDoubt | null> {
  const { news, wasDoubted } = await lookAtClock(tx, watch.jumpedFrom);
  const doubt = news?.type === 'doubt' ? news.doubt : null;
  if ((news && !doubt) || (doubt !== null) !== wasDoubted) throw new WatchFirst();
  if (watch.isDue && !doubt) await beat(tx, watch.replica, watch.through);
  return doubt;
}

/**
 * Records what is wrong with the clock, and silences (database time without a beat of any replica), and ends a silence with
 * a beat. In a short transaction of its own.
 */
export async function keepWatch(tx: Tx, watch: Watch & { readonly log: Logger }): Promise<void> {
  const { replica, through, jumpedFrom, log } = watch;
  // What this locks every other replica waits for: a process that is stopped here is given up soon.
  await tx.sql.unsafe(`set local idle_in_transaction_session_timeout = ${HELD_MS}`);
  const { news, wasDoubted } = await lookAtClock(tx, jumpedFrom);
  if (news?.type === 'doubt') {
    if (!wasDoubted) await beginDoubt(tx, news.doubt, log);
    return;
  }
  if (wasDoubted) await endDoubt(tx, log);
  if (news?.type === 'back') {
    const back = await takeBackClock(tx);
    if (back) await tellBack(tx, back, log);
  }
  if (news?.type === 'silence') {
    await tellSilence(tx, news.silence, log);
    await noteStretch(tx, news.silence);
  }
  await beat(tx, replica, through);
}

const HELD_MS = 2000;

/** How far the horizon lags, in milliseconds; when it is too far the operators are told. Infinity: nobody knows. */
export async function watchHorizon(tx: Tx, { horizon, last, doubt }: Hearing): Promise<number> {
  const from = horizon ?? last;
  if (from === null || doubt || from > tx.now) return Number.POSITIVE_INFINITY;
  const lagMs = tx.now - from;
  if (lagMs >= BLIND_MS) {
    // As of an instant: it may be read when pings are heard again.
    const text = `At ${formatInstant(tx.now)} Rollcall had heard no pings since ${formatInstant(from)}.`;
    await tellOperators(tx, from, text, ':begun');
  }
  return lagMs;
}

async function beginDoubt(tx: Tx, doubt: ClockInDoubt, log: Logger): Promise<void> {
  await noteDoubt(tx, doubt);
  log.error({ last: formatInstant(doubt.last) }, doubt.message);
  const text = `Rollcall does not believe its clock: ${doubt.message}. Pings are kept meanwhile.`;
  await enqueueForOperators(tx, `doubt:${doubt.last}:${tx.now}`, text);
}

/** The clock came back: what was made in the meantime lies in the future. */
async function endDoubt(tx: Tx, log: Logger): Promise<void> {
  await forgetDoubt(tx);
  await beginNow(tx);
  await noteClockEvent(tx, 'the clock is believed again');
  log.warn(
    { now: formatInstant(tx.now) },
    'the clock of the database is believed again: pings that waited are applied',
  );
}

async function tellSilence(tx: Tx, silence: SeenSilence, log: Logger): Promise<void> {
  const { kind, cause } = silence;
  const [after, until] = [formatInstant(silence.after), formatInstant(silence.until)];
  const isSkipped = cause === 'skipped';
  // A gap is what a restart leaves: its deadlines wait, and nobody needs to do anything.
  const level = kind === 'blind' ? 'warn' : 'info';
  log[level]({ kind, cause, after, until }, isSkipped ? 'the clock skipped time' : 'no beat of ingest was heard');
  if (kind !== 'blind') return;
  if (isSkipped) await noteClockEvent(tx, `the clock skipped ${lengthOf(silence.until - silence.after)}`);
  const what = isSkipped
    ? `The clock of Rollcall's database skipped from ${after} to ${until}.`
    : `Rollcall heard no pings from ${after} to ${until}.`;
  // Who was told that it had begun is told that it is over.
  if (await wasTold(tx, silence)) await tellOperators(tx, silence.after, `Pings are heard again. ${what}`, ':over');
  else await tellOperators(tx, silence.after, what);
}

async function tellBack(tx: Tx, { from, to, lived }: TakenBack, log: Logger): Promise<void> {
  const facts = { from: formatInstant(from), to: formatInstant(to) };
  const repeated = lived.map(({ after, until }) => `${formatInstant(after)} to ${formatInstant(until)}`);
  log.warn({ ...facts, repeated }, 'the clock went back');
  await noteClockEvent(tx, `the clock went back by ${lengthOf(from - to)}`);
  const what = `The clock of Rollcall's database went back from ${facts.from} to ${facts.to}.`;
  const again = repeated.length === 0 ? '' : ` What comes again is not trusted: ${repeated.join(', ')}.`;
  await enqueueForOperators(
    tx,
    `back:${from}:${to}`,
    `${what}${again} What was made in a time that did not pass begins now.`,
  );
}

const lengthOf = (ms: number): string => `${(ms / 1000).toFixed(0)} s`;

/** Once per silence, whoever sees it first; `about` sets what was said while it lasted, and its end, apart. */
async function tellOperators(tx: Tx, since: Instant, what: string, about: '' | ':begun' | ':over' = ''): Promise<void> {
  const text = `${what} Runs due then are judged only when it is known what was heard, and are unknown if nothing is.`;
  await enqueueForOperators(tx, `silence:${since}${about}`, text);
}

/** Whether somebody was told while this silence lasted. (The evaluator may have seen it begin a moment later.) */
async function wasTold({ sql }: Tx, { after, until }: SeenSilence): Promise<boolean> {
  const rows = await sql`
    select 1 from notices where subject like 'silence:%:begun' and at > ${after} and at <= ${until} limit 1`;
  return rows.length > 0;
}

async function enqueueForOperators(tx: Tx, subject: string, text: string): Promise<void> {
  const notice = { kind: 'operator', subject, text, at: tx.now } as const;
  await enqueueNotice(tx, notice, await operatorChannels(tx, null));
}
