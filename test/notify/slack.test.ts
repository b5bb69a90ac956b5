import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchEvent } from '../../src/notify/channel.ts';
import { channelKinds } from '../../src/notify/registry.ts';
import { escapeSlack, slackMessage } from '../../src/notify/slack.ts';
import { wording } from '../../src/notify/wording.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { createHttpReceiver, type HttpReceiver, type HttpReply } from '../support/receivers.ts';

const context = channelContext();
const message = (...events: readonly BatchEvent[]) => slackMessage(wording(batchOf(...events), context));
const textsOf = (sent: ReturnType<typeof message>): string[] =>
  sent.blocks.flatMap((block) =>
    block.type === 'context' ? block.elements.map(({ text }) => text) : 'text' in block ? [block.text.text] : [],
  );

let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await createHttpReceiver();
});
afterAll(() => receiver.close());

async function answerTo(reply: HttpReply) {
  receiver.reply(reply);
  const opened = channelKinds.get('slack')?.open({ url: receiver.url }, context);
  if (!opened?.ok) throw new Error('slack does not open');
  return opened.value.send(batchOf(incidentEvent()), new AbortController().signal);
}

test('a phone shows the whole story in the fallback text', () => {
  const { text, blocks } = message(incidentEvent());
  expect(text).toBe('🔴 Nightly billing did not run: due 2026-10-25 02:30 +01:00');
  expect(blocks[0]).toEqual({ type: 'header', text: { type: 'plain_text', text } });
});

test('& < and > are escaped in every text, the fallback too, and nothing else is (ALR-005)', () => {
  const name = '<!channel> a & b <https://evil.example|ok>';
  const sent = message(incidentEvent({ job: { name } }));
  const escaped = '&lt;!channel&gt; a &amp; b &lt;https://evil.example|ok&gt;';
  expect(sent.text).toContain(escaped);
  expect(textsOf(sent)[0]).toContain(escaped);
});

test("Slack's limits hold for any batch: 50 blocks, 150 characters of header, 3,000 of section, 13,000 of all", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => ({ ...secondPass, scheduledFor: i }));
  const facts = { output: '<&>"💥\n'.repeat(330) };
  const batches = [1, 2, 3, 10, 900].map((size) =>
    Array.from({ length: size }, (_, i) =>
      incidentEvent({ id: i + 1, kind: 'failed', occurrences: hundred, job: { name: '&💥'.repeat(300) }, facts }),
    ),
  );
  for (const batch of batches) {
    const sent = message(...batch);
    expect(sent.blocks.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(sent.blocks).length).toBeLessThan(13_000);
    for (const block of sent.blocks) {
      if (block.type === 'header') expect(block.text.text.length).toBeLessThanOrEqual(150);
      if (block.type === 'section') expect(block.text.text.length).toBeLessThanOrEqual(3000);
    }
    for (const text of textsOf(sent)) expect(text).not.toMatch(/\p{Cs}/u);
  }
});

test('all that is not told is named, ends before all, as far as Slack takes it', () => {
  const slugs = (count: number, length: number) =>
    Array.from({ length: count }, (_, i) => `${'x'.repeat(length)}-${i}`);
  const missing = (all: string[]) => all.map((slug, i) => incidentEvent({ id: i + 1, job: { slug, name: slug } }));
  const ends = Array.from({ length: 12 }, (_, i) =>
    incidentEvent({ id: 5000 + i, type: 'incident.resolved', job: { slug: `back-${i}`, name: `back-${i}` } }),
  );
  for (const [count, length] of [
    [60, 5],
    [900, 90],
  ] as const) {
    const all = slugs(count, length);
    const sent = message(...missing(all), ...ends);
    expect(JSON.stringify(sent.blocks).length).toBeLessThan(13_000);
    expect(sent.blocks.length).toBeLessThanOrEqual(50);
    expect(Math.max(...textsOf(sent).map((one) => one.length))).toBeLessThanOrEqual(3000);
    const text = textsOf(sent).join('\n');
    for (const { job } of ends) expect(text).toMatch(new RegExp(`\\b${job.slug}\\b`));
    if (count === 60) for (const slug of all) expect(text).toContain(slug);
    else expect(text).toMatch(/and \d+ more/);
  }
});

test('a line to paste stands in a block of code, and the link says what it is', () => {
  const texts = textsOf(message(incidentEvent()));
  expect(texts.join('\n')).toContain('```curl -fsS "$PING_URL/0?occ=2026-10-25T02:30+01:00"```\nOr settle it');
  expect(texts.at(-1)).toBe('Rollcall: <https://rollcall.example.org/>');
});

