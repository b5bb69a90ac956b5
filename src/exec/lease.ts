import type { Clock } from '../clock.ts';
import type { Claim, Server } from './server.ts';

/** A lease lasts 60 s: two extensions may fail before it is lost. */
const EXTEND_EVERY_MS = 20_000;
const AFTER_FAILURE_MS = 5000;

export type LeaseDeps = {
  readonly server: Pick<Server, 'extend'>;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
};

/**
 * Extends the lease of a claim until `ended`. A lease that is over is said once and asked for no more; the command is left
 * to finish, for Rollcall only advises.
 */
export async function keepLease(claim: Claim, { server, clock, warn }: LeaseDeps, ended: AbortSignal): Promise<void> {
  let pause = EXTEND_EVERY_MS;
  for (;;) {
    await clock.sleep(pause, ended);
    if (ended.aborted) return;
    const answer = await server.extend(claim);
    if (ended.aborted) return;
    if (answer.kind === 'over') {
      // The detail names the occurrence.
      warn(`${answer.detail}; the command goes on`);
      return;
    }
    pause = answer.kind === 'extended' ? EXTEND_EVERY_MS : AFTER_FAILURE_MS;
  }
}
