import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ackLink, readAckSecret } from '../../src/store/ack-link.ts';
import { ackPages } from '../../src/web/ack.tsx';
import { loadZones } from '../../src/zones.ts';
import { Alerts, type Hook } from '../support/alerts.ts';

const BASE = 'https://rollcall.example.org';
const yearly = { schedules: [{ cron: '30 2 2 3 *' }], zone: 'Europe/Berlin', missed_runs: 'catch_up' };

let a: Alerts;
let ops: Hook;
let pages: ReturnType<typeof ackPages>;
let secret: string;
let channelId: number;
beforeAll(async () => {
  a = await Alerts.start('2026-03-02T01:00:00Z');
  ops = await a.hook('ops');
  pages = ackPages({ database: a.t.database, zones: loadZones() });
  secret = await a.t.database.transaction(readAckSecret);
  channelId = await idOf('channels', 'ops');
});
afterAll(() => a.drop());

let number = 0;
let slug = '';
let incidentId = 0;
let link = '';
beforeEach(async () => {
  number += 1;
  slug = `job-${number}`;
  await a.t.at('2026-03-02T01:00:00Z');
  await a.t.call('PUT', `/jobs/${slug}`, { ...yearly, name: 'Nightly <billing>' });
  await a.at('2026-03-02T01:35:00Z');
  incidentId = await a.incident(slug);
  link = ackLink(secret, BASE, { incidentId, channelId, now: Date.parse('2026-03-02T01:35:05Z') });
});

async function idOf(table: 'channels' | 'jobs', of: string): Promise<number> {
  const [row] = await a.t.database.transaction(
    (tx) => tx.sql<{ id: number }[]>`select id from ${tx.sql(table)} where slug = ${of}`,
  );
  return row?.id ?? 0;
}
const incident = async () => (await a.t.call('GET', `/incidents/${incidentId}`)).json;
const get = (url = link, init: RequestInit = {}) => pages.request(url.slice(BASE.length), init);
const post = (fields: Record<string, string>, url = link) =>
  get(url, { method: 'POST', body: new URLSearchParams(fields) });
const pageAfter = async (response: Response): Promise<string> => {
  expect(response.status).toBe(303);
  return (await get(new URL(response.headers.get('location') ?? '', link).href)).text();
};

test('ALR-012 opening the link, as mail scanners and previews do, changes nothing', async () => {
  const before = await incident();
  for (const init of [{}, { method: 'HEAD' }, { headers: { 'Sec-Purpose': 'prefetch' } }]) {
    expect((await get(link, init)).status).toBe(200);
  }
  for (const query of ['?do=ack', '?do=snooze&until=1h']) expect((await get(link + query)).status).toBe(200);
  expect(await incident()).toEqual(before);
  expect(before.acked_at).toBeNull();
});

test('the page says what it is about, works without JavaScript, and nobody else is told its address', async () => {
  const response = await get();
  const page = await response.text();
  expect(page).toContain('<h1>Nightly &lt;billing&gt; did not run</h1>');
  expect(page).toContain('2026-03-02 02:30+01:00 overdue');
  expect(page).not.toMatch(/<script|javascript:|\son\w+=|src=|https?:\/\//i);
  expect(page.match(/<form method="post">/g)).toHaveLength(2);
  expect(page).toContain(`<a href="/projects/default/incidents/${incidentId}">Open in Rollcall</a>`);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    ),
  });
});

test('POST acknowledges, once, in the name of the channel that the link went to', async () => {
  const page = await pageAfter(await post({ do: 'ack' }));
  expect(page).toContain('2026-03-02 02:35:05+01:00 by channel ops');
  expect(page).not.toContain('value="ack"');
  const acked = await incident();
  expect(acked).toMatchObject({ acked_at: '2026-03-02T01:35:05Z', acked_by: 'channel ops' });
  await a.t.at('2026-03-02T02:00:00Z');
  await pageAfter(await post({ do: 'ack' }));
  expect(await incident()).toEqual(acked);
});

test.each([
  ['1h', '2026-03-02T02:35:05Z'],
  ['4h', '2026-03-02T05:35:05Z'],
])('POST snoozes for %s', async (until, ends) => {
  expect(await pageAfter(await post({ do: 'snooze', until }))).toContain('Snoozed until');
  expect(await incident()).toMatchObject({ snoozed_until: ends, snoozed_by: 'channel ops' });
});

test('a snooze that was a slip of the finger is ended by the same page', async () => {
  expect(await (await get()).text()).not.toContain('End the snooze');
  const page = await pageAfter(await post({ do: 'snooze', until: '4h' }));
  expect(page).toMatch(/name="until" value="off">\s*End the snooze/);
  expect(await pageAfter(await post({ do: 'snooze', until: 'off' }))).not.toContain('Snoozed until');
  expect(await incident()).toMatchObject({ snoozed_until: null, snoozed_by: null });
});

