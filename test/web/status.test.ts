import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StatusSite, startStatusSite, wordsOf } from './status-site.ts';

// A week of a nightly backup, an export every six hours, and a job that is due once a year; read on Monday evening.

let t: StatusSite;
beforeAll(async () => {
  t = await startStatusSite('2026-11-23T23:00:00Z');
  await put('/jobs/zz9-dump', { name: 'pg_dump prod-db-7', schedules: [{ cron: '30 2 * * *' }], grace: '1h' });
  await put('/jobs/export', { name: 'Export', tags: ['data'], schedules: [{ every: '6h' }] });
  await put('/jobs/fin-7', { name: 'Yearly close', tags: ['data'], schedules: [{ cron: '0 4 1 1 *' }] });
  await put('/status-pages/acme', page);
  for (let day = 24; day <= 30; day += 1) {
    await reported('export', `2026-11-${day}T00:01:00Z`);
    if (day === 27) await reported('zz9-dump', '2026-11-27T01:40:00Z', 'fail');
    else if (day < 30) await reported('zz9-dump', `2026-11-${day}T01:40:00Z`);
    for (const hour of ['06', '12', '18']) await reported('export', `2026-11-${day}T${hour}:01:00Z`);
  }
  await t.at('2026-11-30T18:30:00Z');
  await t.tick();
});
afterAll(() => t.drop());

const page = {
  title: 'Acme nightly',
  text: 'What runs while you sleep.',
  zone: 'Europe/Berlin',
  groups: [
    { name: 'Backups', jobs: [{ job: 'zz9-dump', name: 'Nightly backup' }] },
    { name: 'Data & reports', tag: 'data' },
  ],
};

async function put(path: string, body: object): Promise<void> {
  const whole = path.startsWith('/jobs') ? { zone: 'Europe/Berlin', missed_runs: 'coalesce', ...body } : body;
  const answer = await t.call('PUT', path, whole);
  expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300);
}

async function reported(slug: string, at: string, kind: 'success' | 'fail' = 'success'): Promise<void> {
  await t.at(at);
  await t.tick();
  await t.ping(slug, kind);
}

const jsonOf = async (path = '/status/acme/status.json') => JSON.parse((await t.open(path)).text);

test('a colleague reads how it stands, in words', async () => {
  const { status, text } = await t.open('/status/acme');
  expect(status).toBe(200);
  const words = wordsOf(text);
  expect(words).toContain('1 of 3 jobs is in trouble');
  expect(words).toContain('Data as of Mon 30 Nov 19:30 +01:00, times in Europe/Berlin');
  expect(words).toMatch(/Nightly backup in trouble Sun 29 Nov 02:40 \+01:00 Tue 1 Dec 02:30 \+01:00/);
  expect(words).toContain('Data & reports All jobs ran as expected');
  expect(words).toMatch(/Mon 30 Nov Nightly backup did not run goes on since 03:30 \+01:00/);
  expect(words).toMatch(/Fri 27 Nov Nightly backup failed 02:40 \+01:00, over after 1 d/);
  expect(words).toContain('It heard everything in the last 30 days.');
});

test('the public names only: neither slugs nor what the project calls a job that has another name here', async () => {
  for (const path of ['', '/embed', '/status.json', '/feed.atom', '/feed.json', '/calendar.ics', '/badge.json'])
    expect((await t.open(`/status/acme${path}`)).text).not.toMatch(/zz9|pg_dump|prod-db|fin-7/);
});

test('programs read the same, by a schema that stays', async () => {
  const json = await jsonOf();
  expect(json).toMatchObject({
    schema: 1,
    page: { title: 'Acme nightly', url: 'https://rollcall.example.org/status/acme' },
    as_of: '2026-11-30T18:30:00Z',
    is_stale: false,
    zone: 'Europe/Berlin',
    overall: { status: 'trouble', text: '1 of 3 jobs is in trouble', jobs: 3, in_trouble: 1, unknown: 0, paused: 0 },
    maintenance: [],
    rollcall: { hears: true, lag_seconds: 0, blind_windows: [] },
  });
  const [backups, data] = json.groups;
  expect(backups).toMatchObject({ id: 'backups', name: 'Backups' });
  expect(backups.jobs[0]).toMatchObject({
    id: 'nightly-backup',
    status: 'down',
    text: 'in trouble',
    last_success_at: '2026-11-29T01:40:00Z',
    next_expected_at: '2026-12-01T01:30:00Z',
    // Due on 24 to 30 November, one of them failed, one of them missed.
    on_time: { '7d': { share: 0.7142, on_time: 5, counted: 7, skipped: 0, unknown: 0 } },
  });
  expect(backups.jobs[0].roll.map(({ state }: { state: string }) => state)).toEqual([
    'on_time',
    'on_time',
    'on_time',
    'failed',
    'on_time',
    'on_time',
    'overdue',
    'expected',
    'expected',
  ]);
  expect(data.id).toBe('data-reports');
  expect(data.jobs.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
    ['export', 'up'],
    ['yearly-close', 'new'],
  ]);
  expect(
    json.incidents.map(({ text, ended_at }: { text: string; ended_at: string | null }) => [text, ended_at]),
  ).toEqual([
    ['Nightly backup did not run', null],
    ['Nightly backup failed', '2026-11-28T01:40:00Z'],
  ]);
});

