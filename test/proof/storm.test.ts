import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { groupBy } from '../../src/core/group.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { expectSound } from './promises.ts';
import { eventually, type Service, startService } from './service.ts';
import {
  type Attempt,
  bodiesOf,
  countOf,
  expectGivenUpInTime,
  expectGrouped,
  expectLeftAlone,
  expectOneIncidentEach,
  expectSameAgain,
  expectToldOnce,
  fatesOf,
  firstDelivered,
  readAttempts,
  readChat,
  readMails,
  rowsOf,
} from './storm-checks.ts';
import { createFleet, pingAll } from './storm-fleet.ts';
import {
  CHANNELS,
  createChannels,
  MAIL_FROM,
  mendAway,
  openReceivers,
  type Receivers,
  type StormChannel,
} from './storm-receivers.ts';
import { type Enqueued, watchEnqueued } from './storm-watch.ts';

// A host is lost, and all jobs on it in one tick; of the receivers some have troubles of their own. Then everything runs
// after all. ROLLCALL_STORM_JOBS=2000 makes it the storm of the design, and lets the one that hangs answer at last.

const JOBS = Number(process.env['ROLLCALL_STORM_JOBS'] ?? 300);
const IS_FULL = JOBS > 300;
const REFUSALS = IS_FULL ? 2 : 1;
/** A busy machine needs longer. */
const PATIENCE_S = IS_FULL ? 240 : 60;
/** So long a message waits, at most, for those that are lost in the same tick (store/gathering.ts); then it is written down. */
const GATHERING_MS = 30_000;
const GROUPING_MS = 5000;

let folder = '';
let db: TestDatabase;
let receivers: Receivers;
let service: Service;
const figures: Record<string, unknown> = { jobs: JOBS };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-storm-test-'));
  [db, receivers] = await Promise.all([createTestDatabase(), openReceivers({ refusals: REFUSALS })]);
  service = await startService({
    DATABASE_URL: db.url,
    DATA_DIR: folder,
    OUTBOUND_ALLOW: '127.0.0.1',
    SMTP_URL: receivers.mail.url,
    MAIL_FROM,
  });
  await createChannels(service, receivers);
});

afterAll(async () => {
  console.log(`storm: ${JSON.stringify(figures)}`);
  await service?.kill();
  await receivers?.close();
  await db?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Waits until this many events of this number were delivered to the channel; each job has one. */
async function told(channel: StormChannel, event: number): Promise<void> {
  const isTold = async () => (await fatesOf(db.database, channel))[`${event} delivered`] === JOBS;
  await eventually(`${channel} is told event ${event} of every job`, isTold, PATIENCE_S);
}

const attemptsOn = async (channel: StormChannel): Promise<readonly Attempt[]> =>
  (await readAttempts(db.database)).filter((attempt) => attempt.channel === channel);

test(
  'jobs that are lost in one tick are told once to every channel, whatever has become of the others',
  async () => {
    const deadline = await createFleet(service, { database: db.database, jobs: JOBS, aheadMs: IS_FULL ? 4000 : 1500 });
    const cpuBefore = await cpuSeconds();
    const promised = { database: db.database, rows: JOBS * CHANNELS.length, seconds: PATIENCE_S };
    const enqueued = await watchEnqueued({ ...promised, event: 1, since: deadline });
    Object.assign(figures, {
      enqueued,
      load: loadavg()[0],
      cpu_ms_a_job: ((await cpuSeconds()) - cpuBefore) * (1000 / JOBS),
    });
    await expectOneIncidentEach(db.database, JOBS, 'open');

    await Promise.all([told('hook', 1), told('mail', 1), told('chat', 1)]);
    await expectDeadIsKnown();
    expect(receivers.away.requests).toEqual([]);

    const watching = watchEnqueued({ ...promised, event: 2, since: Date.now() });
    const [acknowledged, ended] = await Promise.all([pingAll(service, JOBS), watching]);
    expect(acknowledged).toBe(JOBS);
    Object.assign(figures, { ended });
    await expectOneIncidentEach(db.database, JOBS, 'resolved');
    await mendAway(service, receivers);
    await Promise.all([told('hook', 2), told('mail', 2), told('chat', 2), told('away', 2)]);
    await expectNobodyDelayed();
    if (IS_FULL) await hungAnswers();

    await expectFates();
    await expectMessages(enqueued, ended);
    await expectSound(db.url);
    expect(service.printed.out.split('\n').filter((line) => /"level":[56]0/.test(line))).toEqual([]);
    Object.assign(figures, { first: await firstDelivered(db.database, deadline) });
  },
  (3 * PATIENCE_S + 30) * 1000,
);

/** Of the service's own process since its start. */
async function cpuSeconds(): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total ([\d.]+)/m.exec(text)?.[1] ?? Number.NaN);
}

