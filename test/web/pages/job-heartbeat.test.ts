import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IncidentMessage } from '../../../src/core/message.ts';
import { startSite, type TestSite } from './site.ts';

// A heartbeat of a day, pinged and then failed; read twelve minutes later, a day before either is due.

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-11-30T21:40:00Z');
  const receiver = { kind: 'slack', url: 'http://127.0.0.1:9/' };
  expect((await site.call('PUT', '/channels/ops', receiver)).status).toBe(201);
  const heartbeat = { name: 'Nightly Backup', zone: 'Europe/Berlin', schedules: [{ heartbeat: '1d' }], grace: '1h' };
  expect((await site.call('PUT', '/jobs/backup', heartbeat)).status).toBe(201);
  await site.at('2026-11-30T21:45:15Z');
  await site.ping('backup', 'success');
  await site.at('2026-11-30T21:46:10Z');
  await site.ping('backup', 'fail', { exitCode: 2 });
  const early = { zone: 'UTC', schedules: [{ cron: '0 22 * * *' }], missed_runs: 'skip', early: '10m' };
  await site.call('PUT', '/jobs/early', early);
  await site.at('2026-11-30T21:55:00Z');
  await site.ping('early', 'success');
  await site.at('2026-11-30T21:58:10Z');
  await site.tick();
});
afterAll(() => site.drop());

const JOB = '/projects/default/jobs/backup';
const FAILED = '2026-12-01T22:45:15+01:00';
const DONE = '2026-12-01T22:40+01:00';

const wordsOf = (html: string): string =>
  html
    .replace(/<title>.*?<\/title>|<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ ([,;.])/g, '$1');

const listed = async (path: string) => {
  const { json } = await site.call('GET', path);
  return { keys: json.occurrences.map(({ key }: { key: string }) => key), cursor: json.next_cursor };
};

test('the list without until has what is settled already although due later, page by page', async () => {
  const path = '/jobs/backup/occurrences';
  expect((await listed(path)).keys).toEqual([FAILED, DONE]);
  const first = await listed(`${path}?limit=1`);
  expect(first.keys).toEqual([FAILED]);
  expect(await listed(`${path}?limit=1&cursor=${first.cursor}`)).toEqual({ keys: [DONE], cursor: null });
  expect((await listed(`${path}?state=failed`)).keys).toEqual([FAILED]);
  expect((await listed(`${path}?state=expected`)).keys).toEqual([]);
  expect((await listed('/jobs/early/occurrences')).keys).toEqual(['2026-11-30T22:00Z']);
});

test('an until is meant to the letter', async () => {
  for (const slug of ['backup', 'early'])
    expect((await listed(`/jobs/${slug}/occurrences?until=2026-11-30T21:58:10Z`)).keys).toEqual([]);
  expect((await listed('/jobs/backup/occurrences?until=2026-12-01T21:40:00Z')).keys).toEqual([DONE]);
});

test('the page of the job says when it was done, and beside it by when it was due', async () => {
  const { text } = await site.open(JOB);
  const words = wordsOf(text);
  expect(words).toContain('Last done 12 min ago, 2026-11-30 22:45:15+01:00, was due by 2026-12-01 22:40+01:00');
  expect(words).not.toContain('Nothing was due yet');
  expect(text).toContain(`${JOB}/occurrences/${FAILED}`);
  expect(words).toContain('failed ended 12 min ago, 2026-11-30 22:46:10+01:00');
});

test('the calendar counts it on the day it happened, and that day lists it', async () => {
  const { text } = await site.open(JOB);
  const year = wordsOf(text.slice(text.indexOf('id="year"'), text.indexOf('id="newest"')));
  expect(year).toContain('2026-11 1 0 1 0 0 0 30 failed');
  const day = async (date: string) => (await site.open(`${JOB}/occurrences?day=${date}`)).text;
  expect(await day('2026-11-30')).toContain(`${JOB}/occurrences/${FAILED}`);
  expect(await day('2026-11-29')).toContain('No occurrence matches');
  const all = (await site.open(`${JOB}/occurrences`)).text;
  for (const key of [FAILED, DONE]) expect(all).toContain(`${JOB}/occurrences/${key}`);
});

test('the dashboard has a share of it', async () => {
  const { text } = await site.open('/projects/default');
  const row = wordsOf(text.slice(text.indexOf('id="job-backup"')));
  expect(row).toContain('12 min ago 2026-11-30 22:45:15+01:00');
  expect(row).toMatch(/ 50\.0\s*%/);
  expect(row.slice(0, row.indexOf('%'))).not.toContain('no data');
});

test('what is told of it has the instants at which it happened', async () => {
  const rows = await site.database.transaction(
    (tx) => tx.sql<{ payload: IncidentMessage }[]>`select payload from outbox order by id`,
  );
  expect(rows.map(({ payload }) => payload)).toMatchObject([
    {
      occurrences: [{ key: FAILED, endedAt: Date.parse('2026-11-30T21:46:10Z') }],
      facts: { lastCompleted: DONE, lastCompletedAt: Date.parse('2026-11-30T21:45:15Z') },
    },
  ]);
});
