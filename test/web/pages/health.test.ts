import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;

beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
});
afterAll(() => site.drop());

test('a member sees replicas, blind windows, messages and the size of the database', async () => {
  await site.database.transaction(
    (tx) => tx.sql`
      insert into blind_windows (after, until, kind, cause)
      values ('2026-03-01T00:00:00Z', '2026-03-01T00:05:00Z', 'blind', 'silent')`,
  );
  const { text } = await site.open('/health');
  expect(text).toContain('Rollcall itself is well');
  expect(text).toContain('5 min: no beat was heard');
  expect(text).toContain('00000000');
  expect(text).toMatch(/\d+\.\d MB, PostgreSQL \d+/);
});

test('a stranger sees whether it is well, and nothing of the installation', async () => {
  site.as(null);
  const { text, status } = await site.open('/health');
  expect(status).toBe(200);
  expect(text).toContain('Rollcall itself is well');
  expect(text).not.toContain('PostgreSQL');
  site.as('owner');
});

test('a clock in doubt says why, and an owner says that it is right', async () => {
  site.clock.set('2028-01-01T00:00:00Z');
  const { text } = await site.open('/health');
  expect(text).toContain('The clock is in doubt');
  expect(
    (await site.send('/projects/default/channels/+new', { kind: 'email', slug: 'a', to: 'a@example.org' })).status,
  ).toBe(400);
  site.as('viewer');
  expect((await site.open('/health')).text).not.toContain('The clock is right');
  expect((await site.send('/health/trust-clock', {})).status).toBe(403);
  site.as('owner');
  expect((await site.send('/health/trust-clock', {}, { Origin: 'https://evil.example' })).status).toBe(403);
  expect((await site.send('/health/trust-clock', {})).location).toBe('/health');
  expect((await site.open('/health')).text).not.toContain('The clock is in doubt');
});

test('an asset is kept for a year under an address that changes with it, and a wrong one is not there', async () => {
  const { text } = await site.open('/health');
  const sheet = /href="(\/assets\/[^"]+app\.css)"/.exec(text)?.[1] ?? '';
  const answer = await site.open(sheet);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(answer.headers.get('content-type')).toContain('text/css');
  expect((await site.open('/assets/000000000000/app.css')).status).toBe(404);
});

test('no page runs or loads anything that is not its own', async () => {
  const { headers, text } = await site.open('/health');
  expect(headers.get('content-security-policy')).not.toContain('unsafe');
  expect(text).not.toMatch(/ style=| onclick=|<style|<script>/);
});
