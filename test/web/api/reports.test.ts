import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-09-01T12:00:00Z');
  await t.call('PUT', '/channels/boss', { kind: 'email', to: 'boss@example.org' });
  await t.call('PUT', '/channels/chat', { kind: 'ntfy', topic: 'a-name-nobody-guesses' });
});
afterAll(() => t.drop());

const monthly = { every: 'month', zone: 'Europe/Berlin', channels: ['boss'] };
const daily = { schedules: [{ cron: '30 2 * * *' }], zone: 'Europe/Berlin', missed_runs: 'skip', useful_for: '6h' };
const preview = async (slug: string, period: string) => {
  const answer = await t.call('GET', `/reports/${slug}/preview?period=${period}`);
  expect(answer.status, JSON.stringify(answer.json)).toBe(200);
  return answer.json;
};

describe('defining a report', () => {
  test('it is created, read back, replaced, listed and deleted', async () => {
    const made = await t.call('PUT', '/reports/months', { ...monthly, tags: ['prod'] });
    expect(made.status).toBe(201);
    expect(made.json).toEqual({
      slug: 'months',
      ...monthly,
      tags: ['prod'],
      created_at: '2026-09-01T12:00:00Z',
      sent_until: '2026-08-31T22:00:00Z',
      next: { period: '2026-09', due_at: '2026-09-30T22:15:00Z' },
      warnings: [],
    });
    expect((await t.call('GET', '/reports/months')).json).toEqual(made.json);
    const replaced = await t.call('PUT', '/reports/months', { ...monthly, every: 'week', tags: null });
    expect(replaced).toMatchObject({ status: 200, json: { tags: null, next: { period: '2026-W36' } } });
    await t.call('PUT', '/reports/weeks', monthly);
    const list = await t.call('GET', '/reports?limit=1');
    expect(list.json.reports.map(({ slug }: { slug: string }) => slug)).toEqual(['months']);
    const rest = await t.call('GET', `/reports?limit=1&cursor=${list.json.next_cursor}`);
    expect(rest.json).toMatchObject({ reports: [{ slug: 'weeks' }], next_cursor: null });
    expect((await t.call('DELETE', '/reports/weeks')).status).toBe(204);
    expect((await t.call('GET', '/reports/weeks')).status).toBe(404);
    expect((await t.call('DELETE', '/reports/months')).status).toBe(204);
  });

  test('everything that is wrong is said at once; only e-mail channels will do', async () => {
    const wrong = await t.call('PUT', '/reports/x', {
      every: 'day',
      zone: 'CET',
      channels: ['chat', 'nobody'],
      to: 'me',
    });
    expect(wrong.status).toBe(400);
    const { errors } = wrong.json;
    expect(errors.map(({ path }: { path: string }) => path)).toEqual([
      'to',
      'zone',
      'every',
      'channels[0]',
      'channels[1]',
    ]);
    expect(errors[3].message).toBe('is no e-mail channel of the project: reports go by e-mail only');
    const empty = await t.call('PUT', '/reports/x', {});
    expect(empty.json.errors.map(({ path }: { path: string }) => path)).toEqual(['zone', 'every', 'channels']);
    const nobody = await t.call('PUT', '/reports/x', { ...monthly, channels: [], tags: [] });
    expect(nobody.json.errors.map(({ path }: { path: string }) => path)).toEqual(['channels', 'tags']);
  });

  test('a channel that is gone is named', async () => {
    await t.call('PUT', '/channels/gone', { kind: 'email', to: 'gone@example.org' });
    await t.call('PUT', '/reports/lost', { ...monthly, channels: ['boss', 'gone'] });
    await t.call('DELETE', '/channels/gone');
    const { json } = await t.call('GET', '/reports/lost');
    expect(json.warnings).toEqual(['there is no e-mail channel gone any more: nothing is sent there']);
    await t.call('DELETE', '/reports/lost');
  });

  test('another project sees nothing of it', async () => {
    await t.call('PUT', '/reports/mine', monthly);
    const other = { Authorization: 'Bearer other-api-key-0123456789' };
    for (const [method, path] of [
      ['GET', '/reports/mine'],
      ['GET', '/reports/mine/preview'],
      ['POST', '/reports/mine/send'],
      ['DELETE', '/reports/mine'],
    ] as const) {
      expect((await t.call(method, path, undefined, other)).status, path).toBe(404);
    }
    await t.call('DELETE', '/reports/mine');
  });

  test('a period that does not exist or has not begun is refused', async () => {
    await t.call('PUT', '/reports/when', monthly);
    const refused = async (period: string) =>
      (await t.call('GET', `/reports/when/preview?period=${period}`)).json.detail;
    expect(await refused('2025-W53')).toBe('period: is no week or month: write 2026-W53 or 2026-10');
    expect(await refused('2026-10')).toBe('period: has not begun: it begins at 2026-09-30T22:00:00Z');
    expect((await t.call('GET', '/reports/when/preview?month=10')).status).toBe(400);
    await t.call('DELETE', '/reports/when');
  });
});

