import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../src/store/database.ts';
import { endStalledSessions } from '../../src/store/stalled.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.transaction(({ sql }) => sql`insert into facts (name, value) values ('held', 'before')`);
});
afterAll(() => db.drop());

/** The last message of a client that waits for the types of parameters. */
const FLUSH = Buffer.from([0x48, 0, 0, 0, 4]);

/** A way to the database on which a client falls silent when it has asked that about `words`, as if it had been stopped. */
async function startStoppingProxy(words: string) {
  const { hostname, port } = new URL(db.url);
  const sockets: Socket[] = [];
  const listener = createServer((client) => {
    const server = dial(Number(port), hostname);
    sockets.push(client, server);
    let isSilent = false;
    client.on('data', (chunk) => {
      if (isSilent) return;
      isSilent = chunk.includes(words) && chunk.subarray(-FLUSH.length).equals(FLUSH);
      server.write(chunk);
    });
    server.on('data', (chunk) => client.write(chunk));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const url = new URL(db.url);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** Holds the row, and is stopped in the middle of its next statement. */
async function startStopped() {
  const proxy = await startStoppingProxy('stop here');
  const database = connect(proxy.url, { max: 1 });
  let hold: () => void = () => undefined;
  const holding = new Promise<void>((resolve) => {
    hold = resolve;
  });
  const ended = database
    .transaction(async ({ sql }) => {
      await sql`update facts set value = 'stopped' where name = 'held'`;
      hold();
      await sql`select value as "stop here" from facts where name = ${'held'}`;
    })
    .catch((error: unknown) => error);
  await holding;
  return {
    ended,
    async close() {
      proxy.close();
      await database.close();
    },
  };
}

test('a process that is stopped in the middle of a statement is ended, and its locks with it', async () => {
  const stopped = await startStopped();
  const change = () => db.database.transaction(({ sql }) => sql`update facts set value = 'after' where name = 'held'`);
  await expect
    .poll(() => db.database.transaction((tx) => endStalledSessions(tx, 200)), { timeout: 10_000, interval: 50 })
    .toBe(1);
  expect(await stopped.ended).toMatchObject({ name: 'DatabaseUnavailable' });
  await change();
  await stopped.close();
});

test('sessions at work, idle, or silent for a shorter time are left alone', async () => {
  const stopped = await startStopped();
  await db.database.transaction(async (idle) => {
    await idle.sql`select 1`;
    const sleeping = db.database.transaction(({ sql }) => sql`select pg_sleep(${0.5})`);
    expect(await db.database.transaction((tx) => endStalledSessions(tx, 5000))).toBe(0);
    await sleeping;
    await idle.sql`select 1`;
  });
  await stopped.close();
});
