import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Settings } from '../../src/notify/channel.ts';
import { channelKinds, parseChannel } from '../../src/notify/registry.ts';
import { batchOf, channelContext, incidentEvent } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver, type HttpReply } from '../support/receivers.ts';

const context = channelContext();
let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await createHttpReceiver();
});
afterAll(() => receiver.close());

const key = 'k'.repeat(32);
const settingsOf = (server: string): Readonly<Record<string, Settings>> => ({
  slack_bot: { token: 'xoxb-0123456789', channel: 'C1', server },
  pagerduty: { routing_key: key, server },
  discord: { url: `${server}/api/webhooks/1/t` },
  teams: { url: `${server}/workflows/1?sig=t` },
  telegram: { token: '1:aaaaaaaaaaaaaaaaaaaaaaaa', chat_id: '-1', server },
  ntfy: { topic: 't', server },
  apprise: { server, key: 'k' },
});

async function answerTo(kind: string, ...replies: HttpReply[]) {
  receiver.reply(...replies);
  const opened = channelKinds.get(kind)?.open(settingsOf(receiver.url)[kind] ?? {}, context);
  if (!opened?.ok) throw new Error(`${kind} does not open`);
  return opened.value.send(batchOf(incidentEvent()), new AbortController().signal);
}

const json = (status: number, value: object, headers = {}): HttpReply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});
const TEAMS = 'Microsoft Teams endpoint returned HTTP error';
const gone = { outcome: 'rejected', permanent: true };
const refused = { outcome: 'rejected', permanent: false };

test.each<[string, HttpReply, object]>([
  // https://docs.slack.dev/reference/methods/chat.postMessage, "Errors"
  ['slack_bot', json(200, { ok: true, channel: 'C1', ts: '17.01' }), { outcome: 'delivered', receipt: 'C1 17.01' }],
  ['slack_bot', json(200, { ok: false, error: 'not_in_channel' }), { ...gone, reason: 'not_in_channel' }],
  ['slack_bot', json(200, { ok: false, error: 'token_revoked' }), gone],
  ['slack_bot', json(200, { ok: false, error: 'is_archived' }), gone],
  ['slack_bot', json(200, { ok: false, error: 'msg_too_long' }), refused],
  ['slack_bot', json(200, { ok: false, error: 'rate_limited' }), { outcome: 'retry' }],
  ['slack_bot', json(200, { ok: false, error: 'internal_error' }), { outcome: 'retry', uncertain: true }],
  ['slack_bot', json(200, { ok: false, error: '<b>10.0.0.7</b>' }), { ...refused, reason: 'refused without a reason' }],
  ['slack_bot', { status: 200, body: '<html>' }, { outcome: 'retry', uncertain: true }],
  ['slack_bot', { status: 429, headers: { 'retry-after': '7' } }, { outcome: 'retry', retryAfterMs: 7000 }],
  // https://developer.pagerduty.com/docs/events-api-v2-overview#response-codes--retry-logic
  ['pagerduty', json(202, { status: 'success' }), { outcome: 'delivered' }],
  ['pagerduty', json(400, { errors: ["Length of 'routing_key' is incorrect"] }), gone],
  ['pagerduty', json(400, { message: 'Invalid routing key' }), gone],
  ['pagerduty', json(400, { errors: ["'payload.severity' is invalid"] }), refused],
  ['pagerduty', { status: 429 }, { outcome: 'retry', retryAfterMs: 120_000 }],
  ['pagerduty', { status: 500 }, { outcome: 'retry', reason: 'HTTP 500' }],
  // https://docs.discord.com/developers/topics/rate-limits, .../topics/opcodes-and-status-codes#json
  ['discord', json(200, { id: '1' }), { outcome: 'delivered' }],
  ['discord', json(429, { retry_after: 64.57 }, { 'retry-after': '65' }), { outcome: 'retry', retryAfterMs: 65_000 }],
  ['discord', json(429, { retry_after: 0.3 }), { outcome: 'retry', retryAfterMs: 300 }],
  ['discord', json(404, { code: 10015 }), { ...gone, reason: 'HTTP 404 code 10015' }],
  ['discord', json(401, { code: 50027 }), gone],
  ['discord', json(400, { code: 50035 }), refused],
  // Codes of the workflow engine, as in https://github.com/microsoft/coe-starter-kit/issues/8684
  ['teams', { status: 202 }, { outcome: 'delivered' }],
  ['teams', json(404, { error: { code: 'WorkflowNotFound' } }), { ...gone, reason: 'HTTP 404 WorkflowNotFound' }],
  ['teams', json(400, { error: { code: 'WorkflowTriggerIsNotEnabled' } }), gone],
  ['teams', json(401, { error: { code: 'DirectApiAuthorizationRequired' } }), gone],
  ['teams', json(413, { error: { code: 'RequestEntityTooLarge' } }), refused],
  ['teams', { status: 429, headers: { 'retry-after': '60' } }, { outcome: 'retry', retryAfterMs: 60_000 }],
  // Under 200, as connectors do: ".../how-to/connectors-using#rate-limiting-for-connectors"
  [
    'teams',
    { status: 200, body: `Webhook message delivery failed with error: ${TEAMS} 429 with ContextId` },
    { outcome: 'retry' },
  ],
  ['teams', { status: 200, body: `Webhook message delivery failed with error: ${TEAMS} 400 with ContextId` }, refused],
  ['teams', { status: 200, body: '1' }, { outcome: 'delivered' }],
  // https://core.telegram.org/bots/api#making-requests
  ['telegram', json(200, { ok: true }), { outcome: 'delivered' }],
  ['telegram', json(200, { ok: true, result: { text: 'x'.repeat(20_000) } }), { outcome: 'delivered' }],
  ['telegram', json(200, { ok: false, description: 'Bad Request' }), { outcome: 'retry', uncertain: true }],
  ['telegram', { status: 200, body: '<html>' }, { outcome: 'retry', uncertain: true }],
  [
    'telegram',
    json(429, { ok: false, description: 'Too Many Requests: retry after 34', parameters: { retry_after: 34 } }),
    { outcome: 'retry', retryAfterMs: 34_000 },
  ],
  [
    'telegram',
    json(403, { ok: false, description: 'Forbidden: bot was blocked by the user' }),
    { ...gone, reason: 'HTTP 403 bot was blocked by the user' },
  ],
  [
    'telegram',
    json(400, {
      ok: false,
      description: 'Bad Request: group chat was upgraded to a supergroup chat',
      parameters: { migrate_to_chat_id: -1001234567890 },
    }),
    { ...gone, reason: 'HTTP 400 group chat was upgraded: set chat_id to -1001234567890' },
  ],
  ['telegram', json(400, { ok: false, description: 'Bad Request: chat not found' }), gone],
  ['telegram', json(401, { ok: false, description: 'Unauthorized' }), gone],
  ['telegram', json(400, { ok: false, description: 'Bad Request: message is too long' }), refused],
  [
    'telegram',
    json(400, { ok: false, description: '<b>10.0.0.7</b>', parameters: 5 }),
    { ...refused, reason: 'HTTP 400' },
  ],
  // https://github.com/binwiederhier/ntfy/blob/main/server/errors.go
  ['ntfy', json(200, { id: 'x' }), { outcome: 'delivered' }],
  ['ntfy', json(429, { code: 42908 }), { outcome: 'retry', reason: 'HTTP 429 code 42908' }],
  ['ntfy', json(403, { code: 40301 }), { ...gone, reason: 'HTTP 403 code 40301' }],
  ['ntfy', json(413, { code: 41303 }), refused],
  // https://github.com/caronc/apprise-api/blob/master/swagger.yaml
  ['apprise', { status: 200 }, { outcome: 'delivered' }],
  ['apprise', { status: 204 }, gone],
  ['apprise', json(424, {}), { outcome: 'retry', uncertain: true, mostAttempts: 3 }],
  ['apprise', { status: 431 }, refused],
])('%s: %j is %j', async (kind, reply, delivery) => {
  expect(await answerTo(kind, reply)).toMatchObject(delivery);
});

