import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobDefinition } from '../../src/core/definition.ts';
import { formatInstant } from '../../src/core/time.ts';
import { type Replay, replayDefinition } from '../../src/engine/replay.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { findJobId, readJob } from '../../src/store/jobs.ts';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

const zones = loadZones();
const DAY_MS = 86_400_000;

let api: TestApi;
beforeAll(async () => {
  api = await startApi('2026-01-01T00:00:00Z');
});
afterAll(() => api.drop());

async function replayOf(slug: string, change: Partial<JobDefinition> = {}, monotonic = () => 0): Promise<Replay> {
  const { database, projectId } = api;
  const definition = await database.transaction(async (tx) => {
    const id = await findJobId(tx, projectId, slug);
    return id === null ? null : (await readJob(tx, id))?.definition;
  });
  if (!definition) throw new Error(`no job ${slug}`);
  const deps = { database, zones, versions: createVersionCache(zones), settleMs: 600_000, monotonic };
  const replay = await replayDefinition(deps, { projectId, slug }, { ...definition, ...change });
  if (!replay) throw new Error(`no job ${slug}`);
  return replay;
}

const opened = ({ incidents }: Replay): string[] =>
  incidents.map(({ kind, openedAt }) => `${kind} ${formatInstant(openedAt)}`);

const iso = (at: number): string => new Date(at).toISOString();

describe('how far a replay reaches', () => {
  const START = Date.parse('2026-01-01T00:00:00Z');

  test('30 days: what was before is known and not told, and a run under way at its beginning is no stranger', async () => {
    await api.call('PUT', '/jobs/daily', {
      zone: 'UTC',
      schedules: [{ cron: '0 12 * * *' }],
      missed_runs: 'skip',
      max_runtime: '6h',
      unscheduled: 'alert',
    });
    for (let day = 0; day < 60; day += 1) {
      const due = START + day * DAY_MS + DAY_MS / 2;
      // Nobody ran it on days 10 and 50.
      if (day === 10 || day === 50) continue;
      await api.at(iso(due));
      await api.tick();
      await api.ping('daily', 'start');
      await api.at(iso(due + 5 * 3_600_000));
      await api.ping('daily', 'success');
    }
    // Thirty days ago a run was under way.
    await api.at(iso(START + 60 * DAY_MS + 14 * 3_600_000));
    await api.tick();
    const replay = await replayOf('daily');
    expect(formatInstant(replay.after)).toBe(iso(START + 30 * DAY_MS + 14 * 3_600_000).replace('.000', ''));
    expect(replay.cappedBy).toBeNull();
    expect(opened(replay)).toEqual(['missing 2026-02-20T12:05:00Z', 'missing 2026-03-02T12:05:00Z']);
    expect(replay.recorded.map(({ kind, openedAt }) => `${kind} ${formatInstant(openedAt)}`)).toEqual(opened(replay));
    // Of the 29 days that are due in it, all but the one that nobody ran.
    const stricter = await replayOf('daily', { maxRuntime: 3600 });
    expect(stricter.incidents.filter(({ kind }) => kind === 'overrun')).toHaveLength(28);
  });

  test('20,000 pings, and it says so', async () => {
    await api.at('2026-05-01T00:00:00Z');
    await api.call('PUT', '/jobs/chatty', {
      zone: 'UTC',
      schedules: [{ cron: '0 * * * *' }],
      missed_runs: 'coalesce',
    });
    await api.database.transaction(
      (tx) => tx.sql`
        insert into pings (job_id, kind, thread, fingerprint, received_at, at, matched_by, counted, method)
        select j.id, 'success', 'src:' || (n % 7), n::text, at, at, 'again', true, 'GET'
        from jobs j, generate_series(1, 21000) n,
          lateral (select timestamptz '2026-05-01T00:00:00Z' + n * interval '2 minutes' as at) t
        where j.slug = 'chatty'`,
    );
    await api.at('2026-05-30T12:00:00Z');
    const replay = await replayOf('chatty', { duplicates: 'record' });
    expect(replay.cappedBy).toBe('pings');
    expect(replay.pings).toBeGreaterThan(18_000);
    expect(replay.pings).toBeLessThanOrEqual(20_000);
    // Runs came at every hour: whatever is told is after the last ping.
    expect(replay.incidents.every(({ openedAt }) => openedAt > Date.parse('2026-05-30T04:00:00Z'))).toBe(true);
  }, 60_000);

  test('so many occurrences, and no longer than a person waits', async () => {
    await api.at('2026-06-01T00:00:00Z');
    await api.call('PUT', '/jobs/dense', { zone: 'UTC', schedules: [{ every: '1h' }], missed_runs: 'coalesce' });
    await api.at('2026-07-10T00:00:00Z');
    const dense = await replayOf('dense', { schedules: [{ every: 30, anchor: 0 }] });
    expect(dense.cappedBy).toBe('occurrences');
    expect((dense.until - dense.after) / 30_000).toBeLessThan(10_100);
    expect(dense.incidents.map(({ kind }) => kind)).toEqual([]);
    // Each look at the clock takes a second: thirty days are not done in time.
    let now = 0;
    const slow = () => {
      now += 250;
      return now;
    };
    const short = await replayOf('dense', {}, slow);
    expect(short.cappedBy).toBe('time');
    expect(short.until - short.after).toBeLessThan(5 * DAY_MS);
  }, 60_000);
});

