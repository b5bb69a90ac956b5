import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { OTHER_KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
let server: Server;
let url: string;
/** What the feed answers. */
let feed: { status: number; body: string; location?: string };

const calendar = (...events: readonly string[]): string =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', ...events, 'END:VCALENDAR', ''].join('\r\n');
const holiday = (date: string, summary: string): string =>
  ['BEGIN:VEVENT', `UID:${date}`, `DTSTART;VALUE=DATE:${date}`, `SUMMARY:${summary}`, 'END:VEVENT'].join('\r\n');

beforeAll(async () => {
  t = await startApi('2026-03-01T12:00:00Z');
  const job = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip' };
  for (const slug of ['backup', 'billing']) await t.call('PUT', `/jobs/${slug}`, job);
  server = createServer((request, response) => {
    const isRoot = request.url === '/';
    const headers = isRoot && feed.location !== undefined ? { Location: feed.location } : {};
    response.writeHead(isRoot ? feed.status : 200, headers).end(isRoot ? feed.body : calendar());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
beforeEach(async () => {
  await t.at('2026-03-01T12:00:00Z');
  feed = { status: 200, body: calendar(holiday('20260403', 'Good Friday')) };
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await t.drop();
});

const put = (slug: string, body: unknown) => t.call('PUT', `/maintenance/${slug}`, body);
const pathsOf = (errors: readonly { path: string }[]) => errors.map(({ path }) => path);

test('a window is created, read back, replaced, listed and ended', async () => {
  const body = {
    name: 'Kernel',
    reason: 'new kernel',
    jobs: ['backup'],
    from: '2026-03-01T22:00:00+01:00',
    until: '2026-03-01T23:30:00+01:00',
  };
  const created = await put('kernel', body);
  expect(created.status, JSON.stringify(created.json)).toBe(201);
  expect(created.json).toEqual({
    slug: 'kernel',
    ...body,
    from: '2026-03-01T21:00:00Z',
    until: '2026-03-01T22:30:00Z',
    tags: null,
    duration: null,
    weekly: null,
    cron: null,
    ics: null,
    ics_url: null,
    zone: null,
    active: false,
    next: { from: '2026-03-01T21:00:00Z', until: '2026-03-01T22:30:00Z' },
    changed_at: '2026-03-01T12:00:00Z',
    changed_by: expect.stringMatching(/^api key test…$/),
    events: null,
    fetched_at: null,
    fetch_failure: null,
    jobs_left: 0,
  });
  expect((await t.call('GET', '/maintenance/kernel')).json).toEqual(created.json);
  await t.at('2026-03-01T21:00:00Z');
  expect((await t.call('GET', '/maintenance/kernel')).json.active).toBe(true);
  const replaced = await put('kernel', { ...body, jobs: null, until: '2026-03-01T22:00:00Z' });
  expect(replaced.status).toBe(200);
  expect(replaced.json).toMatchObject({
    jobs: null,
    until: '2026-03-01T22:00:00Z',
    changed_at: '2026-03-01T21:00:00Z',
  });
  await t.at('2026-03-01T22:00:00Z');
  expect((await t.call('GET', '/maintenance/kernel')).json).toMatchObject({ active: false, next: null });
  await put('a', { from: '2026-03-02T00:00:00Z', duration: '2h' });
  const first = await t.call('GET', '/maintenance?limit=1');
  expect(first.json.maintenance.map(({ slug }: { slug: string }) => slug)).toEqual(['a']);
  const second = await t.call('GET', `/maintenance?limit=1&cursor=${first.json.next_cursor}`);
  expect(second.json).toMatchObject({ maintenance: [{ slug: 'kernel' }], next_cursor: null });
  for (const slug of ['a', 'kernel']) expect((await t.call('DELETE', `/maintenance/${slug}`)).status).toBe(204);
  expect((await t.call('DELETE', '/maintenance/a')).status).toBe(404);
  expect((await t.call('GET', '/maintenance/a')).status).toBe(404);
  expect((await t.call('GET', '/maintenance')).json).toEqual({ maintenance: [], next_cursor: null });
});

test('without from it begins now, and while it is under way it keeps its beginning', async () => {
  expect((await put('deploy', { duration: '2h' })).json).toMatchObject({
    from: '2026-03-01T12:00:00Z',
    until: '2026-03-01T14:00:00Z',
    active: true,
  });
  await t.at('2026-03-01T13:00:00Z');
  expect((await put('deploy', { duration: '2h' })).json).toMatchObject({
    from: '2026-03-01T12:00:00Z',
    until: '2026-03-01T15:00:00Z',
  });
  await t.at('2026-03-01T16:00:00Z');
  expect((await put('deploy', { until: '2026-03-01T17:00:00Z' })).json).toMatchObject({
    from: '2026-03-01T16:00:00Z',
    until: '2026-03-01T17:00:00Z',
  });
  await t.call('DELETE', '/maintenance/deploy');
});

test('what GET shows can be put back, and is no change', async () => {
  const bodies = [
    { from: '2026-03-02T00:00:00Z', until: '2026-03-02T01:00:00Z', tags: ['db'] },
    { weekly: [{ days: ['sun', 'sat'], start: '22:00', duration: 14_400 }], zone: 'Europe/Berlin' },
    { cron: '30 2 1 * *', zone: 'Europe/Berlin', duration: '90m' },
    { ics: calendar(holiday('20260403', 'Good Friday')), zone: 'Europe/Berlin' },
  ];
  const shown = [];
  for (const [i, body] of bodies.entries()) {
    await t.at('2026-03-01T12:00:00Z');
    const created = await put(`same-${i}`, body);
    expect(created.status, JSON.stringify(created.json)).toBe(201);
    await t.at('2026-03-01T12:30:00Z');
    const { slug, active, next, changed_at, changed_by, events, fetched_at, fetch_failure, jobs_left, ...definition } =
      created.json;
    const again = await put(slug, definition);
    expect([again.status, again.json]).toEqual([200, created.json]);
    shown.push([next, events]);
    await t.call('DELETE', `/maintenance/${slug}`);
  }
  expect(shown).toEqual([
    [{ from: '2026-03-02T00:00:00Z', until: '2026-03-02T01:00:00Z' }, null],
    [{ from: '2026-03-01T21:00:00Z', until: '2026-03-02T01:00:00Z' }, null],
    [{ from: '2026-04-01T00:30:00Z', until: '2026-04-01T02:00:00Z' }, null],
    [{ from: '2026-04-02T22:00:00Z', until: '2026-04-03T22:00:00Z' }, 1],
  ]);
});

test.each([
  [{}, ['from']],
  [{ jobs: ['backup'], reason: 'x' }, ['from']],
  [{ from: '2026-03-02T00:00:00Z' }, ['until']],
  [{ from: '2026-03-02T00:00:00Z', until: '2026-03-02T00:00:00Z' }, ['until']],
  [{ from: '2026-03-02T00:00:00Z', until: '2027-03-04T00:00:00Z' }, ['until']],
  [{ from: 'tomorrow', until: 3 }, ['from', 'until']],
  [{ from: '2026-03-02T00:00:00Z', until: '2026-03-02T01:00:00Z', duration: '1h' }, ['until']],
  [{ from: '2026-03-02T00:00:00Z', duration: '1h', zone: 'UTC' }, ['zone']],
  [{ duration: '0s' }, ['duration']],
  [{ until: '2026-03-01T12:00:00Z' }, ['until']],
  [{ from: '9999-12-31T23:30:00Z', duration: '1h' }, ['duration']],
  [{ duration: '1h', jobs: ['nobody', 'backup'] }, ['jobs[0]']],
  [{ duration: '1h', jobs: [], tags: [] }, ['jobs', 'tags']],
  [{ duration: '1h', start: 'now' }, ['start']],
  [{ cron: '0 2 * * *' }, ['zone', 'duration']],
  [{ cron: '0 2 * *', zone: 'CST', duration: '32d' }, ['zone', 'cron', 'duration']],
  [{ cron: '0 2 * * *', zone: 'UTC', duration: '1h', from: '2026-03-02T00:00:00Z' }, ['from']],
  [{ cron: '0 2 * * *', weekly: [], zone: 'UTC' }, ['cron']],
  [{ weekly: [], zone: 'UTC' }, ['weekly']],
  [{ weekly: [{ days: ['sat'], start: '22:00' }], zone: 'UTC' }, ['weekly[0].duration']],
  [
    { weekly: [{ days: ['saturday'], start: '24:00', duration: '1h', zone: 'UTC' }, 7], zone: 'UTC' },
    ['weekly[0].zone', 'weekly[0].days[0]', 'weekly[0].start', 'weekly[1]'],
  ],
  [
    { weekly: [{ days: [], start: '9:00', duration: '-1h' }] },
    ['zone', 'weekly[0].days', 'weekly[0].start', 'weekly[0].duration'],
  ],
  [{ ics: 'hello', zone: 'UTC' }, ['ics']],
  [{ ics: calendar(holiday('20260403', 'a\0b')), zone: 'UTC' }, ['ics']],
  [{ ics: calendar(holiday('20260403', '\ud800')), zone: 'UTC' }, ['ics']],
  [{ ics: 7, zone: 'UTC' }, ['ics']],
  [{ ics: 'x', ics_url: 'https://example.org/', zone: 'UTC' }, ['ics_url']],
  [{ ics_url: 'http://169.254.169.254/latest/meta-data/', zone: 'UTC' }, ['ics_url']],
  [{ ics_url: 'https://[::1]/', zone: 'UTC' }, ['ics_url']],
  [{ ics_url: 'file:///etc/passwd', zone: 'UTC' }, ['ics_url']],
])('%j is refused, with everything that is wrong', async (body, paths) => {
  const { status, json } = await put('wrong', body);
  expect([status, pathsOf(json.errors)], JSON.stringify(json)).toEqual([400, paths]);
  expect((await t.call('GET', '/maintenance/wrong')).status).toBe(404);
  expect(pathsOf((await put('NOT%20A%20SLUG', body)).json.errors)).toContain('slug');
});

test('a calendar may have 1 MB, although other bodies may not', async () => {
  const filler = `X-FILLER:${'x'.repeat(60)}\r\n`.repeat(13_000);
  const text = calendar(holiday('20260403', 'Good Friday')).replace('BEGIN:VEVENT', `${filler}BEGIN:VEVENT`);
  expect(text.length).toBeGreaterThan(900_000);
  const { status, json } = await put('large', { ics: text, zone: 'UTC' });
  expect([status, json.events]).toEqual([201, 1]);
  expect((await put('larger', { ics: text + filler, zone: 'UTC' })).json.errors).toEqual([
    { path: 'ics', message: expect.stringMatching(/larger than 1 MB/) },
  ]);
  expect((await put('largest', { ics: 'x'.repeat(4_000_000), zone: 'UTC' })).status).toBe(413);
  await t.call('DELETE', '/maintenance/large');
});

test('a calendar by its address is read at once, through redirects, and its failure is told', async () => {
  const body = { ics_url: url, zone: 'Europe/Berlin' };
  const created = await put('feed', body);
  expect([created.status, created.json], JSON.stringify(created.json)).toEqual([
    201,
    expect.objectContaining({ ics: null, ics_url: url, events: 1, fetched_at: '2026-03-01T12:00:00Z' }),
  ]);
  feed = { status: 302, body: '', location: `${url}moved` };
  expect((await put('feed', body)).json.events).toBe(0);
  for (const [answer, reason] of [
    [{ status: 302, body: '', location: url }, /redirects/],
    [{ status: 302, body: '', location: 'http://169.254.169.254/' }, /not allowed/],
    [{ status: 500, body: 'secret of the inside' }, /^HTTP 500$/],
    [{ status: 200, body: '<html>secret of the inside</html>' }, /not a calendar/],
    [{ status: 200, body: 'x'.repeat(1_000_001) }, /larger than 1 MB/],
  ] as const) {
    feed = answer;
    const refused = await put('feed', body);
    expect(refused.json.errors).toEqual([{ path: 'ics_url', message: expect.stringMatching(reason) }]);
    expect(JSON.stringify(refused.json)).not.toContain('secret');
  }
  expect((await t.call('GET', '/maintenance/feed')).json).toMatchObject({ events: 0, fetch_failure: null });
  await t.call('DELETE', '/maintenance/feed');
});

test('a feed is read once a day; where that fails, what is known holds, and after three days the operators hear of it once', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await t.call('PUT', '/channels/ops', { kind: 'webhook', url, secret, operator: true });
  await put('feed', { ics_url: url, zone: 'Europe/Berlin' });
  const shown = async () => (await t.call('GET', '/maintenance/feed')).json;
  const notices = () =>
    t.database.transaction(
      (tx) => tx.sql<{ text: string }[]>`select text from notices where subject like 'calendar:%'`,
    );

  feed = { status: 200, body: calendar(holiday('20260403', 'Good Friday'), holiday('20260406', 'Easter Monday')) };
  await t.at('2026-03-02T11:59:00Z');
  await t.round();
  expect(await shown()).toMatchObject({ events: 1, changed_at: '2026-03-01T12:00:00Z' });
  await t.at('2026-03-02T12:00:00Z');
  await t.round();
  expect(await shown()).toMatchObject({ events: 2, changed_at: '2026-03-02T12:00:00Z', fetch_failure: null });

  feed = { status: 503, body: '' };
  await t.at('2026-03-03T12:00:00Z');
  await t.round();
  expect(await shown()).toMatchObject({ events: 2, fetched_at: '2026-03-02T12:00:00Z', fetch_failure: 'HTTP 503' });
  // Tried again an hour later, not before.
  feed = { status: 200, body: 'nonsense' };
  await t.at('2026-03-03T12:59:00Z');
  await t.round();
  expect((await shown()).fetch_failure).toBe('HTTP 503');
  await t.at('2026-03-03T13:00:00Z');
  await t.round();
  expect((await shown()).fetch_failure).toMatch(/not a calendar/);
  await t.at('2026-03-05T11:59:00Z');
  await t.round();
  expect(await notices()).toEqual([]);
  for (const hour of ['13', '15', '20']) {
    await t.at(`2026-03-05T${hour}:00:00Z`);
    await t.round();
  }
  expect(await notices()).toEqual([
    { text: expect.stringMatching(/^Calendar feed has not been read since 2026-03-02T12:00:00Z/) },
  ]);

  feed = { status: 200, body: calendar(holiday('20260406', 'Easter Monday'), holiday('20260403', 'Good Friday')) };
  await t.at('2026-03-05T21:00:00Z');
  await t.round();
  expect(await shown()).toMatchObject({ fetch_failure: null, fetched_at: '2026-03-05T21:00:00Z' });
  await t.call('DELETE', '/maintenance/feed');
  await t.call('DELETE', '/channels/ops');
});

test('who changed what is in the audit, without the text of calendars', async () => {
  await put('audited', { ics: calendar(holiday('20260403', 'Good Friday')), zone: 'UTC' });
  await t.call('DELETE', '/maintenance/audited');
  const rows = await t.database.transaction(
    (tx) => tx.sql`select action, actor, detail from audit where subject = 'audited' order by id`,
  );
  expect(rows).toMatchObject([
    {
      action: 'maintenance.put',
      actor: expect.stringMatching(/^api key/),
      detail: { from: null, to: { when: { events: 1 } } },
    },
    { action: 'maintenance.end' },
  ]);
  expect(JSON.stringify(rows)).not.toContain('VCALENDAR');
});

test('a project sees and touches its own windows only', async () => {
  await put('ours', { duration: '1h' });
  const theirs = { Authorization: `Bearer ${OTHER_KEY}` };
  expect((await t.call('GET', '/maintenance', undefined, theirs)).json.maintenance).toEqual([]);
  expect((await t.call('DELETE', '/maintenance/ours', undefined, theirs)).status).toBe(404);
  expect((await t.call('PUT', '/maintenance/ours', { duration: '1h', jobs: ['backup'] }, theirs)).status).toBe(400);
  await t.call('DELETE', '/maintenance/ours');
});

test('two who define one window at once make one, with one order', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => put('raced', { from: '2026-03-02T00:00:00Z', duration: `${i + 1}h` })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
  const rows = await t.database.transaction(
    (tx) => tx.sql<{ open: number }[]>`
      select count(*) filter (where known_until is null) as open from maintenance_windows where slug = 'raced'`,
  );
  expect(rows).toEqual([{ open: 1 }]);
  await t.call('DELETE', '/maintenance/raced');
});

const junk = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    '1h',
    '0s',
    366 * 86_400,
    1e308,
    -1,
    null,
    '\ud800',
    'a\0b',
    [],
    {},
    ['backup'],
    '__proto__',
  ),
);
const start = fc.record(
  {
    days: fc.oneof(fc.constant(['mon']), junk),
    start: fc.oneof(fc.constant('23:59'), junk),
    duration: fc.oneof(fc.constant('1h'), junk),
  },
  { requiredKeys: [] },
);
const instant = fc.oneof(
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }).map((date) => date.toISOString()),
  fc.constantFrom('1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'),
  junk,
);
const body = fc.record(
  {
    name: junk,
    reason: junk,
    jobs: fc.oneof(fc.constant(['backup']), junk),
    tags: fc.oneof(fc.constant(['db']), junk),
    from: instant,
    until: instant,
    duration: fc.oneof(fc.constant('1h'), junk),
    weekly: fc.oneof(fc.array(fc.oneof(start, junk), { maxLength: 3 }), junk),
    cron: fc.oneof(fc.constantFrom('0 2 * * *', '* * * * *', '0 0 29 2 *'), junk),
    zone: fc.oneof(fc.constantFrom('UTC', 'Europe/Berlin'), junk),
    ics: fc.oneof(fc.constant(calendar(holiday('20260403', 'x'))), junk),
  },
  { requiredKeys: [] },
);

test('whatever is sent is taken or refused with a reason, and what was taken is taken again as it is shown', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const { status, json } = await put('fuzzed', sent);
      expect(status, JSON.stringify(json)).toBeLessThan(500);
      if (status >= 400) return;
      taken += 1;
      const { slug, active, next, changed_at, changed_by, events, fetched_at, fetch_failure, jobs_left, ...shown } =
        json;
      const again = await put('fuzzed', shown);
      expect([again.status, again.json]).toEqual([200, json]);
      expect((await t.call('GET', '/maintenance')).status).toBe(200);
    }),
    { numRuns: 300, examples: [[{ duration: '1h' }], [{ from: '9999-12-31T23:59:59Z', duration: '1h' }]] },
  );
  expect(taken).toBeGreaterThan(0);
  await t.call('DELETE', '/maintenance/fuzzed');
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
