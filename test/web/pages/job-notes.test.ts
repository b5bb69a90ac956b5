import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutJob } from '../api/api.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-03-01T12:00:00Z');
});
afterAll(() => site.drop());

const page = async (slug: string, path = ''): Promise<string> => {
  const { status, text } = await site.open(`/projects/default/jobs/${slug}${path}`);
  expect(status).toBe(200);
  expect(site.logged).toEqual([]);
  return text;
};

test('a job that was just made says what is next, and how to ping', async () => {
  await site.call('PUT', '/jobs/young', { zone: 'UTC', schedules: [{ cron: '0 13 * * *' }], missed_runs: 'skip' });
  const text = await page('young');
  expect(text).toContain('never so far');
  expect(text).toContain('The next occurrence');
  expect(text).toContain('Nothing was due yet.');
  expect(text).toContain('Nothing to plot yet');
  expect(text).toContain('/projects/default/jobs/young/snippets');
});

test('a heartbeat has one occurrence at a time, and its next ping pays for it', async () => {
  await site.call('PUT', '/jobs/beat', { zone: 'UTC', schedules: [{ heartbeat: '1h' }], grace: '10m' });
  await site.at('2026-03-01T13:30:00Z');
  await site.tick();
  const text = await page('beat');
  expect(text).toContain('Within 1 h of the last run');
  expect(text).toContain('Heartbeat: any run will do.');
  // It opens with the period, not a little before it is due.
  expect(text).toContain('2026-03-01 12:00 UTC');
  const one = await page('beat', '/occurrences/2026-03-01T13:00Z');
  expect(one).toContain('The next ping of this job settles it');
  expect(one).not.toContain('occ=');
});

test('a job that waits for another says for which, and its deadlines count from when that is done', async () => {
  const daily = { zone: 'UTC', schedules: [{ cron: '0 2 * * *' }], missed_runs: 'catch_up', grace: '10m' };
  await site.call('PUT', '/jobs/first', daily);
  await site.call('PUT', '/jobs/second', { ...daily, after: ['first'] });
  await site.at('2026-03-02T03:00:00Z');
  await site.tick();
  expect(await page('second')).toContain('until that is done nobody is called about this one');
  expect(await page('second', '/occurrences/2026-03-02T02:00Z')).toContain('Waits for');
  await site.ping('first', 'success');
  await site.at('2026-03-02T03:05:00Z');
  await site.tick();
  const text = await page('second');
  expect(text).not.toContain('nobody is called about this one');
  // Done at three: grace ends ten minutes later.
  expect(text).toContain('2026-03-02 03:10 UTC');
});

test('maintenance is said, with its end', async () => {
  await site.call('PUT', '/maintenance/upgrade', {
    name: 'Upgrade',
    from: '2026-03-02T03:00:00Z',
    until: '2026-03-02T06:00:00Z',
  });
  const text = await page('first');
  expect(text).toContain('In maintenance');
  expect(text).toContain('/projects/default/maintenance/upgrade');
  expect(text).toContain('2026-03-02 06:00 UTC');
});

test('a job whose stored schedule makes no sense has its pages all the same', async () => {
  await layOutJob(site, 'broken', {
    at: '2026-03-01T00:00:00Z',
    nextUnrecorded: '2026-03-01T01:00:00Z',
    schedules: [{ cron: '61 * * * *' }],
  });
  for (const path of ['', '/occurrences', '/pings', '/snippets', '/delete']) await page('broken', path);
});

test('in a blind window nothing is claimed: what nobody could hear is unknown, and a person may settle it', async () => {
  await site.call('PUT', '/jobs/quiet', { zone: 'UTC', schedules: [{ cron: '0 8 * * *' }], missed_runs: 'catch_up' });
  const id = await site.database.transaction(async (tx) => {
    const [job] = await tx.sql<{ id: number }[]>`select id from jobs where slug = 'quiet'`;
    await tx.sql`
      insert into occurrences (job_id, scheduled_for, version, state, reason, settled_at)
      values (${job?.id ?? 0}, '2026-03-02T08:00:00Z', 1, 'unknown', 'blind_window', '2026-03-02T08:20:00Z')`;
    await tx.sql`update cursors set next_unrecorded = '2026-03-03T08:00:00Z' where job_id = ${job?.id ?? 0}`;
    return job?.id;
  });
  expect(id).toBeGreaterThan(0);
  await site.at('2026-03-02T09:00:00Z');
  const text = await page('quiet');
  expect(text).toContain('Of what is unknown nobody can say whether it ran');
  // Here run does change something.
  expect(text).toContain('Run all');
  expect(await page('quiet', '/occurrences/2026-03-02T08:00Z')).toContain('Rollcall itself could not hear');
});
