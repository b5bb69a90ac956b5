import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import type { History } from '../support/history.ts';
import { explainDifference } from '../support/ledger-difference.ts';
import { historyArbitrary } from '../support/random-history.ts';
import { slowLedger } from '../support/slow-ledger.ts';
import { foundHistories } from '../support/year-found.ts';
import { type PlayedJob, play, type Service, settleDown, startService } from '../support/year-service.ts';
import { asAccepted, comparable, readView } from '../support/year-view.ts';

const zones = loadZones();
const numRuns = Number(process.env['ROLLCALL_REPLAY_RUNS'] ?? 20);
const seed = Number(process.env['ROLLCALL_REPLAY_SEED'] ?? 20_260_301);

const services = new Map<number, Service>();
afterAll(async () => {
  for (const service of services.values()) await service.stop();
});

/** The settle time belongs to a service, so there is one for each that histories use. */
async function serviceFor(settleSeconds: number): Promise<Service> {
  const known = services.get(settleSeconds);
  if (known) return known;
  const service = await startService(zones, { settleMs: settleSeconds * 1000, start: 0 });
  services.set(settleSeconds, service);
  return service;
}

/** 30 s without a beat are a gap, more are blind. */
function withRealWindows(history: History): History {
  const windows = history.windows.map(({ after, until }) => ({
    kind: until - after > 30_000 ? ('blind' as const) : ('gap' as const),
    after,
    until,
  }));
  return { ...history, windows };
}

let run = 0;

async function replay(history: History, ticks: readonly number[]): Promise<string | null> {
  run += 1;
  const service = await serviceFor(history.settleSeconds);
  const job: PlayedJob = { slug: `job-${run}`, history, channels: null };
  service.clock.set(history.createdAt);
  await service.forget();
  await service.beat();
  const { windows, until } = history;
  await play(service, [job], { windows, until, ticks: { at: ticks, atStep: () => false } });
  await settleDown(service, until);
  expect(service.failures).toEqual([]);
  const { view, accepted } = await service.run(async (tx) => ({
    view: await readView(tx, job.slug, zones, service.said(job.slug)),
    accepted: await asAccepted(tx, job.slug, history),
  }));
  const having = { hasChannels: true };
  return explainDifference(comparable(slowLedger(accepted, zones), having), comparable(view, having));
}

describe('random histories through ingest, changes and evaluators over the database', () => {
  beforeAll(async () => {
    await serviceFor(600);
  });

  test.each(foundHistories)('knows $name', async ({ history, ticks }) => {
    expect(await replay(history, ticks)).toBeNull();
  });

  test('end in the ledger of the slow, perfect evaluator, whenever the evaluators look', async () => {
    const ticked = historyArbitrary(zones)
      .map(withRealWindows)
      // While a job is paused the state of what lives on is frozen: it is compared after resume.
      .map((history) => ({ ...history, inputs: [...history.inputs, { type: 'resume' as const, at: history.until }] }))
      .chain((history) => {
        const span = history.until - history.createdAt;
        const tick = fc.integer({ min: 0, max: span }).map((offset) => history.createdAt + offset);
        return fc.record({ history: fc.constant(history), ticks: fc.array(tick, { maxLength: 12 }) });
      });
    await fc.assert(
      fc.asyncProperty(ticked, async ({ history, ticks }) => {
        expect(await replay(history, ticks)).toBeNull();
      }),
      { numRuns, seed, endOnFailure: process.env['ROLLCALL_REPLAY_SHRINK'] === undefined },
    );
  }, 240_000);
});
