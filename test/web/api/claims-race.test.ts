import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T00:00:00Z');
});
afterAll(() => t.drop());

test.each(['forbid', 'allow'])(
  'one that began a moment earlier and waited for the lock does not get what another one has (%s)',
  async (overlap) => {
    await t.at('2026-03-01T00:00:00Z');
    const slug = `daily-${overlap}`;
    await t.call('PUT', `/jobs/${slug}`, {
      schedules: [{ cron: '0 2 * * *' }],
      zone: 'UTC',
      missed_runs: 'coalesce',
      grace: '1h',
      overlap,
    });
    await t.at('2026-03-01T02:00:10Z');
    const first = await t.call('POST', `/jobs/${slug}/claims`, { rid: randomUUID() });
    expect(first.status).toBe(201);
    // Its transaction read the clock 3 ms before that of the first one, which took the lock first.
    t.clock.set('2026-03-01T02:00:09.997Z');
    const second = await t.call('POST', `/jobs/${slug}/claims`, { rid: randomUUID() });
    expect([second.status, second.json.key]).toEqual([409, undefined]);
  },
);
