import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createDispatcher } from '../../src/notify/dispatcher.ts';
import { closeChannels } from '../../src/notify/registry.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, createSmtpReceiver, type HttpReceiver, readMail } from '../support/receivers.ts';
import { startApi, type TestApi } from '../web/api/api.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A job that is due every hour and misses its runs, and a dispatcher, at five past ten. */
async function start() {
  const t = await startApi('2026-03-01T10:00:30Z');
  const smtp = await createSmtpReceiver();
  const context = channelContext({ smtpUrl: smtp.url });
  const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void t.logged.push(fields) };
  const dispatcher = createDispatcher({ database: t.database, context, log, random: () => 0.5 });
  open.push(async () => {
    expect(t.logged).toEqual([]);
    await closeChannels(context);
    await smtp.close();
    await t.drop();
  });
  await t.call('PUT', '/jobs/backup', { schedules: [{ cron: '0 * * * *' }], zone: 'UTC', missed_runs: 'coalesce' });
  const tickAt = async (at: string): Promise<number> => {
    await t.at(`2026-03-01T${at}Z`);
    await t.tick();
    return dispatcher.tick();
  };
  return { t, smtp, tickAt };
}

async function receiver(): Promise<HttpReceiver> {
  const one = await createHttpReceiver();
  open.push(() => one.close());
  return one;
}

const hook = (t: TestApi, { url }: { readonly url: string }) =>
  t.call('PUT', '/channels/ops', { kind: 'webhook', url, secret: SECRET });

const states = async (t: TestApi): Promise<readonly string[]> => {
  const { json } = await t.call('GET', '/incidents/1/notifications');
  return json.notifications.map(({ state }: { state: string }) => state);
};

test('new settings are tried at once, also where nobody knows whether the old receiver got the message', async () => {
  const { t, tickAt } = await start();
  const [old, fresh] = [await receiver(), await receiver()];
  old.always('reset');
  await hook(t, old);
  await tickAt('11:05:00');
  for (const at of ['11:05:05', '11:05:10', '11:05:20']) await tickAt(at);
  await hook(t, fresh);
  expect(await tickAt('11:05:21')).toBe(1);
  expect(fresh.requests.map(({ headers }) => headers['webhook-id'])).toEqual([old.requests[0]?.headers['webhook-id']]);
});

test('what the old settings came to while they were replaced neither loses the message nor kills the channel', async () => {
  const { t, tickAt } = await start();
  const fresh = await receiver();
  const held: ServerResponse[] = [];
  const old = createServer((request, response) => void request.resume().on('end', () => held.push(response)));
  await new Promise<void>((resolve) => void old.listen(0, '127.0.0.1', resolve));
  open.push(async () => void old.close());
  await hook(t, { url: `http://127.0.0.1:${(old.address() as AddressInfo).port}` });
  await tickAt('11:05:00');
  const sending = tickAt('11:05:05');
  await expect.poll(() => held.length).toBe(1);
  // The answer is under way while a person writes the right address.
  await hook(t, fresh);
  held[0]?.writeHead(410).end();
  expect(await sending).toBe(0);
  expect((await t.call('GET', '/channels/ops')).json).toMatchObject({ dead_since: null, last_failure: null });
  expect(await tickAt('11:05:07')).toBe(1);
  expect(await states(t)).toEqual(['delivered']);
  expect(fresh.requests).toHaveLength(1);
});

test('a mail is no answer to what was told in Slack before the channel was changed', async () => {
  const { t, smtp, tickAt } = await start();
  const slack = await receiver();
  slack.always({ status: 200, body: JSON.stringify({ ok: true, ts: '17.01' }) });
  const bot = { kind: 'slack_bot', token: 'xoxb-0123456789', channel: 'C1', server: slack.url };
  expect((await t.call('PUT', '/channels/ops', bot)).status).toBe(201);
  await tickAt('11:05:00');
  expect(await tickAt('11:05:05')).toBe(1);
  await t.call('PUT', '/channels/ops', { kind: 'email', to: 'ops@example.org' });
  await t.ping('backup', 'success');
  expect(await tickAt('11:06:00')).toBe(1);
  const [mail] = smtp.mails.map(({ raw }) => readMail(raw));
  expect(mail?.headers).toMatch(/Subject: \[Rollcall\] .*backup/);
  expect(mail?.headers).not.toMatch(/C1 17\.01|In-Reply-To/);
});
