import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../web/api/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi('2026-03-02T00:30:00Z');
  await api.call('PUT', '/channels/mail', { kind: 'email', to: 'ops@example.org' });
});
afterAll(() => api.drop());

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'coalesce', grace: '5m' };

/** What was promised to be told, in order: kind, event, first occurrence. */
const told = async (slug: string) => {
  const rows = await api.database.transaction(
    (tx) => tx.sql<{ kind: string; event: number; first: string | null }[]>`
      select i.kind, b.event, b.payload->'occurrences'->0->>'key' as first
      from outbox b join incidents i on i.id = b.incident_id join jobs j on j.id = i.job_id
      where j.slug = ${slug} order by b.id`,
  );
  return rows.map(({ kind, event, first }) => `${kind} ${event} ${first}`);
};
const openKinds = async (slug: string) => {
  const { json } = await api.call('GET', `/incidents?state=open&job=${slug}`);
  return json.incidents.map(({ kind }: { kind: string }) => kind);
};
const look = async (at: string) => {
  await api.at(`2026-03-02T${at}:00Z`);
  await api.tick();
};

describe('a job that may miss twice before anybody is told', () => {
  test('opens its incident at once, tells of the third in a row, and begins anew after a success', async () => {
    await api.call('PUT', '/jobs/flaky', { ...hourly, alert_after: { missing: { count: 3 } } });
    await look('01:06');
    expect([await openKinds('flaky'), await told('flaky')]).toEqual([['missing'], []]);
    await look('02:06');
    await api.ping('flaky', 'success');
    // Two in a row, then one that ran late: nobody was told, so nobody is told that it is over.
    expect([await openKinds('flaky'), await told('flaky')]).toEqual([[], []]);
    await api.at('2026-03-02T03:00:10Z');
    await api.ping('flaky', 'success');

    await look('04:06');
    await look('05:06');
    expect(await told('flaky')).toEqual([]);
    await look('06:06');
    expect(await told('flaky')).toEqual(['missing 1 2026-03-02T06:00Z']);
    await api.ping('flaky', 'success');
    expect(await told('flaky')).toEqual(['missing 1 2026-03-02T06:00Z', 'missing 2 2026-03-02T04:00Z']);
  });

  test('counts once an occurrence however often the evaluators look, and all of a stretch when they look late', async () => {
    await api.at('2026-03-02T06:30:00Z');
    await api.call('PUT', '/jobs/seldom', { ...hourly, alert_after: { missing: { count: 3 } } });
    for (const at of ['07:06', '07:07', '07:20', '07:40', '08:06', '08:30']) await look(at);
    expect(await told('seldom')).toEqual([]);
    await look('11:06');
    expect(await told('seldom')).toEqual(['missing 1 2026-03-02T09:00Z']);
  });

  test('is told at once when the threshold is lowered', async () => {
    await look('11:30');
    await api.call('PUT', '/jobs/edited', { ...hourly, alert_after: { missing: { count: 5 } } });
    await look('12:06');
    expect(await told('edited')).toEqual([]);
    await api.call('PUT', '/jobs/edited', hourly);
    expect(await told('edited')).toEqual(['missing 1 2026-03-02T12:00Z']);
  });
});

describe('a job of which two of the last four may fail', () => {
  test('is told of the third within four, successes between them or not; skipped ones are left out', async () => {
    await api.at('2026-03-02T12:30:00Z');
    await api.call('PUT', '/jobs/shaky', {
      ...hourly,
      missed_runs: 'skip',
      alert_after: { failed: { count: 3, of: 4 } },
    });
    const run = async (at: string, kind: 'success' | 'fail') => {
      await api.at(`2026-03-02T${at}:05Z`);
      await api.ping('shaky', kind);
    };
    await run('13:00', 'fail');
    await run('14:00', 'success');
    await run('15:00', 'fail');
    expect(await told('shaky')).toEqual([]);
    await api.at('2026-03-02T16:00:05Z');
    await api.ping('shaky', 'fail');
    expect(await told('shaky')).toEqual(['failed 1 2026-03-02T16:00Z']);
    await run('17:00', 'success');
    await run('18:00', 'success');
    await api.call('PATCH', '/jobs/shaky/occurrences/2026-03-02T19:00Z', { state: 'skipped', note: 'holiday' });
    // Of the last four that say something, 16:00 and 20:00 failed: two.
    await run('20:00', 'fail');
    expect(await told('shaky')).toHaveLength(2);
    await run('21:00', 'fail');
    // 17:00 and 18:00 went well, 20:00 and 21:00 failed.
    expect(await told('shaky')).toHaveLength(2);
    await run('22:00', 'fail');
    expect((await told('shaky')).at(-1)).toBe('failed 1 2026-03-02T22:00Z');
  });
});
