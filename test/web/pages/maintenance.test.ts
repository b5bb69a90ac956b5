import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { windowBody, windowDraftOf } from '../../../src/web/pages/maintenance/draft.ts';
import { loadZones } from '../../../src/zones.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-10-20T10:00:00Z');
  await site.call('PUT', '/jobs/backup', {
    zone: 'UTC',
    schedules: [{ cron: '0 11 * * *' }],
    missed_runs: 'coalesce',
    tags: ['db'],
  });
});
afterAll(() => site.drop());

const ALL = '/projects/default/maintenance';
const zones = loadZones();
const errorOf = (text: string, name: string): string | undefined =>
  new RegExp(`id="f-${name}-wrong">([^<]*)<`).exec(text)?.[1];
const windowOf = async (slug: string) => (await site.call('GET', `/maintenance/${slug}`)).json;

const HOLIDAYS = [
  'BEGIN:VCALENDAR',
  'BEGIN:VEVENT',
  'UID:1',
  'DTSTART;VALUE=DATE:20261225',
  'DTEND;VALUE=DATE:20261226',
  'SUMMARY:Christmas <Day>',
  'END:VEVENT',
  'END:VCALENDAR',
].join('\r\n');

describe('a window of each kind is made', () => {
  test('once, at local times of a zone, for some jobs', async () => {
    const made = await site.send(`${ALL}/+new`, {
      name: 'DB upgrade',
      reason: '17 to 18',
      kind: 'once',
      zone: 'Europe/Berlin',
      from: '2026-10-25T01:00',
      until: '2026-10-25T04:00',
      who: 'some',
      jobs: 'backup',
      tags: 'db, web',
    });
    expect([made.status, made.location]).toEqual([303, `${ALL}/db-upgrade`]);
    expect(await windowOf('db-upgrade')).toMatchObject({
      reason: '17 to 18',
      from: '2026-10-24T23:00:00Z',
      until: '2026-10-25T03:00:00Z',
      jobs: ['backup'],
      tags: ['db', 'web'],
      changed_by: 'ada@example.org',
    });
    const page = await site.open(`${ALL}/db-upgrade`, { Cookie: 'zone=Europe%2FBerlin' });
    expect(page.text).toContain('2026-10-25 01:00+02:00');
    expect(page.text).toContain('2026-10-25 04:00+01:00');
    expect(page.text).toContain('Once, for 4 h');
  });

  test('from now on, every week, by cron, and of a calendar', async () => {
    const made = [
      { name: 'Now', kind: 'once', zone: 'UTC', duration: '2h', who: 'all' },
      {
        name: 'Weekend',
        kind: 'weekly',
        zone: 'Europe/Berlin',
        'weekly.0.days': ['sat', 'sun'],
        'weekly.0.start': '02:30',
        'weekly.0.duration': '4h',
        'weekly.1.start': '',
        'weekly.1.duration': '',
      },
      { name: 'Patch', kind: 'cron', zone: 'Europe/Berlin', cron: '0 2 1 * *', cron_duration: '3h' },
      { name: 'Holidays', kind: 'ics', zone: 'Europe/Berlin', ics: HOLIDAYS },
    ];
    for (const fields of made) expect((await site.send(`${ALL}/+new`, fields)).status).toBe(303);
    expect(await windowOf('now')).toMatchObject({ active: true, until: '2026-10-20T12:00:00Z' });
    expect(await windowOf('weekend')).toMatchObject({
      weekly: [{ days: ['sat', 'sun'], start: '02:30', duration: '4h' }],
    });
    expect(await windowOf('patch')).toMatchObject({ cron: '0 2 1 * *', duration: '3h' });
    expect(await windowOf('holidays')).toMatchObject({ events: 1 });
  });

  test('a chosen file is the text of the calendar', async () => {
    const body = new FormData();
    body.set('name', 'From file');
    body.set('kind', 'ics');
    body.set('zone', 'UTC');
    body.set('ics', '');
    body.set('ics_file', new File([HOLIDAYS], 'holidays.ics', { type: 'text/calendar' }));
    const headers = { Origin: 'https://rollcall.example.org' };
    const made = await site.site.request(`https://rollcall.example.org${ALL}/+new`, { method: 'POST', body, headers });
    expect(made.status).toBe(303);
    expect((await windowOf('from-file')).ics).toContain('SUMMARY:Christmas <Day>');
  });
});

