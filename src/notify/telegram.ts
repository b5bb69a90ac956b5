import { parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  checkedSettings,
  type Delivery,
  type ParsedSettings,
  retry,
  type Settings,
} from './channel.ts';
import { type Piece, textMessage } from './fitting.ts';
import {
  type Answer,
  jsonOf,
  judgeStatus,
  KEY_IS_GONE,
  postAndJudge,
  type Sending,
  waitingAtLeast,
} from './outbound.ts';
import { plain } from './phrases.ts';
import { checkServer } from './server.ts';
import { MARKS } from './story.ts';
import { type Wording, wording } from './wording.ts';

const USUAL = 'https://api.telegram.org';
/** "1-4096 characters after entities parsing" (https://core.telegram.org/bots/api#sendmessage): before it we have more. */
const TEXT = 4096;
/** Telegram repeats the whole message in its answer. */
const ANSWER_BYTES = 262_144;

/** Telegram, through a bot. */
export const telegram: ChannelKind = {
  label: 'Telegram',
  fields: [
    { name: 'token', label: 'Token of the bot, from @BotFather', secret: true, required: true },
    { name: 'chat_id', label: 'ID of the chat, or @name of a public channel', secret: false, required: true },
    {
      name: 'server',
      label: `Base URL, if not ${USUAL} (a Bot API server of your own)`,
      secret: false,
      required: false,
    },
  ],
  parse: parseTelegram,
  open: (settings, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendTelegram(settings, batch, { context, signal }) }),
  redact: ({ chat_id: chatId = '', server = USUAL }) => ({ chat_id: chatId, server }),
};

async function parseTelegram(
  { token = '', chat_id: chatId = '', server }: Settings,
  context: ChannelContext,
): Promise<ParsedSettings> {
  const base = await checkServer(server, context);
  return checkedSettings({ token, chat_id: chatId, ...(base.ok && base.value ? { server: base.value } : {}) }, [
    // It becomes a part of the path.
    ['token', /^\d{1,20}:[\w-]{20,100}$/.test(token), 'write the token as @BotFather gave it: 123456789:AA…'],
    [
      'chat_id',
      /^(-?\d{1,20}|@\w{4,64})$/.test(chatId),
      'write the ID of the chat, such as -1001234567890, or @name of a public channel',
    ],
    ['server', base.ok, base.ok ? '' : base.reason],
  ]);
}

async function sendTelegram(
  { token = '', chat_id: chatId = '', server = USUAL }: Settings,
  batch: Batch,
  sending: Sending,
): Promise<Delivery> {
  const body = JSON.stringify({
    chat_id: chatId,
    text: telegramText(wording(batch, sending.context)),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
  });
  const url = `${server}/bot${token}/sendMessage`;
  const posting = { url, body, sentAt: batch.sentAt, answerBytes: ANSWER_BYTES };
  return postAndJudge(posting, judgeTelegram, sending);
}

/** What Telegram says and may be shown. The first group means that no later message gets through either. */
const GONE = [
  'bot was blocked by the user',
  'bot was kicked',
  'bot is not a member',
  "bot can't initiate conversation",
  'chat not found',
  'group chat was deactivated',
  'group chat was upgraded',
  'user is deactivated',
];
const SAYINGS = [...GONE, 'message is too long', "can't parse entities", 'not enough rights', 'CHAT_WRITE_FORBIDDEN'];

/** Errors are told by their status and an English sentence (https://core.telegram.org/bots/api#making-requests). */
function judgeTelegram(answer: Answer): Delivery {
  const { ok, description, parameters } = jsonOf(answer);
  if (answer.status === 200 && ok !== true) {
    return retry('HTTP 200 without the JSON that Telegram answers', { uncertain: true });
  }
  const { retry_after: seconds, migrate_to_chat_id: moved } = (parameters ?? {}) as Readonly<Record<string, unknown>>;
  const said = typeof description === 'string' ? SAYINGS.find((one) => description.includes(one)) : undefined;
  const hint = typeof moved === 'number' ? `: set chat_id to ${moved}` : '';
  const word = said === undefined ? null : `${said}${hint}`;
  const gone = said !== undefined && GONE.includes(said) ? [400, ...KEY_IS_GONE] : KEY_IS_GONE;
  return judgeStatus(answer.status === 429 ? waitingAtLeast(answer, seconds) : answer, { word, gone });
}

/** HTML as Telegram reads it (https://core.telegram.org/bots/api#html-style), within its limit whatever the batch. */
export function telegramText(words: Wording): string {
  const mark = MARKS[words.stories[0]?.mood ?? 'notice'];
  return textMessage(words, {
    limit: TEXT,
    size: (text) => text.length,
    head: `${mark} <b>${escapeTelegram(plain(words.headline, 450))}</b>`,
    write,
    foot: (isShort) => `\n${isShort ? 'Cut short. ' : ''}Rollcall: ${escapeHtml(words.link)}`,
  });
}

function write(piece: Piece): string {
  switch (piece.kind) {
    case 'title':
      return `\n${MARKS[piece.mood]} <b>${escapeTelegram(piece.text)}</b>`;
    case 'fact':
      return `<b>${escapeTelegram(piece.label)}:</b> ${escapeTelegram(piece.text)}`;
    case 'names':
      return `\n<b>${escapeTelegram(piece.label)}:</b> ${escapeTelegram(piece.text)}`;
    case 'run':
      return `• ${escapeTelegram(piece.text)}`;
    case 'text':
      return escapeTelegram(piece.text);
    case 'link':
      return `<a href="${escapeHtml(piece.url).replaceAll('"', '&quot;')}">${escapeTelegram(piece.text)}</a>`;
    case 'command':
      return `<pre>${escapeHtml(piece.text)}</pre>`;
    case 'output':
      return `<b>Last output:</b>\n<pre>${escapeHtml(piece.text)}</pre>`;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (character) => ESCAPES[character] ?? character);
}

/** Outside of code Telegram makes a mention of every @name: an invisible joiner keeps it a word. */
export function escapeTelegram(text: string): string {
  return escapeHtml(text).replaceAll('@', '@\u2060');
}
