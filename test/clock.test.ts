import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';

test('a wait of thirty days is still waiting when a short one ends (EVL-019)', async () => {
  const stop = new AbortController();
  let isOver = false;
  const long = systemClock.sleep(30 * 86_400_000, stop.signal).then(() => {
    isOver = true;
  });
  await systemClock.sleep(20);
  expect(isOver).toBe(false);
  stop.abort();
  await long;
});

test('a wait ends at once when its signal aborts or has aborted', async () => {
  const start = systemClock.monotonic();
  const stop = new AbortController();
  const waiting = systemClock.sleep(60_000, stop.signal);
  stop.abort();
  await waiting;
  await systemClock.sleep(60_000, stop.signal);
  expect(systemClock.monotonic() - start).toBeLessThan(1000);
});

test('a wait is never shorter than asked', async () => {
  const start = systemClock.monotonic();
  await systemClock.sleep(15);
  expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(15);
});