describe('October in Berlin, in which the clocks go back', () => {
  beforeAll(async () => {
    await t.at('2026-09-20T12:00:00Z');
    await t.call('PUT', '/reports/october', monthly);
    await t.call('PUT', '/jobs/nightly', { ...daily, tags: ['prod'] });
    // Due at 02:30, and run at 02:31: of the night of the 25th, in the first pass.
    for (const day of nights('2026-09-21', '2026-11-01')) {
      const isSummer = day <= '2026-10-25';
      await t.at(`${day}T${isSummer ? '00' : '01'}:31:00Z`);
      if (day === '2026-10-05') await t.call('POST', '/jobs/nightly/pause');
      if (day === '2026-10-08') await t.call('POST', '/jobs/nightly/resume');
      if (day === '2026-10-14') await t.call('PUT', '/jobs/young', daily);
      if (day === '2026-10-15') {
        await t.call('PUT', '/jobs/young', { ...daily, schedules: [{ cron: '0 2 * * *' }], zone: 'UTC' });
        await t.call('PUT', '/jobs/young', { ...daily, schedules: [{ cron: '0 2 * * *' }], zone: 'UTC', grace: '9m' });
      }
      if (day === '2026-10-20') await t.ping('nightly', 'fail');
      else if (day === '2026-10-21') {
        await t.at('2026-10-21T01:30:00Z');
        await t.ping('nightly', 'success');
      } else if (day !== '2026-10-22') await t.ping('nightly', 'success');
      await t.tick();
    }
    await t.at('2026-11-01T12:00:00Z');
    await t.tick();
  }, 120_000);

  test('every night counts once, a pause is shown apart, and the formula holds', async () => {
    const report = await preview('october', '2026-10');
    expect(report.period).toEqual({
      name: '2026-10',
      starts_at: '2026-09-30T22:00:00Z',
      ends_at: '2026-10-31T23:00:00Z',
      is_complete: true,
    });
    const [worst, second] = report.worst_jobs;
    expect([worst.job, worst.since, worst.occurrences.on_time_share]).toEqual(['young', '2026-10-14T00:31:00Z', 0]);
    expect(second).toMatchObject({
      job: 'nightly',
      since: null,
      occurrences: { due: 31, on_time: 24, late: 1, failed: 1, missed: 1, skipped: 4, counted: 27 },
    });
    expect(report.jobs).toEqual({ total: 2, in_trouble: 2, well: 0, without_data: 0 });
    const { occurrences: all } = report;
    expect(all.on_time_share).toBe(all.on_time / (all.on_time + all.late + all.failed + all.missed));
    expect(report.before).toMatchObject({ name: '2026-09', occurrences: { due: 10, on_time: 10, on_time_share: 1 } });
  });

  test('edits of when a job is due are there with who made them; others are not', async () => {
    const report = await preview('october', '2026-10');
    expect(report.schedule_edits).toEqual([
      {
        job: 'young',
        at: '2026-10-15T00:31:00Z',
        actor: expect.stringMatching(/^api key test…$/),
        changes: ['schedule 30 2 * * * becomes 0 2 * * *', 'zone Europe/Berlin becomes UTC'],
      },
    ]);
    expect(report.schedule_edit_count).toBe(1);
    expect((await preview('october', '2026-W40')).schedule_edits).toEqual([]);
  });

  test('incidents by kind, and the longest', async () => {
    const { incidents } = await preview('october', '2026-10');
    expect(incidents).toMatchObject({
      opened: { failed: 1, missing: 3 },
      longest: { job: 'young', kind: 'missing', resolved_at: null },
    });
    expect(incidents.still_open).toBe(1);
  });

  test('the week of the clock change has seven nights, and no change is ahead any more', async () => {
    const week = await preview('october', '2026-W43');
    expect(week.period).toMatchObject({ starts_at: '2026-10-18T22:00:00Z', ends_at: '2026-10-25T23:00:00Z' });
    expect(week.worst_jobs.find(({ job }: { job: string }) => job === 'nightly').occurrences.due).toBe(7);
    expect(week.clock_changes).toEqual([]);
  });

  test('before there was a job there is no data', async () => {
    const report = await preview('october', '2026-08');
    expect(report.occurrences).toMatchObject({ due: 0, on_time_share: null });
    expect([report.jobs.total, report.before.occurrences]).toEqual([0, null]);
  });

  test('what is due and not decided yet, and a pause that still lasts, count as they will be written', async () => {
    await t.call('POST', '/jobs/nightly/pause');
    await t.at('2026-11-04T01:32:00Z');
    const rows = () =>
      t.database.transaction(
        (tx) =>
          tx.sql`select 1 from occurrences o join jobs j on j.id = o.job_id where j.slug = 'nightly' and scheduled_for > '2026-11-02'`,
      );
    expect(await rows()).toEqual([]);
    const report = await preview('october', '2026-11');
    expect(report.period.is_complete).toBe(false);
    const own = await t.call('PUT', '/reports/prod', { ...monthly, tags: ['prod'] });
    expect(own.status).toBe(201);
    const prod = await preview('prod', '2026-11');
    expect(prod.occurrences).toMatchObject({ due: 4, on_time: 1, skipped: 3, counted: 1, on_time_share: 1 });
    await t.call('POST', '/jobs/nightly/resume');
    expect(await rows()).toHaveLength(3);
    expect((await preview('prod', '2026-11')).occurrences).toEqual(prod.occurrences);
    // Due at 02:30 and not over before 02:35.
    await t.at('2026-11-05T01:32:00Z');
    expect((await preview('prod', '2026-11')).occurrences).toMatchObject({ due: 5, pending: 1, counted: 1 });
  });
});

