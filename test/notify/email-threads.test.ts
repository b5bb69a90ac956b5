import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mailroom } from '../support/mails.ts';

let m: Mailroom;
beforeAll(async () => {
  m = await Mailroom.start('2026-03-02T00:00:00Z');
});
afterAll(() => m.drop());

let number = 0;
/** A channel and jobs that tell it alone. Other jobs are deleted, so that nothing else is open. */
async function begin(jobs: readonly string[], { channel = {}, job = {} } = {}): Promise<string> {
  number += 1;
  const slug = `mail-${number}`;
  const { json } = await m.t.call('GET', '/jobs');
  for (const old of json.jobs) await m.t.call('DELETE', `/jobs/${old.slug}`);
  await m.t.at('2026-03-02T00:00:00Z');
  await m.channel(slug, channel);
  for (const name of jobs) await m.job(name, { channels: [slug], ...job });
  return `${slug}@example.org`;
}

test('the mail about an end stands in the conversation of its beginning: same subject, In-Reply-To, References', async () => {
  const address = await begin(['billing']);
  await m.at('2026-03-02T01:35:00Z');
  await m.t.at('2026-03-02T03:00:00Z');
  await m.t.ping('billing', 'success', { occ: '2026-03-02T02:30+01:00' });
  await m.at('2026-03-02T03:00:00Z');
  const [problem, end] = await m.to(address);
  expect(problem).toMatchObject({ subject: '[Rollcall] missing: billing (2026-03-02 02:30 +01:00)' });
  expect(problem?.messageId).toMatch(/^<msg_[0-9a-f]{30}@example\.org>$/);
  expect(problem?.inReplyTo).toBeUndefined();
  expect(end).toMatchObject({
    subject: 'Re: [Rollcall] missing: billing (2026-03-02 02:30 +01:00)',
    inReplyTo: problem?.messageId,
    references: problem?.messageId,
  });
  expect(end?.messageId).not.toBe(problem?.messageId);
  expect(end?.text?.split('\n')[0]).toBe('billing ran after all: 2026-03-02 02:30 +01:00 completed late');
  expect(end?.text).toContain('Other open problems of the project: none');
});

