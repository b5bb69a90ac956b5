import { systemClock } from './clock.ts';
import type { Logger } from './log.ts';
import { DatabaseUnavailable } from './store/database.ts';

/** How a loop tells that its database is away, in a few lines however often it tries. */
export type OutageLog = {
  /** A try failed. What is no outage is an error with its stack, every time. */
  failed(error: unknown, message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A try succeeded: an outage is over. */
  over(): void;
  /** Runs one try and notes how it ended; a failure noted by the work itself keeps the outage going. Never rejects. */
  watch(work: () => Promise<unknown>, message: string): Promise<void>;
};

const AGAIN_MS = 30_000;

/** `who`: the part of Rollcall that waits, as the line names it. */
export function createOutageLog(
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
  who: string,
  monotonic: () => number = systemClock.monotonic,
): OutageLog {
  let outage: { readonly since: number; told: number; failures: number } | null = null;
  let noted = 0;

  const length = (since: number) => Math.round((monotonic() - since) / 1000);
  const failed: OutageLog['failed'] = (error, message, fields = {}) => {
    if (!(error instanceof DatabaseUnavailable)) {
      log.error({ ...fields, error }, message);
      return;
    }
    noted += 1;
    const now = monotonic();
    if (outage === null) {
      outage = { since: now, told: now, failures: 1 };
      log.warn({ ...fields, error: error.message }, `the database is away: ${who} tries on`);
      return;
    }
    outage.failures += 1;
    if (now - outage.told < AGAIN_MS) return;
    outage.told = now;
    const { failures, since } = outage;
    log.warn({ error: error.message, failures, seconds: length(since) }, `the database is still away: ${who} tries on`);
  };
  const over = (): void => {
    if (outage === null) return;
    const { failures, since } = outage;
    outage = null;
    log.info({ failures, seconds: length(since) }, `the database is back: ${who} goes on`);
  };
  return {
    failed,
    over,
    async watch(work, message) {
      const before = noted;
      try {
        await work();
        if (noted === before) over();
      } catch (error) {
        failed(error, message);
      }
    },
  };
}
