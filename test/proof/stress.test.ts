import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomOf } from '../support/year-plan.ts';
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts';
import { expectSound, query } from './promises.ts';
import { eventually, PING_KEY } from './service.ts';
import { stopInTransaction, wreak } from './stress-chaos.ts';
import {
  expectAcknowledgedOnce,
  expectNoBugs,
  expectNoFalseAlarms,
  expectNoHoles,
  type Figures,
  pauses,
} from './stress-checks.ts';
import { CLAIMED, type Claimers, expectOneWinner, startClaimers } from './stress-claims.ts';
import { type Clients, startClients } from './stress-clients.ts';
import { type Fleet, startFleet } from './stress-fleet.ts';
import { HEARTBEATS, JOBS } from './stress-jobs.ts';
import { CHANNELS, expectTold, type Mailbox, openMailbox, SECRET } from './stress-messages.ts';
import { type SessionWatch, startSessionWatch } from './stress-watch.ts';

// Several processes of each role on one database, killed and stopped at random under load. ROLLCALL_STRESS_SECONDS makes
// it long (and the stops longer than any lease), ROLLCALL_STRESS_SEED repeats the choices of a run.

const SECONDS = Number(process.env['ROLLCALL_STRESS_SECONDS'] ?? 0);
const SEED = Number(process.env['ROLLCALL_STRESS_SEED'] ?? Date.now() % 1_000_000);
const IS_LONG = SECONDS > 0;
const ROLES = ['web', 'web', 'evaluator', 'evaluator', 'notifier'] as const;
/** Longer than a transaction may be idle. */
const SHORT_STOP_MS = 11_000;
/** A stopped process holds what it holds for 10 s, or as long as its transaction may take at most; then a busy machine. */
const LIMITS: Readonly<Record<string, number>> = { held: 17_000 };
const LIMIT_MS = 12_000;
const FEWEST = {
  kills: 4,
  stops: 1,
  acknowledged: 50,
  retries: 1,
  in_time: 5,
  claims: 5,
  incidents: 10,
  deliveries: 2,
};

const random = randomOf(SEED);
let folder = '';
let postgres: OwnPostgres;
let mailbox: Mailbox;
let fleet: Fleet;
let watch: SessionWatch;
let clients: Clients;
let claimers: Claimers;
const load = { from: 0, until: 0 };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-stress-test-'));
  [postgres, mailbox] = await Promise.all([startOwnPostgres(), openMailbox()]);
  watch = startSessionWatch(postgres.url);
  const env = { DATABASE_URL: postgres.url, DATA_DIR: folder, OUTBOUND_ALLOW: '127.0.0.1', BLIND_SETTLE: '5s' };
  fleet = await startFleet(env, IS_LONG ? [...ROLES, 'notifier'] : ROLES);
  for (const name of CHANNELS) {
    await api('PUT', `/channels/${name}`, { kind: 'webhook', url: `${mailbox.url}/${name}`, secret: SECRET });
  }
  const jobs = [...JOBS, ...HEARTBEATS, ...CLAIMED];
  await Promise.all(jobs.map(({ slug, definition }) => api('PUT', `/jobs/${slug}`, definition)));
});

