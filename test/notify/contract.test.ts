import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batch, Channel, ChannelContext, Settings } from '../../src/notify/channel.ts';
import { channelKinds, channelSchema, closeChannels, parseChannel, redact } from '../../src/notify/registry.ts';
import { createTestMessage } from '../../src/store/channels.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { createHttpReceiver, createSilentServer, createSmtpReceiver, readMail } from '../support/receivers.ts';

/** A real receiver for one kind: what the contract needs to know of it. */
type Harness = {
  readonly context: ChannelContext;
  readonly settings: Settings;
  /** Everything sent so far that a person or a program reads, decoded; `markup`: where <, > and & mean something. */
  received(): readonly { readonly all: string; readonly markup: string }[];
  /** The next message is refused for now, for this message, or for ever. */
  refuse(how: 'now' | 'this' | 'ever'): void;
  /** A context and settings whose receiver never answers. */
  silent(port: number): { readonly context: ChannelContext; readonly settings: Settings };
  close(): Promise<void>;
};

async function httpHarness(more: Settings, markupOf: (body: string) => string): Promise<Harness> {
  const receiver = await createHttpReceiver();
  const context = channelContext();
  const statuses = { now: 503, this: 400, ever: 410 };
  return {
    context,
    settings: { url: `${receiver.url}/services/T0/B0/verysecretpath`, ...more },
    received: () => receiver.requests.map(({ body }) => ({ all: body, markup: markupOf(body) })),
    refuse: (how) => receiver.reply({ status: statuses[how], body: 'no' }),
    silent: (port) => ({ context, settings: { url: `http://127.0.0.1:${port}/x`, ...more } }),
    close: () => receiver.close(),
  };
}

async function mailHarness(): Promise<Harness> {
  const receiver = await createSmtpReceiver();
  const replies = {
    now: { code: 451, text: '4.3.0 try later' },
    this: { code: 554, text: '5.7.1 looks like spam' },
    ever: { code: 550, text: '5.1.1 no such user' },
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
          markup: html.replace(/<\/?(!doctype|html|head|meta|body|h1|div|b|p|a|ul|li|pre|strong)\b[^>]*>/g, ''),
        };
      }),
    refuse: (how) => receiver.refuse(how === 'this' ? 'data' : 'recipient', replies[how]),
    silent: (port) => ({ context: channelContext({ smtpUrl: `smtp://127.0.0.1:${port}` }), settings }),
    close: () => receiver.close(),
  };
}

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const harnesses: Readonly<Record<string, () => Promise<Harness>>> = {
  slack: () => httpHarness({}, (body) => body.replaceAll('<https://rollcall.example.org/>', '')),
  webhook: () => httpHarness({ secret }, () => ''),
  email: mailHarness,
};

test('every kind is held to the contract', () => {
  expect(Object.keys(harnesses).sort()).toEqual([...channelKinds.keys()].sort());
});

