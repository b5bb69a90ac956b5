import { parsed, type Result } from '../core/time.ts';
import { type Batch, type Channel, type ChannelKind, checkedSettings, type Delivery } from './channel.ts';
import { type Piece, textMessage } from './fitting.ts';
import {
  type Answer,
  checkUrl,
  hostOnly,
  jsonOf,
  judgeStatus,
  KEY_IS_GONE,
  postAndJudge,
  type Sending,
  waitingAtLeast,
} from './outbound.ts';
import { plain } from './phrases.ts';
import { MARKS, type Story } from './story.ts';
import { type Wording, wording } from './wording.ts';

/**
 * Characters of an embed's description (https://docs.discord.com/developers/resources/message#embed-object-embed-limits);
 * `content` has 2,000 (https://docs.discord.com/developers/resources/webhook#execute-webhook), of which a headline of
 * HEADLINE escaped characters fills no more.
 */
const DESCRIPTION = 4096;
const HEADLINE = 450;

/** Discord, through a webhook of a channel. */
export const discord: ChannelKind = {
  label: 'Discord',
  fields: [{ name: 'url', label: 'Webhook URL', secret: true, required: true }],
  async parse({ url = '' }, context) {
    const checked = await checkUrl(url, context);
    return checkedSettings({ url: checked.ok ? checked.value.href : url }, [
      ['url', checked.ok, checked.ok ? '' : checked.reason],
    ]);
  },
  open: ({ url = '' }, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendDiscord(url, batch, { context, signal }) }),
  // The path is the secret.
  redact: ({ url = '' }) => ({ url: hostOnly(url) }),
};

async function sendDiscord(url: string, batch: Batch, sending: Sending): Promise<Delivery> {
  const body = JSON.stringify(discordMessage(wording(batch, sending.context)));
  return postAndJudge({ url: confirmed(url), body, sentAt: batch.sentAt }, judgeDiscord, sending);
}

/** Without `wait` Discord answers 204 before it knows whether the message can be saved. */
function confirmed(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.searchParams.set('wait', 'true');
  return url.href;
}

/**
 * Discord asks not to use a webhook again that answered 404; 401 and 403 mean that its token is no longer good
 * (https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans).
 */
function judgeDiscord(answer: Answer): Delivery {
  const { code, retry_after: seconds } = jsonOf(answer);
  const word = typeof code === 'number' ? `code ${code}` : null;
  return judgeStatus(answer.status === 429 ? waitingAtLeast(answer, seconds) : answer, { word, gone: KEY_IS_GONE });
}

const COLOURS: Readonly<Record<Story['mood'], number>> = { problem: 0xc62828, recovered: 0x2e7d32, notice: 0x1565c0 };

/** The headline as `content`, which a phone shows when it is locked, and everything else in an embed below it. */
export function discordMessage(words: Wording): Readonly<Record<string, unknown>> {
  const mood = words.stories[0]?.mood ?? 'notice';
  const description = textMessage(words, {
    limit: DESCRIPTION,
    size: (text) => text.length,
    head: null,
    write,
    foot: (isShort) => `\n${isShort ? 'Cut short. ' : ''}Rollcall: ${words.link}`,
  });
  return {
    content: `${MARKS[mood]} **${escapeDiscord(plain(words.headline, HEADLINE))}**`,
    embeds: [{ description, color: COLOURS[mood] }],
    allowed_mentions: { parse: [] },
  };
}

function write(piece: Piece): string {
  switch (piece.kind) {
    case 'title':
      return `\n${MARKS[piece.mood]} **${escapeDiscord(piece.text)}**`;
    case 'fact':
      return `**${escapeDiscord(piece.label)}:** ${escapeDiscord(piece.text)}`;
    case 'names':
      return `\n**${escapeDiscord(piece.label)}:** ${escapeDiscord(piece.text)}`;
    case 'run':
      return `• ${escapeDiscord(piece.text)}`;
    case 'text':
      return escapeDiscord(piece.text);
    case 'link':
      return `${escapeDiscord(piece.text)}: <${piece.url}>`;
    case 'command':
      return codeOf(piece.text);
    case 'output':
      return `**Last output:**\n${codeOf(piece.text)}`;
  }
}

/** Three backticks inside would end the block. */
function codeOf(text: string): string {
  return `\`\`\`\n${text.replaceAll('```', "'''")}\n\`\`\``;
}

/**
 * Markdown as text (https://support.discord.com/hc/en-us/articles/210298617), and no name that Discord makes a mention
 * or a link with another name of. Emphasis, code, spoilers, links, and everything in angle brackets.
 */
export function escapeDiscord(text: string): string {
  return text.replace(/[\\*_~`|[\]<>]/g, (character) => `\\${character}`);
}
