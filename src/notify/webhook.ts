import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { MessageJob, MessageOccurrence } from '../core/message.ts';
import { formatInstant, type Instant, parsed, type Result } from '../core/time.ts';
import type { Batch, BatchEvent, Channel, ChannelContext, ChannelKind, Delivery, ParsedSettings } from './channel.ts';
import { checkUrl, hostOnly, judgeStatus, postAndJudge, type Sending } from './outbound.ts';

const SECRET =
  'write a secret as whsec_ and the base64 of 24 to 64 random bytes: echo "whsec_$(openssl rand -base64 32)"';

/** Any program: JSON, signed as Standard Webhooks (https://www.standardwebhooks.com). */
export const webhook: ChannelKind = {
  label: 'Webhook',
  fields: [
    { name: 'url', label: 'URL', secret: true, required: true },
    { name: 'secret', label: 'Signing secret (whsec_…)', secret: true, required: true, make: newSecret },
  ],
  parse: parseWebhook,
  open: ({ url = '', secret = '' }, context): Result<Channel> =>
    parsed({ send: (batch, signal) => sendWebhook({ url, secret }, batch, { context, signal }) }),
  // Path and query may carry a token.
  redact: ({ url = '' }) => ({ url: hostOnly(url) }),
};

async function parseWebhook(
  { url = '', secret = '' }: Readonly<Record<string, string>>,
  context: ChannelContext,
): Promise<ParsedSettings> {
  const checked = await checkUrl(url, context);
  const errors = [
    ...(checked.ok ? [] : [{ path: 'url', message: checked.reason }]),
    ...(isSecret(secret) ? [] : [{ path: 'secret', message: SECRET }]),
  ];
  return checked.ok && errors.length === 0
    ? { ok: true, value: { url: checked.value.href, secret } }
    : { ok: false, errors };
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** Standard Webhooks asks for 24 to 64 bytes. Buffer reads bad base64 as far as it goes: hence the round trip. */
function isSecret(secret: string): boolean {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  if (base64 === undefined) return false;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 && bytes.length >= 24 && bytes.length <= 64;
}

async function sendWebhook(
  { url, secret }: { readonly url: string; readonly secret: string },
  batch: Batch,
  sending: Sending,
): Promise<Delivery> {
  const body = JSON.stringify(webhookBody(batch, sending.context));
  const at = new Date(batch.sentAt);
  const headers = {
    'webhook-id': batch.id,
    'webhook-timestamp': String(Math.floor(batch.sentAt / 1000)),
    'webhook-signature': new Webhook(secret).sign(batch.id, at, body),
  };
  return postAndJudge({ url, body, headers, sentAt: batch.sentAt }, (answer) => judgeStatus(answer), sending);
}

/** The body of DESIGN section 11, and where each incident has its page. */
export function webhookBody(
  { id, sentAt, events, project }: Batch,
  { publicUrl }: Pick<ChannelContext, 'publicUrl'>,
): Readonly<Record<string, unknown>> {
  const pages = project === undefined ? null : `${publicUrl.replace(/\/+$/, '')}/projects/${project}/incidents`;
  return { id, sent_at: formatInstant(sentAt), events: events.map((event) => eventBody(event, pages)) };
}

/** `pages`: the address that those of the project's incidents begin with; null: not known. */
function eventBody(event: BatchEvent, pages: string | null): Readonly<Record<string, unknown>> {
  if (event.type === 'notice') {
    const { id, kind, text, at } = event.notice;
    return {
      type: event.type,
      notice: { id, kind, text, at: formatInstant(at) },
      occurrences: event.occurrences.map((it) => ({ job: jobBody(it.job), ...occurrenceBody(it) })),
    };
  }
  const { id, kind, state, openedAt, resolvedAt, occurrenceCount } = event.incident;
  return {
    type: event.type,
    incident: {
      id,
      kind,
      state,
      opened_at: formatInstant(openedAt),
      resolved_at: instantOrNull(resolvedAt),
      occurrence_count: occurrenceCount,
      ...(pages === null ? {} : { url: `${pages}/${id}` }),
    },
    job: jobBody(event.job),
    occurrences: event.occurrences.map(occurrenceBody),
    ...(event.type === 'incident.reminded' ? { reminded_by: event.again ?? 'occurrence' } : {}),
    // Only where an occurrence came from another incident.
    ...(event.facts.before === null ? {} : { before: event.facts.before }),
  };
}

/** Nothing but what names the job: who holds its ping URL can silence it. */
function jobBody({ slug, name, tags }: MessageJob): Readonly<Record<string, unknown>> {
  return { slug, name, tags };
}

function occurrenceBody({ key, scheduledFor, state }: MessageOccurrence): Readonly<Record<string, unknown>> {
  return { key, scheduled_for: formatInstant(scheduledFor), state };
}

function instantOrNull(at: Instant | null): string | null {
  return at === null ? null : formatInstant(at);
}
