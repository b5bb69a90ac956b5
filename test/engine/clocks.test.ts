import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addKey, hashKey } from '../../src/store/keys.ts';
import { type ClockStory, startStory } from '../support/clock-story.ts';

let story: ClockStory;
afterEach(() => story.stop());

const begin = (at: string) =>
  beforeEach(async () => {
    story = await startStory(at);
  });

const every10 = { schedules: [{ cron: '*/10 * * * *' }], grace: '2m' };
const hourly = { schedules: [{ cron: '0 * * * *' }], grace: '5m' };

describe('the clock jumps an hour ahead', () => {
  begin('2026-03-02T12:00:30Z');

  test('because the machine slept: what was due meanwhile is unknown, told once, and nothing is missing', async () => {
    await story.put('often', every10);
    await story.live(30);
    await story.jumpTo('2026-03-02T13:01:00Z');
    expect(await story.windows()).toEqual(['2026-03-02T12:01:00 2026-03-02T13:01:00 blind skipped']);
    await story.live(8 * 60, { 2: () => story.ping('often', 'success') });
    expect(await story.incidents()).toEqual([]);
    await story.live(3 * 60, { 122: () => story.ping('often', 'success') });
    expect(await story.states('often')).toEqual([
      '2026-03-02T12:10Z unknown',
      '2026-03-02T12:20Z unknown',
      '2026-03-02T12:30Z unknown',
      '2026-03-02T12:40Z unknown',
      '2026-03-02T12:50Z unknown',
      '2026-03-02T13:00Z on_time',
      '2026-03-02T13:10Z on_time',
    ]);
    expect(await story.incidents()).toEqual([]);
    expect(await story.notices('unknown')).toHaveLength(1);
    expect(await story.notices('operator')).toEqual([
      expect.stringContaining('skipped from 2026-03-02T12:01:00Z to 2026-03-02T13:01:00'),
    ]);
    // It goes on judging by itself.
    await story.live(11 * 60);
    expect(await story.incidents()).toEqual(['often missing open']);
    const { checks } = await story.health();
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'database_clock', detail: expect.stringContaining('skipped') }),
    );
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'blind_windows', detail: expect.stringContaining('(skipped)') }),
    );
    expect(story.logged.join('')).toContain('the clock skipped time');
  });

  test('and is set right after five minutes: the hour is lived after all', async () => {
    await story.put('often', every10);
    await story.put('beat', { schedules: [{ heartbeat: '15m' }], missed_runs: undefined, grace: '1m' });
    await story.put('minute', { schedules: [{ cron: '* * * * *' }], missed_runs: 'coalesce', grace: '30s' });
    await story.live(30);
    await story.jumpTo('2026-03-02T13:01:00Z');
    await story.live(5 * 60, {
      10: () => story.ping('often', 'success', { body: new TextEncoder().encode('false hour') }),
      20: () => story.ping('beat', 'success'),
      65: () => story.ping('minute', 'success'),
      125: () => story.ping('minute', 'success'),
      245: () => story.ping('minute', 'fail'),
    });
    await story.jumpTo('2026-03-02T12:06:00Z');
    expect(await story.windows()).toEqual([
      '2026-03-02T12:01:00 2026-03-02T12:06:00 blind skipped',
      '2026-03-02T13:01:00 2026-03-02T13:06:00 blind repeated',
    ]);
    await story.live(5 * 60, { 246: () => story.ping('often', 'success') });
    // What came in the false hour counts for when it came; the failure was told then, and is not told again.
    expect((await story.states('minute')).slice(0, 5)).toEqual([
      '2026-03-02T12:01Z coalesced',
      '2026-03-02T12:02Z on_time',
      '2026-03-02T12:03Z on_time',
      '2026-03-02T12:04Z expected',
      '2026-03-02T12:05Z expected',
    ]);
    // A miss and the failure were told in the false hour, and are not told twice; from then on it did not run.
    expect((await story.incidents()).filter((name) => name.startsWith('minute'))).toEqual([
      'minute missing ended',
      'minute failed ended',
      'minute missing open',
    ]);
    await story.api.call('POST', '/jobs/minute/pause');
    // 12:00 was due before the job was made; its ping is off schedule or belongs to nothing that is false.
    expect(await story.states('often')).toEqual(['2026-03-02T12:10Z on_time']);
    // 12:20 does not run, and that is told in time; so is the heartbeat, which began anew at 12:06.
    await story.live(12 * 60);
    const others = (await story.incidents()).filter((name) => !name.startsWith('minute'));
    expect(others).toEqual(['often missing open', 'beat missing open']);
    await story.live(12 * 60, { 480: () => story.ping('often', 'success') });
    expect(await story.incidents()).toContain('often missing ended');
    expect((await story.incidents()).filter((name) => name.includes('duplicate'))).toEqual([]);
  }, 60_000);
});