test('feeds tell of every incident and of its end, and are the same until something happens', async () => {
  const atom = await t.open('/status/acme/feed.atom');
  expect(atom.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
  const titles = [...atom.text.matchAll(/<title type="html"><!\[CDATA\[(.*?)\]\]>/g)].map(([, title]) => title);
  expect(titles).toEqual(['Nightly backup did not run', 'Nightly backup: over after 1 d', 'Nightly backup failed']);
  const json = JSON.parse((await t.open('/status/acme/feed.json')).text);
  expect(json.items.map(({ title }: { title: string }) => title)).toEqual(titles);
  expect(new Set(json.items.map(({ id }: { id: string }) => id)).size).toBe(3);
  const etag = atom.headers.get('etag') ?? '';
  await t.at('2026-11-30T18:40:00Z');
  const again = await t.open('/status/acme/feed.atom', { headers: { 'If-None-Match': etag } });
  expect(again).toMatchObject({ status: 304, text: '' });
  expect(again.headers.get('cache-control')).toBe('public, max-age=20');
  await t.at('2026-11-30T18:30:00Z');
});

test('the calendar has maintenance and expected runs of 30 days, at most 50 of a job', async () => {
  await put('/jobs/minutely', { name: 'Minutely', tags: ['data'], schedules: [{ every: '1m' }] });
  await put('/maintenance/move', {
    name: 'Moving the racks',
    reason: 'new room',
    tags: ['data'],
    from: '2026-12-05T20:00:00Z',
    until: '2026-12-06T02:00:00Z',
  });
  const { text, headers } = await t.open('/status/acme/calendar.ics');
  expect(headers.get('content-type')).toBe('text/calendar; charset=utf-8');
  const events = text.replaceAll('\r\n ', '').split('BEGIN:VEVENT').slice(1);
  const summaries = events.map((event) => /SUMMARY:(.*)\r/.exec(event)?.[1]);
  expect(summaries.filter((summary) => summary === 'Nightly backup')).toHaveLength(30);
  expect(summaries.filter((summary) => summary === 'Minutely')).toHaveLength(50);
  const window = events.find((event) => event.includes('SUMMARY:Maintenance: '));
  expect(window).toMatch(/DTSTART:20261205T200000Z\r\nDTEND:20261206T020000Z/);
  expect(text).not.toContain('racks');
  expect(text).not.toContain('new room');
  const words = wordsOf((await t.open('/status/acme')).text);
  expect(words).toMatch(
    /Maintenance: Export, Minutely, Yearly close Sat 5 Dec 21:00 \+01:00 to Sun 6 Dec 03:00 \+01:00/,
  );
  await put('/status-pages/acme', { ...page, show_reasons: true });
  expect(wordsOf((await t.open('/status/acme')).text)).toContain(
    'Moving the racks: Export, Minutely, Yearly close (new room)',
  );
  await put('/status-pages/acme', page);
  await t.call('DELETE', '/maintenance/move');
  await t.call('DELETE', '/jobs/minutely');
});

describe('badges', () => {
  const shields = async (query: string) => JSON.parse((await t.open(`/status/acme/badge.json${query}`)).text);

  test('are of the page, of a group, and of a job', async () => {
    expect(await shields('')).toEqual({
      schemaVersion: 1,
      label: 'Acme nightly',
      message: '1 of 3 in trouble',
      color: 'b8301c',
      isError: true,
    });
    expect(await shields('?group=data-reports')).toMatchObject({ label: 'Data & reports', message: 'as expected' });
    expect(await shields('?job=nightly-backup')).toMatchObject({ label: 'Nightly backup', message: 'in trouble' });
    const svg = await t.open('/status/acme/badge.svg?group=data-reports');
    expect(svg.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
    expect(svg.text).toMatch(/^<svg [^>]*aria-label="Data &amp; reports: as expected">/);
  });

  test('of what is not on the page there is none, whether the project has it or not', async () => {
    for (const query of ['?job=fin-7', '?job=nobody', '?group=x', '?job=export&group=backups'])
      expect((await t.open(`/status/acme/badge.svg${query}`)).status).toBe(404);
  });
});

describe('what a page may be framed, kept and listed by', () => {
  test('only the embedded one stands in frames, and nothing runs anywhere', async () => {
    const policy = async (path: string) => (await t.open(path)).headers.get('content-security-policy');
    expect(await policy('/status/acme')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(await policy('/status/acme/embed')).toMatch(/^default-src 'none'; .*frame-ancestors \*$/);
    const { text } = await t.open('/status/acme/embed');
    expect(wordsOf(text)).toContain('1 of 3 jobs is in trouble');
    for (const path of ['/status/acme', '/status/acme/embed'])
      expect((await t.open(path)).text).not.toMatch(/<script|\sstyle=|<style|\son\w+=/);
  });

  test('it is kept by everybody for 20 seconds, and asked for again by its ETag', async () => {
    const first = await t.open('/status/acme');
    expect(first.headers.get('cache-control')).toBe('public, max-age=20');
    const etag = first.headers.get('etag') ?? '';
    expect((await t.open('/status/acme', { headers: { 'If-None-Match': etag } })).status).toBe(304);
    expect((await t.open('/status/acme', { headers: { 'If-None-Match': '"another"' } })).status).toBe(200);
  });

  test('search engines are sent away unless the page says otherwise', async () => {
    const closed = await t.open('/status/acme');
    expect(closed.headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(closed.text).toContain('<meta name="robots" content="noindex, nofollow"');
    await put('/status-pages/acme', { ...page, indexable: true });
    const listed = await t.open('/status/acme');
    expect(listed.headers.get('x-robots-tag')).toBe(null);
    expect(listed.text).not.toContain('robots');
    await put('/status-pages/acme', page);
  });
});

test('what Rollcall could not hear is said plainly', async () => {
  await t.database.transaction(
    (tx) => tx.sql`insert into blind_windows (after, until, kind, cause)
      values ('2026-11-26T10:00:00Z', '2026-11-26T10:45:00Z', 'blind', 'silent'),
        ('2026-11-27T10:00:00Z', '2026-11-27T10:00:05Z', 'gap', 'silent')`,
  );
  const words = wordsOf((await t.open('/status/acme')).text);
  expect(words).toContain(
    'Rollcall could not hear between Thu 26 Nov 11:00 +01:00 and Thu 26 Nov 11:45 +01:00 : runs in that time are unknown',
  );
  expect(words).not.toContain('Fri 27 Nov 11:00');
  expect((await jsonOf()).rollcall.blind_windows).toEqual([
    { after: '2026-11-26T10:00:00Z', until: '2026-11-26T10:45:00Z' },
  ]);
  // The last beat was at 18:30.
  t.clock.set('2026-11-30T18:32:00Z');
  const deaf = await t.open('/status/acme');
  expect(wordsOf(deaf.text)).toContain('Rollcall itself hears nothing right now, since Mon 30 Nov 19:30 +01:00');
  expect((await jsonOf()).rollcall).toMatchObject({ hears: false, last_heard_at: '2026-11-30T18:30:00Z' });
  await t.at('2026-11-30T18:30:00Z');
  await t.database.transaction((tx) => tx.sql`delete from blind_windows`);
});

test('paused, and in maintenance, are not trouble; skipped runs are shown, and count for nothing', async () => {
  await t.call('POST', '/jobs/fin-7/pause');
  await put('/maintenance/now', { tags: ['data'], from: '2026-11-30T17:00:00Z', until: '2026-11-30T20:00:00Z' });
  const { groups } = await jsonOf();
  expect(groups[1].jobs.map(({ status }: { status: string }) => status)).toEqual(['maintenance', 'paused']);
  const { text } = await t.open('/status/acme?at');
  expect(wordsOf(text)).toMatch(/Now: Maintenance: Export, Yearly close/);
  await t.call('POST', '/jobs/fin-7/resume');
  await t.call('DELETE', '/maintenance/now');
  await t.call('PATCH', '/jobs/zz9-dump/occurrences/2026-11-27T02:30%2B01:00', { state: 'skipped', note: 'x' });
  await t.at('2026-11-30T18:31:00Z');
  const json = await jsonOf();
  expect(json.groups[0].jobs[0].on_time['7d']).toEqual({
    share: 0.8333,
    on_time: 5,
    counted: 6,
    skipped: 1,
    unknown: 0,
  });
  expect(wordsOf((await t.open('/status/acme')).text)).toContain('83.3 % 1 skipped');
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
