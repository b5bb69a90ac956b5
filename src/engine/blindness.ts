import { formatInstant, type Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { BLIND_MS, beat, type Hearing, noteSilence } from '../store/beats.ts';
import { operatorChannels } from '../store/channels.ts';
import type { Tx } from '../store/database.ts';
import { enqueueNotice } from '../store/outbox.ts';

export type Watch = {
  readonly replica: string;
  /** Everything that reached this replica up to here is committed with, or before, this transaction. */
  readonly through: Instant;
  /** Whether a beat is due; after a silence one is given all the same. */
  readonly isDue: boolean;
  readonly log: Logger;
};

/**
 * Sees a silence (database time without a beat of any replica) before anything is judged by it, and gives the beat that
 * lets the horizon move on. In the transaction of a batch: it shows that a ping would have been committed.
 */
export async function keepWatch(tx: Tx, { replica, through, isDue, log }: Watch): Promise<void> {
  const silence = await noteSilence(tx);
  if (silence) {
    const { kind, after, until } = silence;
    // A gap is what a restart leaves: its deadlines wait, and nobody needs to do anything.
    const level = kind === 'blind' ? 'warn' : 'info';
    log[level]({ kind, after: formatInstant(after), until: formatInstant(until) }, 'no beat of ingest was heard');
  }
  if (silence?.kind === 'blind') {
    const { after, until } = silence;
    await tellOperators(tx, after, `Rollcall heard no pings from ${formatInstant(after)} to ${formatInstant(until)}.`);
  }
  if (isDue || silence) await beat(tx, replica, through);
}

/** How far the horizon lags, in milliseconds; when it is too far the operators are told. Infinity: nothing ever beat. */
export async function watchHorizon(tx: Tx, { horizon, last }: Hearing): Promise<number> {
  const from = horizon ?? last;
  if (from === null) return Number.POSITIVE_INFINITY;
  const lagMs = tx.now - from;
  if (lagMs >= BLIND_MS) await tellOperators(tx, from, `Rollcall has heard no pings since ${formatInstant(from)}.`);
  return lagMs;
}

/** Once per silence, whoever sees it first. */
async function tellOperators(tx: Tx, since: Instant, what: string): Promise<void> {
  const text = `${what} Runs due then are judged only when it is known what was heard, and are unknown if nothing is.`;
  const notice = { kind: 'operator', subject: `silence:${since}`, text, at: tx.now } as const;
  await enqueueNotice(tx, notice, await operatorChannels(tx, null));
}
