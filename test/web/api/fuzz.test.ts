import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, KEY, startApi, type TestApi } from './api.ts';

let t: TestApi;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:30:00Z');
  await t.call('PUT', '/jobs/here', { schedules: [{ cron: '0 * * * *' }], zone: 'Europe/Berlin', missed_runs: 'skip' });
  await t.at('2026-03-01T15:20:00Z');
});
afterAll(() => t.drop());

/** Never a 5xx; what is refused says why, as a problem. */
function expectSane({ status, type, json }: Pick<Answer, 'status' | 'type' | 'json'>): void {
  expect(status).toBeLessThan(500);
  if (status < 400) return;
  expect(type).toBe('application/problem+json');
  expect(json).toMatchObject({ type: expect.stringMatching(/^(?:\/problems\/[a-z_]+|about:blank)$/), status });
  expect(json.detail.length).toBeGreaterThan(0);
  for (const { path, message } of json.errors ?? []) {
    expect(typeof path).toBe('string');
    expect(message.length).toBeGreaterThan(0);
  }
}

/** Text with what databases and parsers stumble over. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('\0', 'a\0b', '\ud800', '💥', '__proto__', 'null', '-1', '1e9', '99999999999999999999', "'; --", ''),
);
const instantText = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom(
    '2026-03-29T02:30',
    '2026-10-25',
    '1792888200',
    '2026-02-31T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    'infinity',
  ),
  text,
);
const junk = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.integer(),
  fc.constantFrom<unknown>('10m', '0s', 'PT1H', 366 * 86_400, 1e308, -1, null, true, [], {}),
);
const schedule = fc.oneof(
  fc.record(
    {
      cron: fc.oneof(text, fc.constantFrom('0 2 * * *', '*/5 * * * *', '0 0 31 2 *')),
      every: junk,
      anchor: instantText,
      heartbeat: junk,
      x: junk,
    },
    { requiredKeys: [] },
  ),
  junk,
);
const definition = fc.record(
  {
    name: junk,
    description: junk,
    tags: fc.oneof(fc.array(text), junk),
    zone: fc.oneof(fc.constantFrom('UTC', 'Europe/Berlin', 'CST'), junk),
    schedules: fc.oneof(fc.array(schedule, { maxLength: 3 }), junk),
    missed_runs: fc.oneof(fc.constantFrom('skip', 'coalesce', 'catch_up'), junk),
    missed_runs_reason: junk,
    early: junk,
    start_within: junk,
    grace: junk,
    useful_for: junk,
    max_runtime: junk,
    duplicates: junk,
    unscheduled: junk,
    channels: fc.oneof(fc.array(text), junk),
    after: junk,
    max_catch_up: junk,
    throttle: junk,
    overlap: fc.oneof(fc.constantFrom('forbid', 'allow', 'replace'), junk),
  },
  { requiredKeys: [] },
);
const channel = fc.record(
  {
    kind: fc.oneof(fc.constantFrom('slack', 'email', 'webhook'), junk),
    url: junk,
    to: junk,
    secret: junk,
    operator: junk,
  },
  { requiredKeys: [] },
);
const word = fc.record({ state: junk, note: junk, rid: junk, decision: junk }, { requiredKeys: [] });
const body = fc.oneof(definition, channel, word, junk);

test('whatever JSON is put as a job, a channel, a claim or a decision, the answer is a sane one', async () => {
  const call = fc.constantFrom(
    ['PUT', '/jobs/fuzz'],
    ['PUT', '/jobs/start'],
    ['PUT', '/channels/fuzz'],
    ['PATCH', '/jobs/here/occurrences/2026-03-01T15:00'],
    ['POST', '/jobs/here/claims'],
    ['POST', '/jobs/here/backlog'],
  );
  await fc.assert(
    fc.asyncProperty(call, body, async ([method = '', target = ''], value) => {
      expectSane(await t.call(method, target, JSON.stringify(value) ?? ''));
    }),
    { numRuns: 200 },
  );
});