const bad = async (input: object) => {
  const result = await parseChannel(input, context);
  return result.ok ? [] : result.errors.map(({ path }) => path);
};

test.each<[object, readonly string[]]>([
  [{ kind: 'slack_bot', token: 'hunter2', channel: 'not a channel' }, ['token', 'channel']],
  [{ kind: 'slack_bot', token: 'xoxb-0123456789\n', channel: 'C1' }, ['token']],
  [{ kind: 'pagerduty', routing_key: 'short' }, ['routing_key']],
  [{ kind: 'pagerduty', routing_key: key, server: 'http://169.254.169.254' }, ['server']],
  [{ kind: 'pagerduty', routing_key: key, server: 'https://user:pass@events.example.org' }, ['server']],
  [{ kind: 'discord', url: 'http://10.0.0.1/api/webhooks/1/t' }, ['url']],
  [{ kind: 'teams', url: 'file:///etc/passwd' }, ['url']],
  [{ kind: 'telegram', token: '1:../../../../../../../../', chat_id: 'me' }, ['token', 'chat_id']],
  [{ kind: 'telegram', token: '1:aaaaaaaaaaaaaaaaaaaaaaaa', chat_id: '-1', server: 'http://192.168.1.1' }, ['server']],
  [{ kind: 'ntfy', topic: 'a/b' }, ['topic']],
  [{ kind: 'ntfy', topic: 'a', token: 'a b\r\nX: y' }, ['token']],
  [{ kind: 'ntfy', topic: 'a', server: 'https://ntfy.example.org/?auth=x' }, ['server']],
  [{ kind: 'apprise', server: 'http://127.0.0.1:8000' }, ['key']],
  [{ kind: 'apprise', server: 'http://127.0.0.1:8000', key: 'a', urls: 'json://x' }, ['key']],
  [{ kind: 'apprise', server: 'http://127.0.0.1:8000', key: '../cfg' }, ['key']],
  [{ kind: 'apprise', server: 'http://127.0.0.1:8000', urls: 'nothing' }, ['urls']],
  [{ kind: 'apprise', server: 'http://10.1.1.1:8000', key: 'a' }, ['server']],
])('%j is refused (SEC-002)', async (input, paths) => {
  expect(await bad(input)).toEqual(paths);
});

test('a base URL is kept without its trailing slash, and may have a path', async () => {
  const given = { kind: 'ntfy', topic: 'a', server: 'http://127.0.0.1:8080/ntfy/' };
  expect(await parseChannel(given, context)).toMatchObject({
    value: { settings: { server: 'http://127.0.0.1:8080/ntfy' } },
  });
  expect(await parseChannel({ kind: 'ntfy', topic: 'a' }, context)).toMatchObject({
    value: { settings: { topic: 'a' } },
  });
});

test('what Apprise is told is where to send it, either way', async () => {
  const open = channelKinds.get('apprise')?.open;
  const urls = open?.({ server: receiver.url, urls: 'json://one, json://two' }, context);
  if (!urls?.ok) throw new Error('apprise does not open');
  await urls.value.send(batchOf(incidentEvent()), new AbortController().signal);
  const sent = receiver.requests.at(-1);
  expect(sent?.path).toBe('/notify');
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({
    urls: 'json://one, json://two',
    type: 'failure',
    format: 'text',
  });
});