test('the link to acknowledge is a link, and what else is open is said even in a storm', () => {
  const ackUrl = 'https://rollcall.example.org/a/1.2.3.abc';
  expect(textsOf(message({ ...incidentEvent(), ackUrl })).join('\n')).toContain(`<${ackUrl}|Acknowledge or snooze>`);
  const problem = {
    slug: 'export',
    zone: 'UTC',
    kind: 'failed',
    openedAt: 0,
    isAcked: false,
    snoozedUntil: null,
  } as const;
  const others = { count: 1, worst: [problem] };
  const slug = (i: number) => `${'x'.repeat(90)}-${i}`;
  const storm = Array.from({ length: 900 }, (_, i) => incidentEvent({ id: i + 1, job: { slug: slug(i) } }));
  for (const events of [storm, [incidentEvent()]]) {
    const sent = slackMessage(wording({ ...batchOf(...events), others }, context));
    expect(textsOf(sent).join('\n')).toContain(
      '*Other open problems of the project (1):* export failed since 1970-01-01',
    );
    expect(JSON.stringify(sent.blocks).length).toBeLessThan(13_000);
  }
});

test('the output of a failure stands right under the title', () => {
  const [, first] = textsOf(message(incidentEvent({ kind: 'failed', facts: { output: 'disk full' } })));
  expect(first).toBe('*Last output:*\n```disk full```');
});

test('in a group too, everybody has their facts, however much was said', () => {
  const facts = { output: 'x\n'.repeat(1000) };
  const group = [1, 2, 3].map((id) => incidentEvent({ id, kind: 'failed', job: { slug: `job-${id}` }, facts }));
  const texts = textsOf(message(...group));
  for (const { job } of group) expect(texts.join('\n')).toContain(`*Job:* ${job.slug}`);
  expect(texts.join('\n')).not.toContain('Cut short');
});

test('a cut never splits an escape or a character', () => {
  expect(escapeSlack('a&b', 7)).toBe('a&amp;b');
  expect(escapeSlack('a&bc', 7)).toBe('a&amp;…');
  expect(escapeSlack('a&bc', 6)).toBe('a…');
  expect(escapeSlack('💥💥', 3)).toBe('💥…');
});

test('output that holds backticks stays inside its block of code', () => {
  const texts = textsOf(message(incidentEvent({ kind: 'failed', facts: { output: 'a\n```\n<!here>' } })));
  expect(texts).toContain("*Last output:*\n```a\n'''\n&lt;!here&gt;```");
});

test.each<[HttpReply, object]>([
  [
    { status: 429, headers: { 'retry-after': '30' } },
    { outcome: 'retry', retryAfterMs: 30_000 },
  ],
  [
    { status: 429, headers: { 'retry-after': 'Sun, 01 Mar 2026 00:02:00 GMT', date: 'Sun, 01 Mar 2026 00:00:00 GMT' } },
    { outcome: 'retry', retryAfterMs: 120_000 },
  ],
  [
    { status: 500, body: 'rollup_error' },
    { outcome: 'retry', reason: 'HTTP 500 rollup_error' },
  ],
  [
    { status: 400, body: 'invalid_payload' },
    { outcome: 'rejected', reason: 'HTTP 400 invalid_payload', permanent: false },
  ],
  [
    { status: 403, body: 'action_prohibited' },
    { outcome: 'rejected', permanent: true },
  ],
  [
    { status: 403, body: 'invalid_token' },
    { outcome: 'rejected', permanent: true },
  ],
  [
    { status: 404, body: 'no_service' },
    { outcome: 'rejected', reason: 'HTTP 404 no_service', permanent: true },
  ],
  [
    { status: 410, body: 'channel_is_archived' },
    { outcome: 'rejected', permanent: true },
  ],
  [
    { status: 400, body: 'no_team' },
    { outcome: 'rejected', permanent: true },
  ],
  [
    { status: 302, headers: { location: 'https://slack.com' } },
    { outcome: 'rejected', permanent: false },
  ],
  [{ status: 200, body: 'ok' }, { outcome: 'delivered' }],
  // A gateway in between may make a 200 of it: nothing was posted.
  [
    { status: 200, body: 'no_service' },
    { outcome: 'rejected', reason: 'HTTP 200 no_service', permanent: true },
  ],
])('%j is %j', async (reply, delivery) => {
  expect(await answerTo(reply)).toMatchObject(delivery);
});

test('an answer that is no short word is not shown', async () => {
  expect(await answerTo({ status: 400, body: '<html>internal host 10.0.0.7</html>' })).toMatchObject({
    reason: 'HTTP 400',
  });
});
