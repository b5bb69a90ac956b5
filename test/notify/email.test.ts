import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isPlainAddress } from '../../src/notify/email.ts';
import { channelKinds, closeChannels, parseChannel } from '../../src/notify/registry.ts';
import { batchOf, channelContext, incidentEvent, secondPass } from '../support/messages.ts';
import { createSmtpReceiver, readMail, type SmtpReceiver, type SmtpReply } from '../support/receivers.ts';

let receiver: SmtpReceiver;
let context = channelContext();
beforeAll(async () => {
  receiver = await createSmtpReceiver();
  context = channelContext({ smtpUrl: receiver.url });
});
afterAll(async () => {
  await closeChannels(context);
  await receiver.close();
});

async function send(batch = batchOf(incidentEvent()), to = 'ops@example.org') {
  const opened = channelKinds.get('email')?.open({ to }, context);
  if (!opened?.ok) throw new Error('email does not open');
  return opened.value.send(batch, new AbortController().signal);
}
const lastMail = () => {
  const mail = receiver.mails.at(-1);
  if (!mail) throw new Error('no mail has come');
  return { ...mail, ...readMail(mail.raw) };
};

test('subject, first line and HTML heading each say everything', async () => {
  const subject = '[Rollcall] missing: nightly-billing (2026-10-25 02:30 +01:00)';
  expect(await send()).toEqual({ outcome: 'delivered', receipt: subject });
  const { headers, text, html, from, to } = lastMail();
  expect({ from, to }).toEqual({ from: 'alerts@example.org', to: ['ops@example.org'] });
  expect(headers).toContain(`Subject: ${subject}`);
  expect(headers).toContain('Date: Sun, 25 Oct 2026 01:35:06 +0000');
  expect(headers).toContain('Auto-Submitted: auto-generated');
  expect(text.split('\n')[0]).toBe('Nightly billing did not run: due 2026-10-25 02:30 +01:00');
  expect(html).toMatch(/<h1[^>]*>Nightly billing did not run: due <nobr>2026-10-25 02:30 \+01:00<\/nobr><\/h1>/);
  for (const part of [text, html]) expect(part).toContain('occ=2026-10-25T02:30+01:00');
  expect(text).toContain('\n    curl -fsS "$PING_URL/0?occ=2026-10-25T02:30+01:00"\nOr settle it without a run');
});

test('many jobs are one line each, and the names of all others, in text as in HTML', async () => {
  const many = Array.from({ length: 60 }, (_, i) =>
    incidentEvent({
      id: i + 1,
      job: { slug: `job-${i}`, name: `job-${i}` },
      ...(i < 45 ? {} : { type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }] }),
    }),
  );
  await send(batchOf(...many));
  const { text, html } = lastMail();
  const lines = text.split('\n');
  expect(lines[0]).toMatch(/^45 missing \(job-0, .*\), 15 recovered \(job-45, .*\), on 2026-10-25$/);
  expect(lines.slice(2, 12).every((line) => /^\* job-\d+ did not run: due 02:30 \+01:00$/.test(line))).toBe(true);
  for (const part of [text, html]) for (const { job } of many) expect(part).toMatch(new RegExp(`\\b${job.slug}\\b`));
});

test('every attempt carries the same Message-ID, and a recovery answers the first mail', async () => {
  await send();
  expect(lastMail().headers).toContain('Message-ID: <msg_0123456789abcdef@example.org>');
  await send({
    ...batchOf(incidentEvent({ type: 'incident.resolved' })),
    id: 'msg_b',
    inReplyTo: { id: 'msg_a', receipt: '[Rollcall] missing: a, b' },
  });
  const { headers } = lastMail();
  expect(headers).toContain('Subject: Re: [Rollcall] missing: a, b');
  expect(headers).toContain('Message-ID: <msg_b@example.org>');
  expect(headers).toContain('In-Reply-To: <msg_a@example.org>');
  expect(headers).toContain('References: <msg_a@example.org>');
});

test('ALR-020 no line is over 998 octets, whatever the output holds', async () => {
  const output = `${'x'.repeat(5000)}\n${'ü'.repeat(2000)}`;
  await send(batchOf(incidentEvent({ kind: 'failed', facts: { output }, job: { name: 'ü'.repeat(300) } })));
  const { raw, text } = lastMail();
  expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  expect(text).toContain('x'.repeat(5000));
});

test('100 runs and all their facts fit in 30 kB of HTML, 900 jobs too', async () => {
  const hundred = Array.from({ length: 100 }, (_, i) => {
    const scheduledFor = secondPass.scheduledFor - i * 3_600_000;
    return { ...secondPass, key: `${new Date(scheduledFor).toISOString().slice(0, 16)}Z`, scheduledFor };
  });
  await send(batchOf(incidentEvent({ occurrences: hundred, count: 4000 })));
  const { text, html } = lastMail();
  for (const part of [text, html]) for (const { key } of hundred) expect(part).toContain(`${key.slice(11, 16)} UTC`);
  expect(html.length).toBeLessThan(30_000);
  const lost = Array.from({ length: 900 }, (_, i) => incidentEvent({ id: i + 1, job: { slug: `job-${i}` } }));
  await send(batchOf(...lost));
  expect(lastMail().html.length).toBeLessThan(30_000);
});

