import { describe, expect, test } from 'vitest';
import { backOff } from '../../src/notify/dispatcher.ts';
import { type Hook, testOutbox } from '../support/outbox.ts';

const outbox = testOutbox();

describe('trouble', () => {
  test('ALR-001 a 429 on one channel is obeyed there and holds up no other', async () => {
    const [limited, fine] = [await outbox.hook('limited'), await outbox.hook('fine')];
    limited.reply({ status: 429, headers: { 'retry-after': '30' } });
    const jobId = await outbox.job('job');
    await outbox.tell([limited, fine], await outbox.incident(jobId));
    expect(await outbox.tickAfter(5)).toBe(1);
    await outbox.tell([limited, fine], await outbox.incident(jobId, 'failed'));
    expect(await outbox.tickAfter(20)).toBe(1);
    expect(await outbox.tickAfter(9.999)).toBe(0);
    expect(limited.requests).toHaveLength(1);
    expect(await outbox.tickAfter(0.001)).toBe(1);
    expect(limited.bodies().at(-1)?.events).toHaveLength(2);
    expect(fine.requests).toHaveLength(2);
  });

  test('a channel that asked for quiet gets nothing else meanwhile, not even beside a message that is stuck', async () => {
    const channel = await outbox.hook('a');
    for (const _ of [1, 2, 3]) channel.reply({ status: 429, headers: { 'retry-after': '600' } });
    const jobId = await outbox.job('job');
    await outbox.tell([channel], await outbox.incident(jobId));
    for (const seconds of [5, 600, 600]) await outbox.tickAfter(seconds);
    expect(channel.requests).toHaveLength(3);
    await outbox.tell([channel], await outbox.incident(jobId, 'failed'));
    expect(await outbox.tickAfter(300)).toBe(0);
    expect(channel.requests).toHaveLength(3);
    expect(await outbox.tickAfter(300)).toBe(1);
  });

  test('a stuck channel delays no other', async () => {
    const [stuck, fine] = [await outbox.hook('stuck'), await outbox.hook('fine')];
    stuck.reply('hang');
    const jobId = await outbox.job('job');
    await outbox.tell([stuck], await outbox.incident(jobId));
    const round = outbox.tickAfter(5);
    await stuck.arrived(1);
    await outbox.tell([fine], await outbox.incident(jobId, 'failed'));
    expect(await outbox.tickAfter(5)).toBe(1);
    expect(fine.requests).toHaveLength(1);
    stuck.release();
    expect(await round).toBe(1);
  });

  test('nor do very many that hang: a service is down, and most channels are there', async () => {
    const stuck = await outbox.hook('stuck');
    stuck.always('hang');
    const settings = { url: stuck.url, secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}` };
    const many = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => ({ channelId: await outbox.channel(`s${n}`, 'webhook', settings) })),
    );
    const fine = await outbox.hook('fine');
    await outbox.tell([...many, fine], await outbox.incident(await outbox.job('job')));
    const round = outbox.tickAfter(5);
    await stuck.arrived(40);
    await fine.arrived(1);
    stuck.release();
    expect(await round).toBe(41);
  });

  test('attempts back off from 5 s to 15 min with jitter, and end after a day with the last reason', async () => {
    expect([1, 2, 3, 8, 9, 40].map((attempts) => backOff(attempts, 0.5) / 1000)).toEqual([5, 10, 20, 640, 900, 900]);
    expect([backOff(1, 0), backOff(1, 1)]).toEqual([4000, 6000]);
    const channel = await outbox.hook('a');
    channel.always({ status: 500 });
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    for (let minutes = 0; minutes < 25 * 60; minutes += 15) await outbox.tickAfter(900);
    expect(await outbox.rowsOf(channel)).toEqual([{ state: 'expired', reason: 'not delivered within 24 h: HTTP 500' }]);
    expect(await outbox.healthOf(channel)).toMatchObject({ dead: expect.any(Number), failure: 'HTTP 500' });
    const tries = channel.requests.length;
    expect(tries).toBeGreaterThan(90);
    await outbox.tickAfter(900);
    expect(channel.requests).toHaveLength(tries);
  });

  test('a delay never outlives a clock that is set back', async () => {
    const channel = await outbox.hook('a');
    channel.reply({ status: 503, headers: { 'retry-after': '3600' } });
    await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
    await outbox.tickAfter(5);
    expect(await outbox.tickAfter(-86_400)).toBe(1);
    outbox.clock.advance(86_400);
    await outbox.tell([channel], await outbox.incident(await outbox.job('other')));
    expect(await outbox.tickAfter(-86_390)).toBe(1);
  });

  test('settings that this installation cannot use now are tried again, not thrown away', async () => {
    const channel = await outbox.hook('a');
    await outbox.run(
      (tx) =>
        tx.sql`update channels set kind = 'email', settings = '{"to": "ops@example.org"}' where id = ${channel.channelId}`,
    );
    await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
    await outbox.tickAfter(5);
    expect(await outbox.rowsOf(channel)).toMatchObject([
      { state: 'waiting', reason: expect.stringContaining('SMTP_URL') },
    ]);
  });
});

describe('dead channels', () => {
  const notices = ({ bodies }: Hook) =>
    bodies().flatMap(({ events }) => events.flatMap(({ notice }) => (notice ? [notice.text] : [])));

  test('ALR-011 a channel that is gone is told to the operator by another one, once, and comes alive again', async () => {
    const [gone, operator, other] = [
      await outbox.hook('gone', { operator: true }),
      await outbox.hook('operator', { operator: true }),
      await outbox.hook('other'),
    ];
    const jobId = await outbox.job('job', ['gone']);
    gone.reply({ status: 410 }, { status: 410 });
    await outbox.tell([gone], await outbox.incident(jobId));
    await outbox.tickAfter(5);
    expect(await outbox.healthOf(gone)).toEqual({ dead: outbox.clock.now(), failure: 'HTTP 410' });
    await outbox.tell([gone], await outbox.incident(jobId, 'failed'));
    await outbox.tickAfter(5);
    expect(notices(operator)).toEqual([expect.stringContaining('Channel gone (webhook) is dead')]);
    expect(other.requests).toHaveLength(0);
    await outbox.tell([gone], await outbox.incident(jobId, 'late'));
    await outbox.tickAfter(5);
    await outbox.tickAfter(5);
    expect(await outbox.healthOf(gone)).toEqual({ dead: null, failure: null });
    expect(notices(gone)).toEqual([]);
    expect(notices(operator)).toHaveLength(1);
  });

  test('three messages in a row refused make a channel dead, two do not', async () => {
    const channel = await outbox.hook('a');
    channel.always({ status: 400 });
    const jobId = await outbox.job('job');
    for (const [kind, dead] of [
      ['missing', false],
      ['failed', false],
      ['late', true],
    ] as const) {
      await outbox.tell([channel], await outbox.incident(jobId, kind));
      await outbox.tickAfter(5);
      expect((await outbox.healthOf(channel))?.dead !== null).toBe(dead);
    }
  });
});
