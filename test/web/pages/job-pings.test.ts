import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
let url = '';
beforeAll(async () => {
  site = await startSite('2026-03-01T12:00:00Z');
  const { json } = await site.call('PUT', '/jobs/backup', {
    zone: 'Europe/Berlin',
    schedules: [{ cron: '30 2 * * *' }],
    missed_runs: 'catch_up',
  });
  url = new URL(json.ping_url).pathname;
  await ping('');
  await site.at('2026-03-02T01:30:10Z');
  await ping('/start');
  await site.at('2026-03-02T01:32:10Z');
  await ping('/1?at=2026-03-02T01:32:00Z', 'line <one>\n\u001b[31mred\u001b[0m \0 end');
  await ping('?occ=next%20week');
  await ping('?occ=2026-03-02T02:31%2B01:00');
  await ping('/start?rid=abc');
  await ping('/300');
});
afterAll(() => site.drop());

/** As a sender sends it, whatever is answered. */
async function ping(what: string, body?: string): Promise<void> {
  await site.site.request(`https://rollcall.example.org${url}${what}`, {
    method: 'POST',
    headers: { 'User-Agent': 'curl/8 <b>' },
    ...(body === undefined ? {} : { body }),
  });
}

const PINGS = '/projects/default/jobs/backup/pings';

const rows = async (): Promise<readonly string[]> => {
  const { text } = await site.open(PINGS);
  return [...text.matchAll(/<tr class="[^"]*">(.*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
};

test('all pings are listed, newest first, with how each was matched or why it was not', async () => {
  const [code, rid, nothing, unreadable, fail, start, noon] = await rows();
  expect(noon).toContain('off schedule: no occurrence was near');
  expect(start).toContain('2026-03-02 02:30:10+01:00 start 2026-03-02 02:30+01:00 the current occurrence');
  expect(fail).toContain('of 2026-03-02 02:32+01:00 fail, exit code 1');
  expect(fail).toContain('by the run in progress');
  expect(unreadable).toContain('unmatched: its key next week cannot be read');
  expect(nothing).toContain('unmatched: its key 2026-03-02T02:31+01:00 named no occurrence');
  expect(rid).toContain('unmatched: its run id was no UUID');
  expect(code).toContain('unmatched: 300 is no exit code');
});

test('what a ping said is text on its page, whatever it was', async () => {
  const { text: list } = await site.open(PINGS);
  const id = /pings\/(\d+)">\d+ bytes/.exec(list)?.[1];
  const { status, text } = await site.open(`${PINGS}/${id}`);
  expect(status).toBe(200);
  expect(text).toContain('line &lt;one&gt;\n\ufffd[31mred\ufffd[0m \ufffd end');
  expect(text).toContain('curl/8 &lt;b&gt;');
  expect(text).toContain('POST');
});

test('its bytes are served as nothing but text', async () => {
  const { text: list } = await site.open(PINGS);
  const id = /pings\/(\d+)">\d+ bytes/.exec(list)?.[1];
  const { status, headers, text } = await site.open(`${PINGS}/${id}/body`);
  expect(status).toBe(200);
  expect(text).toBe('line <one>\n\u001b[31mred\u001b[0m \0 end');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain('sandbox');
  expect(headers.get('content-disposition')).toBe(`attachment; filename="ping-${id}.txt"`);
});

test('a ping that is not there, or is another job’s, is not found', async () => {
  await site.call('PUT', '/jobs/other', { zone: 'UTC', schedules: [{ cron: '0 0 * * *' }], missed_runs: 'skip' });
  const { text: list } = await site.open(PINGS);
  const id = /pings\/(\d+)"/.exec(list)?.[1];
  for (const path of [`${PINGS}/999999`, `${PINGS}/x`, `/projects/default/jobs/other/pings/${id}`]) {
    expect((await site.open(path)).status).toBe(404);
    expect((await site.open(`${path}/body`)).status).toBe(404);
  }
});

test('pages of pings follow each other', async () => {
  await site.call('PUT', '/jobs/busy', { zone: 'UTC', schedules: [{ cron: '0 0 * * *' }], missed_runs: 'skip' });
  for (let i = 0; i < 60; i++) await site.ping('busy', 'log');
  const { text } = await site.open('/projects/default/jobs/busy/pings');
  const older = /<a href="([^"]*)">Older<\/a>/.exec(text)?.[1] ?? '';
  const second = await site.open(older);
  const ids = [text, second.text].map((page) => [...page.matchAll(/pings\/(\d+)"/g)].map(([, id]) => Number(id)));
  expect(ids.map(({ length }) => length)).toEqual([50, 10]);
  expect(new Set(ids.flat()).size).toBe(60);
  expect(second.text).toContain('>Newest</a>');
});
