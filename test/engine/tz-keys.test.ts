import { afterEach, beforeEach, expect, test } from 'vitest';
import { LAW_2025, LAW_2026, type Replica, replicaOver } from '../support/tz-replica.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

let world: TestApi;
let old: Replica;
let fresh: Replica;
beforeEach(async () => {
  world = await startApi('2026-11-28T12:00:00Z');
  old = replicaOver(world.database, LAW_2025);
  fresh = replicaOver(world.database, LAW_2026);
});
afterEach(() => world.drop());

const nightly = {
  schedules: [{ cron: '0 9 * * *' }],
  zone: 'America/Vancouver',
  missed_runs: 'coalesce',
  grace: '20m',
};
/** Every key that is shown of a job, wherever one is. */
const keysOf = async (replica: Replica, slug: string) => {
  const keys = (list: { key: string }[]) => list.map(({ key }) => key);
  const { next_due, last_completed } = await replica.call('GET', `/jobs/${slug}`);
  const { incidents } = await replica.call('GET', `/incidents?job=${slug}`);
  const one = await replica.call('GET', `/incidents/${incidents[0].id}`);
  const { occurrences } = await replica.call('GET', `/jobs/${slug}/occurrences`);
  return {
    next_due: next_due.key,
    last_completed,
    incidents: keys(incidents[0].occurrences),
    incident: keys(one.occurrences),
    pings: keys((await replica.call('GET', `/jobs/${slug}/pings`)).pings),
    owed: keys((await replica.call('GET', `/jobs/${slug}/owed`)).owed),
    occurrences: keys(occurrences),
    covered_by: occurrences.map(({ covered_by }: { covered_by: string | null }) => covered_by),
  };
};

test('replicas with different time zone data write every key alike: by the data of its version', async () => {
  for (const slug of ['nightly', 'far'])
    await old.call('PUT', `/jobs/${slug}`, { ...nightly, ...(slug === 'far' && { zone: 'Test/Far' }) });
  const ping = async (slug: string, at: string) => {
    await world.at(at);
    await old.ping(slug, 'success');
    await old.ping(slug, 'log');
  };
  // One is covered, one is done, one is owed.
  await ping('far', '2026-11-30T04:00:30Z');
  await ping('nightly', '2026-11-30T17:00:30Z');
  await world.at('2026-12-01T17:25:00Z');
  await old.tick();
  const before = {
    next_due: '2026-12-02T09:00-08:00',
    last_completed: '2026-11-30T09:00-08:00',
    incidents: ['2026-12-01T09:00-08:00'],
    incident: ['2026-12-01T09:00-08:00'],
    pings: ['2026-11-30T09:00-08:00', '2026-11-30T09:00-08:00'],
    owed: ['2026-12-01T09:00-08:00'],
    occurrences: ['2026-12-01', '2026-11-30', '2026-11-29', '2026-11-28'].map((day) => `${day}T09:00-08:00`),
    covered_by: [null, null, '2026-11-30T09:00-08:00', '2026-11-30T09:00-08:00'],
  };
  for (const replica of [old, fresh]) expect(await keysOf(replica, 'nightly')).toEqual(before);
  expect(await fresh.pass()).toEqual(['nightly']);
  for (const replica of [old, fresh])
    expect(await keysOf(replica, 'nightly')).toEqual({ ...before, next_due: '2026-12-02T09:00-07:00' });
  // A zone that one of them has lost.
  const far = await keysOf(old, 'far');
  expect(far).toMatchObject({ next_due: '2026-12-02T09:00+05:00', owed: ['2026-12-01T09:00+05:00'] });
  expect(await keysOf(fresh, 'far')).toEqual(far);
  expect(JSON.stringify(far)).not.toContain('Z');
});
