import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StatusSite, startStatusSite, wordsOf } from './status-site.ts';

// A heartbeat of a day that ran and then failed, read twelve minutes later: neither is due before tomorrow.

let t: StatusSite;
beforeAll(async () => {
  t = await startStatusSite('2026-11-30T21:40:00Z');
  await t.call('PUT', '/jobs/backup', { zone: 'UTC', schedules: [{ heartbeat: '1d' }], grace: '1h' });
  const page = {
    title: 'Acme',
    text: '',
    zone: 'UTC',
    groups: [{ name: 'All', jobs: [{ job: 'backup', name: 'B' }] }],
  };
  expect((await t.call('PUT', '/status-pages/acme', page)).status).toBe(201);
  await t.at('2026-11-30T21:45:15Z');
  await t.ping('backup', 'success');
  await t.at('2026-11-30T21:46:10Z');
  await t.ping('backup', 'fail');
  await t.at('2026-11-30T21:58:10Z');
  await t.tick();
});
afterAll(() => t.drop());

test('what a heartbeat did counts although it is due later', async () => {
  const { groups } = JSON.parse((await t.open('/status/acme/status.json')).text);
  const [job] = groups[0].jobs;
  const share = { share: 0.5, on_time: 1, counted: 2, skipped: 0, unknown: 0 };
  expect(job.on_time).toEqual({ '7d': share, '30d': share, '90d': share });
  expect(job.last_success_at).toMatch(/^2026-11-30T21:45:15(\.000)?Z$/);
  expect(wordsOf((await t.open('/status/acme')).text)).toContain('50 %');
});
