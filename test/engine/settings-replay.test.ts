import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { ReplayPace } from '../../src/core/replay.ts';
import { formatInstant } from '../../src/core/time.ts';
import { replayDefinition } from '../../src/engine/replay.ts';
import { readJob } from '../../src/store/jobs.ts';
import { loadZones } from '../../src/zones.ts';
import type { History, Input } from '../support/history.ts';
import { historyArbitrary } from '../support/random-history.ts';
import { type PlayedJob, play, type Service, settleDown, startService } from '../support/year-service.ts';

const zones = loadZones();
const numRuns = Number(process.env['ROLLCALL_REPLAY_RUNS'] ?? 60);
const seed = Number(process.env['ROLLCALL_REPLAY_SEED'] ?? 20_261_130);

const services = new Map<number, Service>();
afterAll(async () => {
  for (const service of services.values()) await service.stop();
});

async function serviceFor(settleSeconds: number): Promise<Service> {
  const known = services.get(settleSeconds);
  if (known) return known;
  const service = await startService(zones, { settleMs: settleSeconds * 1000, start: 0 });
  services.set(settleSeconds, service);
  return service;
}

/**
 * One schedule and one set of settings from the beginning to the end. Which of two things that happened in one millisecond was
 * first is not kept, so what is no ping has its instants to itself.
 */
function unedited(history: History): History {
  const taken = new Set<number>();
  const inputs: Input[] = [];
  for (const input of history.inputs) {
    if (input.type === 'edit') continue;
    const isAlone = ![...inputs, ...history.inputs].some((other) => other !== input && other.at === input.at);
    if (input.type !== 'ping' && (!isAlone || taken.has(input.at))) continue;
    taken.add(input.at);
    inputs.push(input);
  }
  const windows = history.windows.map(({ after, until }) => ({
    kind: until - after > 30_000 ? ('blind' as const) : ('gap' as const),
    after,
    until,
  }));
  return { ...history, windows, inputs: [...inputs, { type: 'resume', at: history.until }] };
}

let run = 0;

/** Plays the history through the whole engine, then replays the job under what it is. */
async function compare(history: History, ticks: readonly number[], pace?: ReplayPace) {
  run += 1;
  const service = await serviceFor(history.settleSeconds);
  const job: PlayedJob = { slug: `job_${run}`, history, channels: null };
  service.clock.set(history.createdAt);
  await service.forget();
  await service.beat();
  const { windows, until } = history;
  await play(service, [job], { windows, until, ticks: { at: ticks, atStep: () => false } });
  await settleDown(service, until);
  expect(service.failures).toEqual([]);
  const definition = await service.run(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`select id from jobs where slug = ${job.slug}`;
    return (await readJob(tx, row?.id ?? 0))?.definition;
  });
  if (!definition) throw new Error('no job');
  const replayed = await replayDefinition(
    { ...service.deps, settleMs: history.settleSeconds * 1000, monotonic: () => 0 },
    { projectId: service.projectId, slug: job.slug },
    definition,
    pace,
  );
  const word = (at: number | null) => (at === null ? null : formatInstant(at));
  return {
    replayed: replayed?.incidents.map(({ kind, openedAt, resolvedAt, silent, told, occurrences }) => {
      return [kind, word(openedAt), word(resolvedAt), silent, told.length, kind === 'backlog' ? 0 : occurrences];
    }),
    recorded: replayed?.recorded.map(({ kind, openedAt, resolvedAt, silent, told, occurrences }) => {
      return [kind, word(openedAt), word(resolvedAt), silent, told, kind === 'backlog' ? 0 : occurrences];
    }),
  };
}

const histories = historyArbitrary(zones)
  .map(unedited)
  .chain((history) => {
    const span = history.until - history.createdAt;
    const tick = fc.integer({ min: 0, max: span }).map((offset) => history.createdAt + offset);
    return fc.record({ history: fc.constant(history), ticks: fc.array(tick, { maxLength: 6 }) });
  });

describe('a replay under the settings as they were', () => {
  test.each([
    ['at an easy pace', undefined],
    ['with next to nothing kept at hand', { steps: 2, keep: 3 }],
  ])(
    'tells what the engine told, %s',
    async (_, pace) => {
      let told = 0;
      await fc.assert(
        fc.asyncProperty(histories, async ({ history, ticks }) => {
          const { replayed, recorded } = await compare(history, ticks, pace);
          expect(replayed).toEqual(recorded);
          told += recorded?.length ?? 0;
        }),
        { numRuns, seed, endOnFailure: process.env['ROLLCALL_REPLAY_SHRINK'] === undefined },
      );
      // Histories in which nothing happens would prove nothing.
      expect(told).toBeGreaterThan(numRuns / 2);
    },
    240_000,
  );
});
