import { afterAll, beforeAll, expect, test } from 'vitest';
import { layOutRow } from './api/api.ts';
import { type StatusSite, startStatusSite } from './status-site.ts';

// Every text of a project that is not meant for the public has a mark in it; no answer to the public may have one.

const MARK = 'S3CR3T';
const secret = (what: string): string => `${MARK}-${what}`;
let t: StatusSite;
let key = '';

beforeAll(async () => {
  t = await startStatusSite('2026-11-25T00:00:00Z');
  const { database, projectId } = t;
  await put('/channels/s3cr3t-channel', {
    kind: 'webhook',
    url: 'https://127.0.0.1/S3CR3T',
    secret: `whsec_${Buffer.from(secret('webhook-of-24-bytes-or-more')).toString('base64')}`,
  });
  await put('/jobs/s3cr3t-upstream', job({ tags: [secret('tag')] }));
  await put('/jobs/s3cr3t-job', job({ tags: [secret('tag'), 'shown'], after: ['s3cr3t-upstream'] }));
  await put('/jobs/s3cr3t-tagged', job({ name: 'Chosen name', tags: ['shown'] }));
  await put('/maintenance/s3cr3t-window', {
    name: secret('window'),
    reason: secret('why'),
    tags: ['shown'],
    from: '2026-12-01T00:00:00Z',
    until: '2026-12-01T04:00:00Z',
  });
  for (let day = 25; day < 28; day += 1) {
    await t.at(`2026-11-${day}T02:01:00Z`);
    await t.tick();
    for (const slug of ['s3cr3t-upstream', 's3cr3t-job', 's3cr3t-tagged']) {
      const said = { body: Buffer.from(secret('output')), userAgent: secret('agent'), source: '192.0.2.77' };
      await t.ping(slug, day === 26 ? 'fail' : 'success', {
        ...said,
        bodyBytes: 10,
        exitCode: day === 26 ? 113 : null,
      });
    }
  }
  await t.at('2026-11-28T12:00:00Z');
  await t.tick();
  const open = await t.call('GET', '/incidents?state=open');
  for (const { id } of open.json.incidents) await t.call('POST', `/incidents/${id}/ack`);
  await t.call('PATCH', '/jobs/s3cr3t-job/occurrences/2026-11-26T02:00Z', { state: 'skipped', note: secret('note') });
  await database.transaction(async (tx) => {
    await tx.sql`update incidents set detail = ${secret('detail')}, acked_by = ${secret('person')}`;
    await tx.sql`update projects set name = ${secret('project')} where id = ${projectId}`;
    await tx.sql`update occurrences set reason = ${secret('reason')}, note = ${secret('note')} where state <> 'on_time'`;
  });
  await layOutRow(t, 1, { at: '2026-11-24T02:00:00Z', state: 'unknown' });
  await put('/status-pages/acme', page);
  await put('/status-pages/closed', { ...page, password: secret('password') });
  const body = new URLSearchParams({ password: secret('password') });
  const { headers } = await t.open('/status/closed', { method: 'POST', body });
  const Cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const { text } = await t.open('/status/closed', { headers: { Cookie } });
  key = /\?key=[\w-]+/.exec(text)?.[0] ?? '';
});
afterAll(() => t.drop());

const page = {
  title: 'Acme',
  zone: 'UTC',
  groups: [
    {
      name: 'By name',
      jobs: [
        { job: 's3cr3t-job', name: 'Public job' },
        { job: 's3cr3t-upstream', name: 'Other' },
      ],
    },
    { name: 'By tag', tag: 'shown' },
  ],
};

const job = (more: object) => ({
  name: 'Public by default',
  description: secret('description'),
  zone: 'UTC',
  schedules: [{ cron: '0 2 * * *' }],
  missed_runs: 'coalesce',
  missed_runs_reason: secret('policy'),
  grace: '10m',
  ...more,
});

async function put(path: string, body: object): Promise<void> {
  const answer = await t.call('PUT', path, body);
  expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300);
}

const FILES = ['', '/embed', '/feed.atom', '/feed.json', '/calendar.ics', '/status.json', '/badge.json', '/badge.svg'];

test('no representation has a secret in it, nor a uuid, an exit code or an address', async () => {
  const uuids = (await t.database.transaction((tx) => tx.sql<{ uuid: string }[]>`select uuid from jobs`)).map(
    ({ uuid }) => uuid,
  );
  const paths = [
    ...FILES.map((file) => `/status/acme${file}`),
    ...FILES.slice(1).map((file) => `/status/closed${file}${key}`),
    '/status/acme/badge.json?job=public-job',
    '/status/acme/badge.svg?group=by-tag',
  ];
  expect(key).not.toBe('');
  for (const path of paths) {
    const { status, text, headers } = await t.open(path);
    expect(status, path).toBe(200);
    const all = `${text.replaceAll('\r\n ', '')}${JSON.stringify([...headers])}`;
    expect(all, path).not.toMatch(/s3cr3t/i);
    expect(all, path).not.toMatch(/\b113\b|192\.0\.2\.77|\/ping\//);
    for (const uuid of uuids) expect(all, path).not.toContain(uuid);
  }
});

test('what is meant for the public is there, so that the marks could have been', async () => {
  const { text } = await t.open('/status/acme');
  expect(text).toContain('Public job');
  expect(text).toContain('Chosen name');
  expect(text).toContain('failed');
  expect(text).toContain('Planned maintenance');
  const json = JSON.parse((await t.open('/status/acme/status.json')).text);
  expect(json.incidents.length).toBeGreaterThan(0);
  expect(json.maintenance).toHaveLength(1);
});

test('texts of the page itself are shown as text, whatever is in them', async () => {
  const nasty = '</title><script>alert(1)</script>]]> & "x" \'y\'';
  await put('/status-pages/nasty', {
    title: nasty,
    text: nasty,
    zone: 'UTC',
    groups: [{ name: nasty, jobs: [{ job: 's3cr3t-job', name: nasty }] }],
  });
  for (const file of ['', '/embed', '/feed.atom', '/badge.svg', '/badge.svg?group=title-script-alert-1-script-x-y']) {
    const { status, text } = await t.open(`/status/nasty${file}`);
    expect(status, file).toBe(200);
    expect(text, file).not.toMatch(/<script|<\/title><script/);
  }
  const ics = (await t.open('/status/nasty/calendar.ics')).text;
  expect(ics.replaceAll('\r\n ', '')).toContain('SUMMARY:</title><script>alert(1)</script>]]> & "x" \'y\'\r\n');
  expect(JSON.parse((await t.open('/status/nasty/feed.json')).text).title).toBe(nasty);
});
