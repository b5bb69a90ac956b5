import { Command } from 'commander';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPersonCommands } from '../../src/cli/person-commands.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { KEY, startApi, type TestApi } from '../web/api/api.ts';
import { rollcall } from './process.ts';

let t: TestApi;
let listener: Listener;
let url: string;
beforeAll(async () => {
  t = await startApi('2026-03-01T00:30:00Z');
  listener = await listen(t.app, '127.0.0.1', 0);
  url = `http://127.0.0.1:${listener.port}`;
});
afterAll(async () => {
  await listener.close(0);
  await t.drop();
});

const daily = { schedules: [{ cron: '0 2 * * *' }], zone: 'Europe/Berlin', missed_runs: 'catch_up' };

/** Creates a job as of half past midnight, and moves the clock to `now`. */
async function put(slug: string, definition: object, now: string): Promise<void> {
  await t.at('2026-03-01T00:30:00Z');
  expect((await t.call('PUT', `/jobs/${slug}`, definition)).status).toBe(201);
  await t.at(now);
}

type Ended = { readonly code: number | null; readonly out: string; readonly err: string };

/** Runs the command as a process against the server of this test, unless the settings say otherwise. */
async function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const { ended, printed } = rollcall(args, { ROLLCALL_URL: url, ROLLCALL_API_KEY: KEY, ...settings });
  const code = await ended;
  return { code, ...printed };
}

/** The same without a process of its own, which takes a second each. */
async function runHere(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const printed = { out: '', err: '' };
  const program = new Command().exitOverride().configureOutput({ writeErr: note('err') });
  let code: number | null = null;
  function note(stream: 'out' | 'err') {
    return (text: string): void => {
      printed[stream] += text;
    };
  }
  addPersonCommands(program, {
    out: note('out'),
    err: note('err'),
    env: { ROLLCALL_URL: url, ROLLCALL_API_KEY: KEY, ...settings },
    finish: (ended) => {
      code = ended;
    },
  });
  await program.parseAsync(args, { from: 'user' });
  return { code, ...printed };
}

test('owed shows what has to run, each time with its offset, and what to do next', async () => {
  await put('billing', { ...daily, useful_for: '36h' }, '2026-03-03T12:00:00Z');
  expect(await run(['owed', 'billing'])).toEqual({
    code: 0,
    err: '',
    out: [
      'billing owes 2:',
      '',
      'KEY                     STATE    USEFUL UNTIL            RUN AFTER',
      '2026-03-02T02:00+01:00  overdue  2026-03-03T14:00+01:00  2026-03-03T13:00+01:00',
      '2026-03-03T02:00+01:00  overdue  2026-03-04T14:00+01:00  2026-03-03T13:00:10+01:00',
      '',
      'Runners get them in this order: rollcall exec billing -- COMMAND',
      'One that was done, or is not wanted: rollcall settle billing 2026-03-02T02:00+01:00 on_time|skipped --note TEXT',
      '',
    ].join('\n'),
  });
});

test('owed --json prints the answer of the API, all of its pages in one', async () => {
  const definition = { ...daily, schedules: [{ cron: '* * * * *' }], zone: 'UTC', max_catch_up: 10_000 };
  await put('minutely', definition, '2026-03-01T09:35:00Z');
  const { code, out, err } = await runHere(['owed', 'minutely', '--json']);
  const { owed, next_cursor } = JSON.parse(out);
  expect([code, err, next_cursor, owed.length]).toEqual([0, '', null, 540]);
  expect(owed[539]).toEqual({
    key: '2026-03-01T09:30Z',
    scheduled_for: '2026-03-01T09:30:00Z',
    state: 'overdue',
    useful_until: null,
    run_after: '2026-03-01T11:04:50Z',
    unconfirmed: false,
  });
});