/** Whoever answers was told before the first attempt on the one that hangs was given up. */
async function expectNobodyDelayed(): Promise<void> {
  const [givenUp] = await eventually('the hanging attempt ends', async () => {
    const attempts = await attemptsOn('hung');
    return attempts.length > 0 && attempts;
  });
  for (const channel of ['hook', 'mail'] as const) {
    const [first] = await attemptsOn(channel);
    expect(first?.outcome).toBe('delivered');
    expect(first?.at).toBeLessThan(givenUp?.at ?? 0);
  }
}

/** The channel says so itself, /healthz says so and stays green, and the operator's channel is told. */
async function expectDeadIsKnown(): Promise<void> {
  expect(await service.api('GET', '/channels/gone')).toMatchObject({
    dead_since: expect.any(String),
    last_failure: 'HTTP 410',
  });
  const { status, checks } = await eventually('/healthz knows', async () => {
    const health = await service.health();
    return health.checks.some(({ name, ok }) => name === 'channels' && !ok) && health;
  });
  expect(status).toBe(200);
  expect(checks.find(({ name }) => name === 'channels')?.detail).toBe('1 dead');
  await eventually('the operator is told', () => countOf(bodiesOf(receivers.hook), 'notice') > 0);
}

/** The one that hung answers at last: what it may have already comes again as it was, then the end. */
async function hungAnswers(): Promise<void> {
  receivers.hung.always(() => ({ status: 200, body: 'ok' }));
  await told('hung', 2);
}

async function expectFates(): Promise<void> {
  const delivered = { '1 delivered': JOBS, '2 delivered': JOBS };
  for (const channel of ['hook', 'mail', 'chat', 'away'] as const)
    expect(await fatesOf(db.database, channel)).toEqual(delivered);
  expect(await fatesOf(db.database, 'hung')).toEqual(IS_FULL ? delivered : { '1 waiting': JOBS, '2 waiting': JOBS });
  expect(await fatesOf(db.database, 'gone')).toEqual({
    '1 rejected: HTTP 410': JOBS,
    '2 withheld: the problem itself was not delivered to this channel': JOBS,
  });
  // Nothing besides: two events of each incident for each channel, and one notice for the operator's.
  const [total] = await rowsOf(db.database, 'select count(*) as rows, count(notice_id) as notices from outbox');
  expect(total).toEqual({ rows: 2 * JOBS * CHANNELS.length + 1, notices: 1 });
}

/** How many messages came where, and what they said. */
async function expectMessages(enqueued: Enqueued, ended: Enqueued): Promise<void> {
  const link = `${service.url}/`;
  const hook = bodiesOf(receivers.hook);
  const away = bodiesOf(receivers.away);
  const [chat, mail] = [readChat(receivers, REFUSALS, link), readMails(receivers, link)];
  for (const bodies of [hook, away]) expectToldOnce(bodies, JOBS);
  for (const messages of [chat, mail]) expectGrouped(messages, JOBS);
  const notices = hook.flatMap(({ events }) => events).filter(({ type }) => type === 'notice');
  expect(notices).toMatchObject([{ notice: { text: expect.stringContaining('Channel gone (webhook) is dead') } }]);
  expect(countOf(away, 'notice')).toBe(0);
  const hung = bodiesOf(receivers.hung);
  const inVain = (await attemptsOn('hung')).filter(({ outcome }) => outcome === 'retry');
  expectGivenUpInTime(inVain, receivers.hung.cameAt);
  expectSameAgain(hung.slice(0, inVain.length + 1));
  expectLeftAlone(receivers, REFUSALS);

  const problems = {
    hook: countOf(hook, 'incident.opened'),
    mail: mail.filter(({ missing }) => missing > 0).length,
    chat: chat.filter(({ missing }) => missing > 0).length,
  };
  const ends = {
    hook: countOf(hook, 'incident.resolved'),
    mail: mail.filter(({ recovered }) => recovered > 0).length,
    chat: chat.filter(({ recovered }) => recovered > 0).length,
  };
  const attempts = groupBy(await readAttempts(db.database), ({ channel }) => channel);
  Object.assign(figures, {
    problems,
    ends,
    both: away.length,
    attempts: Object.fromEntries(CHANNELS.map((channel) => [channel, attempts.get(channel)?.length ?? 0])),
  });
  // One message, unless this machine needs longer to judge them all, or to hear of their ends, than a message waits.
  const most = (ms: number, each: number): number => 1 + Math.floor(ms / each);
  const mostProblems = most(enqueued.all, GATHERING_MS);
  expect(Math.max(...Object.values(problems))).toBeLessThanOrEqual(mostProblems);
  // An end is a reply to the mail with its beginning.
  expect(Math.max(...Object.values(ends))).toBeLessThanOrEqual(most(ended.all, GROUPING_MS) * mostProblems);
}
