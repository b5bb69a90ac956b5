import { describe, expect, test } from 'vitest';
import { enqueueForJobs } from '../../src/store/outbox.ts';
import { lease } from '../../src/store/sending.ts';
import { waitingRows } from '../../src/store/waiting.ts';
import { resolved, testOutbox } from '../support/outbox.ts';

const outbox = testOutbox();

describe('grouping', () => {
  test('ALR-002 900 jobs lost with one host are one message per channel, 5 s after the first', async () => {
    const channels = [await outbox.hook('a'), await outbox.hook('b')];
    const jobId = await outbox.job('job');
    const kinds = Array.from({ length: 900 }, (_, i) => ({ job_id: jobId, kind: `k${i}` }));
    const incidents = await outbox.run(
      (tx) => tx.sql<{ id: number }[]>`
        insert into incidents (job_id, kind, opened_at, events, occurrence_count, troubled_count)
        select job_id, kind, ${tx.now}::timestamptz, 1, 1, 1 from jsonb_to_recordset(${JSON.stringify(kinds)}::jsonb)
          as given (job_id bigint, kind text) returning id`,
    );
    await outbox.run((tx) =>
      enqueueForJobs(
        tx,
        incidents.map(({ id }) => ({ jobId, incidentId: id, event: 1, payload: outbox.payload(id) })),
      ),
    );
    expect(await outbox.tickAfter(4)).toBe(0);
    expect(await outbox.tickAfter(1)).toBe(2);
    for (const channel of channels) {
      expect(channel.bodies().map(({ events }) => events.length)).toEqual([900]);
      expect(new Set(await outbox.statesOf(channel))).toEqual(new Set(['delivered']));
    }
    expect(await outbox.tickAfter(60)).toBe(0);
  });

  test('a job tells the channels it names, every channel when it names none, nobody when it says so', async () => {
    const [a, b] = [await outbox.hook('a'), await outbox.hook('b')];
    for (const channels of [['b'], null, []]) {
      const jobId = await outbox.job(`job-${JSON.stringify(channels)}`, channels);
      const incidentId = await outbox.incident(jobId);
      const row = { jobId, incidentId, event: 1, payload: outbox.payload(incidentId) };
      await outbox.run((tx) => enqueueForJobs(tx, [row]));
      await outbox.run((tx) => enqueueForJobs(tx, [row]));
    }
    await outbox.tickAfter(5);
    expect(a.bodies().map(({ events }) => events.length)).toEqual([1]);
    expect(b.bodies().map(({ events }) => events.length)).toEqual([2]);
  });

  test('output with NUL and half characters is kept, not refused', async () => {
    const channel = await outbox.hook('a');
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId, { kind: 'failed', facts: { output: 'a\u0000b\ud800c' } });
    expect(await outbox.tickAfter(5)).toBe(1);
  });
});

