import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../web/api/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi('2026-03-01T00:00:30Z');
});
afterAll(() => api.drop());

const minutely = { schedules: [{ cron: '* * * * *' }], zone: 'UTC', grace: '30s' };
/** Two days of a minutely job: more than one transaction takes. */
const DUE = 2880;

const rows = async (text: string) => {
  const found = await api.database.transaction((tx) => tx.sql.unsafe(text));
  return found.map((row) => ({ ...row }));
};
const count = async (slug: string, where: string) => {
  const [row] = await rows(
    `select count(*) as n from occurrences o join jobs j on j.id = o.job_id where j.slug = '${slug}' and ${where}`,
  );
  return row?.['n'];
};
const decide = (decision: string) => api.call('POST', '/jobs/catch_up/backlog', { decision });

describe('jobs that nobody ran for thousands of occurrences, while the evaluator was down', () => {
  test('have every instant in the ledger, each with the end of its policy, and one event of each kind of trouble', async () => {
    await api.call('PUT', '/channels/mail', { kind: 'email', to: 'ops@example.org' });
    for (const policy of ['catch_up', 'coalesce', 'skip']) {
      await api.call('PUT', `/jobs/${policy}`, { ...minutely, missed_runs: policy });
    }
    await api.at('2026-03-03T00:00:40Z');
    await api.tick();

    expect(await count('catch_up', `state = 'overdue' and wanted`)).toBe(DUE);
    expect(await count('coalesce', `state = 'coalesced'`)).toBe(DUE - 1);
    expect(await count('coalesce', `state = 'overdue' and wanted`)).toBe(1);
    expect(await count('skip', `state = 'missed'`)).toBe(DUE - 1);
    for (const policy of ['catch_up', 'coalesce', 'skip']) expect(await count(policy, 'true')).toBe(DUE);
    const told = await rows(`
      select j.slug, i.kind, b.event from outbox b join incidents i on i.id = b.incident_id join jobs j on j.id = i.job_id
      order by j.slug, i.kind, b.event`);
    expect(told).toEqual([
      { slug: 'catch_up', kind: 'backlog', event: 1 },
      { slug: 'catch_up', kind: 'missing', event: 1 },
      { slug: 'coalesce', kind: 'missing', event: 1 },
      { slug: 'skip', kind: 'missing', event: 1 },
    ]);
  });

  test('list all that counts in the backlog, what was not in memory when it opened included', async () => {
    const { json } = await api.call('GET', '/incidents?state=open&job=catch_up');
    const backlog = json.incidents.find(({ kind }: { kind: string }) => kind === 'backlog');
    expect(backlog).toMatchObject({ opened_at: '2026-03-01T01:41:30Z', occurrence_count: DUE });
    const [listed] = await rows(`select count(*) as n from incident_occurrences where incident_id = ${backlog.id}`);
    expect(listed).toEqual({ n: DUE });
  });

  test('go through a pause and a resume, and still owe all of it, with one backlog anew', async () => {
    expect((await api.call('POST', '/jobs/catch_up/pause')).status).toBe(200);
    expect((await api.call('POST', '/jobs/catch_up/resume')).status).toBe(200);
    expect(await count('catch_up', `state = 'overdue' and wanted`)).toBe(DUE);
    const { json } = await api.call('GET', '/incidents?state=open&job=catch_up');
    const open = json.incidents.map((i: { kind: string; occurrence_count: number }) => [i.kind, i.occurrence_count]);
    expect(open.sort()).toEqual([
      ['backlog', DUE],
      ['missing', DUE],
    ]);
  });

  test('hand out nothing until a person says run, and the oldest first then', async () => {
    const claim = (rid: string) => api.call('POST', '/jobs/catch_up/claims', { rid });
    expect((await claim('00000000-0000-4000-8000-0000000000a1')).json.type).toBe('/problems/backlog');
    expect((await decide('run')).json).toMatchObject({ decision: 'run', count: DUE });
    const given = await claim('00000000-0000-4000-8000-0000000000a2');
    expect([given.status, given.json.key]).toEqual([201, '2026-03-01T00:01Z']);
  });

  test('skip all of it but what is in a runner’s hands when a person says skip, thousands at once', async () => {
    expect((await decide('skip')).json).toMatchObject({ decision: 'skip', count: DUE - 1 });
    expect(await count('catch_up', `state = 'skipped' and reason = 'operator'`)).toBe(DUE - 1);
    const { json } = await api.call('GET', '/jobs/catch_up/owed');
    expect(json.owed).toEqual([]);
    await api.at('2026-03-03T00:02:10Z');
    const after = await api.call('GET', '/jobs/catch_up/owed');
    expect(after.json.owed.map(({ key }: { key: string }) => key)).toEqual(['2026-03-01T00:01Z', '2026-03-03T00:01Z']);
  });
});