afterAll(async () => {
  await watch?.stop();
  await fleet?.end();
  await mailbox?.close();
  await postgres?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Through the first process; only while nothing is killed. */
function api(method: string, path: string, body?: object) {
  const [web] = fleet.of('web');
  if (!web) throw new Error('no web process');
  return web.service.api(method, path, body);
}

function member(role: 'web' | 'evaluator' | 'notifier', index: number) {
  const found = fleet.of(role)[index];
  if (!found) throw new Error(`no ${role} ${index}`);
  return found;
}

/** A web process is stopped in the middle of a statement; meanwhile and afterwards others are killed. */
async function shortRun(): Promise<void> {
  fleet.kill(member('notifier', 0));
  const stopped = member('web', Math.floor(random() * 2));
  // There it is neither idle, nor would the server cancel what it is at.
  expect(await stopInTransaction({ fleet, watch, random }, stopped, 'active')).not.toBeNull();
  const until = performance.now() + SHORT_STOP_MS;
  await sleep(1000 + random() * 1000);
  const evaluator = Math.floor(random() * 2);
  fleet.kill(member('evaluator', evaluator));
  await sleep(1000 + random() * 1000);
  await eventually('it is back', () => member('evaluator', evaluator).state === 'up');
  fleet.kill(member('evaluator', 1 - evaluator));
  await sleep(until - performance.now());
  fleet.resume(stopped);
  await sleep(500);
  const other = fleet.of('web').find((web) => web !== stopped);
  if (other) fleet.kill(other);
  await sleep(1500);
}

/** As many seconds as were asked for; receivers have their troubles too. */
async function longRun(): Promise<void> {
  const ending = new AbortController();
  const wreaking = wreak({ fleet, watch, random, signal: ending.signal });
  const until = performance.now() + SECONDS * 1000;
  while (performance.now() < until) {
    await sleep(2000);
    if (random() < 0.05) mailbox.reply(random() < 0.5 ? 'reset' : { status: 503 });
  }
  ending.abort();
  await wreaking;
}

/** Everybody runs again, and nothing is due any more. */
async function comeToRest(): Promise<void> {
  load.until = performance.now();
  await Promise.all([clients.stop(), claimers.stop()]);
  await fleet.restore();
  const { jobs } = await api('GET', '/jobs?limit=500');
  await Promise.all((jobs as { slug: string }[]).map(({ slug }) => api('POST', `/jobs/${slug}/pause`)));
  const waiting =
    "select id, state, attempts, not_before, lease_until, reason from outbox where state = 'waiting' limit 5";
  let left: unknown;
  const isOut = async (): Promise<boolean> => {
    left = await query(postgres.url, waiting);
    return (left as unknown[]).length === 0;
  };
  // A lease has to run out, or a receiver that was in trouble is tried again.
  await eventually('every message is out', isOut, 90).catch(() => expect(left, 'what was never sent').toEqual([]));
}

test(
  'replicas that are killed and stopped under load keep every promise',
  async () => {
    load.from = performance.now();
    clients = startClients({
      webs: fleet.of('web'),
      pingKey: PING_KEY,
      jobs: [...JOBS, ...HEARTBEATS],
      hammers: 4,
      // A short run shares the machine with other tests: hundreds of pings a second, not all that it can do.
      pauseMs: IS_LONG ? 0 : 10,
      random,
    });
    claimers = startClaimers({ webs: fleet.of('web'), pingKey: PING_KEY, runners: 2, deadly: IS_LONG, random });
    await (IS_LONG ? longRun() : shortRun());
    await comeToRest();

    const measured = {
      ...pauses(clients.sent, fleet.of('web'), load),
      held: watch.longest.transaction,
      lock: watch.longest.lock,
    };
    const figures: Figures = { ...fleet.counts, ...rounded(measured) };
    try {
      await expectPromisesKept(figures);
    } finally {
      console.log(`stress, seed ${SEED}: ${JSON.stringify(figures)} (${watch.oldest()})`);
    }
    expect(await watch.left(), 'transactions that nobody ends').toEqual([]);
    expect(fleet.members.filter(({ service }) => !service.isAlive())).toEqual([]);
    expectNoBugs(fleet);
    const slow = Object.entries(measured).filter(([name, ms]) => ms > (LIMITS[name] ?? LIMIT_MS));
    expect(slow, watch.oldest()).toEqual([]);
    // It was worth the while.
    const few = Object.entries(FEWEST).filter(([name, least]) => (figures[name] ?? 0) < least);
    expect(few, JSON.stringify(figures)).toEqual([]);
  },
  (SECONDS + 120) * 1000,
);

/** Adds what it counts to the figures. */
async function expectPromisesKept(figures: Figures): Promise<void> {
  const { url } = postgres;
  const sent = [...clients.sent, ...claimers.sent];
  Object.assign(figures, await expectAcknowledgedOnce(url, sent));
  await expectSound(url);
  Object.assign(figures, await expectNoHoles(url, [...JOBS, ...CLAIMED]));
  Object.assign(figures, await expectTold(url, mailbox));
  Object.assign(figures, await expectOneWinner(url, claimers));
  Object.assign(figures, await expectNoFalseAlarms(url, sent, JOBS));
}

function rounded(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, ms]) => [name, Math.round(ms)]));
}
