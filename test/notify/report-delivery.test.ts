import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCatchUp } from '../../src/engine/catch-up.ts';
import { createReports } from '../../src/engine/reports.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import type { ChannelContext } from '../../src/notify/channel.ts';
import { createDispatcher } from '../../src/notify/dispatcher.ts';
import { closeChannels } from '../../src/notify/registry.ts';
import { loadZones } from '../../src/zones.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, createSmtpReceiver, readMail, type SmtpReceiver } from '../support/receivers.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

const zones = loadZones();
let t: TestApi;
let receiver: SmtpReceiver;
let context: ChannelContext;
let errors: object[];
beforeEach(async () => {
  errors = [];
  t = await startApi('2026-09-30T12:00:00Z');
  receiver = await createSmtpReceiver();
  context = channelContext({ smtpUrl: receiver.url });
  await t.call('PUT', '/channels/boss', { kind: 'email', to: 'boss@example.org' });
  await t.call('PUT', '/reports/monthly', { every: 'month', zone: 'America/New_York', channels: ['boss'] });
  const schedules = [{ cron: '30 1 * * *' }];
  await t.call('PUT', '/jobs/settlement', {
    schedules,
    zone: 'America/New_York',
    missed_runs: 'skip',
    useful_for: '1h',
  });
});
afterEach(async () => {
  await closeChannels(context);
  await receiver.close();
  await t.drop();
  expect(errors).toEqual([]);
});

const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void errors.push(fields) };
const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };

async function makeDue(): Promise<number> {
  const catchUp = createCatchUp({ database: t.database, versions: createVersionCache(zones), settleMs: 600_000 });
  return createReports({ database: t.database, zones, catchUp, clock, settleMs: 600_000, log }).tick();
}

/** Rounds of the dispatcher, a second apart. */
async function send(rounds: number): Promise<number> {
  const dispatcher = createDispatcher({ database: t.database, context, log, random: () => 0.5 });
  let delivered = 0;
  for (let n = 0; n < rounds; n += 1) {
    t.clock.advance(1);
    delivered += await dispatcher.tick();
  }
  return delivered;
}
const mails = () => receiver.mails.map(({ raw, to }) => ({ to, ...readMail(raw) }));

test('the attempts of a channel say that it was a report', async () => {
  await t.at('2026-10-01T04:15:00Z');
  expect(await makeDue()).toBe(1);
  await send(6);
  const { json } = await t.call('GET', '/channels/boss/attempts');
  expect(json.attempts).toMatchObject([
    {
      outcome: 'delivered',
      incidents: [],
      notices: [{ kind: 'report', text: expect.stringContaining('September 2026') }],
    },
  ]);
});

test('a channel that became a pager before the report left gets no report, and the report says so', async () => {
  const pager = await createHttpReceiver();
  await t.at('2026-10-01T04:15:00Z');
  expect(await makeDue()).toBe(1);
  const body = { kind: 'ntfy', topic: 'night', server: pager.url };
  expect((await t.call('PUT', '/channels/boss', body)).status).toBe(200);
  await send(10);
  await pager.close();
  expect([pager.requests.length, receiver.mails.length]).toEqual([0, 0]);
  const rows = await t.database.transaction(async (tx) => tx.sql`select state, reason from outbox`);
  expect(rows).toEqual([
    { state: 'withheld', reason: 'a report goes by e-mail only, and this channel is none any more' },
  ]);
  expect((await t.call('GET', '/reports/monthly')).json.warnings).toEqual([
    'there is no e-mail channel boss any more: nothing is sent there',
  ]);
});

test('a month arrives by mail, with the clock change that is ahead, apart from what else there is to tell', async () => {
  await t.at('2026-10-31T05:40:00Z');
  await t.tick();
  await send(10);
  const problems = mails().length;
  await t.at('2026-11-01T04:15:00Z');
  await t.call('PUT', '/reports/other', { every: 'month', zone: 'America/New_York', channels: ['boss'] });
  await t.call('POST', '/reports/other/send');
  expect(await makeDue()).toBe(1);
  await t.at('2026-11-01T05:40:00Z');
  await t.tick();
  await send(12);
  const late = mails().slice(problems);
  const subjects = late.map(({ headers }) => /Subject: (.*)/.exec(headers)?.[1]);
  const report = '[Rollcall] default, October 2026: 0.0 % on time (0 of 31)';
  expect(subjects.filter((subject) => subject === report)).toHaveLength(2);
  expect(new Set(late.map(({ headers }) => /Message-ID: (.*)/.exec(headers)?.[1])).size).toBe(late.length);
  const [mail] = late.filter(({ headers }) => headers.includes(report));
  expect(mail?.to).toEqual(['boss@example.org']);
  for (const part of [mail?.text, mail?.html]) {
    expect(part).toContain('the clocks go back by 1 h, from 02:00 to 01:00; it touches 1 of 1 job there');
    expect(part).toContain('settlement: 01:30 happens twice, and only the first pass is due');
  }
  expect(mail?.text.split('\n')[1]).toBe('0 of 31 runs, no data in Sep 2026: 31 missed');
  expect(await t.call('GET', '/channels/boss/attempts')).toMatchObject({
    json: { attempts: expect.arrayContaining([expect.objectContaining({ outcome: 'delivered' })]) },
  });
});

test('one that a mail server puts off is sent again under its id, once', async () => {
  await t.call('DELETE', '/jobs/settlement');
  await t.at('2026-11-01T04:15:00Z');
  expect(await makeDue()).toBe(1);
  receiver.refuse('data', { code: 451, text: 'try again later' });
  expect(await send(6)).toBe(0);
  expect(await send(10)).toBe(1);
  expect(await send(10)).toBe(0);
  expect(mails()).toHaveLength(1);
  const { json } = await t.call('GET', '/channels/boss/attempts');
  const [second, first] = json.attempts;
  expect([first.outcome, second.outcome]).toEqual(['retry', 'delivered']);
  expect(second.message_id).toBe(first.message_id);
});
