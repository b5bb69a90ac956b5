import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MaintenanceDefinition } from '../../src/core/maintenance.ts';
import { createCatchUp } from '../../src/engine/catch-up.ts';
import { createMaintenance, putRevision } from '../../src/engine/maintenance.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { createFetchText } from '../../src/notify/calendar-feed.ts';
import { loadZones } from '../../src/zones.ts';
import { Alerts, type Hook } from '../support/alerts.ts';
import { channelContext } from '../support/messages.ts';

const zones = loadZones();
let alerts: Alerts;
let hook: Hook;
beforeEach(async () => {
  alerts = await Alerts.start('2026-03-01T00:30:00Z');
  hook = await alerts.hook('team');
});
afterEach(async () => {
  expect(alerts.t.logged).toEqual([]);
  await alerts.drop();
});

const hourly = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip', grace: '10m' };

async function job(slug: string, more: object = {}): Promise<void> {
  const { status, json } = await alerts.t.call('PUT', `/jobs/${slug}`, { ...hourly, ...more });
  expect(status, JSON.stringify(json)).toBeLessThan(202);
}

async function window(slug: string, body: object): Promise<void> {
  const { status, json } = await alerts.t.call('PUT', `/maintenance/${slug}`, body);
  expect(status, JSON.stringify(json)).toBeLessThan(202);
  expect(json.jobs_left).toBe(0);
}

/** `hour state reason note` of the occurrences of a job, oldest first. */
async function ledger(slug: string): Promise<string[]> {
  const { json } = await alerts.t.call('GET', `/jobs/${slug}/occurrences`);
  return json.occurrences
    .map(({ scheduled_for, state, reason, note }: Record<string, string | null>) =>
      [scheduled_for?.slice(11, 16), state, reason, note].filter((one) => one !== null && one !== '').join(' '),
    )
    .reverse();
}

const night = { from: '2026-03-01T02:00:00Z', until: '2026-03-01T04:00:00Z', name: 'Night', reason: 'new kernel' };
const definition: MaintenanceDefinition = {
  name: 'Night',
  reason: 'new kernel',
  jobs: null,
  tags: null,
  when: { kind: 'once', from: Date.parse(night.from), until: Date.parse(night.until) },
};
const skipped = /skipped maintenance Night: new kernel \(api key test…\)$/;

