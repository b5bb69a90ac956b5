import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPersonCommands } from '../../src/cli/person-commands.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { KEY, startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
let listener: Listener;
let folder: string;
beforeAll(async () => {
  t = await startApi('2026-03-01T12:00:00Z');
  listener = await listen(t.app, '127.0.0.1', 0);
  folder = await mkdtemp(path.join(tmpdir(), 'rollcall-maintenance-'));
  const job = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'skip' };
  for (const slug of ['backup', 'billing']) await t.call('PUT', `/jobs/${slug}`, job);
});
afterAll(async () => {
  await listener.close(0);
  await t.drop();
  await rm(folder, { recursive: true });
});

async function run(...args: readonly string[]) {
  const ended = { code: null as number | null, out: '', err: '' };
  const program = new Command().exitOverride();
  addPersonCommands(program, {
    out: (text) => {
      ended.out += text;
    },
    err: (text) => {
      ended.err += text;
    },
    env: { ROLLCALL_URL: `http://127.0.0.1:${listener.port}`, ROLLCALL_API_KEY: KEY },
    finish: (code) => {
      ended.code = code;
    },
  });
  await program.parseAsync(['maintenance', ...args], { from: 'user' });
  return ended;
}

test('a deploy begins now, is shown and listed, lasts longer, and ends', async () => {
  expect(await run()).toEqual({ code: 0, out: 'no maintenance windows\n', err: '' });
  const begun = await run('deploy', '--for', '2h', '--jobs', 'backup, billing', '--reason', 'new kernel');
  expect(begun).toEqual({
    code: 0,
    err: '',
    out: 'deploy: now, until 2026-03-01T14:00:00Z; jobs: backup, billing; what nobody runs in it is skipped, and nobody is called. To end it: rollcall maintenance deploy --end\n',
  });
  expect(await run('deploy')).toEqual(begun);
  // One hour more of it, and not of every job.
  const more = await run('deploy', '--for', '3h');
  expect(more).toEqual({ ...begun, out: begun.out.replace('T14', 'T15') });
  await run('deploy', '--for', '2h', '--tags', 'db');
  const whom = async () => JSON.parse((await run('deploy', '--json')).out);
  expect(await whom()).toMatchObject({ jobs: null, tags: ['db'], reason: 'new kernel' });
  await run('deploy', '--for', '2h', '--jobs', 'backup,billing');
  expect(await whom()).toMatchObject({ jobs: ['backup', 'billing'], tags: null, reason: 'new kernel' });
  await run('later', '--from', '2026-03-02T01:00:00+01:00', '--until', '2026-03-02T02:00:00+01:00', '--tags', 'db');
  await run('later', '--from', '2026-03-02T00:00:00Z', '--until', '2026-03-02T01:00:00Z', '--reason', 'two\r\nlines');
  expect((await run()).out).toBe(
    [
      'SLUG    WHEN                                             JOBS             REASON',
      'deploy  now, until 2026-03-01T14:00:00Z                  backup, billing  new kernel',
      'later   2026-03-02T00:00:00Z until 2026-03-02T01:00:00Z  tag db           two lines',
      '',
    ].join('\n'),
  );
  expect(await run('deploy', '--end')).toMatchObject({ code: 0, out: expect.stringMatching(/^deploy has ended: /) });
  expect(JSON.parse((await run('--json')).out).maintenance).toMatchObject([{ slug: 'later' }]);
  expect((await run('later', '--end', '--json')).out).toBe('');
});

test('a window in the past says what became of it', async () => {
  const past = await run('past', '--from', '2026-03-01T10:00:00Z', '--until', '2026-03-01T11:00:00Z');
  expect(past).toEqual({ code: 0, out: 'past: over; jobs: all; what nobody ran in it is skipped\n', err: '' });
  // The next one under this name is another one.
  await run('past', '--for', '1h', '--jobs', 'backup', '--reason', 'once');
  await run('past', '--from', '2026-03-01T10:00:00Z', '--until', '2026-03-01T11:00:00Z');
  expect((await run('past', '--for', '1h')).out).toContain('jobs: all');
  await run('past', '--end');
});

test('a calendar comes from a file', async () => {
  const file = path.join(folder, 'holidays.ics');
  const event = ['BEGIN:VEVENT', 'UID:a', 'DTSTART;VALUE=DATE:20260403', 'SUMMARY:Good Friday', 'END:VEVENT'];
  await writeFile(file, ['BEGIN:VCALENDAR', ...event, 'END:VCALENDAR', ''].join('\r\n'));
  const read = await run('holidays', '--ics', file, '--zone', 'Europe/Berlin');
  expect([read.code, read.out]).toEqual([
    0,
    expect.stringMatching(/^holidays: 2026-04-02T22:00:00Z until 2026-04-03T22:00:00Z; jobs: all; /),
  ]);
  await run('holidays', '--end');
});

test.each([
  [['--for', '2h'], 2, /name the window/],
  [['--end'], 2, /name the window/],
  [['..', '--for', '2h'], 2, /no window is called "\.\."/],
  [['deploy', '--end', '--for', '2h'], 2, /--end stands alone: leave out --for/],
  [['deploy', '--for', '2 hours'], 2, /not a duration/],
  [['deploy', '--for', '2h', '--jobs', ''], 2, /--jobs names none/],
  [['deploy', '--for', '2h', '--jobs', 'backup', '--tags', ' , '], 2, /--tags names none/],
  [['deploy', '--reason', 'x'], 2, /says not when/],
  [['deploy', '--for', '2h', '--jobs', 'nobody'], 2, /no such job/],
  [['deploy', '--ics', '/nowhere/x.ics', '--zone', 'UTC'], 2, /cannot read \/nowhere\/x\.ics: ENOENT/],
  [['deploy', '--ics', 'webcal://127.0.0.1/x.ics', '--zone', 'UTC'], 2, /connection failed/],
  [['nothing'], 5, /no maintenance window/],
  [['nothing', '--end'], 5, /no maintenance window/],
])('%j ends with %i and a line that says why', async (args, code, reason) => {
  const ended = await run(...args);
  expect([ended.code, ended.out]).toEqual([code, '']);
  expect(ended.err).toMatch(/^rollcall: .+\n$/);
  expect(ended.err).toMatch(reason);
});
