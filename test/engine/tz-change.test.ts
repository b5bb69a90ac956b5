import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isOlderTz } from '../../src/zones.ts';
import { LAW_2025, LAW_2026, type Replica, replicaOver } from '../support/tz-replica.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

let world: TestApi;
let old: Replica;
let fresh: Replica;
beforeEach(async () => {
  world = await startApi('2026-10-31T12:00:00Z');
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
const channel = { kind: 'webhook', url: 'http://127.0.0.1:9/hook', secret: `whsec_${'A'.repeat(44)}` };

const sql = (text: string) => world.database.transaction((tx) => tx.sql.unsafe(text));
const versions = async (slug: string) => {
  const rows = await sql(`select v.number, v.tz_version from schedule_versions v join jobs j on j.id = v.job_id
    where j.slug = '${slug}' order by v.number`);
  return rows.map((row) => `${row['number']} ${row['tz_version']}`);
};
const listed = async (replica: Replica, slug: string, query = '') => {
  const { occurrences } = await replica.call('GET', `/jobs/${slug}/occurrences${query}`);
  return occurrences.map(({ key, state }: { key: string; state: string }) => `${key} ${state}`).reverse();
};
const everything = () =>
  sql(`select (select json_agg(v order by v.job_id, v.number) from schedule_versions v) as versions,
    (select json_agg(c order by c.job_id) from cursors c) as cursors, (select count(*) from audit) as audit,
    (select count(*) from notices) as notices, (select count(*) from zone_tables) as tables`);

describe('new time zone data', () => {
  test('make a new version of the jobs whose instants they move, and of no other; nobody is called', async () => {
    await old.call('PUT', '/channels/ops', channel);
    const jobs = {
      moved: nightly,
      yearly: { ...nightly, schedules: [{ cron: '0 9 1 1 *' }] },
      berlin: { ...nightly, zone: 'Europe/Berlin' },
      utc: { ...nightly, zone: 'UTC' },
      hourly: { ...nightly, schedules: [{ cron: '0 * * * *' }] },
      summer: { ...nightly, schedules: [{ cron: '0 9 1 7 *' }] },
      interval: { ...nightly, schedules: [{ every: '6h' }] },
      beating: { schedules: [{ heartbeat: '1d' }], zone: 'America/Vancouver' },
    };
    for (const [slug, definition] of Object.entries(jobs)) await old.call('PUT', `/jobs/${slug}`, definition);
    expect((await old.call('GET', '/jobs/moved')).next_due.key).toBe('2026-10-31T09:00-07:00');
    expect(await listed(fresh, 'moved', '?after=2026-11-01T00:00:00Z&until=2026-11-02T00:00:00Z')).toEqual([
      '2026-11-01T09:00-08:00 expected',
    ]);

    expect(await fresh.pass()).toEqual(['moved', 'yearly']);

    for (const slug of Object.keys(jobs)) {
      const isMoved = slug === 'moved' || slug === 'yearly';
      expect({ [slug]: await versions(slug) }).toEqual({ [slug]: isMoved ? ['1 2025c', '2 2026a'] : ['1 2026a'] });
    }
    expect(await sql('select 1 from incidents')).toEqual([]);
    expect(await sql('select 1 from outbox where notice_id is null')).toEqual([]);
    expect((await sql('select payload from outbox')).map((row) => row['payload'].notice.text)).toEqual([
      'New time zone data (2026a) move the due times of 2 jobs: moved (2026-11-01T17:00:00Z becomes 2026-11-01T16:00:00Z), yearly (2027-01-01T17:00:00Z becomes 2027-01-01T16:00:00Z). What was due before stays as it is recorded.',
    ]);
    const audit = await sql(`select actor, subject, detail from audit where action = 'job.tz_change' order by id`);
    expect(audit[0]).toEqual({
      actor: 'rollcall',
      subject: 'moved',
      detail: {
        zone: 'America/Vancouver',
        from: '2025c',
        to: '2026a',
        was: '2026-11-01T17:00:00Z',
        is: '2026-11-01T16:00:00Z',
      },
    });
    expect(fresh.lines.map(({ job, msg }) => `${job}: ${msg}`)).toEqual(
      ['moved', 'yearly'].map((job) => `${job}: new time zone data move the due times of a job`),
    );
    expect(await listed(fresh, 'moved', '?after=2026-10-31T12:00:00Z&until=2026-11-02T17:00:00Z')).toEqual([
      '2026-10-31T09:00-07:00 expected',
      '2026-11-01T09:00-07:00 expected',
      '2026-11-02T09:00-07:00 expected',
    ]);

    const before = await everything();
    expect(await fresh.pass()).toEqual([]);
    expect(await replicaOver(world.database, LAW_2026).pass()).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('that come late leave what was due before as it is: its keys, its state, its pings', async () => {
    await world.at('2026-11-30T12:00:00Z');
    await old.call('PUT', '/jobs/nightly', nightly);
    await world.at('2026-11-30T17:05:00Z');
    expect(await old.ping('nightly', 'success')).toBe('current 2026-11-30T09:00-08:00');
    await world.at('2026-12-01T17:02:00Z');

    // Due two minutes ago by the old law, an hour ago by the new one.
    expect(await fresh.pass()).toEqual(['nightly']);
    const both = ['2026-11-30T09:00-08:00 on_time', '2026-12-01T09:00-08:00 skipped'];
    expect(await listed(fresh, 'nightly')).toEqual(both);
    expect(await listed(old, 'nightly')).toEqual(both);
    expect(await fresh.ping('nightly', 'success', { occ: '2026-12-01T09:00-08:00' })).toBe(
      'key 2026-12-01T09:00-08:00',
    );
    expect(await old.ping('nightly', 'log', { occ: '2026-11-30T09:00' })).toBe('key 2026-11-30T09:00-08:00');
    expect((await fresh.call('GET', '/jobs/nightly/occurrences/2026-11-30')).key).toBe('2026-11-30T09:00-08:00');
    expect((await old.call('GET', '/jobs/nightly/occurrences/2026-12-02T09:00')).key).toBe('2026-12-02T09:00-07:00');

    await world.at('2026-12-01T18:00:00Z');
    await fresh.tick();
    expect(await sql('select kind from incidents')).toEqual([]);
    await world.at('2026-12-02T16:19:00Z');
    await old.tick();
    expect(await sql('select kind from incidents')).toEqual([]);
    await world.at('2026-12-02T16:20:00Z');
    await old.tick();
    expect((await sql('select kind from incidents')).map((row) => row['kind'])).toEqual(['missing']);
    expect((await listed(fresh, 'nightly')).slice(-1)).toEqual(['2026-12-02T09:00-07:00 overdue']);
  });

  test('leave a run in progress to end on the occurrence it began', async () => {
    await world.at('2026-12-01T16:59:00Z');
    await old.call('PUT', '/jobs/running', nightly);
    await world.at('2026-12-01T17:00:10Z');
    await old.ping('running', 'start');
    expect(await fresh.pass()).toEqual(['running']);
    await world.at('2026-12-01T17:10:00Z');
    expect(await fresh.ping('running', 'success')).toBe('running 2026-12-01T09:00-08:00');
    expect(await listed(old, 'running')).toEqual(['2026-12-01T09:00-08:00 on_time']);
  });

  test('judge what was overdue by the old law before, and a paused job stays paused', async () => {
    await world.at('2026-12-01T16:59:00Z');
    await old.call('PUT', '/jobs/silent', nightly);
    await old.call('PUT', '/jobs/paused', nightly);
    await old.call('POST', '/jobs/paused/pause');
    await world.at('2026-12-01T17:30:00Z');
    expect(await fresh.pass()).toEqual(['silent', 'paused']);
    expect(await listed(fresh, 'silent')).toEqual(['2026-12-01T09:00-08:00 overdue']);
    expect((await sql('select kind from incidents')).map((row) => row['kind'])).toEqual(['missing']);
    expect(await listed(fresh, 'paused')).toEqual(['2026-12-01T09:00-08:00 skipped']);
    expect((await fresh.call('GET', '/jobs/paused')).status).toBe('paused');
    await world.at('2026-12-02T16:10:00Z');
    await fresh.call('POST', '/jobs/paused/resume');
    expect((await listed(fresh, 'paused')).slice(-1)).toEqual(['2026-12-02T09:00-07:00 skipped']);
  });

  test('write the keys of a job that they do not move, at once and in every replica', async () => {
    await world.at('2026-12-01T12:30:00Z');
    await old.call('PUT', '/jobs/hourly', { ...nightly, schedules: [{ cron: '0 * * * *' }] });
    await world.at('2026-12-01T13:00:01Z');
    expect(await old.ping('hourly', 'success')).toBe('current 2026-12-01T05:00-08:00');
    expect(await fresh.pass()).toEqual([]);
    await world.at('2026-12-01T14:00:01Z');
    expect(await old.ping('hourly', 'success')).toBe('current 2026-12-01T07:00-07:00');
    expect(await old.ping('hourly', 'log', { occ: '2026-12-01T05:00-08:00' })).toBe('key 2026-12-01T06:00-07:00');
  });
});

describe('time zone data that put only the past right', () => {
  test('leave a job by its old data, for which nothing changes from now on', async () => {
    await world.at('2026-10-29T12:00:00Z');
    await old.call('PUT', '/jobs/mended', { ...nightly, zone: 'Test/Mended' });
    await world.at('2026-10-30T04:00:30Z');
    await old.ping('mended', 'success');
    await world.at('2026-11-01T02:00:00Z');
    await fresh.call('PUT', '/jobs/made-after', { ...nightly, zone: 'Test/Mended' });
    expect(await fresh.pass()).toEqual([]);
    expect(await versions('mended')).toEqual(['1 2025c']);
    expect(await listed(fresh, 'mended')).toEqual(['2026-10-30T09:00+05:00 on_time', '2026-10-31T09:00+06:00 overdue']);
    await world.at('2026-11-01T03:00:30Z');
    expect(await fresh.ping('mended', 'success')).toBe('current 2026-11-01T09:00+06:00');
  });
});

test('versions of the tz database are compared as they came out', () => {
  const ascending = ['2025b', '2025c', '2025z', '2025aa', '2026a'];
  for (const [i, version] of ascending.entries()) {
    for (const [j, than] of ascending.entries()) expect(isOlderTz(version, than)).toBe(i < j);
    expect([isOlderTz(version, 'unknown'), isOlderTz('unknown', version)]).toEqual([false, false]);
  }
});

describe('replicas with different time zone data', () => {
  test('agree on every job, and make no versions in turns', async () => {
    await world.at('2026-12-01T12:00:00Z');
    await old.call('PUT', '/jobs/made-by-old', nightly);
    await fresh.call('PUT', '/jobs/made-by-new', nightly);
    const due = (replica: Replica, slug: string) => listed(replica, slug, '?until=2026-12-01T20:00:00Z');
    for (const replica of [old, fresh, replicaOver(world.database, LAW_2025)]) {
      expect(await due(replica, 'made-by-old')).toEqual(['2026-12-01T09:00-08:00 expected']);
      expect(await due(replica, 'made-by-new')).toEqual(['2026-12-01T09:00-07:00 expected']);
    }
    // The old one again after the new one, as in a downgrade: newer data than its own are left alone.
    expect(await old.pass()).toEqual([]);
    expect(await fresh.pass()).toEqual(['made-by-old']);
    expect(await old.pass()).toEqual([]);
    expect(await fresh.pass()).toEqual([]);
    await old.call('PUT', '/jobs/made-by-old', { ...nightly, grace: '10m' });
    expect(await versions('made-by-old')).toEqual(['1 2025c', '2 2026a']);
    await world.at('2026-12-01T16:00:05Z');
    expect(await old.ping('made-by-old', 'success')).toBe('current 2026-12-01T09:00-07:00');
    expect(await old.ping('made-by-new', 'success')).toBe('current 2026-12-01T09:00-07:00');

    // An edit through the old one is by its law, until a new one has looked again.
    await old.call('PUT', '/jobs/made-by-new', { ...nightly, schedules: [{ cron: '0 10 * * *' }] });
    expect(await fresh.pass()).toEqual(['made-by-new']);
    expect(await old.pass()).toEqual([]);
    expect(await versions('made-by-new')).toEqual(['1 2026a', '2 2025c', '3 2026a']);
  });

  test('that look at the same time make one version', async () => {
    await old.call('PUT', '/jobs/nightly', nightly);
    const moved = await Promise.all([fresh.pass(), replicaOver(world.database, LAW_2026).pass()]);
    expect(moved.flat()).toEqual(['nightly']);
    expect(await versions('nightly')).toEqual(['1 2025c', '2 2026a']);
  });
});

describe('a job that cannot be moved', () => {
  test('holds up no other, and is moved once it can be', async () => {
    await old.call('PUT', '/channels/ops', channel);
    for (const slug of ['first', 'second', 'third']) await old.call('PUT', `/jobs/${slug}`, nightly);
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger refuse before insert on schedule_versions for each row
      when (new.job_id = (${(await sql(`select id from jobs where slug = 'second'`))[0]?.['id']})) execute function refuse()`);
    await expect(fresh.pass()).rejects.toThrow('not this one');
    expect(await Promise.all(['first', 'second', 'third'].map(versions))).toEqual([
      ['1 2025c', '2 2026a'],
      ['1 2025c'],
      ['1 2025c', '2 2026a'],
    ]);
    // Told when all have been looked at, and then about all.
    expect(await sql('select 1 from outbox')).toEqual([]);
    await sql('drop trigger refuse on schedule_versions');
    expect(await fresh.pass()).toEqual(['second']);
    const [told, ...more] = await sql(`select payload -> 'notice' ->> 'text' as text from outbox`);
    expect(told?.['text']).toMatch(/3 jobs: first .*, third .*, second /);
    expect(more).toEqual([]);
  });
});

describe('where the old table is missing', () => {
  test('the next instant of a job tells whether it moved', async () => {
    await world.at('2026-12-01T12:00:00Z');
    await old.call('PUT', '/jobs/nightly', nightly);
    await old.call('PUT', '/jobs/berlin', { ...nightly, zone: 'Europe/Berlin' });
    await sql('delete from zone_tables');
    expect(await fresh.pass()).toEqual(['nightly']);
    expect(await versions('berlin')).toEqual(['1 2026a']);
    expect((await fresh.call('GET', '/jobs/nightly')).next_due.key).toBe('2026-12-01T09:00-07:00');
  });

  test('a start keeps the tables of what was made with the data in use', async () => {
    await old.call('PUT', '/jobs/nightly', nightly);
    await sql('delete from zone_tables');
    await old.pass();
    expect(await sql('select tz_version, zone from zone_tables')).toEqual([
      { tz_version: '2025c', zone: 'America/Vancouver' },
    ]);
  });
});

describe('a zone that the new data have lost', () => {
  test('goes on by the old data, and the log says so once', async () => {
    await old.call('PUT', '/jobs/far', { ...nightly, zone: 'Test/Far' });
    await old.call('PUT', '/jobs/other', nightly);
    expect(await fresh.pass()).toEqual(['other']);
    await fresh.pass();
    const warnings = fresh.lines.filter(({ level }) => level === 'warn' || level === 40);
    expect(warnings).toMatchObject([{ zone: 'Test/Far', jobs: ['far'], from: '2025c', to: '2026a' }]);
    expect(await versions('far')).toEqual(['1 2025c']);
    await world.at('2026-11-01T04:00:30Z');
    expect(await fresh.ping('far', 'success')).toBe('current 2026-11-01T09:00+05:00');
    await world.at('2026-11-02T04:30:00Z');
    await fresh.tick();
    const { incidents } = await fresh.call('GET', '/incidents?job=far');
    expect(incidents.map(({ kind }: { kind: string }) => kind)).toEqual(['missing']);
  });
});