test('a job that owes nothing says so', async () => {
  await put('tidy', daily, '2026-03-01T00:40:00Z');
  expect(await runHere(['owed', 'tidy'])).toEqual({ code: 0, out: 'tidy owes nothing\n', err: '' });
  await put('digest', { ...daily, missed_runs: 'skip' }, '2026-03-03T12:00:00Z');
  expect((await runHere(['owed', 'digest'])).out).toBe('digest owes nothing: with skip a late run is not wanted\n');
});

test('a backlog is shown as one, and decided with run or skip', async () => {
  await put('piled', { ...daily, max_catch_up: 1 }, '2026-03-04T12:00:00Z');
  expect((await runHere(['owed', 'piled'])).out).toContain(
    'nothing is handed out until somebody says rollcall backlog piled run, or rollcall backlog piled skip\n',
  );
  const runs = await run(['backlog', 'piled', 'run']);
  expect(runs).toMatchObject({ code: 0, err: '' });
  expect(runs.out).toMatch(
    /^piled: 4 occurrences to be handed out .*; what is due after 2026-03-04T12:00:00Z counts anew\n$/,
  );
  expect((await runHere(['owed', 'piled'])).out).toContain('Runners get them in this order');
  const skips = await runHere(['backlog', 'piled', 'skip', '--json']);
  expect([skips.code, JSON.parse(skips.out)]).toEqual([
    0,
    { decision: 'skip', until: '2026-03-04T12:00:00Z', count: 4 },
  ]);
  expect((await runHere(['owed', 'piled'])).out).toBe('piled owes nothing\n');
  expect((await runHere(['backlog', 'piled', 'skip'])).out).toMatch(/^piled owed nothing /);
});

