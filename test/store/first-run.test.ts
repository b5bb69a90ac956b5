import { expect, test } from 'vitest';
import { firstRunText } from '../../src/store/first-run.ts';

const LINK = 'http://127.0.0.1:3000/welcome/abc';
const told = (api_key: string | null, ping_key: string | null, keptIn: string | null = null) =>
  firstRunText({ url: 'http://127.0.0.1:3000', sign_in_url: LINK, api_key, ping_key, curl: null }, keptIn);

test('only what is shown is said to be shown this once: keys from the environment are not', () => {
  expect(told('a-key', 'p-key')).toContain('The keys are shown this once. Make a job');
  expect(told('a-key', null)).toContain('The API key is shown this once. Make a job');
  expect(told(null, 'p-key')).toContain('The ping key is shown this once. Make a job');
  expect(told('a-key', 'p-key', '/data/first-run.json')).toContain(
    'The keys are shown this once, and kept in /data/first-run.json (mode 600).\n  Make a job',
  );
  expect(told(null, null, '/data/first-run.json')).not.toContain('shown');
  expect(told(null, null)).not.toContain('shown');
  expect(told(null, null)).toContain(
    '\n  Make a job by its first ping:\n  curl -fsS "http://127.0.0.1:3000/ping/$ROLLCALL_PING_KEY/',
  );
});
