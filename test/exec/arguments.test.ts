import { expect, test } from 'vitest';
import { readArguments } from '../../src/exec/arguments.ts';
import { readSettings } from '../../src/exec/settings.ts';

test('the command begins after the first --, and nothing in it is read', () => {
  expect(readArguments(['--max', '3', 'backup', '--', 'tar', '--max', '1', '--', '-x'])).toMatchObject({
    ok: true,
    value: { kind: 'run', job: 'backup', max: 3, command: ['tar', '--max', '1', '--', '-x'] },
  });
});

test('without options everything is run, waiting ten minutes, with the output', () => {
  expect(readArguments(['backup', '--', 'true'])).toMatchObject({
    value: { max: Number.POSITIVE_INFINITY, waitMs: 600_000, output: true, catchUp: false, check: null, spool: null },
  });
});

test.each([
  [[], 'which job?'],
  [['--', 'true'], 'which job?'],
  [['backup'], 'no command'],
  [['backup', '--'], 'no command'],
  [['backup', 'true'], 'after a --'],
  [['Backup', '--', 'true'], 'no name of a job'],
  [['7', '--', 'true'], 'no name of a job'],
  [['backup', '--max', '0', '--', 'true'], '--max'],
  [['backup', '--max', '--', 'true'], '--max'],
  [['backup', '--wait', 'soon', '--', 'true'], '--wait'],
  [['backup', '--check', ' ', '--', 'true'], '--check'],
  [['backup', '--chekc', 'x', '--', 'true'], '--chekc'],
  [['backup', '--all', '--', 'true'], '--flush'],
  [['backup', '--adopt', '--', 'true'], '--flush'],
  [['--flush', 'backup'], 'stands alone'],
  [['--flush', '--', 'true'], 'stands alone'],
])('%j is refused in one line', (words, reason) => {
  const read = readArguments(words);
  expect(read).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  expect(JSON.stringify(read)).not.toContain('\\n');
});

const env = {
  ROLLCALL_URL: 'https://rollcall.example.com/',
  ROLLCALL_API_KEY: 'key-of-the-project',
  HOME: '/home/ann',
};
const read = (more: Record<string, string>, isRoot = false) => readSettings({ env: { ...env, ...more }, isRoot }, null);

test('the spool is where state of this user belongs', () => {
  expect(read({})).toMatchObject({
    value: { url: 'https://rollcall.example.com', spool: '/home/ann/.local/state/rollcall' },
  });
  expect(read({ XDG_STATE_HOME: '/state' })).toMatchObject({ value: { spool: '/state/rollcall' } });
  expect(read({}, true)).toMatchObject({ value: { spool: '/var/spool/rollcall' } });
  expect(read({ ROLLCALL_SPOOL: '/spool' }, true)).toMatchObject({ value: { spool: '/spool' } });
});

test('an address that was copied from an example of the API is understood', () => {
  const url = 'https://rollcall.example.com/below/api/v1/';
  expect(read({ ROLLCALL_URL: url })).toMatchObject({ value: { url: 'https://rollcall.example.com/below' } });
});

test('another project, or another Rollcall, is another account; a ping key beside the API key is not', () => {
  const accountOf = (more: Record<string, string>) => {
    const settings = read(more);
    return settings.ok && settings.value.account;
  };
  const accounts = [{}, { ROLLCALL_API_KEY: 'key-of-another-one' }, { ROLLCALL_URL: 'https://two.example.com' }].map(
    accountOf,
  );
  expect(new Set(accounts).size).toBe(3);
  expect(accountOf({ ROLLCALL_PING_KEY: 'ping-key' })).toBe(accounts[0]);
});

test.each([
  [{ ROLLCALL_URL: '' }, 'ROLLCALL_URL is not set'],
  [{ ROLLCALL_URL: 'rollcall.example.com' }, 'ROLLCALL_URL must be'],
  [{ ROLLCALL_URL: 'https://user:secret@rollcall.example.com' }, 'without user'],
  [{ ROLLCALL_API_KEY: 'two words' }, 'ROLLCALL_API_KEY is no key'],
])('%j is refused, and no secret is repeated', (more, reason) => {
  const settings = read(more);
  expect(settings).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  expect(JSON.stringify(settings)).not.toMatch(/secret|two words/);
});