describe('in a window', () => {
  test('what nobody runs is skipped at its deadline and nobody is called; what runs is what it is', async () => {
    await job('silent');
    await job('runs');
    await window('night', night);
    await alerts.at('2026-03-01T01:01:00Z');
    for (const slug of ['silent', 'runs']) await alerts.t.ping(slug, 'success');
    await alerts.at('2026-03-01T02:01:00Z');
    await alerts.t.ping('runs', 'success');
    await alerts.at('2026-03-01T02:09:50Z');
    expect(await ledger('silent')).toEqual(['01:00 on_time', '02:00 expected']);
    await alerts.at('2026-03-01T02:10:00Z');
    await alerts.at('2026-03-01T03:01:00Z');
    await alerts.t.ping('runs', 'fail', { exitCode: 1 });
    await alerts.at('2026-03-01T03:10:00Z');
    expect(await ledger('silent')).toEqual([
      '01:00 on_time',
      expect.stringMatching(skipped),
      expect.stringMatching(skipped),
    ]);
    expect(await ledger('runs')).toEqual(['01:00 on_time', '02:00 on_time', '03:00 failed']);
    // That it failed is withheld until the window ends; what is due at its very end is outside.
    expect(hook.told()).toEqual([]);
    await alerts.at('2026-03-01T04:00:00Z');
    expect(hook.told()).toEqual(['opened runs failed']);
    await alerts.at('2026-03-01T04:10:00Z');
    expect(hook.told().slice(1).sort()).toEqual(['opened runs missing', 'opened silent missing']);
  });

  test('is only who is named, by slug or tag', async () => {
    await job('named');
    await job('tagged', { tags: ['db'] });
    await job('other', { tags: ['web'] });
    await window('night', { ...night, jobs: ['named'], tags: ['db'] });
    await alerts.at('2026-03-01T01:01:00Z');
    for (const slug of ['named', 'tagged', 'other']) await alerts.t.ping(slug, 'success');
    await alerts.at('2026-03-01T02:10:00Z');
    expect(hook.told()).toEqual(['opened other missing']);
    for (const slug of ['named', 'tagged']) expect((await ledger(slug)).at(-1)).toMatch(skipped);
  });

  test('holidays skip with their name', async () => {
    await job('office', { schedules: [{ cron: '0 9 * * 1-5' }], zone: 'Europe/Berlin' });
    const text = ['BEGIN:VCALENDAR', 'BEGIN:VEVENT', 'UID:a', 'DTSTART;VALUE=DATE:20260302', 'SUMMARY:Founders day'];
    const ics = [...text, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
    await window('holidays', { ics, zone: 'Europe/Berlin', reason: 'the office is closed' });
    await alerts.at('2026-03-02T08:10:00Z');
    expect(await ledger('office')).toEqual(['08:00 skipped calendar Founders day']);
    await alerts.at('2026-03-03T08:10:00Z');
    expect(hook.told()).toEqual(['opened office missing']);
  });

  test('a problem told before is not told again at its end (ALR-017), and what was due before is told at its end', async () => {
    await job('old');
    await alerts.at('2026-03-01T01:10:00Z');
    expect(hook.told()).toEqual(['opened old missing']);
    await job('before', { schedules: [{ cron: '55 1 * * *' }] });
    await alerts.at('2026-03-01T01:58:00Z');
    await window('night', night);
    await alerts.at('2026-03-01T02:05:00Z');
    expect((await ledger('before')).at(-1)).toMatch(/^01:55 (overdue|missed)$/);
    await alerts.at('2026-03-01T03:30:00Z');
    expect(hook.told()).toEqual(['opened old missing']);
    await alerts.at('2026-03-01T04:00:00Z');
    expect(hook.told()).toEqual(['opened old missing', 'opened before missing']);
  });

  test('ended early, what was due until then stays in it, and what is due later is expected again', async () => {
    await job('job');
    await window('night', night);
    await alerts.at('2026-03-01T01:01:00Z');
    await alerts.t.ping('job', 'success');
    await alerts.at('2026-03-01T02:05:00Z');
    expect((await alerts.t.call('DELETE', '/maintenance/night')).status).toBe(204);
    await alerts.at('2026-03-01T03:10:00Z');
    expect(await ledger('job')).toEqual(['01:00 on_time', expect.stringMatching(skipped), '03:00 overdue']);
    expect(hook.told()).toEqual(['opened job missing']);
  });

  test('the next deploy under the same name takes nothing back of the last one, whose deadlines are still to come', async () => {
    await job('silent');
    await window('deploy', { from: '2026-03-01T00:50:00Z', until: '2026-03-01T01:05:00Z' });
    await alerts.at('2026-03-01T01:06:00Z');
    await window('deploy', { from: '2026-03-02T00:50:00Z', until: '2026-03-02T01:05:00Z' });
    await alerts.at('2026-03-01T01:10:00Z');
    expect(await ledger('silent')).toEqual([expect.stringMatching(/^01:00 skipped maintenance deploy/)]);
    expect(hook.told()).toEqual([]);
  });
});

describe('after the fact', () => {
  test('what was silent in the window is skipped, with who and why, and its incident is over', async () => {
    await job('job', { missed_runs: 'catch_up' });
    await alerts.at('2026-03-01T01:01:00Z');
    await alerts.t.ping('job', 'success');
    await alerts.at('2026-03-01T02:10:00Z');
    await alerts.at('2026-03-01T03:10:00Z');
    expect(hook.told()).toEqual(['opened job missing']);
    expect(await ledger('job')).toEqual(['01:00 on_time', '02:00 overdue', '03:00 overdue']);
    await window('night', night);
    expect(await ledger('job')).toEqual([
      '01:00 on_time',
      expect.stringMatching(skipped),
      expect.stringMatching(skipped),
    ]);
    expect((await alerts.t.call('GET', '/incidents?state=open')).json.incidents).toEqual([]);
    expect((await alerts.t.call('GET', '/jobs/job/owed')).json.owed).toEqual([]);
  });

  test('also what is settled as missed, however many; what ran, failed or lies outside stays', async () => {
    await job('minutely', { schedules: [{ cron: '* * * * *' }], grace: '10s' });
    await job('failed');
    await job('begun', { missed_runs: 'catch_up' });
    await alerts.at('2026-03-01T02:01:00Z');
    await alerts.t.ping('failed', 'fail', { exitCode: 1 });
    await alerts.t.ping('begun', 'start');
    await alerts.at('2026-03-01T05:00:30Z');
    const count = async (state: string) =>
      (await alerts.t.call('GET', `/jobs/minutely/occurrences?state=${state}&limit=500`)).json.occurrences.length;
    const before = await count('missed');
    await window('night', night);
    expect([await count('skipped'), await count('missed')]).toEqual([120, before - 120]);
    expect((await ledger('failed'))[1]).toMatch(/^02:00 failed/);
    expect((await ledger('begun'))[1]).toMatch(/^02:00 overdue/);
  });

  test('a window made longer reaches what has been missed meanwhile', async () => {
    await job('job');
    await window('night', { ...night, until: '2026-03-01T02:30:00Z' });
    await alerts.at('2026-03-01T03:10:00Z');
    expect((await ledger('job')).slice(1)).toEqual([expect.stringMatching(skipped), '03:00 overdue']);
    await window('night', night);
    expect((await ledger('job')).slice(1)).toEqual([expect.stringMatching(skipped), expect.stringMatching(skipped)]);
  });

  test('a calendar reaches a month back, and not a year', async () => {
    await job('daily', { schedules: [{ cron: '0 12 * * *' }] });
    for (const day of ['2026-03-02', '2026-03-31', '2026-04-20']) await alerts.at(`${day}T13:00:00Z`);
    await window('always', { cron: '0 0 * * *', zone: 'UTC', duration: '1d' });
    const { json } = await alerts.t.call('GET', '/jobs/daily/occurrences?limit=500');
    const states = json.occurrences.map(({ state }: { state: string }) => state);
    expect(states.filter((state: string) => state === 'skipped')).toHaveLength(31);
    expect(states.slice(31).every((state: string) => state === 'missed')).toBe(true);
  });

  test('what takes long is answered with the jobs that are left, and done by the next round', async () => {
    const slugs = Array.from({ length: 10 }, (_, i) => `job-${i}`);
    for (const slug of slugs) await job(slug);
    await alerts.at('2026-03-01T02:10:00Z');
    const versions = createVersionCache(zones);
    const { database, projectId } = alerts.t;
    const deps = { database, versions, zones, settleMs: 600_000 };
    let looks = 0;
    const maintenance = createMaintenance({
      ...deps,
      clock: { monotonic: () => ++looks * 3000, sleep: () => Promise.resolve() },
      log: createLog('silent'),
      catchUp: createCatchUp(deps),
      fetchText: createFetchText(channelContext()),
    });
    const who = { projectId, slug: 'night', actor: 'api key test…' };
    const { jobsLeft } = await maintenance.put(who, () => definition);
    expect(jobsLeft).toBe(2);
    const states = async () => {
      const lists = await Promise.all(slugs.map(ledger));
      return lists.map((list) => list[1]?.split(' ')[1]);
    };
    expect((await states()).filter((state) => state === 'skipped')).toHaveLength(8);
    expect((await alerts.t.call('GET', '/maintenance/night')).json.jobs_left).toBe(2);
    expect(await maintenance.applyPending()).toBe(1);
    expect((await states()).every((state) => state === 'skipped')).toBe(true);
    expect(await maintenance.applyPending()).toBe(0);
  });

  test('what a dead process left undone is done by the next round', async () => {
    await job('job');
    await alerts.at('2026-03-01T02:10:00Z');
    // The revision is committed, and then nothing more happens here.
    const who = { projectId: alerts.t.projectId, slug: 'night', actor: 'api key test…' };
    await alerts.t.database.transaction((tx) => putRevision(tx, who, () => definition));
    const shown = async () => (await alerts.t.call('GET', '/maintenance/night')).json.jobs_left;
    expect([(await ledger('job'))[1], await shown()]).toEqual(['02:00 overdue', 1]);
    await alerts.t.round();
    expect([(await ledger('job'))[1], await shown()]).toEqual([expect.stringMatching(skipped), 0]);
  });
});
