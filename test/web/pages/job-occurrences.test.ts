import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Tx } from '../../../src/store/database.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-10-24T20:00:00Z');
  await site.call('PUT', '/jobs/hourly', {
    name: 'Hourly',
    zone: 'Europe/Berlin',
    schedules: [{ cron: '15 * * * *' }],
    missed_runs: 'skip',
    grace: '10m',
  });
  await site.call('PUT', '/jobs/night', {
    zone: 'Europe/Berlin',
    schedules: [{ cron: '0 4 * * *' }],
    missed_runs: 'coalesce',
    grace: '10m',
  });
  await site.at('2026-10-25T00:16:00Z');
  await site.ping('hourly', 'start');
  await site.at('2026-10-25T00:17:30Z');
  await site.ping('hourly', 'success');
  await site.at('2026-10-25T01:16:00Z');
  await site.ping('hourly', 'fail', { exitCode: 2 });
  await site.at('2026-10-27T12:00:00Z');
  await site.tick();
});
afterAll(() => site.drop());

const JOB = '/projects/default/jobs/hourly';

const rowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<tr class="[^"]*">(.*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replace(/<title>.*?<\/title>|<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

test('both passes of a repeated hour are told apart by offset and by name, and shown in UTC and the reader’s zone', async () => {
  const { text } = await site.open(`${JOB}/occurrences?day=2026-10-25`, { Cookie: 'zone=America/New_York' });
  const rows = rowsOf(text);
  // The day has 25 hours.
  expect(rows).toHaveLength(25);
  expect(rows).toContain(
    '2026-10-25 02:15+02:00 first pass 2026-10-25 00:15 UTC 2026-10-24 20:15-04:00 on time 1 min 30 s',
  );
  expect(rows).toContain('2026-10-25 02:15+01:00 second pass 2026-10-25 01:15 UTC 2026-10-24 21:15-04:00 failed');
  expect(rows.filter((row) => row.includes('pass'))).toHaveLength(2);
});

test('a reader whose clock shows the same as the job’s gets no second column of it', async () => {
  const { text } = await site.open(`${JOB}/occurrences`, { Cookie: 'zone=Europe/Paris' });
  expect(text).not.toContain('>Europe/Paris<');
  expect(text).toContain('>UTC<');
});

test('the ledger is filtered by state and by local date, both ends inside', async () => {
  expect(rowsOf((await site.open(`${JOB}/occurrences?state=failed`)).text)).toHaveLength(1);
  const { text } = await site.open(`${JOB}/occurrences?from=2026-10-26&until=2026-10-26`);
  const rows = rowsOf(text);
  expect(rows).toHaveLength(24);
  expect(rows[0]).toContain('2026-10-26 23:15+01:00');
  expect(rows[23]).toContain('2026-10-26 00:15+01:00');
  // A date to come lists what is expected.
  expect(rowsOf((await site.open(`${JOB}/occurrences?day=2026-10-28`)).text)[0]).toContain('to come');
});

test('pages follow each other without gap or repeat, and keep the filter', async () => {
  const seen: string[] = [];
  let path: string | undefined = `${JOB}/occurrences?from=2026-10-24&until=2026-10-27`;
  for (let pages = 0; path !== undefined && pages < 9; pages++) {
    const { text }: { text: string } = await site.open(path);
    seen.push(...rowsOf(text));
    path = /<a href="([^"]*)">Older<\/a>/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    if (path !== undefined) expect(path).toContain('from=2026-10-24');
  }
  // From 22:15 on the 24th to 23:15 on the 27th, local time: 2 + 25 + 24 + 24.
  expect(seen).toHaveLength(75);
  expect(new Set(seen).size).toBe(75);
});