test('text and HTML say the same: what, when, how late, what the policy does, how to pay, where to act', async () => {
  const address = await begin(['billing', 'export']);
  await m.job('export', { channels: [], schedules: [{ cron: '0 2 * * *' }] });
  await m.at('2026-03-02T01:05:00Z');
  await m.at('2026-03-02T01:35:00Z');
  const [{ text = '', html = '' } = {}] = await m.to(address);
  const shown = html.replace(/<[^>]*>/g, '').replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  for (const line of [
    'billing did not run: due 2026-03-02 02:30 +01:00',
    '02:35 +01:00 (5 s ago)',
    '2026-03-04 02:30 +01:00 (in 1 d 23 h)',
    '2026-03-03 02:30 +01:00 (in 23 h 55 min)',
    'It stays owed (catch_up) until it is done or no longer useful.',
    'rollcall exec billing --catch-up -- COMMAND',
    'curl -fsS "$PING_URL/0?occ=2026-03-02T02:30+01:00"',
    'rollcall settle billing 2026-03-02T02:30+01:00 skipped',
    'Other open problems of the project (1)',
    'export missing since 2026-03-02 02:05 +01:00',
  ])
    for (const part of [text, shown]) expect(part).toContain(line);
  const links = [/https:\/\/rollcall\.example\.org\/a\/[0-9a-z.]+/, /https:\/\/rollcall\.example\.org\/u\/[0-9a-z.]+/];
  for (const link of links) expect(html).toContain(`href="${link.exec(text)?.[0]}"`);
  expect(html).not.toMatch(/<img|<script|src=|url\(/);
});

test('a reminder says that nothing has changed and the how manieth it is, in the same conversation', async () => {
  const address = await begin(['billing'], { channel: { remind_every: '1h' } });
  for (const hour of ['01:35', '02:36', '03:37']) await m.at(`2026-03-02T${hour}:00Z`);
  const [problem, first, second] = await m.to(address);
  expect(first?.subject).toBe(`Re: ${problem?.subject}`);
  expect(second?.inReplyTo).toBe(problem?.messageId);
  expect(second?.text).toMatch(/^billing still has not run: due 2026-03-02 02:30 \+01:00\n/);
  expect(first?.text).toContain('Still open since: 02:35 +01:00 (1 h 1 min ago), reminder 1\n');
  expect(second?.text).toContain(', reminder 2\n');
});

test('what two mails told and one second ended is answered by two mails, each in its own conversation', async () => {
  const address = await begin(['billing', 'export']);
  await m.job('export', { channels: [address.replace(/@.*/, '')], schedules: [{ cron: '0 2 * * *' }] });
  for (const minute of ['01:05', '01:35']) await m.at(`2026-03-02T${minute}:00Z`);
  await m.t.at('2026-03-02T03:00:00Z');
  await m.t.ping('billing', 'success', { occ: '2026-03-02T02:30+01:00' });
  await m.t.ping('export', 'success', { occ: '2026-03-02T02:00+01:00' });
  await m.at('2026-03-02T03:00:00Z');
  const [first, second, ...ends] = await m.to(address);
  expect(ends.map(({ inReplyTo }) => inReplyTo).sort()).toEqual([first?.messageId, second?.messageId].sort());
  expect(ends.map(({ subject }) => subject).sort()).toEqual([`Re: ${first?.subject}`, `Re: ${second?.subject}`].sort());
});

test('a threshold is said: told after 2 in a row', async () => {
  const job = { alert_after: { failed: { count: 2, of: 2 } } };
  const address = await begin(['billing'], { job });
  const body = new TextEncoder().encode('disk <full>');
  await m.at('2026-03-02T01:31:00Z');
  await m.t.ping('billing', 'fail', { body });
  await m.at('2026-03-02T01:32:00Z');
  expect(await m.to(address)).toEqual([]);
  await m.at('2026-03-03T01:31:00Z');
  await m.t.ping('billing', 'fail', { body });
  await m.at('2026-03-03T01:32:00Z');
  const [mail] = await m.to(address);
  expect(mail?.text).toContain('Told after: 2 in a row (alert_after)');
  expect(mail?.text).toContain('  | disk <full>\n');
  expect(mail?.html).toContain('disk &#60;full&#62;');
});

test('a backlog says how many, and its call does what it says', async () => {
  const job = { schedules: [{ cron: '*/10 * * * *' }], max_catch_up: 2 };
  const address = await begin(['billing'], { job });
  for (const minute of ['00:15', '00:25', '00:35']) await m.at(`2026-03-02T${minute}:00Z`);
  const { text = '' } = (await m.to(address)).find(({ subject }) => subject?.includes('backlog')) ?? {};
  expect(text).toMatch(/billing owes 3 runs, the latest due /);
  expect(text).toContain('Allowed: 2 at most (max_catch_up)');
  expect(text).toContain('    rollcall backlog billing run\n');
  expect(text).toContain('    rollcall backlog billing skip\n');
  const [, path = '', body = ''] = /curl -fsS "\$ROLLCALL_URL\/api\/v1(\S+)" .* -d '(.*)'/.exec(text) ?? [];
  expect(await m.t.call('POST', path, body)).toMatchObject({ status: 200, json: { count: 3 } });
  const { json } = await m.t.call('GET', '/incidents?state=open&job=billing');
  expect(json.incidents.map(({ kind }: { kind: string }) => kind)).not.toContain('backlog');
});

test('a message to an address that is refused fails alone: the other address has it', async () => {
  const address = await begin(['billing']);
  await m.channel('gone');
  await m.job('billing', { channels: ['gone', address.replace(/@.*/, '')] });
  m.smtp.refuse('recipient', { code: 550, text: '5.1.1 no such user' });
  await m.at('2026-03-02T01:35:00Z');
  expect((await m.to(address)).length + (await m.to('gone@example.org')).length).toBe(1);
  const dead = async (slug: string) => (await m.t.call('GET', `/channels/${slug}`)).json.dead_since !== null;
  const slug = address.replace(/@.*/, '');
  expect([await dead('gone'), await dead(slug)].sort()).toEqual([false, true]);
});
