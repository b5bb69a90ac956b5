import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../web/api/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi('2026-03-02T08:30:00Z');
});
afterAll(() => api.drop());

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'catch_up' };
const states = async (slug: string) => {
  const { json } = await api.call('GET', `/jobs/${slug}/occurrences`);
  return json.occurrences.map(({ key, state }: { key: string; state: string }) => `${key} ${state}`).reverse();
};
const openKinds = async (slug: string) => {
  const { json } = await api.call('GET', `/incidents?state=open&job=${slug}`);
  return json.incidents.map(({ kind }: { kind: string }) => kind);
};
const sql = (text: string) => api.database.transaction((tx) => tx.sql.unsafe(text));

describe('a job whose stored schedules stop making sense', () => {
  test('opens one schedule_error, keeps its pings, disturbs no other job, and goes on once it is defined anew', async () => {
    await api.call('PUT', '/jobs/broken', hourly);
    await api.call('PUT', '/jobs/sound', hourly);
    await sql(`update schedule_versions set zone = 'Atlantis/Capital' where job_id = (select id from jobs where slug = 'broken');
      update cursors set version = 2 where job_id = (select id from jobs where slug = 'broken');
      update schedule_versions set number = 2 where job_id = (select id from jobs where slug = 'broken')`);

    await api.at('2026-03-02T09:06:00Z');
    await api.tick();
    await api.tick();
    expect(await openKinds('broken')).toEqual(['schedule_error']);
    expect(await openKinds('sound')).toEqual(['missing']);

    await api.at('2026-03-02T09:07:00Z');
    await api.ping('broken', 'success');
    const pings = await sql(`select matched_by from pings where job_id = (select id from jobs where slug = 'broken')`);
    expect(pings.map((ping) => ping['matched_by'])).toEqual(['deferred']);

    await api.at('2026-03-02T09:30:00Z');
    expect((await api.call('PUT', '/jobs/broken', hourly)).status).toBe(200);
    await api.at('2026-03-02T09:32:00Z');
    await api.tick();
    expect(await openKinds('broken')).toEqual([]);
    await api.at('2026-03-02T10:00:05Z');
    await api.ping('broken', 'success');
    expect(await states('broken')).toEqual(['2026-03-02T10:00Z on_time']);
  });
});

describe('a job that is far behind', () => {
  test('takes pings at once and applies them in their turn', async () => {
    await api.at('2026-03-02T11:00:00Z');
    await api.call('PUT', '/jobs/behind', {
      ...hourly,
      schedules: [{ every: '10s' }],
      missed_runs: 'skip',
      grace: '5s',
    });
    await api.at('2026-03-02T12:00:03Z');
    // 360 instants have gone by with nobody looking: more than a ping brings a job forward by.
    await api.ping('behind', 'success');
    await api.ping('behind', 'log');
    const before = await sql(
      `select matched_by from pings where job_id = (select id from jobs where slug = 'behind') order by id`,
    );
    expect(before.map((ping) => ping['matched_by'])).toEqual(['deferred', 'deferred']);
    await api.tick();
    const after = await sql(
      `select matched_by from pings where job_id = (select id from jobs where slug = 'behind') order by id`,
    );
    expect(after.map((ping) => ping['matched_by'])).toEqual(['current', 'again']);
    const { json } = await api.call('GET', '/jobs/behind/occurrences?limit=2');
    expect(json.occurrences.map(({ state }: { state: string }) => state)).toEqual(['on_time', 'missed']);
  });
});

describe('while ingest is silent', () => {
  test('an edit judges nothing by what could not be heard', async () => {
    await api.at('2026-03-02T12:58:00Z');
    await api.call('PUT', '/jobs/silent', hourly);
    // No beat from here on: nobody can know whether 13:00 ran.
    api.clock.set('2026-03-02T13:10:00Z');
    await api.call('PUT', '/jobs/silent', { ...hourly, description: 'edited' });
    expect(await openKinds('silent')).toEqual([]);
    expect(await states('silent')).toEqual(['2026-03-02T13:00Z expected']);
  });
});
