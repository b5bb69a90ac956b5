/** Waiting, and only that: no instant is ever read from it. What time it is, the database says. */
export type Clock = {
  /** Milliseconds of a clock that never jumps; only differences mean anything. */
  monotonic(): number;
  /** Waits at least `ms`, or until `signal` aborts, whichever is first. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

/** setTimeout fires at once beyond 2^31 - 1 ms (24.8 days), so longer waits are made of steps (EVL-019). */
const LONGEST_STEP_MS = 2 ** 30;

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    const until = performance.now() + ms;
    for (;;) {
      const left = until - performance.now();
      if (!(left > 0) || signal?.aborted) return;
      await step(Math.min(left, LONGEST_STEP_MS), signal);
    }
  },
};

function step(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.ceil(ms));
    signal?.addEventListener('abort', done, { once: true });
  });
}
