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
import type { MailFoot } from './mail-foot.ts';
import { mailHtml } from './mail-html.ts';
import { mailText } from './mail-text.ts';
import { ATTEMPT_MS } from './outbound.ts';
import { plain } from './phrases.ts';
import { type ReportMail, reportMail } from './report-mail.ts';
import { wording } from './wording.ts';

/** To our mail server. No more mails are sent at once, so that nothing waits in a second queue there. */
const CONNECTIONS = 20;
const ONE_ADDRESS = 'write one plain address, such as ops@example.org: no name, quotes, commas, brackets or lists';

/** E-mail: one recipient a channel, so that one bad address never touches another. */
export const email: ChannelKind = {
  label: 'E-mail',
  fields: [{ name: 'to', label: 'Address', secret: false, required: true }],
  // An end stands in the conversation of its beginning.
  grouping: 'thread',
  atOnce: CONNECTIONS,
  async parse({ to = '' }, context) {
    const sender = senderOf(context);
    const message = sender.ok ? ONE_ADDRESS : sender.reason;
    return sender.ok && isPlainAddress(to)
      ? { ok: true, value: { to } }
      : { ok: false, errors: [{ path: sender.ok ? 'to' : 'kind', message }] };
  },
  open({ to = '', unsubscribed }, context): Result<Channel> {
    if (unsubscribed !== undefined) {
      const gone = rejected(`${unsubscribed} unsubscribed, and no address is left`, { permanent: true });
      return parsed({ send: async () => gone });
    }
    const sender = senderOf(context);
    if (!sender.ok) return sender;
    if (!isPlainAddress(to)) return refused(ONE_ADDRESS);
    const pool = poolFor(context, sender.value.smtpUrl);
    return parsed({ send: (batch, signal) => sendMail(pool, mailOf(batch, to, sender.value.from, context), signal) });
  },
  cannot(context) {
    const sender = senderOf(context);
    return sender.ok ? null : sender.reason;
  },
  redact: ({ to = '' }) => ({ to }),
  recipient: ({ to = '' }) => (to === '' ? null : to),
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
  // maxRequeues 0: what is sent again, and when, is the outbox's decision alone.
  const pool = createTransport({
    pool: true,
    url,
    maxConnections: CONNECTIONS,
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

/** In front of every subject. */
const TAG = '[Rollcall]';

type Mail = Parameters<Pool['sendMail']>[0];

/**
 * The mail of a batch. Address and envelope are given as objects: nothing is left for a parser to read differently. A
 * reply has the subject of the mail it answers: Gmail begins a new conversation where the subject changes, whatever the
 * references say (https://support.google.com/mail/answer/5900).
 */
function mailOf(batch: Batch, to: string, from: Mailbox, context: ChannelContext): Mail & { readonly subject: string } {
  const { unsubscribeUrl = null, inReplyTo } = batch;
  const { subject, text, html } = contentOf(batch, context, { to, unsubscribeUrl });
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  // What was told before the channel was an e-mail channel is no mail, and cannot be answered.
  const answered = inReplyTo?.receipt?.startsWith(TAG) ? inReplyTo.receipt : null;
  const first = inReplyTo === null || answered === null ? null : `<${inReplyTo.id}@${domain}>`;
  return {
    from,
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    subject: answered === null ? plain(`${TAG} ${subject}`, 200) : `Re: ${answered}`,
    messageId: `<${batch.id}@${domain}>`,
    ...(first === null ? {} : { inReplyTo: first, references: first }),
    date: new Date(batch.sentAt),
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(unsubscribeUrl === null ? {} : oneClick(unsubscribeUrl)),
    },
    text,
    html,
    // Lines of any length get through (RFC 5322, 2.1.1: 998 octets at most).
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** A report comes by itself (grouping.ts); everything else is put into words together. */
function contentOf(batch: Batch, context: ChannelContext, foot: MailFoot): ReportMail {
  const [event] = batch.events;
  if (event?.type === 'notice' && event.report) return reportMail(event.report, context, foot);
  const words = wording(batch, context);
  return { subject: words.subject, text: mailText(words, foot), html: mailHtml(words, foot) };
}

/** RFC 8058: a mail program that offers to unsubscribe sends a POST, and shows no page. */
function oneClick(url: string) {
  return {
    'List-Unsubscribe': { prepared: true, value: `<${url}>` },
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

/** The receipt is the subject that answers to this mail have to bear. */
async function sendMail(pool: Pool, mail: ReturnType<typeof mailOf>, signal: AbortSignal): Promise<Delivery> {
  try {
    await pool.sendMail({ ...mail, signal });
    return delivered(mail.subject.replace(/^Re: /, ''));
  } catch (error) {
    return judgeMail(error, signal);
  }
}

/** Addresses that do not exist or take no mail (RFC 3463): the channel itself is gone. */
const NO_SUCH_ADDRESS = /\b5\.(1\.[12360]|1\.10|2\.1)\b/;
/** Commands whose refusal is about the address or the mail; those before it are about whoever sends. */
const ABOUT_MESSAGE = new Set(['RCPT TO', 'DATA']);
/** Some say only at the recipient that they want a login (RFC 4954, 6). */
const LOGIN_FIRST = 530;
/** Errors before anything was handed over. */
const NOTHING_SENT = new Set(['EDNS', 'EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'ECONFIG', 'EENVELOPE']);

/** 4xx may pass, 5xx will not (RFC 5321, 4.2.1). Trouble with our own server or login is never the address's fault. */
function judgeMail(error: unknown, signal: AbortSignal): Delivery {
  const { code = 'unknown error', responseCode = 0, response = '', command = '' } = error as MailError;
  if (signal.aborted) return retry(`no answer within ${ATTEMPT_MS / 1000} s`, { uncertain: true });
  const said = plain(response, 200);
  if (['EAUTH', 'ENOAUTH', 'EOAUTH2'].includes(code)) return retry(`the mail server refused the login: ${said}`);
  // Before the address was named, it was about us: no sender of ours may pass, or not without a login.
  if (responseCode === LOGIN_FIRST || (responseCode >= 400 && !ABOUT_MESSAGE.has(command)))
    return retry(`the mail server refused us: ${said}`, { uncertain: false });
  if (responseCode >= 500) return rejected(said, { permanent: NO_SUCH_ADDRESS.test(response) });
  if (responseCode >= 400) return retry(said);
  const isRefused = (error as MailError).syscall === 'connect';
  return retry(`mail server: ${code}`, { uncertain: !NOTHING_SENT.has(code) && !isRefused });
}

type MailError = {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  /** The command that was refused. */
  readonly command?: string;
  readonly syscall?: string;
};