describe.each([...channelKinds])('%s', (name, kind) => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await (harnesses[name] ?? mailHarness)();
  });
  afterAll(async () => {
    await closeChannels(harness.context);
    await harness.close();
  });

  const never = new AbortController().signal;
  const opened = ({ context, settings }: Pick<Harness, 'context' | 'settings'> = harness): Channel => {
    const channel = kind.open(settings, context);
    if (!channel.ok) throw new Error(channel.reason);
    return channel.value;
  };
  const send = (batch: Batch) => opened().send(batch, never);
  const last = () => harness.received().at(-1) ?? { all: '', markup: '' };

  test('delivers a problem, its end, and a test message', async () => {
    const facts = { lastCompleted: secondPass.key };
    const end = incidentEvent({ type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }], facts });
    expect(await send(batchOf(incidentEvent()))).toEqual({ outcome: 'delivered' });
    expect(last().all).toContain('nightly-billing');
    expect(await send(batchOf(end))).toEqual({ outcome: 'delivered' });
    expect(last().all).toMatch(/ran after all|resolved/);
    const trial = { ...createTestMessage('ops', 0), occurrences: [], occurrenceCount: 0 };
    expect(await send(batchOf(trial))).toEqual({ outcome: 'delivered' });
    expect(last().all).toContain('This is a test of channel ops');
  });

  test('tells trouble that passes from a message refused and from a channel that is gone', async () => {
    harness.refuse('now');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'retry' });
    harness.refuse('this');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'rejected', permanent: false });
    harness.refuse('ever');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'rejected', permanent: true });
  });

  test('gives up a receiver that does not answer, and says that it may have got the message', async () => {
    const server = await createSilentServer();
    const silent = harness.silent(server.port);
    const signal = AbortSignal.timeout(50);
    expect(await opened(silent).send(batchOf(incidentEvent()), signal)).toMatchObject({
      outcome: 'retry',
      uncertain: true,
    });
    await closeChannels(silent.context);
    await server.close();
    expect(await opened(harness.silent(server.port)).send(batchOf(incidentEvent()), never)).toMatchObject({
      outcome: 'retry',
    });
  });

  test('a name cannot mention, link or script (ALR-005, SEC-007)', async () => {
    const evil = '<!channel> a & b <https://evil.example|ok> <img src=x onerror=alert(1)> "\'';
    const failed = { kind: 'failed', facts: { output: `${evil}\n\`\`\`<b>` } } as const;
    await send(batchOf(incidentEvent({ ...failed, job: { name: evil, tags: [evil] } })));
    expect(last().all).toContain('evil.example');
    expect(last().markup).not.toMatch(/<!|<https|<img|<b>| & /);
  });

  test('takes 900 incidents, and 100 occurrences with long names and output, in one message', async () => {
    const many = Array.from({ length: 900 }, (_, i) =>
      incidentEvent({ id: i + 1, job: { slug: `job-${i}`, name: '💥'.repeat(200) } }),
    );
    expect(await send(batchOf(...many))).toEqual({ outcome: 'delivered' });
    const hundred = Array.from({ length: 100 }, (_, i) => ({ ...secondPass, scheduledFor: i * 1000 }));
    const output = '<&💥'.repeat(500);
    const large = incidentEvent({
      kind: 'failed',
      occurrences: hundred,
      count: 4000,
      job: { name: '&'.repeat(500) },
      facts: { output },
    });
    expect(await send(batchOf(large))).toEqual({ outcome: 'delivered' });
  });

  test('shows none of its secrets, neither in a message nor read back', async () => {
    await send(batchOf(incidentEvent()));
    const secrets = kind.fields.filter((field) => field.secret).map((field) => harness.settings[field.name] ?? '');
    const shown = [last().all, JSON.stringify(redact({ kind: name, settings: harness.settings }))];
    for (const text of shown) {
      for (const each of [...secrets, 'verysecretpath']) expect(text).not.toContain(each);
    }
  });

  test('its JSON is read strictly, and comes out as it can be opened', async () => {
    const body = { kind: name, ...harness.settings };
    const parsed = await parseChannel({ ...body, operator: true }, harness.context);
    expect(parsed).toMatchObject({ ok: true, value: { kind: name, operator: true } });
    expect(parsed.ok && kind.open(parsed.value.settings, harness.context)).toMatchObject({ ok: true });
    expect(channelSchema().safeParse(body).success).toBe(true);
    const paths = async (input: object) => {
      const result = await parseChannel(input, harness.context);
      return result.ok ? [] : result.errors.map(({ path }) => path);
    };
    expect(await paths({ ...body, colour: 'red' })).toEqual(['colour']);
    expect(await paths({ ...body, operator: 'yes' })).toEqual(['operator']);
    expect(await paths({ ...body, remind_every: '1h' })).toEqual(['remind_every']);
    expect(await paths({ kind: name })).toEqual(
      kind.fields.filter(({ required }) => required).map((field) => field.name),
    );
    for (const field of kind.fields) expect(await paths({ ...body, [field.name]: 5 })).toEqual([field.name]);
  });
});

test.each([42, [], null, 'x', {}, { kind: 'pager' }, { kind: 5 }, { kind: 'constructor' }])(
  '%j is no channel (SEC-013)',
  async (input) => {
    expect(await parseChannel(input, channelContext())).toMatchObject({ ok: false });
  },
);