describe('the clock goes back an hour', () => {
  begin('2026-03-01T00:00:00Z');

  test('over runs, a miss, an edit and a pause: nothing fires twice, and nothing waits for the old future', async () => {
    await story.api.at('2026-03-02T11:58:00Z');
    await story.look();
    await story.put('ran', hourly);
    await story.put('missed', { ...every10, missed_runs: 'coalesce' });
    await story.put('beat', { schedules: [{ heartbeat: '20m' }], missed_runs: undefined, grace: '1m' });
    await story.live(10 * 60, { 140: () => story.ping('ran', 'success') });
    await story.put('edited', { schedules: [{ cron: '59 23 * * *' }] });
    await story.put('edited', { schedules: [{ cron: '15 * * * *' }], grace: '2m' });
    await story.put('paused', hourly);
    await story.api.call('POST', '/jobs/paused/pause');
    await story.live(60, { 2: () => story.ping('beat', 'success') });
    expect(await story.incidents()).toEqual(['missed missing open']);
    await story.send();
    expect(story.messages()).toHaveLength(1);

    await story.jumpTo('2026-03-02T11:10:00Z');
    expect(await story.windows()).toEqual([
      expect.stringMatching(/^2026-03-02T11:10:00 2026-03-02T12:09:0\d blind repeated$/),
    ]);
    // The second pass: 12:00 runs once more, as crontabs do when they follow the clock.
    await story.live(51 * 60, { 3020: () => story.ping('ran', 'success', { userAgent: 'again' }) });
    await story.send();
    expect(await story.states('ran')).toEqual(['2026-03-02T12:00Z on_time']);
    expect(await story.incidents()).toEqual(['missed missing open']);
    // The edited job was due at 11:15 under the schedules in force now; that stretch is not trusted.
    expect(await story.states('edited')).toEqual(['2026-03-02T11:15Z expected']);
    await story.live(25 * 60);
    expect((await story.states('edited')).slice(0, 1)).toEqual(['2026-03-02T11:15Z unknown']);
    expect(await story.incidents()).toEqual(['missed missing open', 'edited missing open']);
    const { json } = await story.api.call('GET', '/jobs/paused');
    expect(json.paused).toBe(true);
    await story.send();
    const kinds = story
      .messages()
      .flatMap(({ events, notice }) => [
        ...(notice ? [notice.kind] : []),
        ...(events ?? []).map((event: { type: string; incident?: { kind: string }; notice?: { kind: string } }) =>
          event.type === 'notice' ? event.notice?.kind : `${event.type} ${event.incident?.kind}`,
        ),
      ]);
    expect(kinds.filter((kind) => kind === 'incident.opened missing')).toHaveLength(2);
    expect(kinds.filter((kind) => String(kind).includes('duplicate'))).toEqual([]);
    expect((await story.notices('operator')).join()).toContain('went back from 2026-03-02T12:09:0');
    // The heartbeat goes on from now, not from the anchor of 12:08.
    const beat = await story.states('beat');
    expect(beat.length).toBeGreaterThan(0);
  }, 120_000);
});

describe('the clock goes back 30 seconds', () => {
  begin('2026-03-02T12:00:00Z');

  test('no run is doubled, none is lost, and messages that wait are sent in time', async () => {
    const everyMinute = (first: number, until: number) => {
      const seconds = Array.from({ length: Math.ceil((until - first) / 60) }, (_, i) => first + 60 * i);
      return Object.fromEntries(seconds.map((second) => [second, () => story.ping('minute', 'success')]));
    };
    await story.put('minute', { schedules: [{ cron: '* * * * *' }], grace: '20s' });
    await story.live(190, everyMinute(4, 190));
    await story.put('silent', { schedules: [{ every: '10s' }], grace: '2s' });
    await story.live(14);
    expect(await story.incidents()).toEqual(['silent missing open']);
    await story.jumpTo('2026-03-02T12:02:54Z');
    await story.live(6);
    await story.send();
    expect(story.messages()).toHaveLength(1);
    await story.live(200, everyMinute(4, 200));
    expect((await story.states('minute')).filter((state) => !state.endsWith('on_time'))).toEqual([]);
    expect((await story.incidents()).filter((name) => name.startsWith('minute'))).toEqual([]);
    expect((await story.incidents()).filter((name) => name === 'silent missing open')).toHaveLength(1);
  }, 60_000);
});

