import { createTransport } from 'nodemailer';
import { parsed, type Result, refused } from '../core/time.ts';
import {
  type Batch,
  type Channel,
  type ChannelContext,
  type ChannelKind,
  type Delivery,
  delivered,
  rejected,
  retry,
} from './channel.ts';
import { ATTEMPT_MS } from './outbound.ts';
import { plain, shownOutput } from './phrases.ts';
import type { Part, Story } from './story.ts';
import { type Rest, type Wording, wording } from './wording.ts';

const ONE_ADDRESS = 'write one plain address, such as ops@example.org: no name, quotes, commas, brackets or lists';

/** E-mail: one recipient a channel, so that one bad address never touches another. */
export const email: ChannelKind = {
  label: 'E-mail',
  fields: [{ name: 'to', label: 'Address', secret: false, required: true }],
  async parse({ to = '' }, context) {
    const sender = senderOf(context);
    const message = sender.ok ? ONE_ADDRESS : sender.reason;
    return sender.ok && isPlainAddress(to)
      ? { ok: true, value: { to } }
      : { ok: false, errors: [{ path: sender.ok ? 'to' : 'kind', message }] };
  },
  open({ to = '' }, context): Result<Channel> {
    const sender = senderOf(context);
    if (!sender.ok) return sender;
    if (!isPlainAddress(to)) return refused(ONE_ADDRESS);
    const pool = poolFor(context, sender.value.smtpUrl);
    return parsed({ send: (batch, signal) => sendMail(pool, mailOf(batch, to, sender.value.from, context), signal) });
  },
  redact: ({ to = '' }) => ({ to }),
  async close(context) {
    pools.get(context)?.close();
    pools.delete(context);
  },
};

/**
 * An addr-spec without quoting, comments or groups: parsers disagree about everything beyond it, and a disagreement
 * sends mail elsewhere (SEC-005).
 */
export function isPlainAddress(text: string): boolean {
  const [local = '', domain = '', ...rest] = text.split('@');
  const isLocal = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/.test(local);
  const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
  const isDomain = new RegExp(`^${label}(\\.${label})*$`).test(domain);
  return isLocal && isDomain && rest.length === 0 && local.length <= 64 && text.length <= 254 && !/\s/.test(text);
}

type Mailbox = { readonly name: string; readonly address: string };
type Sender = { readonly smtpUrl: string; readonly from: Mailbox };

/** What SMTP_URL and MAIL_FROM say, or which of them to set. */
function senderOf({ smtpUrl, mailFrom }: ChannelContext): Result<Sender> {
  const unset = [...(smtpUrl ? [] : ['SMTP_URL']), ...(mailFrom ? [] : ['MAIL_FROM'])];
  if (!smtpUrl || !mailFrom) {
    return refused(`this installation cannot send e-mail yet: set ${unset.join(' and ')} and start it again`);
  }
  const named = /^\s*"?([^"<>\r\n]*?)"?\s*<([^<>\s]+)>\s*$/.exec(mailFrom);
  const from = { name: named?.[1] ?? 'Rollcall', address: named?.[2] ?? mailFrom.trim() };
  return isPlainAddress(from.address)
    ? parsed({ smtpUrl, from })
    : refused('MAIL_FROM is not an address: write alerts@example.org or Rollcall <alerts@example.org>');
}

type Pool = ReturnType<typeof createPool>;
const pools = new WeakMap<ChannelContext, Pool>();

function createPool(url: string) {
  const timeouts = {
    dnsTimeout: ATTEMPT_MS,
    connectionTimeout: ATTEMPT_MS,
    greetingTimeout: ATTEMPT_MS,
    socketTimeout: ATTEMPT_MS,
  };
  // maxRequeues 0: what is sent again, and when, is the outbox's decision alone. As many connections as the dispatcher
  // sends at once, so that nothing waits in a second queue here.
  const pool = createTransport({
    pool: true,
    url,
    maxConnections: 20,
    maxRequeues: 0,
    idleTimeout: 30_000,
    ...timeouts,
  });
  // An idle connection that breaks concerns no message; unheard, its error would end the process.
  pool.on('error', () => undefined);
  return pool;
}

function poolFor(context: ChannelContext, url: string): Pool {
  const pool = pools.get(context) ?? createPool(url);
  pools.set(context, pool);
  return pool;
}

type Mail = Parameters<Pool['sendMail']>[0];

