import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { JobDefinition } from '../../src/core/definition.ts';
import type { ReplayPace } from '../../src/core/replay.ts';
import { formatInstant } from '../../src/core/time.ts';
import { type Replay, replayDefinition } from '../../src/engine/replay.ts';
import { readJob } from '../../src/store/jobs.ts';
import { loadZones } from '../../src/zones.ts';
import type { History, Input } from '../support/history.ts';
import { historyArbitrary } from '../support/random-history.ts';
import { type PlayedJob, play, type Service, settleDown, startService } from '../support/year-service.ts';

const zones = loadZones();
const numRuns = Number(process.env['ROLLCALL_REPLAY_RUNS'] ?? 20);
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

/** Plays the histories through the whole engine, each as a job of its own, on one clock. */
async function playAll(played: readonly History[], ticks: readonly number[]) {
  const [first] = played;
  if (!first) throw new Error('no history');
  const service = await serviceFor(first.settleSeconds);
  const jobs = played.map((history): PlayedJob => {
    run += 1;
    return { slug: `job_${run}`, history, channels: null };
  });
  service.clock.set(first.createdAt);
  await service.forget();
  await service.beat();
  const { windows, until } = first;
  await play(service, jobs, { windows, until, ticks: { at: ticks, atStep: () => false } });
  await settleDown(service, until);
  expect(service.failures).toEqual([]);
  return { service, slugs: jobs.map(({ slug }) => slug) };
}

async function definitionOf(service: Service, slug: string): Promise<JobDefinition> {
  const definition = await service.run(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`select id from jobs where slug = ${slug}`;
    return (await readJob(tx, row?.id ?? 0))?.definition;
  });
  if (!definition) throw new Error('no job');
  return definition;
}

/** The past of one job under the definition of another. */
async function replayed(service: Service, slug: string, as: string, pace?: ReplayPace): Promise<Replay> {
  const deps = { ...service.deps, monotonic: () => 0 };
  const found = await replayDefinition(
    deps,
    { projectId: service.projectId, slug },
    await definitionOf(service, as),
    pace,
  );
  if (!found) throw new Error('no job');
  return found;
}

const word = (at: number | null) => (at === null ? null : formatInstant(at));

function toldBy({ incidents }: Replay) {
  return incidents.map(({ kind, openedAt, resolvedAt, silent, told, occurrences }) => {
    return [kind, word(openedAt), word(resolvedAt), silent, told.length, kind === 'backlog' ? 0 : occurrences];
  });
}

function toldThen({ recorded }: Replay) {
  return recorded.map(({ kind, openedAt, resolvedAt, silent, told, occurrences }) => {
    return [kind, word(openedAt), word(resolvedAt), silent, told, kind === 'backlog' ? 0 : occurrences];
  });
}

const drawn = historyArbitrary(zones).map(unedited);
const ticksOf = ({ createdAt, until }: History) =>
  fc.array(
    fc.integer({ min: 0, max: until - createdAt }).map((offset) => createdAt + offset),
    { maxLength: 6 },
  );
const histories = drawn.chain((history) => fc.record({ history: fc.constant(history), ticks: ticksOf(history) }));

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
          const { service, slugs } = await playAll([history], ticks);
          const [slug = ''] = slugs;
          const replay = await replayed(service, slug, slug, pace);
          expect(toldBy(replay)).toEqual(toldThen(replay));
          told += replay.recorded.length;
        }),
        { numRuns, seed, endOnFailure: process.env['ROLLCALL_REPLAY_SHRINK'] === undefined },
      );
      // Histories in which nothing happens would prove nothing.
      expect(told).toBeGreaterThan(numRuns / 2);
    },
    240_000,
  );
});

describe('a replay under other settings', () => {
  /** What a claim is given, and whether there is anything to decide, depends on the settings it was asked under. */
  const unclaimed = (history: History): History => ({
    ...history,
    inputs: history.inputs.filter(({ type }) => !['claim', 'extend', 'release', 'decide', 'settle'].includes(type)),
  });
  const pairs = fc
    .record({ history: drawn.map(unclaimed), other: drawn })
    .map(({ history, other: { settings } }) => {
      const { schedules } = history.settings;
      const isHeartbeat = schedules.some((one) => 'heartbeat' in one);
      const takes = isHeartbeat ? { missedRuns: null, early: null, usefulFor: null } : {};
      const missedRuns = settings.missedRuns ?? 'coalesce';
      const others = { ...settings, missedRuns, schedules, overlap: 'forbid' as const, ...takes };
      return { history, other: { ...history, settings: others } };
    })
    .chain(({ history, other }) =>
      fc.record({ history: fc.constant(history), other: fc.constant(other), ticks: ticksOf(history) }),
    );

  test('tells what the engine would have told, had they been in force', async () => {
    let different = 0;
    await fc.assert(
      fc.asyncProperty(pairs, async ({ history, other, ticks }) => {
        const { service, slugs } = await playAll([history, other], ticks);
        const [slug = '', as = ''] = slugs;
        const asked = await replayed(service, slug, as);
        const real = await replayed(service, as, as);
        expect(toldBy(asked)).toEqual(toldThen(real));
        if (JSON.stringify(toldThen(asked)) !== JSON.stringify(toldThen(real))) different += 1;
      }),
      { numRuns, seed, endOnFailure: process.env['ROLLCALL_REPLAY_SHRINK'] === undefined },
    );
    expect(different).toBeGreaterThan(numRuns / 5);
  }, 240_000);
});
