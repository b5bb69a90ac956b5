import { expect, test } from 'vitest';
import { testOutbox } from '../support/outbox.ts';
import { createHttpReceiver } from '../support/receivers.ts';

const outbox = testOutbox();

/** A job that is due now, or so many seconds from now, and not judged yet. */
async function dueJob({ inSeconds = 0, retryInSeconds = null as number | null } = {}): Promise<number> {
  const jobId = await outbox.job(`due-${Math.random()}`);
  await outbox.run((tx) => {
    const retryAt = retryInSeconds === null ? null : tx.now + retryInSeconds * 1000;
    return tx.sql`
      insert into cursors (job_id, version, next_check_at, retry_at)
      values (${jobId}, 1, ${tx.now + inSeconds * 1000}, ${retryAt})`;
  });
  return jobId;
}

const judged = (jobId: number) =>
  outbox.run((tx) => tx.sql`update cursors set next_check_at = null where job_id = ${jobId}`);

const newIncident = async () => outbox.incident(await outbox.job(`lost-${Math.random()}`));

test('a message waits until every job that was due before it is judged, and tells of those too', async () => {
  const channel = await outbox.hook('a');
  const due = await dueJob();
  await outbox.tell([channel], await newIncident());
  expect(await outbox.tickAfter(12)).toBe(0);
  await outbox.tell([channel], await newIncident());
  await judged(due);
  expect(await outbox.tickAfter(0)).toBe(1);
  expect(channel.bodies().map(({ events }) => events.length)).toEqual([2]);
});

test('it waits for 30 s at most', async () => {
  const channel = await outbox.hook('a');
  await dueJob();
  await outbox.tell([channel], await newIncident());
  expect(await outbox.tickAfter(29.9)).toBe(0);
  expect(await outbox.tickAfter(0.1)).toBe(1);
});

test('it waits for no job that became due later, and for none that is pushed back', async () => {
  const channel = await outbox.hook('a');
  await dueJob({ inSeconds: 1 });
  await dueJob({ retryInSeconds: 60 });
  await outbox.tell([channel], await newIncident());
  expect(await outbox.tickAfter(5)).toBe(1);
});

test('a message that was tried before, and a channel with a message for each incident, wait for nobody', async () => {
  const channel = await outbox.hook('a');
  channel.reply({ status: 503 });
  await outbox.tell([channel], await newIncident());
  await outbox.tickAfter(5);
  const pager = await createHttpReceiver();
  const settings = { routing_key: 'k'.repeat(32), server: pager.url };
  const channelId = await outbox.channel('pager', 'pagerduty', settings);
  await dueJob();
  await outbox.tell([channel, { channelId }], await newIncident());
  expect(await outbox.tickAfter(6)).toBe(2);
  expect(channel.bodies().map(({ events }) => events.length)).toEqual([1, 2]);
  await pager.close();
});

test('a clock that was set back keeps nobody waiting', async () => {
  const channel = await outbox.hook('a');
  outbox.clock.advance(3600);
  await outbox.tell([channel], await newIncident());
  outbox.clock.advance(-3600);
  await dueJob();
  expect(await outbox.tickAfter(1)).toBe(1);
});