describe('elsewhere', () => {
  test('September in Santiago: midnight of the 5th is skipped, and the run of that day is there once', async () => {
    await t.at('2027-08-31T12:00:00Z');
    await t.call('PUT', '/reports/santiago', { ...monthly, zone: 'America/Santiago', tags: ['cl'] });
    const job = { ...daily, schedules: [{ cron: '0 0 * * *' }], zone: 'America/Santiago', tags: ['cl'] };
    await t.call('PUT', '/jobs/midnight', job);
    await t.at('2027-10-01T12:00:00Z');
    await t.tick();
    const report = await preview('santiago', '2027-09');
    expect(report.period).toMatchObject({ starts_at: '2027-09-01T04:00:00Z', ends_at: '2027-10-01T03:00:00Z' });
    expect(report.occurrences).toMatchObject({ due: 30, missed: 30 });
    const { json } = await t.call('GET', '/jobs/midnight/occurrences/2027-09-05');
    expect(json.key).toBe('2027-09-05T01:00-03:00');
  });

  test('the run at midnight between two years belongs to the week that begins', async () => {
    await t.at('2026-12-20T12:00:00Z');
    await t.call('PUT', '/reports/weeks', { every: 'week', zone: 'Europe/Berlin', channels: ['boss'], tags: ['eve'] });
    await t.call('PUT', '/jobs/mondays', { ...daily, schedules: [{ cron: '0 0 * * 1' }], tags: ['eve'] });
    await t.at('2027-01-05T12:00:00Z');
    await t.tick();
    expect((await preview('weeks', '2026-W53')).occurrences).toMatchObject({ due: 1 });
    expect((await preview('weeks', '2027-W01')).occurrences).toMatchObject({ due: 1 });
    const newest = (await t.call('GET', '/reports/weeks/preview')).json;
    expect([newest.period.name, newest.before.name]).toEqual(['2026-W53', '2026-W52']);
  });
});