test('what goes first is as it was: a blocked one waits, and is judged when it is released', async () => {
  await api.at('2026-08-01T00:20:00Z');
  const hourly = { zone: 'UTC', missed_runs: 'coalesce', grace: '10m' };
  await api.call('PUT', '/jobs/first', { ...hourly, schedules: [{ cron: '0 * * * *' }] });
  await api.call('PUT', '/jobs/second', { ...hourly, schedules: [{ cron: '15 * * * *' }], after: ['first'] });
  // The first one is half an hour late; the second one comes when it is done, and later not at all.
  for (const [at, slug] of [
    ['2026-08-01T01:35:00Z', 'first'],
    ['2026-08-01T01:40:00Z', 'second'],
    ['2026-08-01T02:05:00Z', 'first'],
    ['2026-08-01T03:05:00Z', 'first'],
    ['2026-08-01T03:20:00Z', 'second'],
  ] as const) {
    await api.at(at);
    await api.tick();
    await api.ping(slug, 'success');
  }
  await api.at('2026-08-01T03:50:00Z');
  await api.tick();
  const replay = await replayOf('second');
  expect(opened(replay)).toEqual(['missing 2026-08-01T02:25:00Z']);
  expect(replay.recorded.map(({ kind, openedAt }) => `${kind} ${formatInstant(openedAt)}`)).toEqual(opened(replay));
  // Without it the first night would have been a false alarm.
  expect(opened(await replayOf('second', { after: [] }))).toEqual([
    'missing 2026-08-01T01:25:00Z',
    'missing 2026-08-01T02:25:00Z',
  ]);
});

test('nothing is written, and of no job nothing is said', async () => {
  const count = async () =>
    (
      await api.database.transaction(
        (tx) => tx.sql<{ n: number }[]>`
          select (select count(*) from occurrences) + (select count(*) from incidents) + (select count(*) from outbox)
            + (select count(*) from runs) as n`,
      )
    )[0]?.n;
  const before = await count();
  await replayOf('second', { grace: 1 });
  expect(await count()).toBe(before);
  const { database, projectId } = api;
  const deps = { database, zones, versions: createVersionCache(zones), settleMs: 600_000, monotonic: () => 0 };
  const definition = { zone: 'UTC', schedules: [{ cron: '0 * * * *' }] } as unknown as JobDefinition;
  expect(await replayDefinition(deps, { projectId, slug: 'nobody' }, definition)).toBeNull();
});
