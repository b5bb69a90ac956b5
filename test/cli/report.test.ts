import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPersonCommands } from '../../src/cli/person-commands.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { KEY, startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
let listener: Listener;
beforeAll(async () => {
  t = await startApi('2026-10-26T12:00:00Z');
  listener = await listen(t.app, '127.0.0.1', 0);
  await t.call('PUT', '/channels/boss', { kind: 'email', to: 'boss@example.org' });
  await t.call('PUT', '/reports/weekly', { every: 'week', zone: 'Europe/Berlin', channels: ['boss'] });
  const schedules = [{ cron: '30 2 * * *' }];
  await t.call('PUT', '/jobs/nightly', { schedules, zone: 'Europe/Berlin', missed_runs: 'catch_up' });
  await t.at('2026-11-03T12:00:00Z');
});
afterAll(async () => {
  await listener.close(0);
  await t.drop();
});

async function report(...args: string[]) {
  const printed = { out: '', err: '' };
  let code: number | null = null;
  const program = new Command().exitOverride();
  addPersonCommands(program, {
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
    env: { ROLLCALL_URL: `http://127.0.0.1:${listener.port}`, ROLLCALL_API_KEY: KEY },
    finish: (ended) => {
      code = ended;
    },
  });
  await program.parseAsync(['report', ...args], { from: 'user' });
  return { code, ...printed };
}

test('prints the newest week that is over, and sends nothing', async () => {
  const { code, out, err } = await report('weekly');
  expect([code, err]).toEqual([0, '']);
  expect(out.split('\n').slice(0, 10)).toEqual([
    'default, week 44 of 2026 (26 October to 1 November): 0.0 % on time',
    '0 of 6 runs, no data in 2026-W43: 6 still not completed',
    '2026-10-26 00:00 +01:00 to 2026-11-02 00:00 +01:00 (Europe/Berlin), as of 2026-11-03 13:00 +01:00',
    '',
    'WORST JOBS',
    '0.0 %  nightly',
    '       0 of 6 on time: 6 still not completed',
    '       counted since it was made, 2026-10-26 13:00 +01:00',
    '',
    'OWED NOW',
  ]);
  expect(out).toContain('8  nightly\n   the oldest is due since 2026-10-27 02:30 +01:00\n');
  const rows = await t.database.transaction((tx) => tx.sql`select 1 from outbox o where o.payload ? 'report'`);
  expect(rows).toEqual([]);
});

test('prints another period, and as JSON what the API answers', async () => {
  const { code, out } = await report('weekly', '--period', '2026-11', '--json');
  const answer = await t.call('GET', '/reports/weekly/preview?period=2026-11');
  expect([code, JSON.parse(out)]).toEqual([0, answer.json]);
  expect((await report('weekly', '--period', '2026-11')).out).toMatch(
    /^default, November 2026 so far: 0\.0 % on time\n/,
  );
});

test('says why it cannot', async () => {
  expect(await report('weekly', '--period', '2026-13')).toEqual({
    code: 2,
    out: '',
    err: 'rollcall: period: is no week or month: write 2026-W53 or 2026-10\n',
  });
  expect(await report('../jobs')).toMatchObject({ code: 2, err: expect.stringContaining('no report is called') });
  expect((await report('nobody')).err).toContain('there is no report of this slug');
});