test('the list shows what holds now, what is coming in its zone, and what was', async () => {
  const { text } = await site.open(ALL, { Cookie: 'zone=Asia%2FTokyo' });
  expect(text.indexOf('<h2>Now</h2>')).toBeLessThan(text.indexOf('<h2>Coming</h2>'));
  expect(text.slice(text.indexOf('<h2>Now</h2>'), text.indexOf('<h2>Coming</h2>'))).toContain('holds now');
  expect(text).toContain('Sat, Sun 02:30 for 4 h');
  expect(text).toContain('2026-10-24 02:30+02:00');
  // The second one of that Sunday is not: a window begins once.
  expect(text).toContain('2026-10-25 02:30+02:00');
  expect(text).toContain('2026-10-25 05:30+01:00');
  expect(text).toContain('Christmas &lt;Day&gt;');
  await site.send(`${ALL}/+new`, {
    name: 'Gone',
    kind: 'once',
    zone: 'UTC',
    from: '2026-10-01T00:00',
    until: '2026-10-01T02:00',
  });
  await site.send(`${ALL}/gone/end`, {});
  const after = await site.open(ALL);
  expect(after.text).toContain('Past revisions (1)');
  expect(after.text).toMatch(/Gone(?:(?!<tr>).)*ada@example\.org/s);
});

describe('the preview', () => {
  const live = { 'HX-Request': 'true' };
  const WEEKLY = {
    kind: 'weekly',
    zone: 'Europe/Berlin',
    'weekly.0.days': ['sun'],
    'weekly.0.start': '02:30',
    'weekly.0.duration': '2h',
  };

  test('shows the next windows and what the clocks do to them', async () => {
    const { text } = await site.send(`${ALL}/preview`, WEEKLY, live);
    expect(text).not.toContain('<html');
    expect(text).toContain('2026-10-25 02:30+02:00');
    expect(text).toContain('2026-10-25 03:30+01:00');
    expect(text).toContain('On 25 October 2026 02:30 happens twice; the window begins once, on the first.');
    const calendar = await site.send(`${ALL}/preview`, { kind: 'ics', zone: 'Europe/Berlin', ics: HOLIDAYS }, live);
    expect(calendar.text).toContain('2026-12-25 00:00+01:00');
    const address = await site.send(
      `${ALL}/preview`,
      { kind: 'ics_url', zone: 'UTC', ics_url: 'https://example.org/a.ics' },
      live,
    );
    expect(address.text).toContain('is read when this is saved');
  });

  test('without JavaScript shows the whole form again', async () => {
    const { text } = await site.send(`${ALL}/preview`, { ...WEEKLY, name: 'Mine', 'weekly.1.start': '04:00' });
    expect(text).toContain('<h1>New window</h1>');
    expect(text).toContain('value="Mine"');
    expect(text).toMatch(/name="weekly\.1\.start" value="04:00"/);
    // Two rows are left to be filled in.
    expect(text).toContain('name="weekly.3.start"');
  });
});

describe('what is wrong is said at its field', () => {
  test('and nothing typed is lost', async () => {
    const { status, text } = await site.send(`${ALL}/+new`, {
      name: 'Bad',
      kind: 'weekly',
      zone: 'Mars/Base',
      'weekly.1.days': ['mon'],
      'weekly.1.start': '25:00',
      'weekly.1.duration': 'long',
      who: 'some',
      jobs: 'backup, nobody',
    });
    expect(status).toBe(400);
    expect(errorOf(text, 'zone')).toBeDefined();
    // A page needs no call of the API: it offers the slugs.
    expect(errorOf(text, 'jobs')).toMatch(/no such job in this project$/);
    expect(text).toMatch(/name="jobs"[^>]*list="job-slugs"/);
    expect(text).toContain('<datalist id="job-slugs"><option value="backup"');
    expect(text).toContain('row 2, start:');
    expect(text).toContain('row 2, duration:');
    expect(text).toMatch(/name="weekly\.1\.duration" value="long"/);
  });

  test('a number without a unit could be seconds or minutes', async () => {
    const said = 'Write 90s, 90m or 90h: a number alone could be any of them.';
    const once = { name: 'Bare', kind: 'once', zone: 'UTC', duration: '90' };
    expect(errorOf((await site.send(`${ALL}/+new`, once)).text, 'duration')).toBe(said);
    expect((await site.send(`${ALL}/preview`, once, { 'HX-Request': 'true' })).text).toContain(said);
    const cron = { name: 'Bare', kind: 'cron', zone: 'UTC', cron: '0 2 * * *', cron_duration: '90' };
    expect(errorOf((await site.send(`${ALL}/+new`, cron)).text, 'cron_duration')).toBe(said);
    const weekly = { 'weekly.0.days': ['sun'], 'weekly.0.start': '02:30', 'weekly.0.duration': '90' };
    const rows = await site.send(`${ALL}/+new`, { name: 'Bare', kind: 'weekly', zone: 'UTC', ...weekly });
    expect(rows.text).toContain(`row 1, duration: ${said}`);
    expect((await site.call('GET', '/maintenance/bare')).status).toBe(404);
    const exact = await site.send(`${ALL}/preview`, { ...once, duration: '90s' }, { 'HX-Request': 'true' });
    expect(exact.text).toContain('1 min 30 s');
    expect(exact.text).toContain('The next window<');
  });

  test('times that are none, nobody named, and a slug that is taken', async () => {
    const once = { name: 'Bad', kind: 'once', zone: 'UTC', from: 'tomorrow', duration: '1h' };
    expect(errorOf((await site.send(`${ALL}/+new`, once)).text, 'from')).toContain('Write a local time');
    const nobody = { name: 'Bad', kind: 'once', zone: 'UTC', duration: '1h', who: 'some' };
    expect(errorOf((await site.send(`${ALL}/+new`, nobody)).text, 'jobs')).toContain('Name at least one');
    const taken = { name: 'Weekend', kind: 'once', zone: 'UTC', duration: '1h' };
    expect(errorOf((await site.send(`${ALL}/+new`, taken)).text, 'slug')).toContain(
      'weekend is the slug of another window',
    );
    expect((await windowOf('weekend')).weekly).not.toBeNull();
  });
});

