import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-10-20T12:00:00Z');
  await site.call('PUT', '/jobs/bills', {
    name: 'Bills <b>& co</b>',
    zone: 'Europe/Berlin',
    schedules: [{ cron: '30 2 * * *' }],
    missed_runs: 'catch_up',
    missed_runs_reason: 'each night bills its own day',
    grace: '20m',
    start_within: '10m',
    max_runtime: '1h',
    useful_for: '20d',
    tags: ['billing'],
  });
  await night('2026-10-21', 'success');
  await night('2026-10-22', 'fail');
  await site.at('2026-10-23T12:00:00Z');
  await site.tick();
});
afterAll(() => site.drop());

/** A run of ten minutes in that night. */
async function night(date: string, end: 'success' | 'fail'): Promise<void> {
  await site.at(`${date}T00:31:00Z`);
  await site.ping('bills', 'start');
  await site.at(`${date}T00:41:00Z`);
  await site.ping('bills', end, end === 'fail' ? { exitCode: 3 } : {});
}

const JOB = '/projects/default/jobs/bills';

test('the page of a job says in words what it is, what is wrong, and what is next', async () => {
  const { status, text, headers } = await site.open(JOB);
  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).not.toMatch(/ style=|<b>&(?!amp)/);
  expect(text).toContain('Bills &lt;b&gt;&amp; co&lt;/b&gt;');
  expect(text).toContain('At 02:30');
  expect(text).toContain('30 2 * * *');
  expect(text).toContain('Catch up: what nobody ran stays owed');
  expect(text).toContain('each night bills its own day');
  // Next due, in the job's zone with its offset, and how far away.
  expect(text).toContain('2026-10-24 02:30+02:00');
  expect(text).toContain('in 12 h 30 min');
  expect(text).toContain('2026-10-21 02:30+02:00</time></a>, ended');
});

test('open incidents stand on top, each with a link and a word to say', async () => {
  const { text } = await site.open(JOB);
  expect(text).toMatch(/did not run<\/b> since|failed<\/b> since/);
  expect(text.match(/\/incidents\/\d+\/ack/g)).toHaveLength(2);
});

test('what is owed is listed oldest first, with how to pay it and the buttons that settle it', async () => {
  const { text } = await site.open(JOB);
  const owed = text.slice(text.indexOf('id="owed"'), text.indexOf('id="roll"'));
  expect(owed.indexOf('2026-10-22 02:30')).toBeGreaterThan(0);
  expect(owed.indexOf('2026-10-23 02:30')).toBeGreaterThan(owed.indexOf('2026-10-22 02:30'));
  expect(owed).toContain('rollcall exec bills --catch-up -- COMMAND');
  const { json } = await site.call('GET', '/jobs/bills');
  expect(owed).toContain(`${json.ping_url}/0?occ=2026-10-22T02:30+02:00`);
  expect(owed).toContain('Skip all');
  // It is handed out already: run would change nothing.
  expect(owed).not.toContain('Run all');
});

test('each cell of the roll leads to its occurrence', async () => {
  const { text } = await site.open(JOB);
  const links = [...text.matchAll(/<a href="([^"]*\/occurrences\/[^"]*)" aria-label="([^"]*)"/g)];
  expect(links.map(([, , label]) => label).slice(0, 4)).toEqual([
    '2026-10-21 02:30+02:00 on time',
    '2026-10-22 02:30+02:00 failed',
    '2026-10-23 02:30+02:00 overdue',
    '2026-10-24 02:30+02:00 to come',
  ]);
  expect((await site.open(links[1]?.[1] ?? '')).text).toContain('2026-10-22 02:30+02:00');
});

test('the deadlines of the current occurrence are a drawing and a list', async () => {
  const { text } = await site.open(JOB);
  const line = text.slice(text.indexOf('id="current"'), text.indexOf('id="year"'));
  for (const name of ['Opens', 'Due', 'Start by', 'Deadline', 'Useful until'])
    expect(line).toContain(`<dt>${name}</dt>`);
  expect(line).toContain('2026-10-23 02:25+02:00');
  expect(line).toContain('2026-10-23 02:50+02:00');
  // Twenty days later the clocks have gone back.
  expect(line).toContain('2026-11-12 01:30+01:00');
  expect(line).toMatch(/<text class="name"[^>]*>deadline<\/text><text[^>]*>\+20 min</);
});

