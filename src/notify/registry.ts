import { z } from 'zod';
import type { FieldError } from '../core/schedule.ts';
import { createTestMessage, recordAttempt } from '../store/channels.ts';
import type { Database } from '../store/database.ts';
import { newMessageId } from '../store/sending.ts';
import { apprise } from './apprise.ts';
import { type Batch, type ChannelContext, type ChannelKind, type Delivery, retry, type Settings } from './channel.ts';
import { discord } from './discord.ts';
import { email } from './email.ts';
import { unsubscribing } from './leaving.ts';
import { ntfy } from './ntfy.ts';
import { ATTEMPT_MS } from './outbound.ts';
import { pagerduty } from './pagerduty.ts';
import { slack } from './slack.ts';
import { slackBot } from './slack-bot.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { webhook } from './webhook.ts';

/** Every way of telling people: one line each. */
export const channelKinds: ReadonlyMap<string, ChannelKind> = new Map([
  ['slack', slack],
  ['slack_bot', slackBot],
  ['email', email],
  ['webhook', webhook],
  ['pagerduty', pagerduty],
  ['discord', discord],
  ['teams', teams],
  ['telegram', telegram],
  ['ntfy', ntfy],
  ['apprise', apprise],
]);

/** A channel as PUT gives it. `operator` undefined: not said. */
type ChannelInput = {
  readonly kind: string;
  readonly settings: Settings;
  readonly operator: boolean | undefined;
};
export type ParsedChannel =
  | { readonly ok: true; readonly value: ChannelInput }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Reads the JSON of a channel: its kind, the fields of that kind, `operator`; nothing else. Resolves names. */
export async function parseChannel(input: unknown, context: ChannelContext): Promise<ParsedChannel> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return problem('', 'write a JSON object, such as {"kind": "slack", "url": "https://…"}');
  }
  const { kind: name, operator, ...fields } = input as Readonly<Record<string, unknown>>;
  const kind = typeof name === 'string' ? channelKinds.get(name) : undefined;
  if (!kind || typeof name !== 'string') return problem('kind', `write one of ${[...channelKinds.keys()].join(', ')}`);
  const errors = [
    ...(operator === undefined || typeof operator === 'boolean'
      ? []
      : [{ path: 'operator', message: 'write true or false' }]),
    ...fieldErrors(kind, name, fields),
  ];
  if (errors.length > 0) return { ok: false, errors };
  const settings = await kind.parse(fields as Settings, context);
  return settings.ok
    ? { ok: true, value: { kind: name, settings: settings.value, operator: operator as boolean | undefined } }
    : settings;
}

function problem(path: string, message: string): ParsedChannel {
  return { ok: false, errors: [{ path, message }] };
}

function fieldErrors(
  kind: ChannelKind,
  name: string,
  fields: Readonly<Record<string, unknown>>,
): readonly FieldError[] {
  const known = new Set(kind.fields.map((field) => field.name));
  const unknown = Object.keys(fields)
    .filter((path) => !known.has(path))
    .map((path) => ({ path, message: `${name} channels have no such field` }));
  const wrong = kind.fields
    .filter((field) => typeof fields[field.name] !== 'string' && (field.required || fields[field.name] !== undefined))
    .map(({ name: path, label }) => ({
      path,
      message: fields[path] === undefined ? `required: ${label}` : `write text: ${label}`,
    }));
  return [...unknown, ...wrong];
}

/**
 * The JSON of a channel as a schema, for the API's description; parseChannel says more about what is wrong. `common`: what
 * whoever takes it reads beside.
 */
export function channelSchema(common: Readonly<Record<string, z.ZodType>> = {}) {
  const bodies = [...channelKinds].map(([name, { fields }]) =>
    z.strictObject({
      kind: z.literal(name),
      ...Object.fromEntries(
        fields.map((field) => {
          const text = z.string().describe(field.label);
          return [field.name, field.required ? text : text.optional()];
        }),
      ),
      operator: z.boolean().optional().describe('also gets notices about Rollcall itself and about dead channels'),
      ...common,
    }),
  );
  return z.union(bodies);
}

/** A stored channel, as far as sending needs it. */
export type StoredChannel = { readonly kind: string; readonly settings: Settings };

/** What may be read back of a channel's settings. */
export function redact({ kind, settings }: StoredChannel): Settings {
  return channelKinds.get(kind)?.redact(settings) ?? {};
}

/** One attempt, of 10 s at most. Whatever goes wrong comes back as a Delivery; `report` hears of bugs. */
export async function sendOnce(
  { kind: name, settings }: StoredChannel,
  batch: Batch,
  { context, report }: { readonly context: ChannelContext; readonly report: (error: unknown) => void },
): Promise<Delivery> {
  const kind = channelKinds.get(name);
  if (!kind) return retry(`this version of Rollcall knows no channels of kind ${name}`);
  const channel = kind.open(settings, context);
  // Not the channel's fault: set up again, the installation can send what waits.
  if (!channel.ok) return retry(channel.reason);
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const timedOut = new Promise<Delivery>((resolve) => {
    signal.addEventListener('abort', () =>
      resolve(retry(`no answer within ${ATTEMPT_MS / 1000} s`, { uncertain: true })),
    );
  });
  try {
    // The race: a kind that overlooks its signal must not hold up the others.
    return await Promise.race([channel.value.send(batch, signal), timedOut]);
  } catch (error) {
    report(error);
    return retry('internal error while sending', { uncertain: true });
  }
}

/** Sends a test message now and records the attempt like any other: one that gets through revives a dead channel. */
export async function sendTest(
  channel: StoredChannel & { readonly id: number; readonly slug: string },
  {
    database,
    context,
    report,
  }: {
    readonly database: Database;
    readonly context: ChannelContext;
    readonly report: (error: unknown) => void;
  },
): Promise<Delivery> {
  const kind = channelKinds.get(channel.kind);
  const { sentAt, about } = await database.transaction(async (tx) => ({
    sentAt: tx.now,
    about: await unsubscribing(tx, channel, { kind, context }),
  }));
  const id = newMessageId();
  const event = { ...createTestMessage(channel.slug, sentAt), occurrences: [], occurrenceCount: 0 };
  const batch = { id, sentAt, inReplyTo: null, events: [event], ...about };
  const delivery = await sendOnce(channel, batch, { context, report });
  await database.transaction((tx) => recordAttempt(tx, { to: channel, messageId: id, rows: 0, delivery }));
  return delivery;
}

/** Closes what channels hold open for this installation. */
export async function closeChannels(context: ChannelContext): Promise<void> {
  for (const kind of channelKinds.values()) await kind.close?.(context);
}
