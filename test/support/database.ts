import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import type { Instant, Seconds } from '../../src/core/time.ts';
import { connect, type Database, type NowSource } from '../../src/store/database.ts';
import { TEMPLATE } from './postgres.ts';

export type TestDatabase = {
  readonly database: Database;
  readonly url: string;
  /** Closes the connections and drops the database. */
  drop(): Promise<void>;
};

/** A database of its own for a test file: call it in `beforeAll`, and `drop()` in `afterAll`. */
export async function createTestDatabase(options: { now?: NowSource; template?: string } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // FILE_COPY copies the template's files at once; with fsync off that is quicker than writing each page to the log.
  await administer(`create database ${name} template ${options.template ?? TEMPLATE} strategy file_copy`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const database = connect(url.href, { now: options.now ?? 'database' });
  return {
    database,
    url: url.href,
    async drop() {
      await database.close();
      await administer(`drop database if exists ${name} with (force)`);
    },
  };
}

async function administer(statement: string): Promise<void> {
  const admin = postgres(inject('postgresUrl'), { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    await admin.unsafe(statement);
  } finally {
    await admin.end();
  }
}

/** Stands in for the database's clock: pass `now` to `createTestDatabase` or `connect`. */
export type ManualClock = {
  readonly now: () => Instant;
  set(at: string | Instant): void;
  advance(seconds: Seconds): void;
};

export function manualClock(start: string | Instant): ManualClock {
  let now = instantOf(start);
  return {
    now: () => now,
    set(at) {
      now = instantOf(at);
    },
    advance(seconds) {
      now += seconds * 1000;
    },
  };
}

function instantOf(at: string | Instant): Instant {
  const instant = typeof at === 'number' ? at : Date.parse(at);
  if (Number.isNaN(instant)) throw new Error(`not an instant: ${at}`);
  return instant;
}
