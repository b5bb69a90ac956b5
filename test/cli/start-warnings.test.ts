import { expect, test } from 'vitest';
import { startWarnings } from '../../src/cli/start-warnings.ts';
import { readConfig } from '../../src/config.ts';
import type { Role } from '../../src/web/health.ts';

function warningsOf(env: Record<string, string>, roles: readonly Role[] = ['web', 'evaluator', 'notifier']) {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.reason);
  return startWarnings(config.value, new Set(roles)).join('\n');
}

test('a start with nothing set, or with everything that belongs together, warns of nothing', () => {
  expect(warningsOf({})).toBe('');
  expect(warningsOf({ HOST: '0.0.0.0', PUBLIC_URL: 'https://rollcall.example.com' })).toBe('');
  expect(warningsOf({ SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: 'rollcall@example.com' })).toBe('');
  expect(warningsOf({ DATABASE_URL: 'postgres://u:p@db/x' }, ['web'])).toBe('');
});

test.each([
  [{ HOST: '0.0.0.0' }, 'http://0.0.0.0:3000'],
  [{ HOST: '::', PORT: '80' }, 'http://[::]:80'],
])('%o without PUBLIC_URL: links would say %s', (env, url) => {
  expect(warningsOf(env)).toMatch(/set PUBLIC_URL/);
  expect(warningsOf(env)).toContain(url);
});

test('half of the mail settings is told', () => {
  expect(warningsOf({ SMTP_URL: 'smtp://mail.example.com' })).toContain('MAIL_FROM is not');
  expect(warningsOf({ MAIL_FROM: 'rollcall@example.com' })).toContain('SMTP_URL is not');
});

test('a role that is left out on the embedded database is done by nobody', () => {
  expect(warningsOf({}, ['web'])).toMatch(/^nothing will be judged, nobody will be told: .*evaluator, notifier/);
  expect(warningsOf({}, ['evaluator', 'notifier'])).toContain('no ping will be taken');
});
