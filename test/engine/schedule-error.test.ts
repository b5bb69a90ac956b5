import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../web/api/api.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startApi('2026-03-02T08:30:00Z');
});
afterEach(() => api.drop());

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'Europe/Berlin', missed_runs: 'coalesce' };
const channel = { kind: 'webhook', url: 'http://127.0.0.1:9/hook', secret: `whsec_${'A'.repeat(44)}` };

const sql = (text: string) => api.database.transaction((tx) => tx.sql.unsafe(text));
const idOf = (slug: string) => `(select id from jobs where slug = '${slug}')`;
/** As if the stored version had been damaged before this process started. */
const damage = (slug: string, set: string) =>
  sql(`update schedule_versions set ${set}, number = 2 where job_id = ${idOf(slug)};
    update cursors set version = 2 where job_id = ${idOf(slug)}`);
/** As if a new version had been damaged; what is recorded belongs to the one before. */
const damageNewest = (slug: string, set: string) =>
  sql(`update schedule_versions set ends_at = '2026-03-02T09:06:00Z' where job_id = ${idOf(slug)};
    insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
      select job_id, 2, zone, schedules, ends_at, tz_version from schedule_versions where job_id = ${idOf(slug)};
    update schedule_versions set ${set} where number = 2 and job_id = ${idOf(slug)};
    update cursors set version = 2 where job_id = ${idOf(slug)}`);
const incidents = async (query: string) => {
  const { json } = await api.call('GET', `/incidents?${query}`);
  return json.incidents.map(({ job, kind }: { job: string; kind: string }) => `${job} ${kind}`).sort();
};
const matches = async (slug: string) =>
  (await sql(`select matched_by from pings where job_id = ${idOf(slug)} order by id`)).map((row) => row['matched_by']);

const DAMAGES = {
  'a zone that nobody knows': `zone = 'Atlantis/Capital', tz_version = '2019a'`,
  'a cron line of nonsense': `schedules = '[{"cron": "61 * * * *"}]'`,
  'a day that never comes': `schedules = '[{"cron": "0 0 31 2 *"}]'`,
  'an interval of nothing': `schedules = '[{"every": 0, "anchor": 0}]'`,
  'a heartbeat of nothing': `schedules = '[{"heartbeat": 0}]'`,
  'a heartbeat of words': `schedules = '[{"heartbeat": "daily"}]'`,
  'no schedule': `schedules = '[]'`,
  'an object where a list belongs': `schedules = '{"cron": "0 * * * *"}'`,
  null: `schedules = 'null'`,
};

