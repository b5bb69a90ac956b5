import { randomBytes } from 'node:crypto';
import type { ChannelContext, Settings } from '../../src/notify/channel.ts';
import { channelContext } from '../support/messages.ts';
import { createHttpReceiver, createSmtpReceiver, readMail } from '../support/receivers.ts';
import {
  appriseApi,
  discordApi,
  ntfyApi,
  pagerDutyApi,
  type Service,
  slackApi,
  teamsApi,
  telegramApi,
} from './services.ts';

/** A real receiver for one kind: what the contract needs to know of it. */
export type Harness = {
  readonly context: ChannelContext;
  readonly settings: Settings;
  /** Everything sent so far that a person or a program reads, decoded; `markup`: where <, > and & mean something. */
  received(): readonly { readonly all: string; readonly markup: string }[];
  /** The next message is refused for now, for this message, for ever, or (where the service can say so) for 30 s. */
  refuse(how: 'now' | 'this' | 'ever' | 'busy'): void;
  readonly canBeBusy: boolean;
  /** What would be a mention, a link or a tag in `markup`. */
  readonly alive: RegExp;
  /** A context and settings whose receiver never answers. */
  silent(port: number): { readonly context: ChannelContext; readonly settings: Settings };
  close(): Promise<void>;
};

const ALIVE = /<!|<https|<img|<b>| & /;

async function httpHarness(more: Settings, markupOf: (body: string) => string): Promise<Harness> {
  const receiver = await createHttpReceiver();
  const context = channelContext();
  const statuses = { now: 503, this: 400, ever: 410, busy: 429 };
  return {
    context,
    settings: { url: `${receiver.url}/services/T0/B0/verysecretpath`, ...more },
    received: () => receiver.requests.map(({ body }) => ({ all: body, markup: markupOf(body) })),
    refuse: (how) => receiver.reply({ status: statuses[how], body: 'no', headers: { 'retry-after': '30' } }),
    canBeBusy: true,
    alive: ALIVE,
    silent: (port) => ({ context, settings: { url: `http://127.0.0.1:${port}/x`, ...more } }),
    close: () => receiver.close(),
  };
}

/** A receiver that keeps to a service's documentation. `settingsAt`: the channel's settings for a base URL. */
async function serviceHarness(service: Service, settingsAt: (base: string) => Settings): Promise<Harness> {
  const receiver = await createHttpReceiver();
  receiver.always((request) => service.judge(request));
  const context = channelContext();
  return {
    context,
    settings: settingsAt(receiver.url),
    received: () => receiver.requests.map((request) => service.shown(request)),
    refuse: (how) => receiver.reply(service.refusals[how]),
    canBeBusy: true,
    alive: service.alive ?? ALIVE,
    silent: (port) => ({ context, settings: settingsAt(`http://127.0.0.1:${port}`) }),
    close: () => receiver.close(),
  };
}

async function mailHarness(): Promise<Harness> {
  const receiver = await createSmtpReceiver();
  const replies = {
    now: { code: 451, text: '4.3.0 try later' },
    this: { code: 554, text: '5.7.1 looks like spam' },
    ever: { code: 550, text: '5.1.1 no such user' },
    busy: { code: 451, text: '4.7.1 not so fast' },
  };
  const settings = { to: 'ops@example.org' };
  return {
    context: channelContext({ smtpUrl: receiver.url }),
    settings,
    received: () =>
      receiver.mails.map(({ raw }) => {
        const { headers, text, html } = readMail(raw);
        return {
          all: `${headers}\n${text}\n${html}`,
          markup: html.replace(
            /<\/?(!doctype|html|head|meta|title|body|h1|h2|div|p|a|ul|li|pre|table|tr|th|td|nobr)\b[^>]*>/g,
            '',
          ),
        };
      }),
    refuse: (how) => receiver.refuse(how === 'this' ? 'data' : 'recipient', replies[how]),
    canBeBusy: false,
    alive: ALIVE,
    silent: (port) => ({ context: channelContext({ smtpUrl: `smtp://127.0.0.1:${port}` }), settings }),
    close: () => receiver.close(),
  };
}

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const key = 'verysecretpath'.padEnd(32, '0');
const botToken = '123456789:AAverysecretpathverysecretpath';
/** A receiver for each kind; every secret in the settings holds `verysecretpath`. */
export const harnesses: Readonly<Record<string, () => Promise<Harness>>> = {
  slack: () => httpHarness({}, (body) => body.replaceAll('<https://rollcall.example.org/>', '')),
  webhook: () => httpHarness({ secret }, () => ''),
  email: mailHarness,
  slack_bot: () =>
    serviceHarness(slackApi('xoxb-1-verysecretpath'), (server) => ({
      token: 'xoxb-1-verysecretpath',
      channel: 'C0123456789',
      server,
    })),
  pagerduty: () => serviceHarness(pagerDutyApi(key), (server) => ({ routing_key: key, server })),
  discord: () => serviceHarness(discordApi(), (base) => ({ url: `${base}/api/webhooks/1/verysecretpath` })),
  teams: () => serviceHarness(teamsApi(), (base) => ({ url: `${base}/workflows/1?sp=run&sig=verysecretpath` })),
  telegram: () =>
    serviceHarness(telegramApi(botToken), (server) => ({ token: botToken, chat_id: '-1001234567890', server })),
  ntfy: () =>
    serviceHarness(ntfyApi('verysecretpath-topic', 'tk_verysecretpath'), (server) => ({
      topic: 'verysecretpath-topic',
      token: 'tk_verysecretpath',
      server,
    })),
  apprise: () =>
    serviceHarness(appriseApi('verysecretpath'), (server) => ({ server, key: 'verysecretpath', tag: 'ops' })),
};
