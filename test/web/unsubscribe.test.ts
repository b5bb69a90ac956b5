import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAckSecret } from '../../src/store/ack-link.ts';
import { lockChannel } from '../../src/store/channels.ts';
import { unsubscribeLink } from '../../src/store/unsubscribe.ts';
import { Mailroom, type ReadMail } from '../support/mails.ts';

let m: Mailroom;
let mail: ReadMail;
let path = '';
beforeAll(async () => {
  m = await Mailroom.start('2026-03-02T00:00:00Z');
  await m.channel('boss', { operator: true });
  await m.channel('ops', { operator: false });
  await m.job('billing', { channels: ['ops'] });
  await m.at('2026-03-02T01:35:00Z');
  const [first] = await m.to('ops@example.org');
  if (!first) throw new Error('no mail');
  mail = first;
  path = new URL(/^<(.*)>$/.exec(mail.header('list-unsubscribe') ?? '')?.[1] ?? '').pathname;
});
afterAll(() => m.drop());

const oneClick = { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) };
const channel = async () => (await m.t.call('GET', '/channels/ops')).json;
const audits = () =>
  m.t.database.transaction(
    (tx) => tx.sql`select actor, subject, detail from audit where action = 'channel.unsubscribe'`,
  );

test('every mail says how to end the mails, in its head for programs and at its foot for people', () => {
  expect(mail.header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  expect(mail.header('list-unsubscribe')).toMatch(/^<https:\/\/rollcall\.example\.org\/u\/[0-9a-z]+\.[0-9a-f]{32}>$/);
  expect(mail.text).toContain(`No more of these to ops@example.org: https://rollcall.example.org${path}`);
});

test('ALR-012 opening the link, as mail scanners do, changes nothing', async () => {
  for (const init of [{}, { method: 'HEAD' }, { headers: { 'Sec-Purpose': 'prefetch' } }]) {
    expect((await m.pages.request(path, init)).status).toBe(200);
  }
  const page = await (await m.pages.request(path)).text();
  expect(page).toContain('ops@example.org gets the messages of channel ops');
  expect(page).toContain('<form method="post">');
  expect(await channel()).toMatchObject({ to: 'ops@example.org', dead_since: null });
});

test('a link that was not made here, or is cut, leads nowhere', async () => {
  const forged = path.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  for (const one of [forged, path.slice(0, -1), '/u/x', '/u/zzzzzzzzzz.0123456789abcdef0123456789abcdef']) {
    expect((await m.pages.request(one, oneClick)).status).toBe(404);
  }
  expect(await channel()).toMatchObject({ to: 'ops@example.org' });
});

test('a link that was made up, or is only opened, holds up nobody who sends, and waits for nobody', async () => {
  const forged = path.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  await m.t.database.transaction(async (tx) => {
    const [row] = await tx.sql<{ id: number }[]>`select id from channels where slug = 'ops'`;
    expect(await lockChannel(tx, row?.id ?? 0, { wait: true })).not.toBeNull();
    expect((await m.pages.request(forged, oneClick)).status).toBe(404);
    expect((await m.pages.request(path)).status).toBe(200);
  });
});

test('one POST ends it, without a redirect; the channel is dead, its other operators are told, and it is on record', async () => {
  const answers = [await m.pages.request(path, oneClick), await m.pages.request(path, oneClick)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await answers[0]?.text()).toContain('ops@example.org gets no more messages of channel ops.');
  expect(await channel()).toMatchObject({
    to: '',
    dead_since: expect.any(String),
    last_failure: 'ops@example.org unsubscribed, and no address is left',
  });
  expect(await audits()).toEqual([
    { actor: 'ops@example.org', subject: 'ops', detail: { address: 'ops@example.org' } },
  ]);
  await m.at('2026-03-02T03:00:00Z');
  const notices = (await m.to('boss@example.org')).filter(({ text }) =>
    text?.includes('unsubscribed from channel ops'),
  );
  expect(notices).toHaveLength(1);
});

test('nothing goes there any more, and what would have gone says why', async () => {
  const before = (await m.to('ops@example.org')).length;
  await m.t.ping('billing', 'success', { occ: '2026-03-02T02:30+01:00' });
  await m.at('2026-03-02T03:10:00Z');
  expect(await m.to('ops@example.org')).toHaveLength(before);
  const rows = await m.t.database.transaction(
    (tx) => tx.sql`select o.state, o.reason from outbox o join channels c on c.id = o.channel_id
      where c.slug = 'ops' order by o.id desc limit 1`,
  );
  expect(rows).toEqual([{ state: 'rejected', reason: 'ops@example.org unsubscribed, and no address is left' }]);
  expect(await m.t.call('POST', '/channels/ops/test')).toMatchObject({ json: { outcome: 'rejected' } });
});

test('a new address makes it alive again; the old link does not end the new one', async () => {
  await m.channel('ops', { to: 'night@example.org' });
  expect(await channel()).toMatchObject({ to: 'night@example.org', dead_since: null });
  expect((await m.pages.request(path, oneClick)).status).toBe(404);
  await m.at('2026-03-03T01:35:00Z');
  expect(await m.to('night@example.org')).toHaveLength(1);
});

test('a channel without an address of its own has no such link', async () => {
  const secret = await m.t.database.transaction(readAckSecret);
  await m.put('/channels/hook', { kind: 'slack', url: 'http://127.0.0.1:9/services/x' });
  const [row] = await m.t.database.transaction(
    (tx) => tx.sql<{ id: number }[]>`select id from channels where slug = 'hook'`,
  );
  const link = unsubscribeLink(secret, '', { channelId: row?.id ?? 0, address: '' });
  expect((await m.pages.request(link, oneClick)).status).toBe(404);
});
