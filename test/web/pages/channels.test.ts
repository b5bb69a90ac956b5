import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpReceiver, type HttpReceiver } from '../../support/receivers.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
let receiver: HttpReceiver;

beforeAll(async () => {
  site = await startSite('2026-03-02T10:00:00Z');
  receiver = await createHttpReceiver();
});
afterAll(async () => {
  await receiver.close();
  await site.drop();
});

const CHANNELS = '/projects/default/channels';

test('a project without channels says that nobody is told, and how to change that', async () => {
  const page = await site.open(CHANNELS);
  expect(page.status).toBe(200);
  expect(page.text).toContain('Nobody is told yet');
  const kinds = await site.open(`${CHANNELS}/+new`);
  expect(kinds.text).toContain('PagerDuty');
});

test('the form of a first channel has the box for Rollcall itself ticked', async () => {
  expect((await site.open(`${CHANNELS}/+new?kind=ntfy`)).text).toMatch(/name="operator" checked/);
});

test('the form of a new webhook brings a secret that the API takes, and another one each time', async () => {
  const secretOf = async () => {
    const { text } = await site.open(`${CHANNELS}/+new?kind=webhook`);
    expect(text).toContain('copy it to the receiver now');
    return /<input id="f-secret"[^>]*type="text" value="(whsec_[A-Za-z0-9+/=]+)"/.exec(text)?.[1] ?? '';
  };
  const secrets = [await secretOf(), await secretOf()];
  expect(new Set(secrets).size).toBe(2);
  const put = { kind: 'webhook', url: receiver.url, secret: secrets[0] };
  expect((await site.call('PUT', '/channels/made', put)).status).toBe(201);
  await site.call('DELETE', '/channels/made');
});

test('where no e-mail can be sent, it says so instead of a form', async () => {
  const bare = await startSite('2026-03-02T10:00:00Z', { smtpUrl: null });
  try {
    for (const page of [
      await bare.open(`${CHANNELS}/+new?kind=email`),
      await bare.send(`${CHANNELS}/+new`, { kind: 'email', slug: 'mail', to: 'a@example.org' }),
    ]) {
      expect(page.text).toContain('this installation cannot send e-mail yet: set SMTP_URL');
      expect(page.text).not.toContain('kind:');
      expect(page.text).not.toContain('name="slug"');
    }
    const report = (await bare.open('/projects/default/reports/+new')).text;
    expect(report).toContain('Reports go by e-mail only');
    expect(report).not.toContain('<form');
  } finally {
    await bare.drop();
  }
});

