import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-28T12:00:00Z');
});
afterAll(() => t.drop());

const preview = (query: string) => t.call('GET', `/preview?${query}`);

test('a nightly job in the night the clocks go forward is due at the transition', async () => {
  const { status, json } = await preview('cron=30+2+*+*+*&zone=Europe/Berlin&limit=3');
  expect(status).toBe(200);
  expect(json.occurrences).toEqual([
    { key: '2026-03-29T03:00+02:00', scheduled_for: '2026-03-29T01:00:00Z' },
    { key: '2026-03-30T02:30+02:00', scheduled_for: '2026-03-30T00:30:00Z' },
    { key: '2026-03-31T02:30+02:00', scheduled_for: '2026-03-31T00:30:00Z' },
  ]);
  expect(json.warnings.length).toBeGreaterThan(0);
  expect(Object.keys(json)).toEqual(['occurrences', 'warnings']);
});

test('an interval is previewed from its anchor, in (after, until]', async () => {
  const window = 'after=2026-03-01T00:30:00Z&until=2026-03-01T04:30:00Z';
  const { json } = await preview(`every=2h&anchor=2026-01-01T00:30:00+00:00&zone=UTC&${window}`);
  expect(json.occurrences.map(({ key }: { key: string }) => key)).toEqual(['2026-03-01T02:30Z', '2026-03-01T04:30Z']);
});

test('100 by default, 10,000 at most', async () => {
  expect((await preview('cron=*+*+*+*+*&zone=UTC')).json.occurrences).toHaveLength(100);
  expect((await preview('cron=*+*+*+*+*&zone=UTC&limit=99999999')).json.occurrences).toHaveLength(10_000);
  expect((await preview('cron=*+*+*+*+*&zone=UTC&limit=7')).json.occurrences).toHaveLength(7);
});

test.each([
  ['', ['zone', 'cron']],
  ['cron=0 0 31 2 *&zone=UTC', ['cron']],
  ['cron=0 0 * *&zone=CST', ['zone', 'cron']],
  ['cron=0 0 * * *&every=1h&zone=UTC', ['cron']],
  ['every=1y&zone=UTC', ['every']],
  ['every=1h&anchor=2026-02-31T00:00:00Z&zone=UTC', ['anchor']],
  ['every=1h&anchor=2026-03-08 02:30&zone=UTC', ['anchor']],
  ['every=1h&anchor=infinity&zone=UTC', ['anchor']],
  ['cron=0 0 * * *&anchor=2026-01-01T00:00:00Z&zone=UTC', ['anchor']],
  ['cron=0 0 * * *&zone=UTC&after=soon&until=later&limit=some', ['limit', 'after', 'until']],
  ['cron=0 0 * * *&zone=UTC&after=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z', ['until']],
  ['cron=0 0 * * *&zone=UTC&tz=UTC', ['tz']],
  ['cron=0 0 * * *&cron=1 0 * * *&zone=UTC', ['cron']],
  ['cron=%00&zone=%00', ['zone', 'cron']],
])('%s is refused, field by field (SCH-048, SCH-071)', async (query, paths) => {
  const { status, json } = await preview(query);
  expect(status).toBe(400);
  expect(json.errors.map(({ path }: { path: string }) => path)).toEqual(paths);
  expect(json.errors.every(({ message }: { message: string }) => message.length > 10)).toBe(true);
});
