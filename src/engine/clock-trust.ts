import type { Instant } from '../core/time.ts';
import { takeBack } from '../store/clock-back.ts';
import { believeClock, doubtOf, forgetDoubt, readLife } from '../store/clock-doubt.ts';
import type { Database } from '../store/database.ts';
import { noteClockEvent } from '../store/health.ts';
import { recordAudit } from '../store/job-writing.ts';

/** `heardUntil`: the last sign of life before, while the clock was in doubt; null: it was not, and nothing is changed. */
export type Trusted = { readonly now: Instant; readonly heardUntil: Instant | null };

/**
 * A person's word that the clock, although in doubt, is right: the time that nobody heard becomes a blind window, or (back)
 * what was made in the future begins now. Everything goes on from the next beat.
 */
export function trustClock(
  database: Database,
  who: { readonly projectId: number; readonly actor: string },
): Promise<Trusted> {
  return database.transaction(async (tx) => {
    const { last } = await readLife(tx);
    const doubt = await doubtOf(tx, last);
    if (!doubt || last === null) return { now: tx.now, heardUntil: null };
    if (tx.now > last) await believeClock(tx, last);
    else await takeBack(tx, 0);
    await forgetDoubt(tx);
    await noteClockEvent(tx, 'a person said that the clock is right');
    await recordAudit(tx, { ...who, action: 'clock.trust', subject: 'clock', detail: { last } });
    return { now: tx.now, heardUntil: last };
  });
}
