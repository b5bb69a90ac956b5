import { expect, test } from 'vitest';
import { planMessage } from '../../src/notify/grouping.ts';
import { channelsWithWork, waitingRows } from '../../src/store/waiting.ts';
import { type Hook, resolved, testOutbox } from '../support/outbox.ts';

const outbox = testOutbox();
const withWork = async (): Promise<readonly number[]> => (await outbox.run(channelsWithWork)).map(({ id }) => id);

async function problem(channel: Hook, slug: string): Promise<number> {
  const incidentId = await outbox.incident(await outbox.job(slug));
  await outbox.tell([channel], incidentId);
  return incidentId;
}

test('a channel in back-off is left alone until its message is due, whatever else has come to wait', async () => {
  const channel = await outbox.hook('a');
  channel.reply({ status: 503 }, { status: 503 });
  await problem(channel, 'one');
  await outbox.tickAfter(5);
  await outbox.tickAfter(5);
  // Tried twice; the next attempt is in 10 s, and what is new is due in 5.
  await problem(channel, 'two');
  outbox.clock.advance(9);
  expect(await withWork()).toEqual([]);
  expect(await outbox.tickAfter(1)).toBe(1);
  expect(channel.bodies().at(-1)?.events).toHaveLength(2);
});

test('a receiver that asked to be left alone is not looked at meanwhile', async () => {
  const channel = await outbox.hook('a');
  channel.reply({ status: 429, headers: { 'retry-after': '60' } });
  await problem(channel, 'one');
  await outbox.tickAfter(5);
  await problem(channel, 'two');
  outbox.clock.advance(59);
  expect(await withWork()).toEqual([]);
  expect(await outbox.tickAfter(1)).toBe(1);
});

test('nor one that is being sent to', async () => {
  const channel = await outbox.hook('a');
  channel.reply('hang');
  await problem(channel, 'one');
  const sending = outbox.tickAfter(5);
  await channel.arrived(1);
  await problem(channel, 'two');
  outbox.clock.advance(6);
  expect(await withWork()).toEqual([]);
  channel.release();
  await sending;
  expect(await withWork()).toEqual([channel.channelId]);
});

test('beside one message that is stuck only the next of its own incident waits', async () => {
  const channel = await outbox.hook('a');
  channel.always({ status: 503 });
  const incidentId = await problem(channel, 'one');
  for (const seconds of [5, 5, 10]) await outbox.tickAfter(seconds);
  await outbox.tell([channel], incidentId, { event: 2, ...resolved });
  outbox.clock.advance(6);
  expect(await withWork()).toEqual([]);
  await problem(channel, 'two');
  outbox.clock.advance(6);
  expect(await withWork()).toEqual([channel.channelId]);
});

test('a message that nobody wants any more holds up nothing', async () => {
  const channel = await outbox.hook('a');
  channel.reply({ status: 503 }, { status: 503 });
  const incidentId = await problem(channel, 'one');
  await outbox.tickAfter(5);
  await outbox.tickAfter(5);
  await problem(channel, 'two');
  outbox.clock.advance(5);
  await outbox.run(
    (tx) => tx.sql`update incidents set silent = true, resolved_at = ${tx.now} where id = ${incidentId}`,
  );
  expect(await outbox.tickAfter(1)).toBe(1);
  expect(channel.bodies().at(-1)?.events).toMatchObject([{ incident: { id: incidentId + 1 } }]);
  expect(await outbox.statesOf(channel)).toEqual(['withheld', 'delivered']);
});

/** Numbers from 0 to 1 that come in the same order every time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test.each([1, 2, 3, 4])('whatever happens, no channel with something to send is left out (%i)', async (seed) => {
  const roll = dice(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(roll() * items.length)] as T;
  const channel = await outbox.hook('a');
  channel.always(() => {
    const status = pick([200, 200, 400, 503, 502, 429]);
    return { status, headers: status === 429 ? { 'retry-after': '40' } : {} };
  });
  const told: { id: number; events: number }[] = [];
  let looks = 0;
  for (let step = 0; step < 60; step += 1) {
    if (roll() < 0.3) told.push({ id: await problem(channel, `job-${step}`), events: 1 });
    const one = pick(told);
    if (one && roll() < 0.3) {
      one.events += 1;
      await outbox.tell([channel], one.id, { event: one.events, ...(roll() < 0.5 ? resolved : {}) });
    }
    if (one && roll() < 0.05) {
      await outbox.run(
        (tx) => tx.sql`update incidents set silent = true, resolved_at = ${tx.now} where id = ${one.id}`,
      );
    }
    outbox.clock.advance(pick([1, 2, 5, 11, 60, 3600, -30]));
    const { isListed, plan } = await outbox.run(async (tx) => ({
      isListed: (await channelsWithWork(tx)).some(({ id }) => id === channel.channelId),
      plan: planMessage(await waitingRows(tx, channel.channelId), tx.now),
    }));
    if (plan.message !== null) {
      looks += 1;
      expect(isListed, `step ${step}`).toBe(true);
    }
    await outbox.tickAfter(0);
  }
  expect(looks).toBeGreaterThan(5);
});