describe('a boot in 2098', () => {
  begin('2026-03-02T12:00:00Z');

  test('corrected after a minute: pings of that minute are applied, edits refused, and all goes on', async () => {
    await story.put('job', { ...every10, missed_runs: 'catch_up' });
    await story.put('spooled', { ...every10, missed_runs: 'catch_up' });
    await story.live(10);
    story.dead(9 * 60 + 50);
    await story.jumpTo('2098-06-01T00:00:00Z');
    await story.live(30);
    expect(await story.ping('job', 'success')).toMatchObject({ outcome: 'accepted', matchedBy: 'deferred' });
    expect(await story.ping('spooled', 'success', { at: '2026-03-02T12:10:20Z' })).toMatchObject({
      matchedBy: 'deferred',
    });
    await story.database.transaction((tx) => addKey(tx, story.projectId, 'ping', 'a-ping-key-0123456789'));
    const pingKeyHash = hashKey('a-ping-key-0123456789');
    await expect(story.ping('', 'success', { target: { pingKeyHash, slug: 'new-one', create: true } })).rejects.toThrow(
      'more than 400 days after the last sign of life',
    );
    expect(await story.ping('', 'log', { target: { pingKeyHash, slug: 'spooled', create: true } })).toMatchObject({
      matchedBy: 'deferred',
    });
    const edit = await story.api.call('PUT', '/jobs/job', { ...hourly, zone: 'UTC', missed_runs: 'skip' });
    expect([edit.status, edit.json.type]).toEqual([503, '/problems/clock_in_doubt']);
    expect(edit.json.detail).toContain('more than 400 days after the last sign of life (2026-03-02T12:00:1');
    expect((await story.api.call('GET', '/jobs')).status).toBe(200);
    const health = await story.health();
    expect(health.status).toBe('failing');
    expect(health.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['horizon', 'database_clock']),
    );
    await story.live(30);
    await story.send();
    expect(JSON.stringify(story.messages())).toContain('Rollcall does not believe its clock');
    expect(await story.windows()).toEqual([]);

    await story.jumpTo('2026-03-02T12:11:01Z');
    await story.live(10);
    expect(await story.matches('job')).toEqual(['current']);
    expect(await story.states('job')).toEqual(['2026-03-02T12:10Z on_time']);
    expect(await story.states('spooled')).toEqual(['2026-03-02T12:10Z on_time']);
    expect(await story.windows()).toEqual([
      expect.stringMatching(/^2026-03-02T12:00:1\d 2026-03-02T12:11:01 blind silent$/),
    ]);
    const pings = await story.api.call('GET', '/jobs/job/pings');
    expect(pings.json.pings[0].received_at).toMatch(/^2026-03-02T12:11:0/);
    await story.live(12 * 60);
    expect((await story.incidents()).sort()).toEqual(['job missing open', 'spooled missing open']);
    expect((await story.health()).status).toBe('ok');
  }, 60_000);

  test('messages that wait do not expire by it', async () => {
    await story.put('job', { schedules: [{ cron: '1 12 * * *' }], grace: '10s' });
    await story.live(71);
    expect(await story.incidents()).toEqual(['job missing open']);
    await story.jumpTo('2098-06-01T00:00:00Z');
    await story.live(10);
    await story.send();
    expect(JSON.stringify(story.messages())).toContain('"kind":"missing"');
    expect(await story.rows(`select 1 from outbox where state in ('expired', 'withheld')`)).toEqual([]);
  });

  test('believed because a person says so', async () => {
    await story.put('job', { schedules: [{ cron: '0 0 1 1 *' }], grace: '2m' });
    await story.live(10);
    await story.jumpTo('2028-01-01T00:01:00Z');
    await story.ping('job', 'success');
    await story.live(20);
    expect(await story.matches('job')).toEqual(['deferred']);
    const trusted = await story.api.call('POST', '/clock/trust');
    expect([trusted.status, trusted.json.heard_until]).toEqual([200, expect.stringMatching(/^2026-03-02T12:00:/)]);
    await story.live(20);
    expect(await story.states('job')).toEqual(['2027-01-01T00:00Z expected', '2028-01-01T00:00Z on_time']);
    expect((await story.api.call('POST', '/clock/trust')).json.heard_until).toBeNull();
    expect((await story.api.call('PUT', '/jobs/job', { ...hourly, zone: 'UTC', missed_runs: 'skip' })).status).toBe(
      200,
    );
    expect(await story.incidents()).toEqual([]);
  }, 60_000);
});

describe('the first start ever, in 2098', () => {
  begin('2098-01-01T00:00:00Z');

  test('what was made there is watched from the correction on', async () => {
    await story.put('cron', every10);
    await story.put('beat', { schedules: [{ heartbeat: '10m' }], missed_runs: undefined, grace: '1m' });
    await story.live(13 * 60, { 20: () => story.ping('beat', 'success') });
    expect((await story.incidents()).sort()).toEqual(['beat missing open', 'cron missing open']);
    await story.jumpTo('2026-03-02T12:00:05Z');
    await story.live(5 * 60);
    expect((await story.incidents()).filter((name) => name.endsWith('open'))).toEqual([]);
    await story.live(3 * 60);
    expect(await story.states('cron')).toEqual([]);
    await story.live(5 * 60);
    expect((await story.incidents()).filter((name) => name.endsWith('open')).sort()).toEqual([
      'beat missing open',
      'cron missing open',
    ]);
    expect(await story.states('cron')).toEqual(['2026-03-02T12:10Z overdue']);
    await story.ping('beat', 'success');
    await story.live(8 * 60, { 420: () => story.ping('cron', 'success') });
    expect((await story.incidents()).filter((name) => name.endsWith('open'))).toEqual([]);
  }, 60_000);
});
