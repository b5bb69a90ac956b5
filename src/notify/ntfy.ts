import { parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  checkedSettings,
  type Delivery,
  type ParsedSettings,
  type Settings,
} from './channel.ts';
import { type Answer, jsonOf, judgeStatus, KEY_IS_GONE, postAndJudge, type Sending } from './outbound.ts';
import { plain } from './phrases.ts';
import { plainMessage } from './plain-text.ts';
import { checkServer } from './server.ts';
import type { Story } from './story.ts';
import { type Wording, wording } from './wording.ts';

const USUAL = 'https://ntfy.sh';
/**
 * Bytes of a message: of a longer one ntfy makes an attachment (https://docs.ntfy.sh/publish/#limitations: 4,096). They
 * are counted as JSON, because the whole JSON may have no more than twice as many (ntfy's server/server.go).
 */
const MESSAGE = 4000;

/** ntfy: a topic on ntfy.sh or a server of one's own. */
export const ntfy: ChannelKind = {
  label: 'ntfy',
  fields: [
    // Who knows the topic can read and write it.
    { name: 'topic', label: 'Topic', secret: true, required: true },
    { name: 'token', label: 'Access token (tk_…), where the topic needs one', secret: true, required: false },
    { name: 'server', label: `Base URL, if not ${USUAL}`, secret: false, required: false },
  ],
  parse: parseNtfy,
  open: (settings, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendNtfy(settings, batch, { context, signal }) }),
  redact: ({ server = USUAL }) => ({ server }),
};

async function parseNtfy({ topic = '', token, server }: Settings, context: ChannelContext): Promise<ParsedSettings> {
  const base = await checkServer(server, context);
  const optional = {
    ...(token === undefined ? {} : { token }),
    ...(base.ok && base.value ? { server: base.value } : {}),
  };
  return checkedSettings({ topic, ...optional }, [
    ['topic', /^[-\w]{1,64}$/.test(topic), 'a topic is 1 to 64 letters, digits, "-" and "_"'],
    [
      'token',
      token === undefined || /^[\w.~+/=-]{1,200}$/.test(token),
      'write the access token as ntfy shows it: tk_…',
    ],
    ['server', base.ok, base.ok ? '' : base.reason],
  ]);
}

async function sendNtfy(
  { topic = '', token, server = USUAL }: Settings,
  batch: Batch,
  sending: Sending,
): Promise<Delivery> {
  const body = JSON.stringify({ topic, ...ntfyMessage(wording(batch, sending.context)) });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return postAndJudge({ url: `${server}/`, headers, body, sentAt: batch.sentAt }, judgeNtfy, sending);
}

/** Its five-digit code says which of many things a status means (ntfy's server/errors.go). */
function judgeNtfy(answer: Answer): Delivery {
  const { code } = jsonOf(answer);
  return judgeStatus(answer, { word: typeof code === 'number' ? `code ${code}` : null, gone: KEY_IS_GONE });
}

/** Above 3 a phone makes itself heard (https://docs.ntfy.sh/publish/#message-priority). */
const PRIORITIES: Readonly<Record<Story['mood'], number>> = { problem: 4, recovered: 3, notice: 3 };
/** ntfy shows them as emojis in front of the title (https://docs.ntfy.sh/emojis). */
const TAGS: Readonly<Record<Story['mood'], string>> = {
  problem: 'rotating_light',
  recovered: 'white_check_mark',
  notice: 'information_source',
};

/** What is published (https://docs.ntfy.sh/publish/#publish-as-json), as plain text. */
export function ntfyMessage(words: Wording) {
  const mood = words.stories[0]?.mood ?? 'notice';
  return {
    title: plain(words.subject, 150),
    message: plainMessage(words, { limit: MESSAGE, size: (text) => Buffer.byteLength(JSON.stringify(text)) - 2 }),
    priority: PRIORITIES[mood],
    tags: [TAGS[mood]],
    click: words.link,
  };
}