describe('an edit', () => {
  test.each(['db-upgrade', 'weekend', 'patch', 'holidays'])('of %s begins with what is stored', async (slug) => {
    const stored = await windowOf(slug);
    const berlin = zones.get('Europe/Berlin');
    if (!berlin.ok) throw new Error(berlin.reason);
    const draft = windowDraftOf(stored, berlin.value);
    expect(windowBody(draft, zones).flaws).toEqual([]);
    const saved = await site.send(`${ALL}/${slug}/edit`, draft);
    expect(saved.status).toBe(303);
    expect(await windowOf(slug)).toEqual(stored);
  });

  test('changes the window, and ending it takes it from the list', async () => {
    await site.send(`${ALL}/patch/edit`, {
      name: 'Patch',
      kind: 'cron',
      zone: 'UTC',
      cron: '0 3 1 * *',
      cron_duration: '1h',
    });
    expect(await windowOf('patch')).toMatchObject({ zone: 'UTC', cron: '0 3 1 * *', duration: '1h' });
    const ended = await site.send(`${ALL}/patch/end`, {});
    expect([ended.status, ended.location]).toEqual([303, ALL]);
    expect((await site.open(`${ALL}/patch`)).status).toBe(404);
    expect((await site.send(`${ALL}/patch/end`, {})).status).toBe(404);
  });
});

test('ending a window asks first, and says what follows', async () => {
  await site.call('PUT', '/maintenance/asked', {
    name: 'Asked',
    from: '2030-01-01T00:00:00Z',
    until: '2030-01-01T01:00:00Z',
  });
  expect((await site.open(`${ALL}/asked`)).text).toContain(`href="${ALL}/asked/end"`);
  const { status, text } = await site.open(`${ALL}/asked/end`);
  expect([status, text.includes('End Asked?')]).toEqual([200, true]);
  expect(text).toContain(`<a href="${ALL}/asked">Keep it</a>`);
  expect((await site.call('GET', '/maintenance/asked')).status).toBe(200);
  await site.call('DELETE', '/maintenance/asked');
});

test('whoever may only look sees windows and no forms', async () => {
  site.as('viewer');
  const page = await site.open(`${ALL}/weekend`);
  expect(page.status).toBe(200);
  expect(page.text).not.toContain('<form');
  expect((await site.open(`${ALL}/+new`)).status).toBe(403);
  expect((await site.send(`${ALL}/weekend/end`, {})).status).toBe(403);
  site.as('owner');
});

test('a calendar whose address cannot be read says since when and why', async () => {
  await site.send(`${ALL}/+new`, { name: 'Feed', kind: 'ics', zone: 'UTC', ics: HOLIDAYS });
  await site.database.transaction(async (tx) => {
    await tx.sql`
      update maintenance_windows set fetched_at = '2026-10-18T10:00:00Z', fetch_failure = 'the server answered 500',
        definition = jsonb_set(definition, '{when,url}', '"https://example.org/feed.ics"')
      where slug = 'feed' and known_until is null`;
  });
  for (const path of [ALL, `${ALL}/feed`]) {
    const { text } = await site.open(path);
    expect(text).toContain('2026-10-18 10:00 UTC');
    expect(text).toContain('Cannot be read since: the server answered 500');
  }
});
