import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until this instant (milliseconds); rejects when the demo is stopped. */
export async function until(instant: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, instant - Date.now()), undefined, { signal });
}

/** Waits until `look` answers something; throws with `what` after 60 s, or when the demo is stopped. */
export async function eventually<T>(
  what: string,
  signal: AbortSignal,
  look: () => Promise<T | null | undefined | false>,
): Promise<T> {
  const patience = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > patience) throw new Error(`not within 60 s: ${what}`);
    await sleep(100, undefined, { signal });
  }
}
