import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runWatchdog } from '../../src/cli/watchdog.ts';
import { createVitals } from '../../src/vitals.ts';

let status = 200;
const requests: string[] = [];
const receiver = createServer((request, response) => {
  requests.push(request.url ?? '');
  response.writeHead(status).end();
});
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const address = receiver.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/check`;
});

afterAll(() => void receiver.close());

/** Runs the watchdog for so many rounds of 10 s; before each one, `happens` may tick. */
async function rounds(
  count: number,
  happens: (round: number, tick: (horizonLagMs?: number) => void) => void,
  target = url,
) {
  let time = 0;
  const end = new AbortController();
  const warnings: string[] = [];
  const vitals = createVitals(() => time);
  const tick = (horizonLagMs = 500) => vitals.tick({ horizonLagMs, ms: 1 });
  let round = 0;
  happens(round, tick);
  const clock = {
    monotonic: () => time,
    sleep: async (ms: number) => {
      time += ms;
      round += 1;
      happens(round, tick);
      if (round === count) end.abort();
    },
  };
  const log = { warn: (fields: { reason?: string }) => void warnings.push(fields.reason ?? '') };
  requests.length = 0;
  await runWatchdog({ url: target, clock, vitals, log }, end.signal);
  return { told: requests.length, warnings };
}

test('it is told of ticks, and falls silent with them', async () => {
  expect(await rounds(6, (round, tick) => round < 3 && tick())).toEqual({ told: 3, warnings: [] });
  expect((await rounds(3, () => undefined)).told).toBe(0);
});

test('a watchdog that refuses or is away is only logged', async () => {
  status = 500;
  expect(await rounds(1, (_, tick) => tick())).toEqual({ told: 1, warnings: ['it answered 500'] });
  expect((await rounds(1, (_, tick) => tick(), 'http://127.0.0.1:1/')).warnings).toHaveLength(1);
});

test('it is not told of ticks that can judge nothing: nobody is heard, or the clock is not believed', async () => {
  status = 200;
  expect((await rounds(4, (round, tick) => tick(round < 2 ? 29_999 : 30_000))).told).toBe(2);
  expect((await rounds(2, (_, tick) => tick(Number.POSITIVE_INFINITY))).told).toBe(0);
});
