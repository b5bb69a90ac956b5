import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database, Tx } from '../../../src/store/database.ts';
import { matching, rated, readFilter } from '../../../src/web/pages/dashboard/filter.ts';
import { slugOfName } from '../../../src/web/pages/dashboard/first-ping.tsx';
import { readBoard } from '../../../src/web/pages/dashboard/read.ts';
import { createRecentShares } from '../../../src/web/pages/dashboard/recent-shares.ts';
import { loadZones } from '../../../src/zones.ts';
import { layOutJob, layOutRow } from '../api/api.ts';
import { startSite, type TestSite } from './site.ts';

const zones = loadZones();
const PAGE = '/projects/default';
const BERLIN = { zone: 'Europe/Berlin', missed_runs: 'catch_up' };

/** The slugs of the lines of a list, in order. */
const lines = (text: string): readonly string[] =>
  [...text.matchAll(/<tr id="job-([^"]+)"/g)].map(([, slug]) => slug ?? '');
/** The line of one job, without tags. */
function line(text: string, slug: string): string {
  const from = text.indexOf(`<tr id="job-${slug}"`);
  const row = text.slice(from, text.indexOf('</tr>', from));
  return row
    .replace(/<svg.*?<\/svg>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
const summary = (text: string): string =>
  /class="summary"[^>]*>(.*?)<\/p>/s.exec(text)?.[1]?.replace(/<[^>]+>/g, '') ?? '';

describe('the list of jobs', () => {
  let t: TestSite;
  beforeAll(async () => {
    t = await startSite('2026-03-02T00:30:00Z');
    const daily = (cron: string) => ({ ...BERLIN, schedules: [{ cron }] });
    await t.call('PUT', '/jobs/archive', { ...daily('0 3 * * *'), tags: ['db'], name: 'Archive <b>' });
    await t.call('PUT', '/jobs/backup', { ...daily('30 2 * * *'), tags: ['db', 'critical'] });
    await t.call('PUT', '/jobs/digest', {
      zone: 'UTC',
      schedules: [{ every: '6h' }],
      missed_runs: 'skip',
      tags: ['mail'],
    });
    await t.call('PUT', '/jobs/export', daily('0 13 * * *'));
    await t.call('PUT', '/jobs/sensor', { zone: 'UTC', schedules: [{ heartbeat: '12h' }], name: 'Sensor gateway' });
    await t.at('2026-03-02T01:31:00Z');
    await t.ping('backup', 'fail');
    await t.at('2026-03-02T02:01:00Z');
    await t.ping('archive', 'success');
    await t.ping('sensor', 'success');
    await t.at('2026-03-02T06:01:00Z');
    await t.ping('digest', 'success');
    await t.ping('digest', 'success', { rid: '11111111-1111-4111-8111-111111111111', occ: '2026-03-02T06:00Z' });
    await t.call('POST', '/jobs/export/pause');
    await t.at('2026-03-02T08:00:00Z');
    await t.tick();
  });
  afterAll(() => t.drop());
  beforeEach(() => t.as('owner'));

  test('shows trouble first, then the rest by slug, and says in words how many there are', async () => {
    const { status, text, headers } = await t.open(PAGE);
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    // A duplicate stands beside its job's status.
    expect(lines(text)).toEqual(['backup', 'digest', 'archive', 'export', 'sensor']);
    expect(summary(text)).toBe('2 of 5 jobs are in trouble; 1 owes runs.');
    expect(line(text, 'backup')).toMatch(
      /^down failed backup db critical At 02:30, Europe\/Berlin never in 17 h 30 min 2026-03-03 02:30\+01:00 0\.0 % 1$/,
    );
    expect(line(text, 'digest')).toMatch(
      /^up ran more than once digest mail Every 6 h 1 h 59 min ago 2026-03-02 06:01 UTC/,
    );
    expect(line(text, 'sensor')).toContain('in 6 h 1 min 2026-03-02 14:01 UTC');
    expect(line(text, 'export')).toContain('no ping yet paused');
    expect(text).toContain('Archive &lt;b&gt;');
    // The roll is read by those who do not see it, and nothing breaks the policy of the page.
    expect(text).toContain('aria-label="digest: 1 on time, 3 to come, 1 ran more than once"');
    expect(text).not.toMatch(/ style="| onclick=|<script>|<style/);
  });

  test('is searched by name, slug and tag, and filtered by tag and status, each by its address', async () => {
    const found = async (query: string) => lines((await t.open(`${PAGE}?${query}`)).text);
    expect(await found('q=gate')).toEqual(['sensor']);
    expect(await found('q=DB+arch')).toEqual(['archive']);
    expect(await found('tag=db')).toEqual(['backup', 'archive']);
    expect(await found('tag=db&status=up')).toEqual(['archive']);
    expect(await found('status=trouble')).toEqual(['backup', 'digest']);
    expect(await found('status=owing')).toEqual(['backup']);
    expect(await found('sort=slug')).toEqual(['archive', 'backup', 'digest', 'export', 'sensor']);
    expect(await found('sort=next')).toEqual(['digest', 'sensor', 'backup', 'archive', 'export']);
    // What is nonsense is as if it were left out.
    expect((await found('status=constructor&sort=toString&page=-1&tag=')).length).toBe(5);
    const none = (await t.open(`${PAGE}?q=%22nobody`)).text;
    expect(none).toContain('No job matches.');
    expect(none).toContain('value="&quot;nobody"');
  });

  test('lets a viewer look and nothing else', async () => {
    t.as('viewer');
    const { text } = await t.open(PAGE);
    expect(lines(text)).toHaveLength(5);
    expect(text).not.toContain('method="post"');
    expect(text).not.toContain('type="checkbox"');
    expect(text).not.toContain('/first-ping/');
    expect((await t.send(`${PAGE}/bulk`, { action: 'pause', job: 'backup' })).status).toBe(403);
    expect((await t.call('GET', '/jobs/backup')).json.paused).toBe(false);
  });

  test('names its open incidents, to be answered in place', async () => {
    const { text } = await t.open(PAGE);
    const [ack] = [...text.matchAll(/action="([^"]+\/ack)"/g)].map(([, path]) => path ?? '');
    expect(text).toMatch(/<strong>backup<\/strong> failed/);
    expect(text).toContain('since <time datetime="2026-03-02T01:31:00Z"');
    const acked = await t.send(ack ?? '', { from: 'jobs' });
    expect(acked).toMatchObject({ status: 303, location: PAGE });
    expect((await t.open(PAGE)).text).toContain('acknowledged by ada@example.org');
  });
});

describe('several jobs at once', () => {
  let t: TestSite;
  beforeAll(async () => {
    t = await startSite('2026-03-02T00:30:00Z');
    for (const slug of ['one', 'two', 'three']) {
      await t.call('PUT', `/jobs/${slug}`, { ...BERLIN, schedules: [{ cron: '0 3 * * *' }], tags: [slug[0]] });
    }
  });
  afterAll(() => t.drop());
  const paused = async () =>
    (await t.call('GET', '/jobs')).json.jobs
      .filter((job: { paused: boolean }) => job.paused)
      .map((job: { slug: string }) => job.slug);

  test('are paused and resumed, and the audit says by whom', async () => {
    const answer = await t.send(`${PAGE}/bulk?sort=slug`, { action: 'pause', job: ['one', 'two'] });
    expect(answer).toMatchObject({ status: 303, location: `${PAGE}?sort=slug` });
    const flash = Buffer.from(
      /flash=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '')?.[1] ?? '',
      'base64url',
    ).toString();
    expect(flash).toBe('Paused 2 jobs.');
    expect(await paused()).toEqual(['one', 'two']);
    // All that the search of the address lets through: two and three.
    await t.send(`${PAGE}/bulk?q=t`, { action: 'resume', all: '1' });
    expect(await paused()).toEqual(['one']);
    const audit = await t.database.transaction(
      (tx) => tx.sql`select actor, action, subject from audit where action like '%resume%'`,
    );
    expect(audit).toEqual([{ actor: 'ada@example.org', action: 'job.resume', subject: 'two' }]);
  });

  test('fail one by one: what worked is done, and what did not is said with its reason', async () => {
    const { status, text } = await t.send(`${PAGE}/bulk`, { action: 'pause', job: ['three', 'gone'] });
    expect(status).toBe(200);
    expect(text).toContain('Paused 1 job.');
    expect(text).toMatch(/Not done for 1 job:.*gone<\/a>: there is no job of this slug/s);
    expect(await paused()).toContain('three');
  });

  test('go under maintenance until a local time of the person, with the reason', async () => {
    const cookie = { Cookie: 'zone=Europe/Berlin' };
    const fields = { action: 'maintenance', job: ['one', 'two'], until: '2026-03-02T06:00', reason: 'new disks' };
    expect((await t.send(`${PAGE}/bulk`, fields, cookie)).status).toBe(303);
    const [window] = (await t.call('GET', '/maintenance')).json.maintenance;
    expect(window).toMatchObject({
      jobs: ['one', 'two'],
      until: '2026-03-02T05:00:00Z',
      reason: 'new disks',
      active: true,
    });
  });

  test('are not touched by a form that makes no sense: it comes back with everything in it', async () => {
    const nobody = await t.send(`${PAGE}/bulk`, { action: 'pause' });
    expect(nobody.status).toBe(400);
    expect(nobody.text).toContain('tick the jobs');
    const past = await t.send(`${PAGE}/bulk`, {
      action: 'maintenance',
      job: 'one',
      until: '2026-03-01T06:00',
      reason: 'why not',
    });
    expect(past.status).toBe(400);
    expect(past.text).toMatch(/<input type="checkbox" name="job" value="one"[^>]* checked/);
    expect(past.text).toContain('value="2026-03-01T06:00"');
    expect(past.text).toContain('value="why not"');
    expect(past.text).toMatch(/id="f-until-wrong">[^<]*(past|future|later|after)/);
    // It does not read itself again while somebody mends it.
    expect(past.text).not.toContain('hx-sse:connect');
    expect((await t.send(`${PAGE}/bulk`, { action: 'maintenance', job: 'one', until: 'soon' })).text).toContain(
      'say until when',
    );
    expect((await t.send(`${PAGE}/bulk`, { action: 'explode', job: 'one' })).status).toBe(400);
  });
});

describe('an empty project', () => {
  let t: TestSite;
  beforeAll(async () => {
    t = await startSite('2026-03-02T00:30:00Z');
  });
  afterAll(() => t.drop());

  test('is one step from its first ping', async () => {
    expect((await t.open(PAGE)).text).toContain('No jobs yet');
    const refused = await t.send(`${PAGE}/first-job`, { name: 'Nightly backup', every: 'often' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('value="often"');
    expect(refused.text).toMatch(/id="f-every-wrong"/);
    const made = await t.send(`${PAGE}/first-job`, { name: 'Nightly backup', every: '1d' });
    expect(made.location).toBe(`${PAGE}/first-ping/nightly-backup`);
    const waiting = (await t.open(made.location ?? '')).text;
    const { ping_url } = (await t.call('GET', '/jobs/nightly-backup')).json;
    const curl = 'curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null';
    expect(waiting).toContain(`<code>${curl} ${ping_url}</code>`);
    // With the exit code, or a run that failed would count as a success.
    expect(waiting).toContain(`<code>; ${curl} ${ping_url}/$?</code>`);
    expect(waiting).toContain('Waiting for the first ping');
    await t.ping('nightly-backup', 'success');
    expect((await t.open(made.location ?? '')).text).toContain('It came.');
    // A second one of that name is another job's business.
    expect((await t.send(`${PAGE}/first-job`, { name: 'Nightly Backup', every: '1d' })).text).toContain(
      'there is a job nightly-backup',
    );
  });

  test('shows no URL to a viewer', async () => {
    t.as('viewer');
    const { text } = await t.open(`${PAGE}/first-ping/nightly-backup`);
    expect(text).not.toMatch(/\/ping\/[0-9a-f]{8}-/);
    t.as('owner');
    expect((await t.open(`${PAGE}/first-ping/nobody`)).status).toBe(404);
  });
});

test('a name becomes a slug people recognise', () => {
  expect(slugOfName('Nightly backup (db-3)')).toBe('nightly-backup-db-3');
  expect(slugOfName('Événement du soir')).toBe('evenement-du-soir');
  expect(slugOfName('夜')).toBe('');
});

test('an order has no favourites: what never comes due is last', () => {
  const base = {
    tags: [],
    createdAt: 0,
    isPaused: false,
    openKinds: [],
    newestSettled: 'on_time',
    isBlocked: false,
  } as const;
  const jobs = [
    rated({ ...base, id: 1, slug: 'b', name: 'b', nextUnrecorded: null }, 0),
    rated({ ...base, id: 2, slug: 'a', name: 'a', nextUnrecorded: null }, 0),
    rated({ ...base, id: 3, slug: 'c', name: 'c', nextUnrecorded: 5 }, 3),
  ];
  const order = (sort: string) =>
    matching(
      jobs,
      readFilter((name) => (name === 'sort' ? sort : undefined)),
    ).map(({ slug }) => slug);
  expect(order('next')).toEqual(['c', 'a', 'b']);
  expect(order('owed')).toEqual(['c', 'a', 'b']);
});

describe('two thousand jobs', () => {
  let t: TestSite;
  beforeAll(async () => {
    t = await startSite('2026-03-02T12:30:00Z');
    const id = await layOutJob(t, 'job-0000', { at: '2026-01-01T00:00:00Z', nextUnrecorded: '2026-03-02T13:00:00Z' });
    await layOutRow(t, id, { at: '2026-03-02T12:00:00Z', state: 'on_time' });
  });
  afterAll(() => t.drop());

  /** How many statements a list takes, transactions' own ones left out. */
  async function statements(query: Record<string, string>): Promise<number> {
    let count = 0;
    const database: Database = {
      ...t.database,
      transaction: (work, options) =>
        t.database.transaction((tx) => {
          const sql = new Proxy(tx.sql, {
            apply(target, self, args: [unknown]) {
              // A fragment has no text of a statement of its own.
              const [strings] = args as [readonly string[]];
              if (Array.isArray(strings) && /^\s*(select|with|update|insert)/i.test(strings.join('$'))) count += 1;
              return Reflect.apply(target as never, self, args);
            },
          });
          return work({ ...tx, sql } as Tx);
        }, options),
    };
    await readBoard(
      { database, zones, recentShares: createRecentShares(), catchUp: t.catchUp, log: { error: () => undefined } },
      t.projectId,
      readFilter((name) => query[name]),
    );
    return count;
  }

  test('are listed a hundred a page, by as many statements as one', async () => {
    const one = await statements({});
    // As if 1,999 others of the same kind had been made.
    await t.database.transaction(async (tx) => {
      await tx.sql`
        insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
        select project_id, gen_random_uuid(), 'job-' || lpad(n::text, 4, '0'), definition || jsonb_build_object('name', 'Job ' || n),
          created_at, settings_since
        from jobs, generate_series(1, 1999) n where slug = 'job-0000'`;
      await tx.sql`
        insert into schedule_versions select j.id, v.number, v.zone, v.schedules, v.starts_after, v.ends_at, v.tz_version
        from schedule_versions v, jobs j where j.slug <> 'job-0000'`;
      await tx.sql`
        insert into cursors (job_id, version, next_unrecorded) select j.id, c.version, c.next_unrecorded
        from cursors c, jobs j where j.slug <> 'job-0000'`;
      await tx.sql`
        insert into occurrences (job_id, scheduled_for, version, state, settled_at, wanted)
        select j.id, h, 1, case when j.id % 7 = 0 and h > '2026-03-02T11:30:00Z' then 'overdue' else 'on_time' end, h,
          j.id % 7 = 0 and h > '2026-03-02T11:30:00Z'
        from jobs j, generate_series('2026-03-01T00:00:00Z'::timestamptz, '2026-03-02T12:00:00Z', interval '1 hour') h
        where j.slug <> 'job-0000'`;
    });
    expect(await statements({})).toBe(one);
    expect(await statements({ page: '7', q: 'job' })).toBe(one);
    expect(one).toBeLessThan(20);
    const { text } = await t.open(PAGE);
    expect(lines(text)).toHaveLength(100);
    expect(text).toContain('Page 1 of 20, 2,000 jobs');
    expect(lines((await t.open(`${PAGE}?page=20`)).text).at(-1)).toBe('job-1999');
    expect(lines((await t.open(`${PAGE}?page=99`)).text).at(-1)).toBe('job-1999');
    expect(lines((await t.open(`${PAGE}?q=job+1234`)).text)).toEqual(['job-1234']);
  });
});
