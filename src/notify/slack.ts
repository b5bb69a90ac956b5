import { parsed, type Result } from '../core/time.ts';
import { type Batch, type Channel, type ChannelKind, type Delivery, rejected, retry } from './channel.ts';
import { type Answer, checkUrl, hostOnly, judgeStatus, postAndJudge, type Sending } from './outbound.ts';
import { shownOutput } from './phrases.ts';
import { MARKS, type Part, runLines, type Story } from './story.ts';
import { type Rest, type Wording, wording } from './wording.ts';

/**
 * Slack's limits. Blocks in a message: https://docs.slack.dev/reference/block-kit/blocks; characters in a header:
 * https://docs.slack.dev/reference/block-kit/blocks/header-block, and in a section's text:
 * https://docs.slack.dev/reference/block-kit/blocks/section-block. All blocks together are refused as
 * msg_blocks_too_long from some 13,000 characters on, which is written down only in
 * https://github.com/slackapi/bolt-js/issues/2509.
 */
const LIMITS = {
  blocks: 50,
  header: 150,
  section: 3000,
  all: 10_000,
  fallback: 3000,
  title: 600,
  output: 1500,
  outputs: 500,
};

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
    parsed({ send: (batch, signal) => sendSlack(url, batch, { context, signal }) }),
  // The path is the secret.
  redact: ({ url = '' }) => ({ url: hostOnly(url) }),
};

async function sendSlack(url: string, batch: Batch, sending: Sending): Promise<Delivery> {
  const body = JSON.stringify(slackMessage(wording(batch, sending.context)));
  return postAndJudge({ url, body, sentAt: batch.sentAt }, judgeSlack, sending);
}

/** Slack answers `ok`, or one short word that says what is wrong: the only part of an answer that is shown. */
function judgeSlack(answer: Answer): Delivery {
  const word = /^[a-z_]{2,60}$/.exec(answer.text.trim())?.[0] ?? null;
  // Under a good status too such a word says that nothing was posted.
  if (word !== null && GONE.has(word) && answer.status < 500)
    return rejected(`HTTP ${answer.status} ${word}`, { permanent: true });
  const delivery = judgeStatus(answer, { word });
  if (delivery.outcome === 'retry') return delivery;
  if (word === 'rate_limited') return retry('rate_limited');
  const isGone = [403, 404, 410].includes(answer.status);
  return delivery.outcome === 'rejected' && isGone ? rejected(delivery.reason, { permanent: true }) : delivery;
}

type Text = { readonly type: 'mrkdwn' | 'plain_text'; readonly text: string; readonly verbatim?: true };
type Block =
  | { readonly type: 'header' | 'section'; readonly text: Text }
  | { readonly type: 'context'; readonly elements: readonly Text[] }
  | { readonly type: 'divider' };
type SlackMessage = { readonly text: string; readonly blocks: readonly Block[] };

/**
 * Block Kit, with a fallback `text` for notifications, within Slack's limits whatever the batch. Room goes to the titles
 * first, then to the names of all the rest, then to details.
 */
export function slackMessage({ headline, stories, rest, others, link }: Wording): SlackMessage {
  const [worst] = stories;
  const isAlone = stories.length === 1 && rest.length === 0;
  const line = `${MARKS[worst?.mood ?? 'notice']} ${headline}`;
  const head: Block = { type: 'header', text: { type: 'plain_text', text: escapeSlack(line, LIMITS.header) } };
  const isCut = escapeSlack(line, LIMITS.all).length > LIMITS.header;
  // A headline too long for the header stands in full below it.
  const whole = isCut ? [section(escapeSlack(headline, LIMITS.section))] : [];
  const titles = isAlone ? [] : stories.map(titleLine);
  // A few lines, which a storm must not push out.
  const also = others === null ? [] : restBlocks([others], LIMITS.section);
  const named = [...restBlocks(rest, LIMITS.all - sizeOf([...whole, ...packed(titles), ...also])), ...also];
  const room = LIMITS.all - sizeOf([...whole, ...packed(titles), ...named]);
  const { blocks, isShort } = told(stories, titles, room - 60 * stories.length);
  const foot = `${isShort ? 'Cut short. ' : ''}Rollcall: <${escapeSlack(link, 1000)}>`;
  const all = [head, ...whole, ...blocks, ...named, { type: 'context', elements: [mrkdwn(foot)] } as const];
  return { text: escapeSlack(line, LIMITS.fallback), blocks: all };
}

const sizeOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + JSON.stringify(block).length, 0);

/** The stories under their titles, each with its share of the room. */
function told(stories: readonly Story[], titles: readonly string[], room: number) {
  if (stories.every(({ parts }) => parts.length === 0)) return { blocks: packed(titles), isShort: false };
  let isShort = false;
  const blocks = stories.flatMap((story, index) => {
    const title = titles[index];
    const details = detailBlocks(story, stories.length === 1 ? LIMITS.output : LIMITS.outputs);
    const most = Math.floor((LIMITS.blocks - 10) / stories.length) - 1;
    const kept = trimmed(details, most, room / stories.length);
    isShort ||= kept.length < details.length;
    return [...(title === undefined ? [] : [section(title)]), ...kept];
  });
  return { blocks, isShort };
}

/** As many blocks as there is room for; what is left out is a click away. */
function trimmed(blocks: readonly Block[], most: number, room: number): readonly Block[] {
  let left = room;
  const end = blocks.findIndex((block, index) => {
    left -= sizeOf([block]);
    return left < 0 || index >= most;
  });
  return end === -1 ? blocks : blocks.slice(0, end);
}

/** Names of everything else, ends before all. */
function restBlocks(rest: readonly Rest[], room: number): readonly Block[] {
  let left = room;
  const lines = new Map<Rest, readonly string[]>();
  for (const one of [...rest].sort((a, b) => Number(b.mood === 'recovered') - Number(a.mood === 'recovered'))) {
    const list = nameLines(one, left);
    left -= sizeOf(packed(list)) + 50;
    lines.set(one, list);
  }
  return packed(rest.flatMap((one) => lines.get(one) ?? []));
}

/** `*also missing (37):* a, b, c`, in lines that fit into a section; cut between two names. */
function nameLines({ label, names }: Rest, room: number): readonly string[] {
  const lines = [`*${escapeSlack(label, 100)}:* `];
  let left = room - 500;
  for (const [index, name] of names.entries()) {
    left -= name.length + 2;
    if (left < 0) {
      lines.push(`and ${names.length - index} more`);
      break;
    }
    const piece = `${escapeSlack(name, 200)}${index < names.length - 1 ? ', ' : ''}`;
    const last = lines.at(-1) ?? '';
    if (last.length + piece.length <= LIMITS.section) lines[lines.length - 1] = last + piece;
    else lines.push(piece);
  }
  return lines;
}

function titleLine({ mood, title }: Story): string {
  return `${MARKS[mood]} *${escapeSlack(title, LIMITS.title)}*`;
}

function detailBlocks({ parts }: Story, output: number): readonly Block[] {
  return parts.flatMap((part) => packed(partLines(part, output)));
}

function partLines(part: Part, output: number): readonly string[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => `*${label}:* ${escapeSlack(text, 1000)}`);
    case 'runs':
      return runLines(part).map((line) => `• ${escapeSlack(line, 500)}`);
    case 'advice':
      return [
        `*What now:* ${escapeSlack(part.text, 1000)}`,
        ...part.ways.map(({ says, line }) => `${escapeSlack(says, 500)}\n\`\`\`${escapeSlack(line, 1000)}\`\`\``),
      ];
    case 'link':
      return [`<${escapeSlack(part.url, 1000).replaceAll('|', '%7C')}|${escapeSlack(part.text, 200)}>`];
    case 'output':
      return [`*Last output:*\n\`\`\`${codeOf(part.text, output)}\`\`\``];
  }
}

/** The end of it, where the error is. Three backticks inside would end the block of code. */
function codeOf(output: string, characters: number): string {
  const text = shownOutput(output).replaceAll('```', "'''");
  const points = [...text];
  const [whole = '', short = ''] = [characters, LIMITS.outputs].map((most) =>
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
