import { expect, test } from 'vitest';
import { createPulse } from '../../src/engine/clock-pulse.ts';

const NOW = Date.parse('2026-03-02T12:00:00Z');

test('a clock that runs 5 s ahead of the monotonic one has jumped from the last commit', () => {
  const pulse = createPulse();
  expect(pulse.jumpedFrom(NOW, 1000)).toBeNull();
  pulse.keep(NOW, 1000);
  expect(pulse.jumpedFrom(NOW + 500, 1500)).toBeNull();
  expect(pulse.jumpedFrom(NOW + 5499, 1500)).toBeNull();
  expect(pulse.jumpedFrom(NOW + 5500, 1500)).toBe(NOW);
});

test('a process that was held up, before or after it read the clock, sees no jump; nor one back', () => {
  const pulse = createPulse();
  // Stopped for 40 s in the middle of the first transaction, after the clock was read.
  pulse.keep(NOW, 1000);
  expect(pulse.jumpedFrom(NOW + 40_500, 41_500)).toBeNull();
  // Stopped between the two readings of the second one.
  expect(pulse.jumpedFrom(NOW + 500, 41_500)).toBeNull();
  expect(pulse.jumpedFrom(NOW - 3_600_000, 1500)).toBeNull();
});
