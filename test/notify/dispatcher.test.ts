import { describe, expect, test } from 'vitest';
import { runDispatcher } from '../../src/notify/dispatcher.ts';
import { closeChannels } from '../../src/notify/registry.ts';
import { enqueueNotice } from '../../src/store/outbox.ts';
import { channelContext, secondPass } from '../support/messages.ts';
import { type Hook, resolved, testOutbox } from '../support/outbox.ts';
import { createSmtpReceiver, readMail } from '../support/receivers.ts';

const outbox = testOutbox();

describe('notices', () => {
  test('a notice of unknown runs lists those of the jobs that tell this channel', async () => {
    const [a, b] = [await outbox.hook('a'), await outbox.hook('b')];
    const jobs = [await outbox.job('for-all'), await outbox.job('for-b', ['b'])];
    const about = jobs.map((jobId) => ({ jobId, scheduledFor: secondPass.scheduledFor }));
    const notice = {
      kind: 'unknown',
      subject: 'blind:1',
      text: 'Rollcall could not hear',
      at: outbox.clock.now(),
    } as const;
    await outbox.run((tx) => enqueueNotice(tx, notice, [a.channelId, b.channelId], about.slice(0, 1)));
    await outbox.run((tx) => enqueueNotice(tx, notice, [b.channelId], about));
    await outbox.tickAfter(5);
    const listed = (channel: Hook) =>
      channel.bodies().map(({ events }) => events.map(({ occurrences }) => occurrences.map(({ job }) => job.slug)));
    expect(listed(a)).toEqual([[['for-all']]]);
    expect(listed(b)).toEqual([[['for-all', 'for-b']]]);
    expect(b.bodies()[0]?.events[0]?.occurrences[0]?.key).toBe('2026-10-25T02:30+01:00');
  });

  test('what becomes known after a notice has gone out gets one of its own, and a repeat gets none', async () => {
    const channel = await outbox.hook('a');
    const jobs = [await outbox.job('first'), await outbox.job('second')];
    const notice = {
      kind: 'unknown',
      subject: 'blind:1',
      text: 'Rollcall could not hear',
      at: outbox.clock.now(),
    } as const;
    for (const jobId of [jobs[0], jobs[0], jobs[1], jobs[1]]) {
      const about = [{ jobId: jobId as number, scheduledFor: secondPass.scheduledFor }];
      await outbox.run((tx) => enqueueNotice(tx, notice, [channel.channelId], about));
      await outbox.tickAfter(5);
    }
    expect(
      channel.bodies().map(({ events }) => events.map(({ occurrences }) => occurrences.map(({ job }) => job.slug))),
    ).toEqual([[['first']], [['second']]]);
  });
});

test('the runner ends when it is told to, after what is under way', async () => {
  const channel = await outbox.hook('a');
  channel.reply('hang');
  await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
  outbox.clock.advance(5);
  const stop = new AbortController();
  const waiting = {
    monotonic: () => 0,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
  };
  const running = runDispatcher(
    { dispatcher: outbox.createDispatcher(), clock: waiting, log: outbox.log },
    stop.signal,
  );
  await channel.arrived(1);
  stop.abort();
  channel.release();
  await running;
  expect(await outbox.statesOf(channel)).toEqual(['delivered']);
});

test('the mail about the end of an incident answers the one about its beginning', async () => {
  const receiver = await createSmtpReceiver();
  const context = channelContext({ smtpUrl: receiver.url });
  const dispatcher = outbox.createDispatcher(context);
  const channelId = await outbox.channel('mail', 'email', { to: 'ops@example.org' });
  const incidentId = await outbox.incident(await outbox.job('job'));
  for (const event of [{ event: 1 }, { event: 2, ...resolved }]) {
    await outbox.tell([{ channelId }], incidentId, event);
    outbox.clock.advance(5);
    expect(await dispatcher.tick()).toBe(1);
  }
  const [first = '', second = ''] = receiver.mails.map(({ raw }) => readMail(raw).headers);
  expect(receiver.mails.map(({ raw }) => readMail(raw).text)).toEqual([
    expect.stringContaining('\nRollcall: https://rollcall.example.org/projects/p/jobs/'),
    expect.stringContaining('\nRollcall: https://rollcall.example.org/projects/p/jobs/'),
  ]);
  const id = /Message-ID: (<msg_\S+@example\.org>)/.exec(first)?.[1];
  expect(id).toBeDefined();
  expect(first).not.toContain('In-Reply-To');
  expect(second).toContain(`In-Reply-To: ${id}`);
  expect(second).not.toContain(`Message-ID: ${id}`);
  await closeChannels(context);
  await receiver.close();
});
