import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Report } from '../../src/core/report.ts';
import { createCatchUp } from '../../src/engine/catch-up.ts';
import { createReports, type Reports, type ReportsDeps } from '../../src/engine/reports.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import type { Database, Tx } from '../../src/store/database.ts';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

const zones = loadZones();
let t: TestApi;
let logged: string[];
beforeEach(async () => {
  logged = [];
  t = await startApi('2026-10-28T12:00:00Z');
  await t.call('PUT', '/channels/boss', { kind: 'email', to: 'boss@example.org' });
  await t.call('PUT', '/channels/team', { kind: 'email', to: 'team@example.org' });
  await t.call('PUT', '/reports/weekly', { every: 'week', zone: 'Europe/Berlin', channels: ['boss', 'team'] });
  const schedules = [{ cron: '30 2 * * *' }];
  await t.call('PUT', '/jobs/nightly', { schedules, zone: 'Europe/Berlin', missed_runs: 'skip', useful_for: '1h' });
});
afterEach(() => t.drop());

/** The loop as one replica runs it. */
function replica(database: Database = t.database): Reports {
  const note = (fields: object, message?: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const deps: ReportsDeps = {
    database,
    zones,
    clock: { monotonic: () => 0, sleep: () => Promise.resolve() },
    settleMs: 600_000,
    catchUp: createCatchUp({ database, versions: createVersionCache(zones), settleMs: 600_000 }),
    log: { info: () => undefined, warn: note, error: note },
  };
  return createReports(deps);
}

type Sent = { readonly channel: string; readonly text: string; readonly report: Report };

/** What the outbox holds, oldest first. */
const outbox = (): Promise<readonly Sent[]> =>
  t.database.transaction(
    (tx) => tx.sql<Sent[]>`
      select c.slug as channel, o.payload -> 'notice' ->> 'text' as text, o.payload -> 'report' as report
      from outbox o join channels c on c.id = o.channel_id where o.payload ? 'report' order by o.id, c.slug`,
  );
const inShort = async () => (await outbox()).map(({ channel, report }) => `${report.period.name} to ${channel}`);
const sentUntil = async () => (await t.call('GET', '/reports/weekly')).json.sent_until;

describe('a report is sent', () => {
  test('a quarter of an hour after its week, once, to each of its channels', async () => {
    const reports = replica();
    await t.at('2026-11-01T23:14:59Z');
    expect(await reports.tick()).toBe(0);
    await t.at('2026-11-01T23:15:00Z');
    expect(await reports.tick()).toBe(1);
    expect(await reports.tick()).toBe(0);
    expect(await inShort()).toEqual(['2026-W44 to boss', '2026-W44 to team']);
    expect(await sentUntil()).toBe('2026-11-01T23:00:00Z');
    const [first] = await outbox();
    // The four nights since the job was made, with nobody there; nothing had to tick before.
    expect(first?.text).toBe('default, week 44 of 2026 (26 October to 1 November): 0.0 % on time (0 of 4)');
    expect(first?.report).toMatchObject({
      as_of: '2026-11-01T23:15:00Z',
      occurrences: { due: 4, missed: 4 },
      before: { name: '2026-W43', occurrences: null },
      unreported: null,
      worst_jobs: [{ job: 'nightly', since: '2026-10-28T12:00:00Z' }],
    });
    await t.at('2026-11-08T23:20:00Z');
    expect(await reports.tick()).toBe(1);
    expect((await inShort()).slice(2)).toEqual(['2026-W45 to boss', '2026-W45 to team']);
  });

  test('by one replica of two that look at the same moment', async () => {
    await t.at('2026-11-01T23:30:00Z');
    const made = await Promise.all([replica().tick(), replica().tick(), replica().tick()]);
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(await inShort()).toEqual(['2026-W44 to boss', '2026-W44 to team']);
  });

  test.each(['insert into notices', 'insert into outbox', 'update reports'])(
    'once, when a replica dies at "%s" and another one goes on',
    async (where) => {
      await t.at('2026-11-01T23:30:00Z');
      expect(await replica(dyingAt(where)).tick()).toBe(0);
      expect(logged.join()).toContain('a report could not be made');
      expect([await inShort(), await sentUntil()]).toEqual([[], '2026-10-25T23:00:00Z']);
      expect(await replica().tick()).toBe(1);
      expect(await inShort()).toEqual(['2026-W44 to boss', '2026-W44 to team']);
    },
  );

  test('of the newest week only after five weeks down, and says which were not', async () => {
    await t.at('2026-12-03T08:00:00Z');
    expect(await replica().tick()).toBe(1);
    expect(await inShort()).toEqual(['2026-W48 to boss', '2026-W48 to team']);
    const [first] = await outbox();
    expect(first?.report.unreported).toEqual({ count: 4, first: '2026-W44', last: '2026-W47' });
    expect(await sentUntil()).toBe('2026-11-29T23:00:00Z');
  });

  test('not while it is unknown what was heard: after a blind window its runs are settled first', async () => {
    await t.at('2026-11-01T23:30:00Z');
    await t.database.transaction(
      (tx) =>
        tx.sql`insert into blind_windows (after, until, kind) values (${'2026-11-01T20:00:00Z'}, ${'2026-11-01T23:20:00Z'}, 'blind')`,
    );
    expect(await replica().tick()).toBe(0);
    await t.at('2026-11-01T23:35:00Z');
    expect(await replica().tick()).toBe(1);
  });

  test('not before ingest has heard everything up to then', async () => {
    await t.at('2026-11-01T23:14:50Z');
    t.clock.set('2026-11-01T23:15:01Z');
    expect(await replica().tick()).toBe(0);
    t.clock.set('2026-11-02T00:15:00Z');
    expect(await replica().tick()).toBe(0);
    await t.at('2026-11-02T00:15:00Z');
    expect(await replica().tick()).toBe(1);
  });

  test('to e-mail channels only, even if one has become something else; nobody left is logged', async () => {
    await t.call('PUT', '/channels/team', { kind: 'ntfy', topic: 'a-name-nobody-guesses' });
    await t.at('2026-11-01T23:15:00Z');
    expect(await replica().tick()).toBe(1);
    expect(await inShort()).toEqual(['2026-W44 to boss']);
    await t.call('DELETE', '/channels/boss');
    await t.at('2026-11-08T23:15:00Z');
    expect(await replica().tick()).toBe(1);
    expect(logged).toEqual([expect.stringContaining('no e-mail channel left')]);
    expect(await sentUntil()).toBe('2026-11-08T23:00:00Z');
  });

  test('one that cannot be made holds up no other, and stays due', async () => {
    await t.call('PUT', '/reports/broken', { every: 'week', zone: 'UTC', channels: ['boss'] });
    await t.database.transaction(
      (tx) => tx.sql`update reports set definition = definition - 'channels' where slug = 'broken'`,
    );
    await t.call('PUT', '/reports/last', { every: 'week', zone: 'UTC', channels: ['boss'] });
    await t.at('2026-11-02T00:15:00Z');
    expect(await replica().tick()).toBe(2);
    expect((await inShort()).filter((line) => line.endsWith('boss'))).toEqual(['2026-W44 to boss', '2026-W44 to boss']);
    expect(logged).toEqual([expect.stringContaining('"report":"broken"')]);
    const [broken] = await t.database.transaction(
      (tx) => tx.sql<{ until: number }[]>`select sent_until as until from reports where slug = 'broken'`,
    );
    expect(broken?.until).toBe(Date.parse('2026-10-26T00:00:00Z'));
  });
});

test('a clock that went back: weeks that come after all are reported', async () => {
  await t.at('2026-12-06T23:15:00Z');
  expect(await replica().tick()).toBe(1);
  await t.at('2026-11-04T12:00:00Z');
  expect(await replica().tick()).toBe(0);
  expect(await sentUntil()).toBe('2026-11-01T23:00:00Z');
  await t.at('2026-11-08T23:15:00Z');
  expect(await replica().tick()).toBe(1);
  expect((await inShort()).slice(2)).toEqual(['2026-W45 to boss', '2026-W45 to team']);
});

test('changed to months it waits for the month in course; other channels change nothing of what is due', async () => {
  await t.at('2026-11-10T12:00:00Z');
  await t.call('PUT', '/reports/weekly', { every: 'week', zone: 'Europe/Berlin', channels: ['boss'] });
  expect(await sentUntil()).toBe('2026-10-25T23:00:00Z');
  await t.call('PUT', '/reports/weekly', { every: 'month', zone: 'Europe/Berlin', channels: ['boss'] });
  expect(await sentUntil()).toBe('2026-10-31T23:00:00Z');
  expect(await replica().tick()).toBe(0);
  await t.at('2026-11-30T23:15:00Z');
  expect(await replica().tick()).toBe(1);
  expect(await inShort()).toEqual(['2026-11 to boss']);
});

test('send: the newest week now, as often as somebody asks; what is due by itself still comes', async () => {
  await t.at('2026-11-02T12:00:00Z');
  const sent = await t.call('POST', '/reports/weekly/send');
  expect(sent).toMatchObject({ status: 202, json: { period: '2026-W44', channels: ['boss', 'team'] } });
  await t.at('2026-11-02T12:00:01Z');
  await t.call('POST', '/reports/weekly/send');
  expect(await inShort()).toHaveLength(4);
  expect(await sentUntil()).toBe('2026-10-25T23:00:00Z');
  expect(await replica().tick()).toBe(1);
  expect(await inShort()).toHaveLength(6);
});

/** The database as a process sees it whose end comes with this statement. */
function dyingAt(where: string): Database {
  return {
    ...t.database,
    transaction: (run, options) =>
      t.database.transaction((tx) => {
        const sql = new Proxy(tx.sql, {
          apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
            const text = Array.isArray(args[0]) ? args[0].join('?') : '';
            if (text.includes(where)) throw new Error('killed');
            return Reflect.apply(target, self, args);
          },
        });
        return run({ ...tx, sql } satisfies Tx);
      }, options),
  };
}