/** The mail of a batch. Address and envelope are given as objects: nothing is left for a parser to read differently. */
function mailOf(batch: Batch, to: string, from: Mailbox, context: ChannelContext): Mail {
  const words = wording(batch, context);
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  const thread =
    batch.inReplyTo === null
      ? {}
      : { inReplyTo: `<${batch.inReplyTo.id}@${domain}>`, references: `<${batch.inReplyTo.id}@${domain}>` };
  return {
    from,
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    subject: plain(`[Rollcall] ${words.subject}`, 200),
    messageId: `<${batch.id}@${domain}>`,
    ...thread,
    date: new Date(batch.sentAt),
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    text: mailText(words),
    html: mailHtml(words),
    // Lines of any length get through (RFC 5322, 2.1.1: 998 octets at most).
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

async function sendMail(pool: Pool, mail: Mail, signal: AbortSignal): Promise<Delivery> {
  try {
    await pool.sendMail({ ...mail, signal });
    return delivered();
  } catch (error) {
    return judgeMail(error, signal);
  }
}

/** Addresses that do not exist or take no mail (RFC 3463): the channel itself is gone. */
const NO_SUCH_ADDRESS = /\b5\.(1\.[12360]|1\.10|2\.1)\b/;
/** Errors before anything was handed over. */
const NOTHING_SENT = new Set(['EDNS', 'EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'ECONFIG', 'EENVELOPE']);

/** 4xx may pass, 5xx will not (RFC 5321, 4.2.1). Trouble with our own server or login is never the address's fault. */
function judgeMail(error: unknown, signal: AbortSignal): Delivery {
  const { code = 'unknown error', responseCode = 0, response = '' } = error as MailError;
  if (signal.aborted) return retry(`no answer within ${ATTEMPT_MS / 1000} s`, { uncertain: true });
  const said = plain(response, 200);
  if (['EAUTH', 'ENOAUTH', 'EOAUTH2'].includes(code)) return retry(`the mail server refused the login: ${said}`);
  if (responseCode >= 500) return rejected(said, { permanent: NO_SUCH_ADDRESS.test(response) });
  if (responseCode >= 400) return retry(said);
  const isRefused = (error as MailError).syscall === 'connect';
  return retry(`mail server: ${code}`, { uncertain: !NOTHING_SENT.has(code) && !isRefused });
}

type MailError = {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly syscall?: string;
};

/** Characters of one list of names: no mailbox wants a megabyte, and Gmail clips what is over 100 kB. */
const NAMES = 20_000;

/** The text part: the first line says everything. */
function mailText({ headline, stories, rest, link }: Wording): string {
  const isAlone = stories.length === 1 && rest.length === 0;
  const told = stories.map((story) => storyText(story, isAlone));
  // Without facts they are a list, without gaps.
  const isList = stories.every(({ parts }) => parts.every(({ kind }) => kind === 'runs'));
  const parts = isList ? [told.join('\n')] : told;
  const all = [headline, ...parts, rest.map(restText).join('\n'), `Rollcall: ${link}`];
  return `${all.filter((part) => part !== '').join('\n\n')}\n`;
}

function storyText({ title, parts }: Story, isAlone: boolean): string {
  return [...(isAlone ? [] : [`* ${title}`]), ...parts.flatMap((part, index) => partText(part, index === 0))].join(
    '\n',
  );
}

function partText(part: Part, isFirst: boolean): readonly string[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => `${label}: ${text}`);
    case 'runs':
      return [...(isFirst ? [] : ['Runs:']), ...part.lines.map((line) => `  - ${line}`)];
    case 'command':
      return [`  ${part.line}`, ...(part.instead === null ? [] : [`  ${part.instead}`])];
    case 'output': {
      const lines = shownOutput(part.text).split('\n');
      return ['Last output:', ...lines.map((line) => `  | ${line}`)];
    }
  }
}

/** Names as far as they fit. */
function restText({ label, names }: Rest): string {
  let room = NAMES;
  const cut = names.findIndex((name) => {
    room -= name.length + 2;
    return room < 0;
  });
  const kept = cut === -1 ? names : names.slice(0, cut);
  const more = names.length - kept.length;
  return `${label}: ${kept.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The HTML part: the same, readable without images, scripts or a style sheet. */
function mailHtml({ headline, stories, rest, link }: Wording): string {
  const isAlone = stories.length === 1 && rest.length === 0;
  const url = escapeHtml(link);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>
<body style="font:16px/1.5 -apple-system,'Segoe UI',Roboto,sans-serif;color:#1b1b1b;max-width:42em;margin:0;padding:12px">
<h1 style="font-size:19px;line-height:1.35;margin:0 0 12px">${escapeHtml(headline)}</h1>
${stories.map((story) => storyHtml(story, isAlone)).join('\n')}
${rest.map((one) => `<p>${escapeHtml(restText(one))}</p>\n`).join('')}<p>Rollcall: <a href="${url}">${url}</a></p>
</body></html>
`;
}

const COLOURS: Readonly<Record<Story['mood'], string>> = {
  problem: '#c62828',
  recovered: '#2e7d32',
  notice: '#1565c0',
};
const CODE =
  'white-space:pre-wrap;word-break:break-word;background:#f4f4f4;color:#1b1b1b;padding:8px;margin:4px 0;font-size:13px';

function storyHtml({ mood, title, parts }: Story, isAlone: boolean): string {
  const all = [
    ...(isAlone ? [] : [`<strong>${escapeHtml(title)}</strong>`]),
    ...parts.flatMap((part, index) => partHtml(part, index === 0)),
  ];
  if (all.length === 0) return '';
  return `<div style="border-left:4px solid ${COLOURS[mood]};padding:2px 0 2px 12px;margin:0 0 14px">${all.join('\n')}</div>`;
}

function partHtml(part: Part, isFirst: boolean): readonly string[] {
  switch (part.kind) {
    case 'facts':
      return part.facts.map(({ label, text }) => `<div><b>${escapeHtml(label)}:</b> ${escapeHtml(text)}</div>`);
    case 'runs': {
      const items = part.lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('');
      return [
        ...(isFirst ? [] : ['<div><b>Runs:</b></div>']),
        `<ul style="margin:0 0 8px;padding-left:20px">${items}</ul>`,
      ];
    }
    case 'command':
      return [
        `<pre style="${CODE}">${escapeHtml(part.line)}</pre>`,
        ...(part.instead === null ? [] : [`<div>${escapeHtml(part.instead)}</div>`]),
      ];
    case 'output':
      return [`<div><b>Last output:</b></div><pre style="${CODE}">${escapeHtml(shownOutput(part.text))}</pre>`];
  }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