test('a definition that is nearly right is accepted or refused, and what was accepted is shown and taken again', async () => {
  const nearly = fc.record(
    {
      zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata'),
      schedules: fc.constantFrom(
        [{ cron: '30 2 * * *' }],
        [{ every: '2h' }, { cron: '*/5 * * * *' }],
        [{ heartbeat: 60 }],
      ),
      missed_runs: fc.constantFrom('skip', 'coalesce', 'catch_up'),
      name: text,
      description: text,
      tags: fc.array(text, { maxLength: 3 }),
      grace: fc.oneof(fc.nat(100_000), fc.constantFrom('10m', 'PT1H', 'P2D')),
      useful_for: fc.oneof(fc.nat(100_000), fc.constantFrom('1h', 'P1D')),
      max_runtime: fc.nat(40_000_000),
      max_catch_up: fc.nat(12_000),
      throttle: fc.oneof(fc.nat(100), fc.constantFrom('1m')),
      overlap: fc.constantFrom('forbid', 'allow', 'replace'),
    },
    { requiredKeys: ['zone', 'schedules', 'missed_runs'] },
  );
  await fc.assert(
    fc.asyncProperty(nearly, async (definitionOf) => {
      const put = await t.call('PUT', '/jobs/nearly', definitionOf);
      expectSane(put);
      if (put.status >= 400) return;
      const {
        slug,
        uuid,
        ping_url,
        status,
        blocked_on,
        paused,
        unreviewed,
        warnings,
        next_due,
        last_completed,
        created_at,
        ...shown
      } = put.json;
      const again = await t.call('PUT', '/jobs/nearly', shown);
      expect([again.status, again.json]).toEqual([200, put.json]);
    }),
    { numRuns: 100 },
  );
});

test('whatever bytes are sent as a body, the answer is a sane one', async () => {
  const types = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'multipart/form-data',
    '',
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), types, async (bytes, type) => {
      const response = await t.api.request('/jobs/fuzz', {
        method: 'PUT',
        body: Uint8Array.from(bytes),
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': type },
      });
      expectSane({
        status: response.status,
        type: response.headers.get('content-type') ?? '',
        json: await response.json(),
      });
    }),
    { numRuns: 200 },
  );
});

test('whatever stands in a path or a query, the answer is a sane one', async () => {
  const part = fc.oneof(text, instantText, fc.constantFrom('here', 'jobs', 'occurrences', 'pings', '0', '1', 'body'));
  const encoded = (value: string): string => encodeURIComponent(value.replace(/\p{Surrogate}/gu, ''));
  const path = fc.oneof(
    fc.tuple(fc.constant('jobs'), part),
    fc.tuple(fc.constant('jobs'), part, part),
    fc.tuple(fc.constant('jobs'), fc.constant('here'), fc.constant('occurrences'), part),
    fc.tuple(fc.constant('jobs'), fc.constant('here'), fc.constant('pings'), part, fc.constant('body')),
    fc.tuple(fc.constantFrom('incidents', 'channels'), part),
    fc.constantFrom(
      ['jobs'],
      ['jobs', 'here', 'occurrences'],
      ['jobs', 'here', 'pings'],
      ['jobs', 'here', 'owed'],
      ['incidents'],
      ['channels'],
      ['preview'],
    ),
  );
  const names = ['after', 'until', 'state', 'limit', 'cursor', 'job', 'cron', 'every', 'anchor', 'zone', 'x'];
  const query = fc.array(fc.tuple(fc.constantFrom(...names), part), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(path, query, async (parts, parameters) => {
      const search = parameters.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
      expectSane(await t.call('GET', `/${parts.map(encoded).join('/')}?${search}`));
    }),
    { numRuns: 500 },
  );
});

test('nothing of all this was a surprise to Rollcall', () => {
  expect(t.logged).toEqual([]);
});