test('a date that cannot be read is said at its field, with what was typed', async () => {
  const { status, text } = await site.open(`${JOB}/occurrences?from=25.10.2026&until=2026-10-01`);
  expect(status).toBe(400);
  expect(text).toContain('value="25.10.2026" aria-invalid="true" aria-describedby="from-wrong"');
  expect(text).toContain('write a date such as 2026-10-25');
  const turned = await site.open(`${JOB}/occurrences?from=2026-10-25&until=2026-10-01`);
  expect(turned.text).toContain('must not be before from');
});

test('a cursor of another list, or none at all, is the first page', async () => {
  const { status, text } = await site.open(`${JOB}/occurrences?cursor=nonsense`);
  expect(status).toBe(200);
  expect(rowsOf(text)[0]).toContain('2026-10-27 12:15+01:00');
});

test('one occurrence has its state and why, its runs and pings, its incidents, and how to complete it', async () => {
  const { status, text } = await site.open(`${JOB}/occurrences/2026-10-25T02:15+01:00`);
  expect(status).toBe(200);
  expect(text).toContain('second pass');
  expect(text).toContain('2026-10-25 01:15 UTC');
  expect(text).toContain('fail, exit code 2');
  expect(text).toContain('not announced');
  expect(text).toMatch(/Incident \d+: Hourly failed/);
  const { json } = await site.call('GET', '/jobs/hourly');
  expect(text).toContain(`${json.ping_url}/0?occ=2026-10-25T02:15+01:00`);
  // Under skip nothing is owed.
  expect(text).not.toContain('rollcall exec');
});

test('every spelling of a key leads to the page; what is none, or names nothing, is a page that says so', async () => {
  expect((await site.open(`${JOB}/occurrences/2026-10-25T01:15:00Z`)).text).toContain('2026-10-25 02:15+01:00');
  const none = await site.open(`${JOB}/occurrences/2026-10-25T02:16+01:00`);
  expect(none.status).toBe(404);
  expect(none.text).toContain('Nearest: 2026-10-25T02:15+01:00 and 2026-10-25T03:15+01:00');
  expect((await site.open(`${JOB}/occurrences/yesterday`)).status).toBe(404);
});

test('a covered one leads to the one that covers it', async () => {
  await site.at('2026-10-27T03:30:00Z');
  await site.at('2026-10-28T03:01:00Z');
  await site.ping('night', 'success');
  const path = '/projects/default/jobs/night/occurrences';
  const { text } = await site.open(`${path}/2026-10-27T04:00+01:00`);
  expect(text).toContain('covered by a later run');
  expect(text).toContain(`<a href="${path}/2026-10-28T04:00+01:00">`);
});

test('the number of statements does not grow with the ledger', async () => {
  await site.call('PUT', '/jobs/young', { zone: 'UTC', schedules: [{ cron: '0 * * * *' }], missed_runs: 'skip' });
  await site.at('2026-10-28T05:30:00Z');
  await site.ping('young', 'success');
  await site.ping('hourly', 'success');
  await site.tick();
  const young = await statements('/projects/default/jobs/young');
  expect(young).toBeGreaterThan(10);
  expect(young).toBeLessThan(45);
  expect(await statements(JOB)).toBe(young);
  expect(await statements(`${JOB}/occurrences`)).toBe(await statements('/projects/default/jobs/young/occurrences'));
});

/** How many statements a page takes, transactions' own ones left out. */
async function statements(path: string): Promise<number> {
  let count = 0;
  const { transaction } = site.database;
  const counted: Database['transaction'] = (work, options) =>
    transaction((tx) => {
      const sql = new Proxy(tx.sql, {
        apply(target, self, args: [unknown]) {
          // A fragment has no text of a statement of its own.
          const [strings] = args as [readonly string[]];
          if (Array.isArray(strings) && /^\s*(select|\(select|with|\$)/i.test(strings.join('$'))) count += 1;
          return Reflect.apply(target as never, self, args);
        },
      });
      return work({ ...tx, sql } as Tx);
    }, options);
  Object.assign(site.database, { transaction: counted });
  expect((await site.open(path)).status).toBe(200);
  Object.assign(site.database, { transaction });
  return count;
}
