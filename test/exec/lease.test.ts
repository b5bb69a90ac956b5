import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { keepLease } from '../../src/exec/lease.ts';
import { type Claim, createServer } from '../../src/exec/server.ts';
import { KEY } from '../web/api/api.ts';
import { openStage, type Stage } from './stage.ts';

let s: Stage;
beforeAll(async () => {
  s = await openStage('2026-03-01T00:30:00Z');
});
afterAll(() => s.close());

const server = () => createServer({ url: s.url, apiKey: KEY, pingKey: null, spool: '', account: '' }, 'test');
const job = { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'coalesce', throttle: '0s' };
const create = (slug: string, more: object = {}) =>
  s.job(slug, { ...job, ...more }, { at: '2026-03-01T00:30:00Z', now: '2026-03-01T01:01:00Z' });

async function claim(slug: string): Promise<Claim> {
  const answer = await server().claim(slug, randomUUID(), AbortSignal.timeout(10_000));
  if (answer.kind !== 'given') throw new Error(JSON.stringify(answer));
  return answer.claim;
}

/** Sleeping moves Rollcall's clock on; after `sleeps` of them the command has ended. */
function watch(sleeps: number, slow = 1) {
  const ended = new AbortController();
  const warned: string[] = [];
  const slept: number[] = [];
  const clock: Clock = {
    monotonic: () => s.api.clock.now(),
    async sleep(ms) {
      slept.push(ms);
      s.api.clock.advance((ms / 1000) * slow);
      if (slept.length > sleeps) ended.abort();
    },
  };
  const keep = (held: Claim) =>
    keepLease(held, { server: server(), clock, warn: (text) => warned.push(text) }, ended.signal);
  return { keep, warned, slept };
}

test('a lease is kept for as long as the command runs', async () => {
  await create('long');
  const held = await claim('long');
  const { keep, warned, slept } = watch(6);
  await keep(held);
  expect([slept, warned]).toEqual([Array.from({ length: 7 }, () => 20_000), []]);
  const other = await server().claim('long', randomUUID(), AbortSignal.timeout(10_000));
  expect(other).toMatchObject({ kind: 'refused', word: 'in_progress' });
});

test('a lost lease is said once', async () => {
  await create('lost');
  const { keep, warned, slept } = watch(5, 4);
  await keep(await claim('lost'));
  expect([slept, warned]).toEqual([
    [20_000],
    [expect.stringContaining('2026-03-01T01:00Z was given back, for its lease ended')],
  ]);
});

test('a claim that a newer one has replaced is said, and so is one whose occurrence is done', async () => {
  await create('replaced', { schedules: [{ cron: '* * * * *' }], overlap: 'replace' });
  const older = await claim('replaced');
  s.api.clock.advance(50);
  await server().extend(older);
  s.api.clock.advance(20);
  await claim('replaced');
  const replaced = watch(5);
  await replaced.keep(older);
  expect(replaced.warned).toEqual([expect.stringContaining('was given up for a newer run (overlap: replace)')]);

  await create('completed');
  const held = await claim('completed');
  await s.api.ping('completed', 'success', { occ: held.key });
  const completed = watch(5);
  await completed.keep(held);
  expect(completed.warned).toEqual([
    expect.stringContaining('is settled already: another run, a later one or a person was first; the command goes on'),
  ]);
});

test('without an answer it is tried again soon, and nothing is said', async () => {
  await create('shaky');
  const held = await claim('shaky');
  await s.unplug();
  const { keep, warned, slept } = watch(3);
  await keep(held);
  await s.plug();
  expect([slept, warned]).toEqual([[20_000, 5000, 5000, 5000], []]);
});