describe('a stored schedule that makes no sense', () => {
  test.each(Object.entries(DAMAGES))('%s: one incident, told once; its pings wait for its repair', async (_, set) => {
    await api.call('PUT', '/channels/ops', channel);
    for (const slug of ['broken', 'silent', 'sound']) await api.call('PUT', `/jobs/${slug}`, hourly);
    await damage('broken', set);

    await api.at('2026-03-02T09:01:00Z');
    await Promise.all(['broken', 'sound'].map((slug) => api.ping(slug, 'success')));
    await api.at('2026-03-02T09:06:00Z');
    await api.tick();
    await api.at('2026-03-02T09:10:00Z');
    await api.tick();
    expect(await incidents('state=open')).toEqual(['broken schedule_error', 'silent missing']);
    const told = await sql(
      `select payload -> 'job' ->> 'slug' as job, payload ->> 'type' as type from outbox order by 1`,
    );
    expect(told.map(({ job, type }) => `${job} ${type}`)).toEqual(['broken incident.opened', 'silent incident.opened']);
    expect(await matches('broken')).toEqual(['deferred']);
    expect(await matches('sound')).toEqual(['current']);

    // It can be looked at all the same.
    expect((await api.call('GET', '/jobs/broken')).json.status).toBe('down');
    for (const page of ['occurrences', 'occurrences?until=2026-03-03T00:00:00Z', 'pings', 'owed']) {
      expect({ page, status: (await api.call('GET', `/jobs/broken/${page}`)).status }).toEqual({ page, status: 200 });
    }

    await api.at('2026-03-02T09:30:00Z');
    expect((await api.call('PUT', '/jobs/broken', { ...hourly, grace: '10m' })).status).toBe(200);
    await api.tick();
    expect(await incidents('state=open&job=broken')).toEqual([]);
    expect(await matches('broken')).toEqual(['off_schedule']);
    const resolved = await sql(`select payload ->> 'type' as type from outbox o join incidents i on i.id = o.incident_id
      where i.kind = 'schedule_error' order by o.event`);
    expect(resolved.map(({ type }) => type)).toEqual(['incident.opened', 'incident.resolved']);

    await api.at('2026-03-02T10:00:05Z');
    await api.ping('broken', 'success');
    const { json } = await api.call('GET', '/jobs/broken/occurrences');
    expect(json.occurrences.map(({ key, state }: { key: string; state: string }) => `${key} ${state}`)).toEqual([
      '2026-03-02T11:00+01:00 on_time',
    ]);
    expect(await incidents('state=resolved&job=broken')).toEqual(['broken schedule_error']);
  });

  test.each(Object.entries(DAMAGES))('%s: nothing of it can be changed, but for PUT and DELETE', async (_, set) => {
    const ledger = { ...hourly, missed_runs: 'catch_up' };
    const rid = '5e0c4b5c-6f3e-4b5a-9d58-8f7d9a3f1c11';
    for (const slug of ['broken', 'sound']) await api.call('PUT', `/jobs/${slug}`, ledger);
    await api.at('2026-03-02T09:06:00Z');
    await api.tick();
    const claim = (await api.call('POST', '/jobs/broken/claims', { rid })).json.id;
    await damageNewest('broken', set);

    const changes: readonly (readonly [method: string, path: string, body?: object])[] = [
      ['POST', '/jobs/broken/pause'],
      ['POST', '/jobs/broken/resume'],
      ['PATCH', '/jobs/broken/occurrences/2026-03-02T09:00:00Z', { state: 'skipped' }],
      ['POST', '/jobs/broken/claims', { rid: rid.replace('5e', '6e') }],
      ['POST', '/jobs/broken/backlog', { decision: 'run' }],
      ['POST', `/claims/${claim}/extend`],
      ['DELETE', `/claims/${claim}`],
    ];
    const refused = async () => {
      for (const [method, path, body] of changes) {
        const { status, json } = await api.call(method, path, body);
        expect({ path, status, type: json.type }).toEqual({ path, status: 409, type: '/problems/schedule_error' });
        expect(json.detail).toMatch(
          /^the stored schedules of job broken make no sense \(.+\), so .* PUT \/api\/v1\/jobs\/broken,/,
        );
      }
    };
    await refused();
    // A ping that waits makes no difference.
    await api.ping('broken', 'success');
    await refused();
    expect(api.logged).toEqual([]);
    expect((await api.call('POST', '/jobs/sound/pause')).status).toBe(200);

    for (const page of ['', '/occurrences', '/pings', '/owed'])
      expect({ page, status: (await api.call('GET', `/jobs/broken${page}`)).status }).toEqual({ page, status: 200 });
    expect((await api.call('PUT', '/jobs/broken', ledger)).status).toBe(200);
    expect((await api.call('POST', '/jobs/broken/pause')).json.status).toBe('paused');
  });

  test('one that has lost them altogether is refused, read and defined anew as well', async () => {
    await api.call('PUT', '/jobs/broken', hourly);
    await sql(`delete from schedule_versions where job_id = ${idOf('broken')}`);
    expect((await api.call('POST', '/jobs/broken/pause')).json.type).toBe('/problems/schedule_error');
    expect((await api.call('GET', '/jobs/broken')).json.next_due).toBe(null);
    expect((await api.call('PUT', '/jobs/broken', hourly)).json.next_due.key).toBe('2026-03-02T10:00+01:00');
    expect((await api.call('POST', '/jobs/broken/pause')).status).toBe(200);
  });

  test('a broken job can be deleted', async () => {
    await api.call('PUT', '/jobs/broken', hourly);
    await damage('broken', DAMAGES['no schedule']);
    expect((await api.call('DELETE', '/jobs/broken')).status).toBe(204);
    expect((await api.call('GET', '/jobs/broken')).status).toBe(404);
  });

  test('pings of a broken job with a key are applied to the new definition once it is repaired', async () => {
    await api.call('PUT', '/jobs/keyed', hourly);
    await damage('keyed', DAMAGES['a cron line of nonsense']);
    await api.at('2026-03-02T09:30:00Z');
    await api.ping('keyed', 'start', { rid: '5e0c4b5c-6f3e-4b5a-9d58-8f7d9a3f1c11' });
    await api.call('PUT', '/jobs/keyed', { ...hourly, schedules: [{ cron: '30 * * * *' }] });
    await api.at('2026-03-02T10:31:00Z');
    await api.ping('keyed', 'success', { occ: '2026-03-02T11:30+01:00' });
    expect(await matches('keyed')).toEqual(['off_schedule', 'key']);
  });

  test('one whose kept zone table is damaged is that job alone', async () => {
    await api.call('PUT', '/jobs/broken', hourly);
    await api.call('PUT', '/jobs/sound', hourly);
    await sql(`insert into zone_tables (tz_version, zone, zone_table)
      values ('2019a', 'Europe/Berlin', '{"transitions": [1], "offsets": [], "cycle": 0}')`);
    await damage('broken', `tz_version = '2019a'`);
    await api.at('2026-03-02T09:06:00Z');
    await api.tick();
    expect(await incidents('state=open')).toEqual(['broken schedule_error', 'sound missing']);
  });
});
