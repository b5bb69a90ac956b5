import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Tx } from '../../src/store/database.ts';
import { enqueue, enqueueForJobs, enqueueNotice } from '../../src/store/outbox.ts';
import { createTestDatabase, manualClock, type TestDatabase } from '../support/database.ts';
import { incidentEvent } from '../support/messages.ts';

const clock = manualClock('2026-03-01T00:00:00Z');
let db: TestDatabase;
let ids: { readonly channels: readonly number[]; readonly jobId: number; readonly incidentId: number };

beforeAll(async () => {
  db = await createTestDatabase({ now: clock.now });
});
afterAll(() => db.drop());
beforeEach(async () => {
  ids = await db.database.transaction(async (tx) => {
    await tx.sql`truncate projects, notices cascade`;
    const [project] = await tx.sql<{ id: number }[]>`
      insert into projects (slug, name, created_at) values ('p', 'p', ${tx.now}) returning id`;
    const channels = await tx.sql<{ id: number }[]>`
      insert into channels (project_id, slug, kind, settings, operator, created_at)
      select ${project?.id ?? 0}, slug, 'slack', '{}', false, ${tx.now}::timestamptz from unnest(array['going', 'staying']) slug
      returning id`;
    const [job] = await tx.sql<{ id: number }[]>`
      insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
      values (${project?.id ?? 0}, gen_random_uuid(), 'job', '{"tags": []}', ${tx.now}, ${tx.now}) returning id`;
    const [incident] = await tx.sql<{ id: number }[]>`
      insert into incidents (job_id, kind, opened_at, events, occurrence_count, troubled_count)
      values (${job?.id ?? 0}, 'failed', ${tx.now}, 1, 1, 1) returning id`;
    return { channels: channels.map(({ id }) => id), jobId: job?.id ?? 0, incidentId: incident?.id ?? 0 };
  });
});

const payload = incidentEvent();
const promises: Readonly<Record<string, (tx: Tx) => Promise<void>>> = {
  'a message of a job': (tx) =>
    enqueueForJobs(tx, [{ jobId: ids.jobId, incidentId: ids.incidentId, event: 1, payload }]),
  'a reminder': (tx) =>
    enqueue(
      tx,
      ids.channels.map((channelId) => ({ channelId, incidentId: ids.incidentId, event: 1, payload })),
    ),
  'a notice': (tx) => enqueueNotice(tx, { kind: 'operator', subject: 's', text: 't', at: tx.now }, ids.channels),
};

test.each(Object.entries(promises))(
  '%s that meets the deletion of a channel leaves it out, and is not lost',
  async (_, promise) => {
    const [going, staying] = ids.channels;
    let promised: Promise<void> = Promise.resolve();
    await db.database.transaction(async (tx) => {
      await tx.sql`delete from channels where id = ${going ?? 0}`;
      // It has seen the channel, and waits for us.
      promised = db.database.transaction(promise);
      promised.catch(() => undefined);
      for (let waiting = 0; waiting === 0; ) {
        const [row] = await tx.sql<{ count: number }[]>`
        select count(*)::integer as count from pg_locks
        where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
        waiting = row?.count ?? 0;
      }
    });
    await promised;
    const rows = await db.database.transaction(
      async (tx) => tx.sql<{ channel: number }[]>`select channel_id as channel from outbox`,
    );
    expect(rows.map(({ channel }) => channel)).toEqual([staying]);
  },
);
