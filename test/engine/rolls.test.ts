import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RollEntry, readRolls } from '../../src/engine/rolls.ts';
import { loadZones } from '../../src/zones.ts';
import { layOutJob, layOutRow, startApi, type TestApi } from '../web/api/api.ts';

const zones = loadZones();
const LENGTH = { past: 24, ahead: 3 };
let t: TestApi;
beforeEach(async () => {
  t = await startApi('2026-10-23T00:00:00Z');
});
afterEach(() => t.drop());

/** The rolls of all jobs, by slug. */
async function rolls(length = LENGTH): Promise<ReadonlyMap<string, readonly RollEntry[]>> {
  return t.database.transaction(async (tx) => {
    const jobs = await tx.sql<{ id: number; slug: string }[]>`select id, slug from jobs order by slug`;
    const found = await readRolls(
      tx,
      zones,
      jobs.map(({ id }) => id),
      length,
    );
    return new Map(jobs.map(({ id, slug }) => [slug, found.get(id) ?? []]));
  });
}

/** A roll in short: the day and time of each, and its state. */
const inShort = (roll: readonly RollEntry[] | undefined) =>
  roll?.map(({ key, state, twice }) => `${key.slice(8)} ${state}${twice ? ' twice' : ''}`);

type Listed = {
  readonly key: string;
  readonly scheduled_for: string;
  readonly state: string;
  readonly completions: number;
  readonly stands_for: number;
};

/** What `GET /jobs/{slug}/occurrences` says of a job, as a roll would. */
async function listed(slug: string, isHeartbeat: boolean): Promise<readonly RollEntry[]> {
  const job = (await t.call('GET', `/jobs/${slug}`)).json;
  const path = `/jobs/${slug}/occurrences`;
  const now = t.clock.now();
  // To the letter: what is settled although due later is asked for with what is to come.
  const due = `until=${new Date(now).toISOString()}`;
  const past: Listed[] = (await t.call('GET', `${path}?${due}&limit=${LENGTH.past}`)).json.occurrences.reverse();
  // As far as the third to come can be: of the monthly one three months.
  const days = job.tags.includes('rare') ? 125 : 4;
  const window = `after=${new Date(now).toISOString()}&until=${new Date(now + days * 86_400_000).toISOString()}`;
  const ahead: Listed[] = (await t.call('GET', `${path}?${window}&limit=500`)).json.occurrences.reverse();
  const shown = isHeartbeat
    ? ofHeartbeat([...past, ...ahead], job.paused, now)
    : [...past, ...(job.paused ? [] : ahead.slice(0, LENGTH.ahead))];
  return shown.map(({ key, scheduled_for, state, completions, stands_for }) => ({
    scheduledFor: Date.parse(scheduled_for),
    key,
    state: state as RollEntry['state'],
    twice: !isHeartbeat && completions > stands_for,
  }));
}

/** What was done before it was due is past; the open one that is not due yet is the only one to come. */
function ofHeartbeat(all: readonly Listed[], isPaused: boolean, now: number): readonly Listed[] {
  const isAhead = ({ state, scheduled_for }: Listed): boolean =>
    Date.parse(scheduled_for) > now && ['expected', 'running', 'overdue'].includes(state);
  return [...all.filter((one) => !isAhead(one)).slice(-LENGTH.past), ...all.filter((one) => !isPaused && isAhead(one))];
}

const BERLIN = { zone: 'Europe/Berlin' };
/** Across the night in which the clocks of Berlin go back (25 October). */
const JOBS: Readonly<Record<string, object>> = {
  nightly: { ...BERLIN, schedules: [{ cron: '30 2 * * *' }], missed_runs: 'catch_up' },
  cleanup: { ...BERLIN, schedules: [{ cron: '*/30 * * * *' }], missed_runs: 'coalesce', grace: '10m' },
  digest: { ...BERLIN, schedules: [{ cron: '0 8,20 * * *' }], missed_runs: 'skip', useful_for: '1h' },
  'new-york': { zone: 'America/New_York', schedules: [{ cron: '15 * * * *' }], missed_runs: 'coalesce' },
  union: {
    zone: 'UTC',
    schedules: [{ cron: '0 */3 * * *' }, { every: '50m', anchor: '2026-10-01T00:00:00Z' }],
    missed_runs: 'catch_up',
    early: '40m',
    max_runtime: '30m',
  },
  monthly: { ...BERLIN, schedules: [{ cron: '0 4 1 * *' }], missed_runs: 'catch_up', tags: ['rare'] },
  sensor: { zone: 'UTC', schedules: [{ heartbeat: '7h' }], grace: '1h' },
  gateway: { zone: 'UTC', schedules: [{ heartbeat: '90m' }], grace: '20m', max_runtime: '1h' },
  after: { ...BERLIN, schedules: [{ cron: '0 3 * * *' }], missed_runs: 'coalesce', after: ['nightly'] },
};
const SLUGS = Object.keys(JOBS);
const HEARTBEATS = ['sensor', 'gateway'];

