import { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addPersonCommands } from '../../src/cli/person-commands.ts';
import { noteSilence } from '../../src/store/beats.ts';
import { type Listener, listen } from '../../src/web/listen.ts';
import { KEY, startApi, type TestApi } from '../web/api/api.ts';

let t: TestApi;
let listener: Listener;
beforeAll(async () => {
  t = await startApi('2026-03-01T00:30:00Z');
  listener = await listen(t.app, '127.0.0.1', 0);
});
afterAll(async () => {
  await listener.close(0);
  await t.drop();
});

async function run(args: readonly string[]) {
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

test('a clock that is believed stays as it is', async () => {
  const { code, out } = await run(['trust-clock']);
  expect([code, out]).toEqual([
    0,
    'the clock says 2026-03-01T00:30:00Z and is believed already: nothing has changed\n',
  ]);
});

test('after more than 400 days changes are refused with the reason, until a person says that the clock is right', async () => {
  t.clock.set('2027-06-01T00:00:00Z');
  const paused = await run(['pause', 'any']);
  expect(paused.code).toBe(6);
  expect(paused.err).toContain('more than 400 days after the last sign of life (2026-03-01T00:30:00Z)');
  expect(paused.err).toContain('rollcall trust-clock');
  const { code, out } = await run(['trust-clock', '--json']);
  expect([code, JSON.parse(out)]).toEqual([0, { now: '2027-06-01T00:00:00Z', heard_until: '2026-03-01T00:30:00Z' }]);
  expect((await run(['pause', 'any'])).code).toBe(5);
  await t.database.transaction(noteSilence);
  const windows = await t.database.transaction((tx) => tx.sql`select after, until, cause from blind_windows`);
  const [after, until] = [Date.parse('2026-03-01T00:30:00Z'), Date.parse('2027-06-01T00:00:00Z')];
  expect([...windows]).toEqual([{ after, until, cause: 'skipped' }]);
  const audit = await t.database.transaction((tx) => tx.sql<{ action: string }[]>`select action from audit`);
  expect(audit.map(({ action }) => action)).toContain('clock.trust');
});
