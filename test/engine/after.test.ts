import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from '../web/api/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi('2026-03-01T12:00:00Z');
});
afterAll(() => api.drop());

const daily = (cron: string, more: object = {}) => ({
  schedules: [{ cron }],
  zone: 'UTC',
  missed_runs: 'catch_up',
  grace: '10m',
  ...more,
});
const look = async (at: string) => {
  await api.at(`2026-03-${at}:00Z`);
  await api.tick();
};
const job = async (slug: string) => (await api.call('GET', `/jobs/${slug}`)).json;
const state = async (slug: string, key: string) =>
  (await api.call('GET', `/jobs/${slug}/occurrences/${key}`)).json.state;
const openKinds = async (slug: string) => {
  const { json } = await api.call('GET', `/incidents?state=open&job=${slug}`);
  return json.incidents.map(({ kind }: { kind: string }) => kind);
};

describe('an export that goes after a billing run', () => {
  test('is blocked and quiet while the billing run is missing, and says on what', async () => {
    await api.call('PUT', '/jobs/billing', daily('0 2 * * *'));
    expect((await api.call('PUT', '/jobs/export', daily('0 3 * * *', { after: ['billing'] }))).status).toBe(201);
    await look('02T02:11');
    expect(await openKinds('billing')).toEqual(['missing']);
    await look('02T03:11');
    expect(await openKinds('export')).toEqual([]);
    expect(await job('export')).toMatchObject({
      status: 'blocked',
      blocked_on: [{ job: 'billing', scheduled_for: '2026-03-02T02:00:00Z' }],
    });
    expect(await state('export', '2026-03-02T03:00Z')).toBe('expected');
  });

  test('has its grace anew from the instant at which the billing run is made good', async () => {
    await api.at('2026-03-02T08:00:00Z');
    await api.ping('billing', 'success', { occ: '2026-03-02T02:00Z' });
    await look('02T08:09');
    expect([await openKinds('export'), (await job('export')).status]).toEqual([[], 'new']);
    await look('02T08:11');
    expect(await openKinds('export')).toEqual(['missing']);
    const { json } = await api.call('GET', '/incidents?state=open&job=export');
    expect(json.incidents[0].opened_at).toBe('2026-03-02T08:10:00Z');
  });

  test('is on time within that grace', async () => {
    await api.at('2026-03-02T09:00:00Z');
    await api.ping('export', 'success', { occ: '2026-03-02T03:00Z' });
    expect(await state('export', '2026-03-02T03:00Z')).toBe('late');
    await api.at('2026-03-03T04:00:00Z');
    await api.ping('billing', 'success', { occ: '2026-03-03T02:00Z' });
    await api.at('2026-03-03T04:09:00Z');
    await api.ping('export', 'success');
    expect(await state('export', '2026-03-03T03:00Z')).toBe('on_time');
  });

  test('is judged the same when nobody looked in between', async () => {
    // 4 March: billing at 05:00, nobody looks before 05:11.
    await api.at('2026-03-04T05:00:00Z');
    await api.ping('billing', 'success', { occ: '2026-03-04T02:00Z' });
    await look('04T05:11');
    const { json } = await api.call('GET', '/incidents?state=open&job=export');
    expect(json.incidents[0]).toMatchObject({ kind: 'missing', opened_at: '2026-03-04T05:10:00Z' });
    await api.ping('export', 'success');
  });

  test('waits no longer for one that a person skipped, nor for one that fell into a pause', async () => {
    await api.at('2026-03-05T04:00:00Z');
    await api.call('PATCH', '/jobs/billing/occurrences/2026-03-05T02:00Z', { state: 'skipped', note: 'no invoices' });
    await look('05T04:11');
    expect(await openKinds('export')).toEqual(['missing']);
    await api.ping('export', 'success');
    await api.call('POST', '/jobs/billing/pause');
    await look('06T03:11');
    expect(await openKinds('export')).toEqual(['missing']);
    await api.call('POST', '/jobs/billing/resume');
    await api.ping('export', 'success');
  });

  test('is not held by a job that is gone', async () => {
    await api.at('2026-03-06T12:00:00Z');
    await api.call('DELETE', '/jobs/billing');
    await look('07T03:11');
    expect(await openKinds('export')).toEqual(['missing']);
  });
});

describe('circles', () => {
  test('are refused when they are saved, with the way round', async () => {
    for (const slug of ['a', 'b', 'c']) await api.call('PUT', `/jobs/${slug}`, daily('0 2 * * *'));
    expect((await api.call('PUT', '/jobs/b', daily('0 2 * * *', { after: ['a'] }))).status).toBe(200);
    expect((await api.call('PUT', '/jobs/c', daily('0 2 * * *', { after: ['b'] }))).status).toBe(200);
    const refused = await api.call('PUT', '/jobs/a', daily('0 2 * * *', { after: ['c'] }));
    expect([refused.status, refused.json.errors]).toEqual([
      400,
      [{ path: 'after', message: 'would make a circle: a after c after b after a; take one out' }],
    ]);
    expect((await job('a')).after).toEqual([]);
  });

  test('are not made by two edits at once', async () => {
    for (const slug of ['x', 'y']) await api.call('PUT', `/jobs/${slug}`, daily('0 2 * * *'));
    const answers = await Promise.all([
      api.call('PUT', '/jobs/x', daily('0 2 * * *', { after: ['y'] })),
      api.call('PUT', '/jobs/y', daily('0 2 * * *', { after: ['x'] })),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  });
});