test('a sender with any name reaches a mail program as it was written', async () => {
  const own = channelContext({ smtpUrl: receiver.url, mailFrom: '"Wächter, Nacht" <alerts@example.org>' });
  const opened = channelKinds.get('email')?.open({ to: 'ops@example.org' }, own);
  if (!opened?.ok) throw new Error('email does not open');
  await opened.value.send(batchOf(incidentEvent()), new AbortController().signal);
  const mail = await PostalMime.parse(Buffer.from(receiver.mails.at(-1)?.raw ?? '', 'latin1'));
  expect(mail.from).toMatchObject({ name: 'Wächter, Nacht', address: 'alerts@example.org' });
  await closeChannels(own);
});

test('no name brings a line of its own into the head, and marks that turn the reading direction are not shown', async () => {
  const name = 'a\r\nBcc: evil@evil.example\r\n\r\nbody\u061c\u200f';
  const facts = { output: 'user\u202etxt.exe\u061c' };
  await send(batchOf(incidentEvent({ kind: 'failed', facts, job: { name, tags: [name] } })));
  const mail = await PostalMime.parse(Buffer.from(receiver.mails.at(-1)?.raw ?? '', 'latin1'));
  expect(mail.bcc ?? []).toEqual([]);
  expect(receiver.mails.at(-1)?.to).toEqual(['ops@example.org']);
  expect(`${mail.subject}${mail.text}${mail.html}`).not.toMatch(/\p{Bidi_Control}/u);
});

test.each<[SmtpReply, 'sender' | 'recipient' | 'data', object]>([
  // Trouble with our own login or address is never the recipient's fault.
  [{ code: 530, text: '5.7.0 Authentication required' }, 'sender', { outcome: 'retry' }],
  [{ code: 550, text: '5.7.1 sender not allowed' }, 'sender', { outcome: 'retry', uncertain: false }],
  [{ code: 530, text: '5.7.0 Must issue a STARTTLS command first' }, 'recipient', { outcome: 'retry' }],
  [{ code: 450, text: '4.2.2 mailbox full' }, 'recipient', { outcome: 'retry', reason: '450 4.2.2 mailbox full' }],
  [{ code: 451, text: '4.7.1 greylisted' }, 'data', { outcome: 'retry' }],
  [{ code: 550, text: '5.1.1 no such user' }, 'recipient', { outcome: 'rejected', permanent: true }],
  [{ code: 550, text: '5.1.10 null MX' }, 'recipient', { outcome: 'rejected', permanent: true }],
  [{ code: 552, text: '5.2.2 mailbox full' }, 'recipient', { outcome: 'rejected', permanent: false }],
  [{ code: 554, text: '5.7.1 spam' }, 'data', { outcome: 'rejected', permanent: false }],
])('%j at %s is %j', async (reply, step, delivery) => {
  receiver.refuse(step, reply);
  expect(await send()).toMatchObject(delivery);
});

test('a mail server that is away is trouble that passes, and has nothing of the message', async () => {
  const gone = await createSmtpReceiver();
  await gone.close();
  const away = channelContext({ smtpUrl: gone.url });
  const opened = channelKinds.get('email')?.open({ to: 'ops@example.org' }, away);
  const delivery = opened?.ok && (await opened.value.send(batchOf(incidentEvent()), new AbortController().signal));
  expect(delivery).toMatchObject({ outcome: 'retry', uncertain: false });
  await closeChannels(away);
});

test.each([
  'ops@example.org\r\nRCPT TO:<evil@example.org>',
  '"x@evil.example y"@corp.example',
  'a@example.org, b@example.org',
  'a@example.org b@example.org',
  'Ops <ops@example.org>',
  '<ops@example.org>',
  'team: a@example.org;',
  'ops@example.org(comment)',
  'ops@[127.0.0.1]',
  'ops@example.org\u0000',
  'ops@example.org\n',
  ' ops@example.org',
  'öps@example.org',
  'ops@-example.org',
  '.ops@example.org',
  'o..ps@example.org',
  'ops@',
  '@example.org',
  'ops',
  '',
  `${'a'.repeat(65)}@example.org`,
])('SEC-005 %j is refused', async (to) => {
  expect(isPlainAddress(to)).toBe(false);
  expect(await parseChannel({ kind: 'email', to }, context)).toMatchObject({ ok: false, errors: [{ path: 'to' }] });
});

test.each(['ops@example.org', "o'brien+alerts@sub.example.org", 'root@localhost'])('%s is one plain address', (to) => {
  expect(isPlainAddress(to)).toBe(true);
});

test('without SMTP_URL or MAIL_FROM an e-mail channel is refused, and the message says what to set', async () => {
  const refusal = async (changes: Parameters<typeof channelContext>[0]) => {
    const parsed = await parseChannel({ kind: 'email', to: 'ops@example.org' }, channelContext(changes));
    return parsed.ok ? '' : parsed.errors[0]?.message;
  };
  expect(await refusal({ smtpUrl: null, mailFrom: null })).toContain('set SMTP_URL and MAIL_FROM');
  expect(await refusal({ smtpUrl: 'smtp://localhost', mailFrom: null })).toContain('set MAIL_FROM');
});