describe('owed now', () => {
  const billing = { ...daily, missed_runs: 'catch_up', tags: ['debts'], useful_for: null };
  beforeAll(async () => {
    await t.at('2027-02-01T12:00:00Z');
    await t.call('PUT', '/reports/debts', { ...monthly, tags: ['debts'] });
    await t.call('PUT', '/jobs/billing', billing);
    await t.call('PUT', '/jobs/backlogged', { ...billing, max_catch_up: 2 });
    await t.at('2027-02-04T12:00:00Z');
    await t.tick();
  });

  test('how many, the oldest, and who has to decide', async () => {
    const { owed, owed_jobs } = await preview('debts', '2027-02');
    const line = { count: 3, oldest: '2027-02-02T02:30+01:00', unconfirmed: 0, is_paused: false };
    expect([owed_jobs, owed]).toEqual([
      2,
      [
        { job: 'backlogged', ...line, needs_decision: true },
        { job: 'billing', ...line, needs_decision: false },
      ],
    ]);
  });

  test('what somebody is at work on is not owed; when the lease ends it is again', async () => {
    const claim = { rid: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e' };
    expect((await t.call('POST', '/jobs/billing/claims', claim)).status).toBe(201);
    const billingOwes = async () =>
      (await preview('debts', '2027-02')).owed.find(({ job }: { job: string }) => job === 'billing');
    expect(await billingOwes()).toMatchObject({ count: 2, oldest: '2027-02-03T02:30+01:00' });
    await t.at('2027-02-04T12:01:01Z');
    expect(await billingOwes()).toMatchObject({ count: 3, oldest: '2027-02-02T02:30+01:00' });
    expect((await t.call('GET', '/jobs/billing/owed')).json.owed).toHaveLength(3);
  });
});

test('two thousand jobs take no more statements than two', async () => {
  await t.at('2027-03-01T12:00:00Z');
  await t.call('PUT', '/reports/fleet', { ...monthly, tags: ['fleet'] });
  await t.call('PUT', '/jobs/fleet', { ...daily, tags: ['fleet'] });
  await t.at('2027-03-04T12:00:00Z');
  await t.tick();
  const few = await statements(() => preview('fleet', '2027-03'));
  await t.database.transaction(
    (tx) => tx.sql`
      with made as (
        insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
        select j.project_id, gen_random_uuid(), 'fleet-' || n, j.definition, j.created_at, j.settings_since
        from jobs j, generate_series(1, 1999) n where j.slug = 'fleet' returning id),
      versions as (
        insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
        select made.id, v.number, v.zone, v.schedules, v.starts_after, v.tz_version
        from made, schedule_versions v join jobs j on j.id = v.job_id where j.slug = 'fleet'),
      rows as (
        insert into occurrences (job_id, scheduled_for, version, state)
        select made.id, o.scheduled_for, o.version, o.state
        from made, occurrences o join jobs j on j.id = o.job_id where j.slug = 'fleet')
      insert into cursors (job_id, version, next_unrecorded, next_check_at)
      select made.id, c.version, c.next_unrecorded, c.next_check_at
      from made, cursors c join jobs j on j.id = c.job_id where j.slug = 'fleet'`,
  );
  const many = await statements(async () => {
    const report = await preview('fleet', '2027-03');
    expect(report.occurrences).toMatchObject({ due: 6000, missed: 6000 });
    expect(report.worst_jobs).toHaveLength(10);
  });
  expect(few).toBeGreaterThan(5);
  expect(many).toBe(few);
});

/** How many statements `work` takes, by what the server counts. */
async function statements(work: () => Promise<unknown>): Promise<number> {
  const seen: string[] = [];
  const transaction = t.database.transaction;
  const counted: typeof transaction = (run, options) =>
    transaction((tx) => {
      const sql = new Proxy(tx.sql, {
        apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
          if (Array.isArray(args[0]) && /^\s*(select|with|insert|update|delete)/i.test(args[0][0] ?? ''))
            seen.push(args[0][0] ?? '');
          return Reflect.apply(target, self, args);
        },
      });
      return run({ ...tx, sql });
    }, options);
  Object.assign(t.database, { transaction: counted });
  try {
    await work();
  } finally {
    Object.assign(t.database, { transaction });
  }
  return seen.length;
}

function nights(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}