/** Numbers from 0 to 1 that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

describe('a roll says what the list of occurrences says', () => {
  test.each([3, 11, 29, 41])('through pings, pauses, edits and a clock change (history %i)', async (seed) => {
    const random = numbers(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    for (const slug of SLUGS) await t.call('PUT', `/jobs/${slug}`, JOBS[slug]);
    let now = Date.parse('2026-10-23T00:00:00Z');
    for (let step = 0; step < 48; step += 1) {
      now += Math.floor(random() * 5_400_000);
      await t.at(new Date(now).toISOString());
      const slug = pick(SLUGS);
      const what = random();
      if (what < 0.75) await t.ping(slug, pick(['start', 'success', 'success', 'success', 'fail']));
      else if (what < 0.8) await t.call('POST', `/jobs/${slug}/pause`);
      else if (what < 0.87) await t.call('POST', `/jobs/${slug}/resume`);
      else if (what < 0.9)
        await t.call('PUT', `/jobs/${slug}`, { ...JOBS[slug], zone: pick(['UTC', 'Europe/London']) });
      else await t.tick();
      if (step % 12 !== 11) continue;
      const said = new Map<string, readonly RollEntry[]>();
      for (const one of SLUGS) said.set(one, await listed(one, HEARTBEATS.includes(one)));
      expect([...(await rolls())]).toEqual([...said].sort(([a], [b]) => (a < b ? -1 : 1)));
    }
  });
});

describe('a roll shows', () => {
  test('what is due and has no row yet, and what is to come, each under its key', async () => {
    await t.call('PUT', '/jobs/cleanup', JOBS['cleanup']);
    await t.at('2026-10-25T00:59:00Z');
    await t.tick();
    await t.at('2026-10-25T01:03:00Z');
    // The half hours of the second pass through the repeated hour have the offset of winter.
    expect(inShort((await rolls({ past: 2, ahead: 3 })).get('cleanup'))).toEqual([
      '25T02:30+02:00 overdue',
      '25T02:00+01:00 expected',
      '25T02:30+01:00 expected',
      '25T03:00+01:00 expected',
      '25T03:30+01:00 expected',
    ]);
  });

  test('one that was completed before it was due among what is to come', async () => {
    await t.call('PUT', '/jobs/union', JOBS['union']);
    await t.at('2026-10-23T00:10:00Z');
    await t.ping('union', 'success');
    await t.ping('union', 'success', { rid: '11111111-1111-4111-8111-111111111111', occ: '2026-10-23T00:20Z' });
    expect(inShort((await rolls({ past: 3, ahead: 3 })).get('union'))).toEqual([
      '23T00:20Z on_time twice',
      '23T01:10Z expected',
      '23T02:00Z expected',
    ]);
  });

  test('the open occurrence of a heartbeat, and nothing to come once it is late', async () => {
    await t.call('PUT', '/jobs/sensor', JOBS['sensor']);
    await t.at('2026-10-23T01:00:00Z');
    await t.ping('sensor', 'success');
    expect(inShort((await rolls()).get('sensor'))).toEqual(['23T07:00Z on_time', '23T08:00Z expected']);
    await t.at('2026-10-23T09:00:00Z');
    await t.tick();
    expect(inShort((await rolls()).get('sensor'))).toEqual(['23T07:00Z on_time', '23T08:00Z overdue']);
  });

  test('of a heartbeat that runs more often than it must what ran, and the one that is open now', async () => {
    await t.call('PUT', '/jobs/sensor', JOBS['sensor']);
    for (let minute = 1; minute <= 30; minute += 1) {
      await t.at(`2026-10-23T00:${minute < 10 ? '0' : ''}${minute}:00Z`);
      await t.ping('sensor', 'success');
    }
    const shown = inShort((await rolls()).get('sensor')) ?? [];
    expect(shown).toHaveLength(25);
    expect([shown.at(0), ...shown.slice(-2)]).toEqual(['23T07:06Z on_time', '23T07:29Z on_time', '23T07:30Z expected']);
  });

  test('nothing to come while the job is paused, and what was due since as skipped', async () => {
    await t.call('PUT', '/jobs/new-york', JOBS['new-york']);
    await t.at('2026-10-23T00:20:00Z');
    await t.call('POST', '/jobs/new-york/pause');
    await t.at('2026-10-23T02:16:00Z');
    expect(inShort((await rolls()).get('new-york'))).toEqual([
      '22T20:15-04:00 skipped',
      '22T21:15-04:00 skipped',
      '22T22:15-04:00 skipped',
    ]);
  });

  test('a job whose stored schedule makes no sense as far as it has rows', async () => {
    const id = await layOutJob(t, 'broken', {
      at: '2026-10-22T00:00:00Z',
      nextUnrecorded: '2026-10-22T05:00:00Z',
      schedules: [{ cron: 'nonsense' }],
    });
    await layOutRow(t, id, { at: '2026-10-22T04:00:00Z', state: 'missed' });
    expect(inShort((await rolls()).get('broken'))).toEqual(['22T04:00Z missed']);
  });
});

test('however many jobs there are, their rolls take the same few statements', async () => {
  const count = async (ids: readonly number[]): Promise<number> =>
    t.database.transaction(async (tx) => {
      let statements = 0;
      const sql = new Proxy(tx.sql, {
        apply(target, self, args: unknown[]) {
          statements += 1;
          return Reflect.apply(target as never, self, args);
        },
      });
      await readRolls({ ...tx, sql }, zones, ids, LENGTH);
      return statements;
    });
  const ids: number[] = [];
  for (let i = 0; i < 40; i += 1) {
    ids.push(await layOutJob(t, `job-${i}`, { at: '2026-10-20T00:00:00Z', nextUnrecorded: '2026-10-23T00:00:00Z' }));
  }
  expect(await count(ids.slice(0, 1))).toBe(4);
  expect(await count(ids)).toBe(4);
  expect(await count([])).toBe(0);
});
