import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPersonCommands } from '../../src/cli/person-commands.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { Alerts } from '../support/alerts.ts';
import { KEY } from '../web/api/api.ts';

const yearly = { schedules: [{ cron: '0 9 2 3 *' }], zone: 'UTC', missed_runs: 'catch_up' };

let a: Alerts;
let listener: Listener;
beforeAll(async () => {
  a = await Alerts.start('2026-03-02T08:30:00Z');
  listener = await listen(a.t.app, '127.0.0.1', 0);
  await a.hook('ops');
  await a.hook('money', { routes: { tags: ['billing'] } });
  for (const slug of ['billing', 'backup']) await a.t.call('PUT', `/jobs/${slug}`, yearly);
  await a.at('2026-03-02T09:05:00Z');
});
afterAll(async () => {
  await listener.close(0);
  await a.drop();
});

/** Runs a command against the server of this test. */
async function run(...args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
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
  await program.parseAsync(args, { from: 'user' });
  return { code, ...printed };
}

test('ack takes the id of an incident, or a job for all that is open of it', async () => {
  const [billing, backup] = [await a.incident('billing'), await a.incident('backup')];
  expect(await run('ack', String(billing))).toEqual({
    code: 0,
    err: '',
    out: expect.stringMatching(
      new RegExp(`^incident ${billing} \\(billing missing\\) is acknowledged by api key \\S{4}…: nobody is reminded`),
    ),
  });
  const { code, out } = await run('ack', 'backup', '--json');
  expect([code, JSON.parse(out).incidents]).toEqual([
    0,
    [expect.objectContaining({ id: backup, acked_by: expect.any(String) })],
  ]);
});

test('snooze for a while, until an instant, and off', async () => {
  const id = await a.incident('billing');
  const says = async (until: string) => (await run('snooze', 'billing', until)).out;
  const end = 'if it is still open then, one message says so\n';
  expect(await says('4h')).toBe(`incident ${id} (billing missing) is snoozed until 2026-03-02T13:05:05Z; ${end}`);
  expect(await says('2026-03-03T09:00:00+01:00')).toContain('until 2026-03-03T08:00:00Z');
  expect(await says('off')).toBe(`incident ${id} (billing missing) is not snoozed: its messages go out\n`);
});

test('routing shows every channel, and why', async () => {
  expect((await run('routing', 'billing', 'missing')).out).toBe(
    [
      'missing of billing is told to 1 of 2 channels:',
      '',
      'money  no   its routes take jobs with other tags: billing',
      'ops    yes  the job names no channels: it tells every one that has no routes',
      '',
    ].join('\n'),
  );
});

test.each([
  [['ack', '99999'], 5, 'there is no incident of this id'],
  [['ack', 'nobody'], 5, 'there is no job of this slug'],
  [['ack', '../channels'], 2, 'neither the id of an incident nor the slug of a job'],
  [['snooze', 'billing', 'tomorrow'], 2, 'write an RFC 3339 instant'],
  [['routing', 'billing', 'gone'], 2, 'kind: must be'],
  [['routing', 'nobody', 'missing'], 5, 'there is no job of this slug'],
])('%j ends with %i', async (args, code, reason) => {
  const ended = await run(...args);
  expect(ended.err).toContain(reason);
  expect(ended.code).toBe(code);
});

test('a job without an open incident has nothing to acknowledge', async () => {
  await a.t.ping('backup', 'success', { occ: '2026-03-02T09:00:00Z' });
  const { code, err } = await run('ack', 'backup');
  expect([code, err]).toEqual([5, 'rollcall: backup has no open incident\n']);
});