describe('at least once, with one id', () => {
  test('ALR-015 what a crashed sender held is sent again with the same id when its lease has run out', async () => {
    const channel = await outbox.hook('a');
    await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
    outbox.clock.advance(5);
    // Sent, and killed before it could say so.
    await outbox.run(async (tx) => {
      const { rows } = await waitingRows(tx, channel.channelId);
      return lease(
        tx,
        rows.map(({ id }) => id),
        'msg_of_the_dead',
      );
    });
    expect(await outbox.tickAfter(29)).toBe(0);
    expect(await outbox.tickAfter(1)).toBe(1);
    expect(channel.bodies().map(({ id }) => id)).toEqual(['msg_of_the_dead']);
    expect(await outbox.statesOf(channel)).toEqual(['delivered']);
  });

  test('every attempt of a message carries one id', async () => {
    const channel = await outbox.hook('a');
    channel.reply({ status: 500 }, 'reset', { status: 200 });
    await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
    expect([await outbox.tickAfter(5), await outbox.tickAfter(5), await outbox.tickAfter(10)]).toEqual([0, 0, 1]);
    const headers = channel.requests.map((request) => request.headers['webhook-id']);
    expect(headers).toHaveLength(3);
    expect(new Set([...headers, ...channel.bodies().map(({ id }) => id)]).size).toBe(1);
    const kept = await outbox.run(
      (tx) => tx.sql<{ outcome: string; reason: string | null }[]>`select outcome, reason from attempts order by id`,
    );
    expect(kept).toMatchObject([
      { outcome: 'retry', reason: 'HTTP 500' },
      { outcome: 'retry' },
      { outcome: 'delivered' },
    ]);
  });

  test('two dispatchers at once send everything exactly once', async () => {
    const channels = [await outbox.hook('a'), await outbox.hook('b'), await outbox.hook('c')];
    await outbox.tell(channels, await outbox.incident(await outbox.job('job')));
    outbox.clock.advance(5);
    const other = outbox.createDispatcher();
    const sent = await Promise.all([outbox.tickAfter(0), other.tick(), outbox.tickAfter(0), other.tick()]);
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(3);
    for (const channel of channels) expect(channel.requests).toHaveLength(1);
  });

  test('a second dispatcher leaves a message alone while the first is sending it', async () => {
    const channel = await outbox.hook('a');
    channel.reply('hang');
    await outbox.tell([channel], await outbox.incident(await outbox.job('job')));
    const first = outbox.tickAfter(5);
    await channel.arrived(1);
    expect(await outbox.createDispatcher().tick()).toBe(0);
    channel.release();
    expect(await first).toBe(1);
  });
});

describe('order and recoveries', () => {
  test('ALR-014 a recovery goes where the problem went, and only there', async () => {
    const [told, refused] = [await outbox.hook('told'), await outbox.hook('refused')];
    refused.reply({ status: 400 });
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([told, refused], incidentId);
    await outbox.tickAfter(5);
    await outbox.tell([told, refused], incidentId, { event: 2, ...resolved });
    await outbox.tickAfter(5);
    expect(told.bodies().map(({ events }) => events.map(({ type }) => type))).toEqual([
      ['incident.opened'],
      ['incident.resolved'],
    ]);
    expect(refused.requests).toHaveLength(1);
    expect(await outbox.rowsOf(refused)).toMatchObject([
      { state: 'rejected', reason: 'HTTP 400' },
      { state: 'withheld', reason: expect.stringContaining('not delivered') },
    ]);
  });

  test('a problem not yet delivered when it ends is sent once, as one message that tells both', async () => {
    const channel = await outbox.hook('a');
    channel.reply({ status: 503 });
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    await outbox.tickAfter(5);
    await outbox.tell([channel], incidentId, { event: 2, ...resolved });
    await outbox.tickAfter(5);
    expect(
      channel
        .bodies()
        .at(-1)
        ?.events.map(({ type }) => type),
    ).toEqual(['incident.opened', 'incident.resolved']);
    expect(await outbox.statesOf(channel)).toEqual(['delivered', 'delivered']);
    expect(channel.requests).toHaveLength(2);
  });

  test('a recovery never overtakes its problem, even one that may have been received', async () => {
    const channel = await outbox.hook('a');
    channel.reply('reset', 'reset');
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    await outbox.tickAfter(5);
    await outbox.tell([channel], incidentId, { event: 2, ...resolved });
    for (const seconds of [5, 10, 5]) await outbox.tickAfter(seconds);
    const sent = channel.bodies().map(({ events }) => events.map(({ type }) => type).join());
    expect(sent).toEqual(['incident.opened', 'incident.opened', 'incident.opened', 'incident.resolved']);
  });

  test('an incident that ended silently before it was told is withheld', async () => {
    const channel = await outbox.hook('a');
    const incidentId = await outbox.incident(await outbox.job('job'));
    await outbox.tell([channel], incidentId);
    await outbox.run(
      (tx) => tx.sql`update incidents set silent = true, resolved_at = ${tx.now} where id = ${incidentId}`,
    );
    expect(await outbox.tickAfter(5)).toBe(0);
    expect(await outbox.rowsOf(channel)).toMatchObject([
      { state: 'withheld', reason: expect.stringContaining('silently') },
    ]);
  });
});
