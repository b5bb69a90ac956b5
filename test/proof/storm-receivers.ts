import { createHttpReceiver, createSmtpReceiver, type HttpReceiver, type HttpReply } from '../support/receivers.ts';
import type { Service } from './service.ts';

/** Six channels of one project: two that work, and four in four kinds of trouble. */
export const CHANNELS = ['hook', 'mail', 'chat', 'hung', 'gone', 'away'] as const;
export type StormChannel = (typeof CHANNELS)[number];

export const SECRET = `whsec_${Buffer.from('thirty-two bytes for stormy days').toString('base64')}`;
export const MAIL_FROM = 'Rollcall <rollcall@example.org>';
/** So long `chat` asks to be left alone. */
export const RETRY_AFTER_S = 2;

/** A receiver that knows when each of its requests came, in milliseconds of this machine's clock. */
export type TimedReceiver = HttpReceiver & { readonly cameAt: readonly number[] };

export type Receivers = {
  /** Takes everything; the operator's. */
  readonly hook: TimedReceiver;
  readonly mail: Awaited<ReturnType<typeof createSmtpReceiver>>;
  /** Slack that answers 429 with Retry-After so many times, and then takes it. */
  readonly chat: TimedReceiver;
  /** Takes the connection and the request, and never answers. */
  readonly hung: TimedReceiver;
  /** Answers 410. */
  readonly gone: TimedReceiver;
  /** Where `away` answers at last; until somebody says so, the channel has an address at which nobody listens. */
  readonly away: TimedReceiver;
  close(): Promise<void>;
};

export async function openReceivers({ refusals }: { readonly refusals: number }): Promise<Receivers> {
  const [hook, chat, hung, gone, away, mail] = await Promise.all([
    timedReceiver(() => ({ status: 200, body: 'ok' })),
    timedReceiver((count) => (count <= refusals ? TOO_MANY : { status: 200, body: 'ok' })),
    timedReceiver(() => 'hang'),
    timedReceiver(() => ({ status: 410 })),
    timedReceiver(() => ({ status: 200, body: 'ok' })),
    createSmtpReceiver(),
  ]);
  const all = { hook, chat, hung, gone, away, mail };
  return {
    ...all,
    async close() {
      await Promise.all(Object.values(all).map((receiver) => receiver.close()));
    },
  };
}

const TOO_MANY: HttpReply = { status: 429, headers: { 'retry-after': String(RETRY_AFTER_S) }, body: 'rate_limited' };

/** `reply` is told how many requests have come with this one. */
async function timedReceiver(reply: (count: number) => HttpReply): Promise<TimedReceiver> {
  const receiver = await createHttpReceiver();
  const cameAt: number[] = [];
  receiver.always(() => {
    cameAt.push(Date.now());
    return reply(cameAt.length);
  });
  return Object.assign(receiver, { cameAt });
}

/** Makes the channels; the first one is the operator's. */
export async function createChannels(service: Service, receivers: Receivers): Promise<void> {
  const nobody = await createHttpReceiver();
  await nobody.close();
  const webhook = (url: string) => ({ kind: 'webhook', url, secret: SECRET });
  await service.api('PUT', '/channels/hook', { ...webhook(receivers.hook.url), operator: true });
  await service.api('PUT', '/channels/mail', { kind: 'email', to: 'ops@example.org' });
  await service.api('PUT', '/channels/chat', { kind: 'slack', url: receivers.chat.url });
  await service.api('PUT', '/channels/hung', webhook(receivers.hung.url));
  await service.api('PUT', '/channels/gone', webhook(receivers.gone.url));
  await service.api('PUT', '/channels/away', webhook(nobody.url));
}

/** Somebody puts the address right. */
export async function mendAway(service: Service, { away }: Receivers): Promise<void> {
  await service.api('PUT', '/channels/away', { kind: 'webhook', url: away.url, secret: SECRET });
}
