import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { IncidentMessage } from '../../src/core/message.ts';
import type { ChannelContext } from '../../src/notify/channel.ts';
import { createDispatcher, type Dispatcher, type DispatcherDeps } from '../../src/notify/dispatcher.ts';
import type { Tx } from '../../src/store/database.ts';
import { enqueue } from '../../src/store/outbox.ts';
import { createTestDatabase, type ManualClock, manualClock, type TestDatabase } from './database.ts';
import { channelContext, type EventChanges, incidentEvent, secondPass } from './messages.ts';
import { createHttpReceiver, type HttpReceiver } from './receivers.ts';

const START = '2026-10-25T01:35:00Z';
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** A webhook channel on a real receiver. */
export type Hook = HttpReceiver & { readonly channelId: number; bodies(): readonly SentBody[] };
type SentBody = { readonly id: string; readonly events: readonly SentEvent[] };
type SentEvent = {
  readonly type: string;
  readonly incident?: { readonly id: number };
  readonly notice?: { readonly text: string };
  readonly occurrences: readonly { readonly job: { readonly slug: string }; readonly key: string }[];
};
type OutboxRow = { readonly state: string; readonly reason: string | null };

/** The end of the incident that `incidentEvent()` opens. */
export const resolved: EventChanges = { type: 'incident.resolved', occurrences: [{ ...secondPass, state: 'late' }] };

/**
 * An outbox of its own for a test file, on a real database and a manual clock that stands at 2026-10-25T01:35Z as each
 * test begins. Call it at the top of the file.
 */
export function testOutbox(): TestOutbox {
  const clock = manualClock(START);
  const errors: object[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => errors.push(fields) };
  const outbox = new TestOutbox(clock, log);
  beforeAll(() => outbox.begin());
  afterAll(() => outbox.end());
  beforeEach(() => {
    clock.set(START);
    return outbox.clear();
  });
  afterEach(async () => {
    await outbox.closeReceivers();
    expect(errors.splice(0)).toEqual([]);
  });
  return outbox;
}

class TestOutbox {
  readonly clock: ManualClock;
  readonly log: DispatcherDeps['log'];
  readonly #receivers: HttpReceiver[] = [];
  #db: TestDatabase | null = null;
  #dispatcher: Dispatcher | null = null;
  #projectId = 0;

  constructor(clock: ManualClock, log: DispatcherDeps['log']) {
    this.clock = clock;
    this.log = log;
  }

  async begin(): Promise<void> {
    this.#db = await createTestDatabase({ now: this.clock.now });
    this.#dispatcher = this.createDispatcher();
  }

  async end(): Promise<void> {
    await this.#db?.drop();
  }

  /** Nobody's rows are left over for the round of another test. */
  async clear(): Promise<void> {
    await this.run((tx) => tx.sql`truncate projects, notices cascade`);
    this.#projectId = await this.#insert(
      (tx) => tx.sql`insert into projects (slug, name, created_at) values ('p', 'p', ${tx.now}) returning id`,
    );
  }

  async closeReceivers(): Promise<void> {
    for (const receiver of this.#receivers.splice(0)) await receiver.close();
  }

  /** One more dispatcher on the same outbox. */
  createDispatcher(context: ChannelContext = channelContext()): Dispatcher {
    if (!this.#db) throw new Error('the test outbox has not begun');
    return createDispatcher({ database: this.#db.database, context, log: this.log, random: () => 0.5 });
  }

  async run<T>(work: (tx: Tx) => PromiseLike<T>): Promise<T> {
    if (!this.#db) throw new Error('the test outbox has not begun');
    return this.#db.database.transaction(async (tx) => work(tx));
  }

  async #insert(work: (tx: Tx) => PromiseLike<readonly unknown[]>): Promise<number> {
    const [row] = (await this.run(work)) as readonly { id: number }[];
    if (!row) throw new Error('no row');
    return row.id;
  }

  async channel(slug: string, kind: string, settings: object, operator = false): Promise<number> {
    return this.#insert(
      (tx) => tx.sql`
        insert into channels (project_id, slug, kind, settings, operator, created_at)
        values (${this.#projectId}, ${slug}, ${kind}, ${JSON.stringify(settings)}::jsonb, ${operator}, ${tx.now})
        returning id`,
    );
  }

  async hook(slug: string, { operator = false } = {}): Promise<Hook> {
    const receiver = await createHttpReceiver();
    this.#receivers.push(receiver);
    const channelId = await this.channel(slug, 'webhook', { url: receiver.url, secret: SECRET }, operator);
    const bodies = () => receiver.requests.map(({ body }) => JSON.parse(body) as SentBody);
    return Object.assign(receiver, { channelId, bodies });
  }

  async job(slug: string, channels: readonly string[] | null = null): Promise<number> {
    const definition = JSON.stringify({ name: slug, tags: [], zone: 'Europe/Berlin', channels });
    return this.#insert(
      (tx) => tx.sql`
        insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
        values (${this.#projectId}, ${randomUUID()}, ${slug}, ${definition}::jsonb, ${tx.now}, ${tx.now}) returning id`,
    );
  }

  async incident(jobId: number, kind = 'missing'): Promise<number> {
    return this.#insert(
      (tx) => tx.sql`
        insert into incidents (job_id, kind, opened_at, events, occurrence_count, troubled_count)
        values (${jobId}, ${kind}, ${tx.now}, 1, 1, 1) returning id`,
    );
  }

  payload(incidentId: number, changes: EventChanges = {}): IncidentMessage {
    return incidentEvent({ ...changes, id: incidentId });
  }

  /** Promises one event of an incident to channels. */
  async tell(
    channels: readonly { readonly channelId: number }[],
    incidentId: number,
    { event = 1, ...changes }: EventChanges & { readonly event?: number } = {},
  ): Promise<void> {
    const payload = this.payload(incidentId, changes);
    await this.run((tx) =>
      enqueue(
        tx,
        channels.map(({ channelId }) => ({ channelId, incidentId, event, payload })),
      ),
    );
  }

  /** Lets time pass, then one round: how many messages were delivered. */
  async tickAfter(seconds: number): Promise<number> {
    this.clock.advance(seconds);
    return this.#dispatcher?.tick() ?? 0;
  }

  rowsOf({ channelId }: { readonly channelId: number }): Promise<readonly OutboxRow[]> {
    return this.run(
      (tx) => tx.sql<OutboxRow[]>`select state, reason from outbox where channel_id = ${channelId} order by id`,
    );
  }

  async statesOf(channel: { readonly channelId: number }): Promise<readonly string[]> {
    return (await this.rowsOf(channel)).map(({ state }) => state);
  }

  async healthOf({
    channelId,
  }: {
    readonly channelId: number;
  }): Promise<{ dead: number | null; failure: string | null } | undefined> {
    const [row] = await this.run(
      (tx) => tx.sql<{ dead: number | null; failure: string | null }[]>`
        select dead_since as dead, last_failure as failure from channels where id = ${channelId}`,
    );
    return row;
  }
}
