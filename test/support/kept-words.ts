import { performance } from 'node:perf_hooks';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type ConnectOptions, connect, type Database, type Tx } from '../../src/store/database.ts';
import { createTestDatabase } from './database.ts';

/**
 * A database with one table, `kept (word)`, empty before each test of the file, watched over a plain connection of its
 * own: what transactions leave behind.
 */
export type KeptWords = {
  readonly url: () => string;
  readonly admin: () => postgres.Sql;
  /** A client of this test's own; closed after it. */
  open(options?: ConnectOptions, url?: string): Database;
  /** What is committed. */
  words(): Promise<string[]>;
  /** Ends a connection as the server does at its time limits, and waits until it is gone. */
  endBackend(pid: number): Promise<void>;
};

export function keptWords(): KeptWords {
  let url = '';
  let admin: postgres.Sql;
  let drop = async (): Promise<void> => undefined;
  const opened: Database[] = [];
  beforeAll(async () => {
    ({ url, drop } = await createTestDatabase());
    admin = postgres(url, { max: 1, onnotice: () => undefined });
    await admin`create table kept (word text primary key)`;
  });
  beforeEach(async () => {
    await admin`truncate kept`;
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
  afterAll(async () => {
    await admin.end();
    await drop();
  });
  return {
    url: () => url,
    admin: () => admin,
    open(options = {}, to = url) {
      const database = connect(to, options);
      opened.push(database);
      return database;
    },
    words: async () => (await admin<{ word: string }[]>`select word from kept order by word`).map(({ word }) => word),
    endBackend: async (pid) => void (await admin`select pg_terminate_backend(${pid}, 5000)`),
  };
}

export const add = (tx: Tx, word: string) => tx.sql`insert into kept (word) values (${word})`;

export async function pidOf(tx: Tx): Promise<number> {
  return (await tx.sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 10_000; !(await condition()); await new Promise(setImmediate)) {
    if (performance.now() > end) throw new Error('waited 10 s in vain');
  }
}

/** A promise to be settled from elsewhere: one part of a test waits for another. */
export function signal(): { readonly reached: Promise<void>; reach(): void } {
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { reached, reach: () => reach() };
}

export const unavailable: unknown = expect.objectContaining({ name: 'DatabaseUnavailable' });
export const notCommitted: unknown = expect.objectContaining({ name: 'DatabaseUnavailable', mayHaveCommitted: false });
