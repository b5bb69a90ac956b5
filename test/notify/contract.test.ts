import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batch, BatchEvent, Channel, Delivery } from '../../src/notify/channel.ts';
import { channelKinds, channelSchema, closeChannels, parseChannel, redact } from '../../src/notify/registry.ts';
import { createTestMessage } from '../../src/store/channels.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { createSilentServer } from '../support/receivers.ts';
import { type Harness, harnesses } from './harnesses.ts';

test('every kind is held to the contract', () => {
  expect(Object.keys(harnesses).sort()).toEqual([...channelKinds.keys()].sort());
});

test('every kind has a page, which shows the JSON that is taken', async () => {
  const docs = join(import.meta.dirname, '..', '..', 'docs');
  const index = await readFile(join(docs, 'channels.md'), 'utf8');
  for (const [name, { fields }] of channelKinds) {
    expect(index).toContain(`(channels/${name}.md)`);
    const page = await readFile(join(docs, 'channels', `${name}.md`), 'utf8');
    expect(page).toContain(`{"kind": "${name}"`);
    for (const field of fields) expect(page, `${name}.${field.name}`).toMatch(new RegExp(`["\`]${field.name}["\`]`));
  }
});

describe.each([...channelKinds])('%s', (name, kind) => {
  let harness: Harness;
  beforeAll(async () => {
    const begin = harnesses[name];
    if (!begin) throw new Error(`no receiver for ${name}`);
    harness = await begin();
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
  const delivered = expect.objectContaining({ outcome: 'delivered' });
  /** Everything at once where the kind takes it so, else one by one, as far as it proves something. */
  const sendAll = async (events: readonly BatchEvent[]) => {
    const batches = kind.grouping === 'incident' ? events.slice(0, 20).map((it) => batchOf(it)) : [batchOf(...events)];
    const all: Delivery[] = [];
    for (const batch of batches) all.push(await send(batch));
    return all.find(({ outcome }) => outcome !== 'delivered') ?? all[0];
  };
  const last = () => harness.received().at(-1) ?? { all: '', markup: '' };

  test('delivers a problem, its end, and a test message', async () => {
    const facts = { lastCompleted: secondPass.key };
    const end = incidentEvent({ type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }], facts });
    expect(await send(batchOf(incidentEvent()))).toEqual(delivered);
    expect(last().all).toContain('nightly-billing');
    expect(await send(batchOf(end))).toEqual(delivered);
    expect(last().all).toMatch(/ran after all|resolve/);
    const trial = { ...createTestMessage('ops', 0), occurrences: [], occurrenceCount: 0 };
    expect(await send(batchOf(trial))).toEqual(delivered);
    expect(last().all).toContain('This is a test of channel ops');
  });

  test('takes messages with the link by which each problem is acknowledged, one or very many', async () => {
    const ackUrl = 'https://rollcall.example.org/a/1g.k3.tqvo71.30e2e6b0a414588bb44d20a4235018ba';
    const problems = Array.from({ length: 300 }, (_, n) => ({
      ...incidentEvent({ id: n + 1, job: { slug: `job-${n}` } }),
      ackUrl: ackUrl.replace('1g', String(n)),
    }));
    expect(await sendAll(problems.slice(0, 1))).toEqual(delivered);
    if (name !== 'webhook')
      expect(last().all).toContain(name === 'telegram' ? 'Acknowledge or snooze' : '/a/0.k3.tqvo71');
    expect(await sendAll(problems.slice(0, 3))).toEqual(delivered);
    expect(await sendAll(problems)).toEqual(delivered);
  });

  test('tells trouble that passes from a message refused and from a channel that is gone', async () => {
    harness.refuse('now');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'retry' });
    harness.refuse('this');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'rejected', permanent: false });
    harness.refuse('ever');
    expect(await send(batchOf(incidentEvent()))).toMatchObject({ outcome: 'rejected', permanent: true });
  });

  test('a receiver that asks to be left alone is left alone as long as it says (ALR-001)', async () => {
    harness.refuse('busy');
    const delivery = await send(batchOf(incidentEvent()));
    expect(delivery).toMatchObject({ outcome: 'retry' });
    if (harness.canBeBusy && delivery.outcome === 'retry') expect(delivery.retryAfterMs).toBeGreaterThanOrEqual(29_000);
  });

  test('the words of a refusal hold no secret and nothing else of an answer', async () => {
    for (const how of ['now', 'this', 'ever', 'busy'] as const) {
      harness.refuse(how);
      const delivery = await send(batchOf(incidentEvent()));
      const { reason } = delivery as { readonly reason: string };
      expect(reason).not.toMatch(/verysecretpath|http:|127\.0\.0\.1|[{}<>]/);
      expect(reason.length).toBeLessThan(120);
    }
  });

  test('says of a missing run what, when, how late, what was last, what the policy does and where to look', async () => {
    await send(batchOf(incidentEvent({ facts: { expectedBy: Date.parse('2026-10-25T01:00:00Z') } })));
    if (name === 'webhook') return;
    const { all } = last();
    expect(all).toContain('2026-10-25 02:30 +01:00');
    expect(all).toContain('35 min ago');
    expect(all).toContain('2026-10-24 02:30 +02:00');
    expect(all).toContain('It stays owed (catch_up)');
    expect(all).toContain('/0?occ=2026-10-25T02:30+01:00');
    expect(all).toContain('https://rollcall.example.org/');
  });

  test('shows the end of an output, whole characters only', async () => {
    if (name === 'webhook') return;
    const output = `begin ${'💥'.repeat(1900)} the end`;
    await send(batchOf(incidentEvent({ kind: 'failed', facts: { output, exitCode: 3 } })));
    expect(last().all).toContain('💥 the end');
    expect(last().all).toContain('exit code 3');
    expect(last().all).not.toMatch(/\p{Cs}/u);
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
    const evil =
      '<!channel> a & b <https://evil.example|ok> [ok](https://evil.example) <img src=x onerror=alert(1)> @all "\'';
    const failed = { kind: 'failed', facts: { output: `${evil}\n\`\`\`<b>` } } as const;
    await send(batchOf(incidentEvent({ ...failed, job: { name: evil, tags: [evil] } })));
    expect(last().all).toContain('evil.example');
    expect(last().markup).not.toMatch(harness.alive);
  });

  test('keeps to the limits of the service: 900 incidents, three at once and one alone with all that can be long', async () => {
    const many = Array.from({ length: 900 }, (_, i) =>
      incidentEvent({ id: i + 1, job: { slug: `job-${i}`, name: '💥'.repeat(200) } }),
    );
    expect(await sendAll(many)).toEqual(delivered);
    const hundred = Array.from({ length: 100 }, (_, i) => ({ ...secondPass, scheduledFor: i * 1000 }));
    const output = '<&💥'.repeat(500);
    const large = incidentEvent({
      kind: 'failed',
      occurrences: hundred,
      count: 4000,
      job: { name: '&'.repeat(500) },
      facts: { output },
    });
    expect(await send(batchOf(large))).toEqual(delivered);
    const three = [1, 2, 3].map((id) => ({ ...large, incident: { ...large.incident, id } }));
    expect(await sendAll(three)).toEqual(delivered);
  });

  test('shows none of its secrets, neither in a message nor read back', async () => {
    await send(batchOf(incidentEvent()));
    const secrets = kind.fields.filter((field) => field.secret).flatMap((field) => harness.settings[field.name] ?? []);
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

test.each([42, [], null, 'x', {}, { kind: 'pigeon' }, { kind: 5 }, { kind: 'constructor' }])(
  '%j is no channel (SEC-013)',
  async (input) => {
    expect(await parseChannel(input, channelContext())).toMatchObject({ ok: false });
  },
);
