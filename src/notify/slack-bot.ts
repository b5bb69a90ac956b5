import { parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  checkedSettings,
  type Delivery,
  delivered,
  type ParsedSettings,
  rejected,
  retry,
  type Settings,
} from './channel.ts';
import { type Answer, jsonOf, judgeStatus, postAndJudge, type Sending } from './outbound.ts';
import { checkServer } from './server.ts';
import { slackMessage } from './slack.ts';
import { wording } from './wording.ts';

const USUAL = 'https://slack.com';
/** Slack repeats the whole message in its answer, and `ts` may stand behind it. */
const ANSWER_BYTES = 262_144;

/**
 * Errors after which no later message gets through either: token, workspace or channel is gone, or lets the bot in no
 * more (https://docs.slack.dev/reference/methods/chat.postMessage, "Errors").
 */
const GONE = new Set([
  'access_denied',
  'account_inactive',
  'channel_not_found',
  'ekm_access_denied',
  'enterprise_is_restricted',
  'invalid_auth',
  'is_archived',
  'missing_scope',
  'no_permission',
  'not_allowed_token_type',
  'not_authed',
  'not_in_channel',
  'restricted_action',
  'restricted_action_read_only_channel',
  'team_access_not_granted',
  'token_expired',
  'token_revoked',
]);
const PASSING = new Set(['rate_limited', 'ratelimited', 'service_unavailable', 'team_added_to_org']);
/** "It's possible some aspect of the operation succeeded before the error was raised." */
const UNCERTAIN = new Set(['fatal_error', 'internal_error', 'request_timeout']);
/** The message that is replied to is gone: what is said about it still has to be said. */
const NO_THREAD = new Set(['cannot_reply_to_message', 'message_not_found', 'thread_not_found']);

/** Slack, through a bot token: what is said about an incident is a reply to what was said about it first. */
export const slackBot: ChannelKind = {
  label: 'Slack bot',
  fields: [
    { name: 'token', label: 'Bot token (xoxb-…)', secret: true, required: true },
    { name: 'channel', label: 'Channel, by its ID (C…)', secret: false, required: true },
    { name: 'server', label: `Base URL, if not ${USUAL}`, secret: false, required: false },
  ],
  grouping: 'thread',
  parse: parseSlackBot,
  open: (settings, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendSlackBot(settings, batch, { context, signal }) }),
  redact: ({ channel = '', server = USUAL }) => ({ channel, server }),
};

async function parseSlackBot(
  { token = '', channel = '', server }: Settings,
  context: ChannelContext,
): Promise<ParsedSettings> {
  const base = await checkServer(server, context);
  return checkedSettings({ token, channel, ...(base.ok && base.value ? { server: base.value } : {}) }, [
    ['token', /^xox[\w.-]{10,500}$/.test(token), 'write the bot token as Slack shows it: xoxb-…'],
    ['channel', /^#?[\p{L}\p{N}_.-]{1,80}$/u.test(channel), 'write the ID of the channel, such as C0123456789'],
    ['server', base.ok, base.ok ? '' : base.reason],
  ]);
}

async function sendSlackBot(
  { token = '', channel = '', server = USUAL }: Settings,
  batch: Batch,
  sending: Sending,
): Promise<Delivery> {
  const words = wording(batch, sending.context);
  const thread = threadOf(batch, channel);
  const post = async (threadTs: string | null): Promise<Delivery> => {
    const message = {
      channel,
      ...slackMessage(words),
      unfurl_links: false,
      unfurl_media: false,
      ...(threadTs === null ? {} : { thread_ts: threadTs }),
      // A thread nobody looks into must not hide a new problem.
      ...(threadTs !== null && words.stories.some(({ mood }) => mood === 'problem') ? { reply_broadcast: true } : {}),
    };
    const headers = { 'content-type': 'application/json; charset=utf-8', authorization: `Bearer ${token}` };
    const url = `${server}/api/chat.postMessage`;
    const posting = { url, headers, body: JSON.stringify(message), sentAt: batch.sentAt, answerBytes: ANSWER_BYTES };
    return postAndJudge(posting, (answer) => judgeSlackBot(answer, { channel, threadTs }), sending);
  };
  const delivery = await post(thread);
  const isGone = delivery.outcome === 'rejected' && NO_THREAD.has(delivery.reason);
  return thread !== null && isGone ? post(null) : delivery;
}

/** A receipt is the channel as the settings name it, and the `ts` of the message that stands first in the thread. */
function threadOf({ inReplyTo }: Batch, channel: string): string | null {
  const [where, ts = null] = inReplyTo?.receipt?.split(' ') ?? [];
  return where === channel ? ts : null;
}

type Place = { readonly channel: string; readonly threadTs: string | null };

/** Slack says what went wrong in one word, mostly under status 200. */
function judgeSlackBot(answer: Answer, { channel, threadTs }: Place): Delivery {
  if (answer.status !== 200) return judgeStatus(answer);
  const { ok, ts, error } = jsonOf(answer);
  if (ok === true) return delivered(typeof ts === 'string' ? `${channel} ${threadTs ?? ts}` : undefined);
  if (ok !== false) return retry('HTTP 200 without the JSON that Slack answers', { uncertain: true });
  const word = typeof error === 'string' && /^[a-z_]{2,60}$/.test(error) ? error : 'refused without a reason';
  if (PASSING.has(word)) return retry(word);
  return UNCERTAIN.has(word) ? retry(word, { uncertain: true }) : rejected(word, { permanent: GONE.has(word) });
}