test('the year has a shape for the worst end of each day, and says the same as a table', async () => {
  const { text } = await site.open(JOB);
  const year = text.slice(text.indexOf('id="year"'), text.indexOf('id="durations"'));
  expect(year).toContain('2026-10-22: 1 failed');
  expect(year).toContain('class="c-failed"');
  expect(year).toContain('class="c-overdue"');
  expect(year).toContain('/occurrences?day=2026-10-22');
  const table = year.slice(year.indexOf('<table'));
  expect(table).toMatch(/2026-10<\/th><td[^>]*>1<\/td><td[^>]*>0<\/td><td[^>]*>1<\/td>/);
  expect(table).toContain('/occurrences?day=2026-10-23');
});

test('how long runs take is plotted with its unit, and told in a sentence', async () => {
  const { text } = await site.open(JOB);
  const plot = text.slice(text.indexOf('id="durations"'), text.indexOf('id="newest"'));
  expect(plot).toContain('The last 2 runs: median 10 min, 95 % within 10 min, the longest 10 min, 1 failed (×)');
  expect(plot).toContain('>10 min</text>');
});

test('a viewer sees all of it, but no secret and no form', async () => {
  site.as('viewer');
  const pages = ['', '/occurrences', '/pings', '/snippets', '/occurrences/2026-10-22T02:30+02:00'];
  for (const page of pages) {
    const { status, text } = await site.open(JOB + page);
    expect(status).toBe(200);
    expect(text).not.toMatch(/method="post"|\/ping\/[0-9a-f]{8}-/);
  }
  expect((await site.send(`${JOB}/pause`, {})).status).toBe(403);
  site.as('owner');
});

test('a page that reads itself again gets nothing while its own job is as it was', async () => {
  const { text } = await site.open(JOB);
  const path = /hx-get="([^"]*)"/.exec(text)?.[1] ?? '';
  expect(path).toContain('?seen=');
  const again = await site.open(path, { 'HX-Request': 'true' });
  expect([again.status, again.text]).toEqual([204, '']);
  // Without htmx it is a page like any other.
  expect((await site.open(path)).status).toBe(200);
  await site.ping('bills', 'log');
  expect((await site.open(path, { 'HX-Request': 'true' })).status).toBe(200);
});

test('a job that a ping made says so, until somebody has looked at its schedule', async () => {
  const review = (unreviewed: boolean) =>
    site.database.transaction((tx) => tx.sql`update jobs set unreviewed = ${unreviewed} where slug = 'bills'`);
  await review(true);
  const { text } = await site.open(JOB);
  expect(text).toContain(`this job was made by its first ping. <a href="${JOB}/edit">Check its schedule</a>`);
  expect(text).not.toContain('/api/v1/jobs');
  await review(false);
  expect((await site.open(JOB)).text).not.toContain('nreviewed');
});

test('an unknown job is a page that says so, and one named "new" is a job like any other', async () => {
  expect((await site.open('/projects/default/jobs/nothing')).status).toBe(404);
  expect((await site.open('/projects/default/jobs/Not%20a%20slug')).status).toBe(404);
  await site.call('PUT', '/jobs/new', {
    schedules: [{ every: '1h' }],
    zone: 'UTC',
    missed_runs: 'skip',
    name: 'Newest',
  });
  expect((await site.open('/projects/default/jobs/new')).text).toContain('<h1>Newest');
  expect((await site.open('/projects/default/jobs/+new')).text).toContain('New job');
  await site.call('DELETE', '/jobs/new');
});

test('a job of another project is not there', async () => {
  const other = await site.database.transaction(
    (tx) => tx.sql<{ id: number }[]>`
      insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
      select p.id, gen_random_uuid(), 'hidden', j.definition, j.created_at, j.settings_since
      from jobs j, projects p where j.slug = 'bills' and p.slug = 'other' returning id`,
  );
  expect(other).toHaveLength(1);
  expect((await site.open('/projects/default/jobs/hidden')).status).toBe(404);
});
