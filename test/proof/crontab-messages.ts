import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readMail } from '../support/receivers.ts';

/** One incident in one message, as a person reads it. */
export type Told = {
  readonly job: string;
  readonly mood: 'problem' | 'recovered';
  readonly title: string;
  /** What became of each occurrence: `TIME: TEXT`. */
  readonly runs: readonly string[];
};

/** The words of an end for the kinds of this proof. */
const ENDS = / (runs again|ran after all|has finished|ran just once this time)[:;]/;

/** The job's name stands first. */
function told(title: string, runs: readonly string[]): Told {
  const mood = ENDS.test(title) ? 'recovered' : 'problem';
  return { job: title.split(' ')[0] ?? '', mood, title: undated(title), runs: runs.map(undated) };
}

/** Dates are said once in a message: where, depends on what else is in it. Times keep their offsets. */
const undated = (text: string): string => text.replace(/\b\d{4}-\d\d-\d\d (?=\d\d:)/g, '');

/** The stories of a mail: one in its first line, or several marked with `*`. */
export function toldByMail(raw: string): readonly Told[] {
  const [headline = '', ...lines] = readMail(raw).text.split('\n');
  const starts = lines.flatMap((line, index) => (line.startsWith('* ') ? [index] : []));
  const runsOf = (part: readonly string[]): string[] =>
    part.filter((line) => line.startsWith('  - ')).map((line) => line.slice(4));
  if (starts.length === 0) return [told(headline, runsOf(lines))];
  return starts.map((start, index) => {
    const part = lines.slice(start, starts[index + 1]);
    return told((part[0] ?? '').slice(2), runsOf(part));
  });
}

export type SlackPayload = {
  readonly text: string;
  readonly blocks: readonly { readonly type: string; readonly text?: { readonly text: string } }[];
};

/** The same for Slack: one in the header, or several in bold behind a mark. */
export function toldBySlack({ text, blocks }: SlackPayload): readonly Told[] {
  const lines = blocks
    .filter(({ type }) => type === 'section')
    .flatMap((block) => (block.text?.text ?? '').split('\n'))
    .map(unescapeSlack);
  const starts = lines.flatMap((line, index) => (/^(🔴|🟢|🔵) \*/u.test(line) ? [index] : []));
  const runsOf = (part: readonly string[]): string[] =>
    part.filter((line) => line.startsWith('• ')).map((line) => line.slice(2));
  if (starts.length === 0) return [told(unescapeSlack(text).replace(/^\S+ /u, ''), runsOf(lines))];
  return starts.map((start, index) => {
    const part = lines.slice(start, starts[index + 1]);
    return told((part[0] ?? '').replace(/^\S+ \*/u, '').replace(/\*$/, ''), runsOf(part));
  });
}

function unescapeSlack(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

type WebhookEvent = {
  readonly type: string;
  readonly incident: {
    readonly id: number;
    readonly kind: string;
    readonly state: string;
    readonly opened_at: string;
    readonly resolved_at: string | null;
    readonly occurrence_count: number;
  };
  readonly job: { readonly slug: string; readonly name: string; readonly tags: readonly string[] };
  readonly occurrences: readonly { readonly key: string; readonly scheduled_for: string; readonly state: string }[];
};

export type WebhookBody = { readonly id: string; readonly sent_at: string; readonly events: readonly WebhookEvent[] };

/** The body of a webhook whose signature is right, computed here by the words of the Standard Webhooks specification. */
export function verifiedBody(headers: IncomingHttpHeaders, body: string, secret: string): WebhookBody {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name]),
  );
  const secretBytes = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', secretBytes).update(`${id}.${timestamp}.${body}`).digest('base64');
  if (!signatures?.split(' ').includes(`v1,${expected}`)) throw new Error(`wrong signature ${signatures} of ${id}`);
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) throw new Error(`wrong timestamp ${timestamp} of ${id}`);
  const read = JSON.parse(body) as WebhookBody;
  if (read.id !== id) throw new Error(`the body says ${read.id}, its header ${id}`);
  return read;
}