test('a channel is added by a form, which keeps what was typed when it is refused', async () => {
  const refused = await site.send(`${CHANNELS}/+new`, { kind: 'webhook', slug: 'hook', url: 'nowhere', secret: 'x' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('value="nowhere"');
  expect(refused.text).toMatch(/id="f-url"[^>]*aria-invalid="true"/);

  const url = `${receiver.url}/hook`;
  const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
  const made = await site.send(`${CHANNELS}/+new`, { kind: 'webhook', slug: 'hook', url, secret, remind_every: '4h' });
  expect(made.location).toBe(`${CHANNELS}/hook`);
  expect((await site.call('GET', '/channels/hook')).json).toMatchObject({ kind: 'webhook', remind_every: '4h' });
  expect((await site.open(`${CHANNELS}/hook`)).text).not.toContain(secret);
});

test('the first channel hears of Rollcall itself, and a later one only when that is ticked', async () => {
  expect((await site.call('GET', '/channels/hook')).json.operator).toBe(true);
  expect((await site.open(`${CHANNELS}/+new?kind=ntfy`)).text).not.toMatch(/name="operator" checked/);
  const later = { kind: 'ntfy', slug: 'later', server: receiver.url, topic: 'abc' };
  expect((await site.send(`${CHANNELS}/+new`, later)).location).toBe(`${CHANNELS}/later`);
  expect((await site.call('GET', '/channels/later')).json.operator).toBe(false);
  await site.call('DELETE', '/channels/later');
});

test('a slug that is taken is refused, not overwritten', async () => {
  const taken = await site.send(`${CHANNELS}/+new`, { kind: 'email', slug: 'hook', to: 'a@example.org' });
  expect(taken.status).toBe(400);
  expect(taken.text).toContain('there is a channel of this slug already');
  expect((await site.call('GET', '/channels/hook')).json.kind).toBe('webhook');
});

test('a secret left empty in an edit stays what it was', async () => {
  const url = `${receiver.url}/elsewhere`;
  const saved = await site.send(`${CHANNELS}/hook/edit`, { kind: 'webhook', url, secret: '', route_tags: 'db, web' });
  expect(saved.location).toBe(`${CHANNELS}/hook`);
  const { json } = await site.call('GET', '/channels/hook');
  expect(json.routes).toEqual({ kinds: null, tags: ['db', 'web'] });
  await site.send(`${CHANNELS}/hook/test`, {});
  expect(receiver.requests.at(-1)?.headers['webhook-signature']).toMatch(/^v1,/);
});

test('secrets left empty are not sent to another server than the one they were given for', async () => {
  const first = { kind: 'ntfy', slug: 'phone', server: receiver.url, topic: 'abc', token: 'tk_1234' };
  expect((await site.send(`${CHANNELS}/+new`, first)).location).toBe(`${CHANNELS}/phone`);
  const kept = await site.send(`${CHANNELS}/phone/edit`, { kind: 'ntfy', server: receiver.url, route_tags: 'db' });
  expect(kept.location).toBe(`${CHANNELS}/phone`);

  const elsewhere = receiver.url.replace('127.0.0.1', 'localhost');
  const refused = await site.send(`${CHANNELS}/phone/edit`, { kind: 'ntfy', server: elsewhere, topic: 'abc' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('type it again: it was given for another server');
  expect(refused.text).not.toContain('tk_1234');
  expect((await site.call('GET', '/channels/phone')).json.server).toBe(receiver.url);

  const typed = { kind: 'ntfy', server: elsewhere, topic: 'abc', token: 'tk_1234' };
  expect((await site.send(`${CHANNELS}/phone/edit`, typed)).location).toBe(`${CHANNELS}/phone`);
  await site.call('DELETE', '/channels/phone');
});

test('the test button says what became of the message, and the attempt is listed with its reason', async () => {
  receiver.reply({ status: 403, body: 'no' });
  const sent = await site.send(`${CHANNELS}/hook/test`, {});
  const flash = /flash=([^;]+)/.exec(sent.headers.get('set-cookie') ?? '')?.[1] ?? '';
  expect(Buffer.from(flash, 'base64url').toString()).toMatch(/not delivered/i);
  const page = await site.open(`${CHANNELS}/hook`, { Cookie: `flash=${flash}` });
  expect(page.text).toMatch(/not delivered/i);
  expect(page.text).toContain('403');
});

test('a viewer sees the channels, and changes none', async () => {
  site.as('viewer');
  expect((await site.open(CHANNELS)).text).not.toContain('Add a channel');
  expect((await site.send(`${CHANNELS}/hook/delete`, {})).status).toBe(403);
  expect((await site.call('GET', '/channels/hook')).status).toBe(200);
  site.as('owner');
});

test('the dry run says who would be told of what, and why', async () => {
  await site.call('PUT', '/jobs/backup', { schedules: [{ cron: '0 2 * * *' }], zone: 'UTC', missed_runs: 'skip' });
  const page = await site.open(`${CHANNELS}?job=backup&kind=failed`);
  expect(page.text).toMatch(/hook<\/strong>: is (not )?told, because /);
  expect(page.text).toMatch(/<datalist id="job-slugs">.*<option value="backup"/);
  const wrong = await site.open(`${CHANNELS}?job=backups&kind=failed`);
  expect(wrong.text).toContain('there is no job of this slug in the project<');
});

test('whoever is not signed in is asked to, and comes back', async () => {
  site.as(null);
  expect((await site.open(`${CHANNELS}?cursor=x`)).location).toBe(
    `/sign-in?to=${encodeURIComponent(`${CHANNELS}?cursor=x`)}`,
  );
  // A page under way is not sent on: it would come back at once.
  expect((await site.open(CHANNELS, { 'HX-Request': 'true' })).status).toBe(401);
  expect((await site.open('/projects/default/events', { Accept: 'text/event-stream' })).status).toBe(401);
  site.as('owner');
});

test('a form from elsewhere is refused', async () => {
  const forged = await site.send(`${CHANNELS}/hook/delete`, {}, { Origin: 'https://evil.example' });
  expect(forged.status).toBe(403);
  expect((await site.call('GET', '/channels/hook')).status).toBe(200);
});

test('a project of others does not exist', async () => {
  expect((await site.open('/projects/other/channels')).status).toBe(404);
});

test('deleting asks first, and says what hangs on the channel', async () => {
  const job = { schedules: [{ cron: '0 2 * * *' }], zone: 'UTC', missed_runs: 'skip', channels: ['hook'] };
  await site.call('PUT', '/jobs/named', job);
  expect((await site.open(`${CHANNELS}/hook`)).text).toContain(`href="${CHANNELS}/hook/delete"`);
  const { status, text } = await site.open(`${CHANNELS}/hook/delete`);
  expect(status).toBe(200);
  expect(text).toContain('Delete hook?');
  expect(text).toContain('<a href="/projects/default/jobs/named">named</a>');
  expect(text).not.toContain('/jobs/backup');
  expect(text).toContain('the only channel of this project');
  expect(text).toContain(`<a href="${CHANNELS}/hook">Keep it</a>`);
  site.as('viewer');
  expect((await site.open(`${CHANNELS}/hook/delete`)).status).toBe(403);
  site.as('owner');
  expect((await site.open(`${CHANNELS}/none/delete`)).status).toBe(404);
  expect((await site.call('GET', '/channels/hook')).status).toBe(200);
});

test('a deleted channel is gone', async () => {
  expect((await site.send(`${CHANNELS}/hook/delete`, {})).location).toBe(CHANNELS);
  expect((await site.open(`${CHANNELS}/hook`)).status).toBe(404);
});
