import { parsed, type Result } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  type Delivery,
  rejected,
  retry,
} from './channel.ts';
import { type Answer, checkUrl, judgeStatus, postJson } from './outbound.ts';
import { type Fact, type Story, type Wording, wording } from './wording.ts';

/**
 * Slack's limits. Blocks in a message: https://docs.slack.dev/reference/block-kit/blocks; characters in a header:
 * https://docs.slack.dev/reference/block-kit/blocks/header-block, and in a section's text:
 * https://docs.slack.dev/reference/block-kit/blocks/section-block. All blocks together are refused as
 * msg_blocks_too_long from some 13,000 characters on, which is written down only in
 * https://github.com/slackapi/bolt-js/issues/2509.
 */
const LIMITS = { blocks: 50, header: 150, section: 3000, all: 10_000, fallback: 3000, output: 1500 };

/**
 * Answers after which no later message gets through either: the webhook, its workspace or its channel is gone
 * (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, "Handling errors").
 */
const GONE = new Set([
  'action_prohibited',
  'channel_is_archived',
  'channel_not_found',
  'invalid_token',
  'no_active_hooks',
  'no_service',
  'no_service_id',
  'no_team',
  'posting_to_general_channel_denied',
  'team_disabled',
  'token_revoked',
  'user_not_found',
]);

/** Slack, through an incoming webhook. */
export const slack: ChannelKind = {
  label: 'Slack',
  fields: [{ name: 'url', label: 'Incoming webhook URL', secret: true, required: true }],
  async parse({ url = '' }, context) {
    const checked = await checkUrl(url, context);
    if (!checked.ok) return { ok: false, errors: [{ path: 'url', message: checked.reason }] };
    return { ok: true, value: { url: checked.value.href } };
  },
  open: ({ url = '' }, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendSlack(url, { batch, context, signal }) }),
  // The path is the secret.
  redact: ({ url = '' }) => ({ url: `${URL.canParse(url) ? new URL(url).origin : ''}/…` }),
};

type Sending = { readonly batch: Batch; readonly context: ChannelContext; readonly signal: AbortSignal };

async function sendSlack(url: string, { batch, context, signal }: Sending): Promise<Delivery> {
  const body = JSON.stringify(slackMessage(wording(batch, context)));
  const reply = await postJson({ url, body, sentAt: batch.sentAt }, context, signal);
  return 'failure' in reply ? reply.failure : judgeSlack(reply.answer);
}

/** Slack answers `ok`, or one short word that says what is wrong: the only part of an answer that is shown. */
function judgeSlack(answer: Answer): Delivery {
  const word = /^[a-z_]{2,60}$/.exec(answer.text.trim())?.[0] ?? null;
  const delivery = judgeStatus(answer, word);
  if (delivery.outcome === 'retry') return delivery;
  if (word === 'rate_limited') return retry('rate_limited');
  const isGone = (word !== null && GONE.has(word)) || [403, 404, 410].includes(answer.status);
  return delivery.outcome === 'rejected' && isGone ? rejected(delivery.reason, { permanent: true }) : delivery;
}

type Text = { readonly type: 'mrkdwn' | 'plain_text'; readonly text: string; readonly verbatim?: true };
type Block =
  | { readonly type: 'header' | 'section'; readonly text: Text }
  | { readonly type: 'context'; readonly elements: readonly Text[] }
  | { readonly type: 'divider' };
type SlackMessage = { readonly text: string; readonly blocks: readonly Block[] };

/** Block Kit, with a fallback `text` for notifications, within Slack's limits whatever the batch. */
export function slackMessage({ headline, stories, more, link }: Wording): SlackMessage {
  const [worst] = stories;
  const isAlone = stories.length === 1 && more === 0;
  const isBrief = stories.every(({ facts, occurrences }) => facts.length + occurrences.length === 0);
  const told = isBrief
    ? packed(stories.map(titleLine))
    : stories.flatMap((story) => [section(titleLine(story)), ...detailBlocks(story)]);
  const body = isAlone && worst ? detailBlocks(worst) : told;
  const line = `${MARKS[worst?.mood ?? 'notice']} ${headline}`;
  const head: Block = { type: 'header', text: { type: 'plain_text', text: escapeSlack(line, LIMITS.header) } };
  const isCut = escapeSlack(line, LIMITS.all).length > LIMITS.header;
  // A headline too long for the header stands in full below it.
  const wanted = [...(isCut ? [section(escapeSlack(headline, LIMITS.section))] : []), ...body];
  const kept = trimmed(wanted);
  const rest = more > 0 ? `${more} more not shown. ` : kept.length < wanted.length ? 'Cut short. ' : '';
  const foot: Block = { type: 'context', elements: [mrkdwn(`${rest}<${escapeSlack(link, 1000)}|Open Rollcall>`)] };
  return { text: escapeSlack(line, LIMITS.fallback), blocks: [head, ...kept, foot] };
}

/** As many blocks as Slack takes; the rest is a click away. */
function trimmed(blocks: readonly Block[]): readonly Block[] {
  let left = LIMITS.all;
  const kept = blocks.slice(0, LIMITS.blocks - 2);
  const end = kept.findIndex((block) => {
    left -= JSON.stringify(block).length;
    return left < 0;
  });
  return end === -1 ? kept : kept.slice(0, end);
}

const MARKS: Readonly<Record<Story['mood'], string>> = { problem: '🔴', recovered: '🟢', notice: '🔵' };

function titleLine({ mood, title }: Story): string {
  return `${MARKS[mood]} *${escapeSlack(title, 1500)}*`;
}

function detailBlocks({ facts, occurrences, output }: Story): readonly Block[] {
  const lines = facts.map(({ label, text }: Fact) => `*${label}:* ${escapeSlack(text, 1000)}`);
  const blocks = [...packed(lines), ...packed(occurrences.map((line) => `• ${escapeSlack(line, 500)}`))];
  if (output === null || output.trim() === '') return blocks;
  return [...blocks, section(`*Last output:*\n\`\`\`${codeOf(output)}\`\`\``)];
}

/** The end of it, where the error is. Three backticks inside would end the block of code. */
function codeOf(output: string): string {
  const text = output
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll('```', "'''")
    .trim();
  const points = [...text];
  const [whole = '', short = ''] = [LIMITS.output, 500].map((most) =>
    escapeSlack(points.length > most ? `…${points.slice(-most).join('')}` : text, LIMITS.all),
  );
  return whole.length <= LIMITS.section - 100 ? whole : short;
}

/** Lines put into as few sections as hold them. */
function packed(lines: readonly string[]): readonly Block[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= LIMITS.section)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line);
  }
  return texts.map(section);
}

/** The text is escaped already. */
function section(text: string): Block {
  return { type: 'section', text: mrkdwn(text) };
}

/** `verbatim`: Slack makes no links of its own out of names and URLs. The text is escaped already. */
function mrkdwn(text: string): Text {
  return { type: 'mrkdwn', text, verbatim: true };
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Slack's three escapes (https://docs.slack.dev/messaging/formatting-message-text), cut to `most` characters without
 * splitting an escape or a character.
 */
export function escapeSlack(text: string, most: number): string {
  const pieces = Array.from(text, (character) => ESCAPES[character] ?? character);
  const whole = pieces.join('');
  if (whole.length <= most) return whole;
  let cut = '';
  for (const piece of pieces) {
    if (cut.length + piece.length > most - 1) break;
    cut += piece;
  }
  return `${cut}…`;
}