test('tomorrow at nine is nine by the clock of the job, and the button says so', async () => {
  await a.t.at('2026-03-28T23:30:00Z');
  const late = ackLink(secret, BASE, { incidentId, channelId, now: Date.parse('2026-03-28T23:30:00Z') });
  const page = await (await get(late)).text();
  // Half past midnight in Berlin on the 29th, the day the clocks go forward; the day after it is 09:00+02:00.
  expect(page).toContain('tomorrow 09:00 (2026-03-30 09:00+02:00)');
  const until = /name="until" value="(2026[^"]+)"/.exec(page)?.[1] ?? '';
  await pageAfter(await post({ do: 'snooze', until }, late));
  expect((await incident()).snoozed_until).toBe('2026-03-30T07:00:00Z');
});

describe('what does nothing, and says so', () => {
  test.each([
    [{ do: 'delete' }, 'no such button'],
    [{}, 'no such button'],
    [{ do: 'snooze' }, 'no such button'],
    [{ do: 'snooze', until: 'soon' }, 'no such button'],
    [{ do: 'snooze', until: '2000d' }, 'no such button'],
    [{ do: 'snooze', until: '2026-03-02T01:00:00Z' }, 'That time has passed'],
    [{ 'List-Unsubscribe': 'One-Click' }, 'no such button'],
  ])('POST %j', async (fields, text) => {
    const before = await incident();
    const response = await post(fields as Record<string, string>);
    expect([response.status, (await response.text()).includes(text)]).toEqual([400, true]);
    expect(await incident()).toEqual(before);
  });

  test.each(['multipart/form-data', 'multipart/form-data; boundary=x', 'application/json'])(
    'a body that is no form: %s',
    async (type) => {
      const headers = { 'Content-Type': type };
      const response = await get(link, { method: 'POST', headers, body: '{"do":"ack"}' });
      expect([response.status, (await response.text()).includes('no such button')]).toEqual([400, true]);
      expect((await incident()).acked_at).toBeNull();
    },
  );

  test('a large body', async () => {
    expect((await post({ do: 'ack', more: 'x'.repeat(5000) })).status).toBe(413);
    expect((await incident()).acked_at).toBeNull();
  });

  test('a link that is cut, changed, made elsewhere or of another incident', async () => {
    const token = link.split('/').at(-1) ?? '';
    const [id = '', channel = '', until = '', mac = ''] = token.split('.');
    const other = ackLink('0'.repeat(64), BASE, { incidentId, channelId, now: Date.now() }).split('/').at(-1) ?? '';
    const later = (Number.parseInt(until, 36) + 1).toString(36);
    const wrong = [
      token.slice(0, -1),
      `${token}0`,
      token.toUpperCase(),
      `${(incidentId + 1).toString(36)}.${channel}.${until}.${mac}`,
      `${id}.${(channelId + 1).toString(36)}.${until}.${mac}`,
      `${id}.${channel}.${later}.${mac}`,
      other,
      'x',
      '%00',
    ];
    for (const one of wrong) {
      for (const response of [await get(`${BASE}/a/${one}`), await post({ do: 'ack' }, `${BASE}/a/${one}`)]) {
        expect(response.status, one).toBe(404);
        expect(await response.text()).toContain('This link is not whole');
      }
    }
    expect((await incident()).acked_at).toBeNull();
  });

  test('a link of more than 30 days', async () => {
    await a.t.at('2026-04-01T01:35:04Z');
    expect((await get()).status).toBe(200);
    await a.t.at('2026-04-01T01:35:05Z');
    for (const response of [await get(), await post({ do: 'ack' })]) {
      expect(response.status).toBe(410);
      expect(await response.text()).toContain('This link is too old');
    }
    expect((await incident()).acked_at).toBeNull();
  });

  test('a link to what is over, or gone', async () => {
    await a.t.ping(slug, 'success', { occ: '2026-03-02T02:30+01:00' });
    expect(await (await get()).text()).toContain('It is over');
    await pageAfter(await post({ do: 'ack' }));
    expect(await incident()).toMatchObject({ state: 'resolved', acked_at: null });
    await a.t.call('DELETE', `/jobs/${slug}`);
    expect((await get()).status).toBe(410);
    expect((await post({ do: 'ack' })).status).toBe(410);
  });
});

test('the key of the links is made once, also by two that begin at the same moment', async () => {
  await a.t.database.transaction((tx) => tx.sql`delete from facts where name = 'ack_secret'`);
  const [one, two] = await Promise.all([1, 2].map(() => a.t.database.transaction(readAckSecret)));
  expect(one).toMatch(/^[0-9a-f]{64}$/);
  expect([two, await a.t.database.transaction(readAckSecret)]).toEqual([one, one]);
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect([a.t.logged, ops.requests.length > 0]).toEqual([[], true]);
});
