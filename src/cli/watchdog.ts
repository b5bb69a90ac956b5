import type { Clock } from '../clock.ts';
import type { Vitals } from '../vitals.ts';

const EVERY_MS = 10_000;
const TIMEOUT_MS = 5000;

type WatchdogDeps = {
  readonly url: string;
  readonly clock: Clock;
  readonly vitals: Pick<Vitals, 'read'>;
  readonly log: { warn(fields: object, message: string): void };
};

/** With a horizon further behind, or none, a tick judges nothing. */
const HORIZON_MS = 30_000;

/**
 * Tells somebody else that the evaluator ticks and can judge: a request to WATCHDOG_URL every 10 s, and none while it does
 * not tick, hears no beat or does not believe the clock. The silence is the message; a failure here is only logged.
 */
export async function runWatchdog({ url, clock, vitals, log }: WatchdogDeps, signal: AbortSignal): Promise<void> {
  let told: number | null = null;
  while (!signal.aborted) {
    const { lastTickAt, horizonLagMs } = vitals.read();
    const canJudge = horizonLagMs !== null && horizonLagMs < HORIZON_MS;
    if (lastTickAt !== null && lastTickAt !== told && canJudge) {
      told = lastTickAt;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const reason = await fetch(url, { signal: limit }).then(whyNot, (error: Error) => error.message);
      if (reason !== null && !signal.aborted) log.warn({ reason }, 'WATCHDOG_URL could not be told of the tick');
    }
    await clock.sleep(EVERY_MS, signal);
  }
}

async function whyNot(response: Response): Promise<string | null> {
  await response.body?.cancel();
  return response.ok ? null : `it answered ${response.status}`;
}