test('pause and resume say what holds now', async () => {
  await put('paused', daily, '2026-03-03T12:00:00Z');
  expect(await run(['pause', 'paused'])).toMatchObject({ code: 0, out: expect.stringMatching(/^paused is paused: /) });
  expect((await t.call('GET', '/jobs/paused')).json.paused).toBe(true);
  expect((await runHere(['owed', 'paused'])).out).toMatch(/nothing is handed out until rollcall resume paused\n$/);
  expect(await run(['resume', 'paused'])).toEqual({
    code: 0,
    out: 'paused is not paused; next due: 2026-03-04T02:00+01:00\n',
    err: '',
  });
  const json = await runHere(['resume', 'paused', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({ slug: 'paused', paused: false });
});

test('settle takes any spelling of a key, and keeps the note', async () => {
  await put('settled', daily, '2026-03-03T12:00:00Z');
  const settled = await run(['settle', 'settled', '2026-03-02', 'skipped', '--note', 'the shop was closed']);
  expect(settled).toEqual({ code: 0, out: 'settled 2026-03-02T02:00+01:00 is skipped\n', err: '' });
  const json = await runHere(['settle', 'settled', '2026-03-03T02:00+01:00', 'on_time', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({ key: '2026-03-03T02:00+01:00', state: 'on_time' });
  const { occurrences } = (await t.call('GET', '/jobs/settled/occurrences?state=skipped')).json;
  expect(occurrences).toMatchObject([{ key: '2026-03-02T02:00+01:00', note: 'the shop was closed' }]);
});

test('what is refused ends with 2 and says why, and with --json as the API said it', async () => {
  await put('refusing', { ...daily, missed_runs: 'coalesce' }, '2026-03-03T12:00:00Z');
  const refused = await run(['backlog', 'refusing', 'run', '--json']);
  expect([refused.code, JSON.parse(refused.out).type]).toEqual([2, '/problems/validation']);
  expect(refused.err).toMatch(/^rollcall: .*only missed_runs catch_up keeps a backlog.*\n$/);
  for (const args of [
    ['backlog', 'refusing', 'later'],
    ['settle', 'refusing', '2026-03-02', 'done'],
    ['settle', 'refusing', '.', 'skipped'],
    ['pause', '..'],
  ]) {
    const { code, out, err } = await runHere(args);
    expect([args, code, out, err]).toEqual([args, 2, '', expect.stringMatching(/^rollcall: .+\n$/)]);
  }
});

test('a command without its job is refused like any other', async () => {
  const { code, out, err } = await run(['pause']);
  expect([code, out, err]).toEqual([2, '', expect.stringMatching(/^rollcall: missing required argument 'job'\n$/)]);
});

test('what is not there ends with 5', async () => {
  await put('there', daily, '2026-03-03T12:00:00Z');
  expect((await run(['owed', 'nobody'])).code).toBe(5);
  for (const args of [
    ['owed', 'nobody'],
    ['backlog', 'nobody', 'run'],
    ['pause', 'nobody'],
    ['settle', 'there', '2026-03-02T03:00', 'skipped'],
  ]) {
    const { code, out, err } = await runHere(args);
    expect([args, code, out, err]).toEqual([args, 5, '', expect.stringMatching(/^rollcall: .+\n$/)]);
  }
});

test('a setting that is missing or wrong ends with 3 and names it, never a key', async () => {
  for (const [settings, line] of [
    [{ ROLLCALL_URL: '' }, /^rollcall: ROLLCALL_URL is not set: .+\n$/],
    [{ ROLLCALL_API_KEY: ' ' }, /^rollcall: ROLLCALL_API_KEY is not set: .+\n$/],
    [{ ROLLCALL_URL: 'rollcall.example.com' }, /^rollcall: ROLLCALL_URL must be .+\n$/],
    [{ ROLLCALL_API_KEY: 'short' }, /^rollcall: ROLLCALL_API_KEY must be 16 to 200 .+\n$/],
    [{ ROLLCALL_API_KEY: 'unknown-key-0123456789' }, /^rollcall: Rollcall does not know this ROLLCALL_API_KEY: .+\n$/],
  ] as const) {
    const { code, out, err } = await runHere(['pause', 'there'], settings);
    expect([settings, code, out, err]).toEqual([settings, 3, '', expect.stringMatching(line)]);
    if ('ROLLCALL_API_KEY' in settings) expect(err).not.toContain(settings.ROLLCALL_API_KEY.padStart(4));
  }
});

test('where Rollcall cannot be reached, or something else answers, the end is 6', async () => {
  const others = new Hono()
    .get('/page/*', (c) => c.html('<p>Welcome</p>'))
    .get('/json/*', (c) => c.json({ hello: 'world' }))
    .get('/moved/*', (c) => c.redirect('https://rollcall.example.com/'));
  const other = await listen(others, '127.0.0.1', 0);
  const base = `http://127.0.0.1:${other.port}`;
  const reasons: (readonly [string, RegExp])[] = [
    [`${base}/page`, /not the API of Rollcall/],
    [`${base}/json`, /not the API of Rollcall/],
    [`${base}/moved`, /leads to https:\/\/rollcall\.example\.com/],
    [`${base}/nothing`, /status 404/],
  ];
  try {
    for (const [address, reason] of reasons) {
      const { code, out, err } = await runHere(['owed', 'there'], { ROLLCALL_URL: address });
      expect([address, code, out, err]).toEqual([address, 6, '', expect.stringMatching(reason)]);
    }
  } finally {
    await other.close(0);
  }
  const { code, err } = await run(['owed', 'there'], { ROLLCALL_URL: base });
  expect([code, err]).toEqual([
    6,
    expect.stringMatching(/^rollcall: cannot reach Rollcall at http.*ECONNREFUSED.*\n$/),
  ]);
});

test('while Rollcall has no database the end is 6, with what it said', async () => {
  const away = await startApi('2026-03-01T00:30:00Z');
  const other = await listen(away.app, '127.0.0.1', 0);
  await away.drop();
  const ended = await runHere(['pause', 'there', '--json'], { ROLLCALL_URL: `http://127.0.0.1:${other.port}` });
  await other.close(0);
  expect([ended.code, JSON.parse(ended.out).status]).toEqual([6, 503]);
  expect(ended.err).toMatch(/^rollcall: The database is not available right now\. .+\n$/);
});
