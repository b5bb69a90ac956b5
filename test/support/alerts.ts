import { createReminders } from '../../src/engine/reminders.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { createDispatcher, type Dispatcher } from '../../src/notify/dispatcher.ts';
import { createMaintenanceBook } from '../../src/store/maintenance-book.ts';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';
import { channelContext } from './messages.ts';
import { createHttpReceiver, type HttpReceiver } from './receivers.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** What a receiver was told: a line for each event of each message, such as `opened billing missing`. */
export type Hook = HttpReceiver & { readonly slug: string; told(): readonly string[] };

/** The API with evaluator, reminders and dispatcher on one database and one manual clock, and real receivers. */
export class Alerts {
  readonly t: TestApi;
  /** By slug. */
  readonly hooks = new Map<string, Hook>();
  readonly #reminders: ReturnType<typeof createReminders>[];
  readonly #dispatchers: Dispatcher[];

  static async start(at: string): Promise<Alerts> {
    return new Alerts(await startApi(at));
  }

  private constructor(t: TestApi) {
    this.t = t;
    const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
    const { database } = t;
    const zones = loadZones();
    const book = createMaintenanceBook(zones);
    const versions = createVersionCache(zones);
    const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void t.logged.push(fields) };
    const replica = () =>
      createReminders({ database, versions, settleMs: 600_000, clock, log: createLog('silent'), book });
    this.#reminders = [replica(), replica()];
    const context = channelContext();
    this.#dispatchers = [1, 2].map(() => createDispatcher({ database, context, log, readMaintenance: book.heldNow }));
  }

  async hook(slug: string, more: object = {}): Promise<Hook> {
    const receiver = await createHttpReceiver();
    const { status, json } = await this.t.call('PUT', `/channels/${slug}`, {
      kind: 'webhook',
      url: receiver.url,
      secret: SECRET,
      ...more,
    });
    if (status > 201) throw new Error(JSON.stringify(json));
    const told = () => receiver.requests.flatMap(({ body }) => eventsOf(body));
    const hook = Object.assign(receiver, { slug, told });
    this.hooks.set(slug, hook);
    return hook;
  }

  /** Two of each loop look at what is due at this instant, and again 5 s later, when what was enqueued may leave. */
  async at(instant: string): Promise<void> {
    await this.t.at(instant);
    await this.#round();
    await this.t.at(new Date(Date.parse(instant) + 5000).toISOString());
    await this.#round();
  }

  async #round(): Promise<void> {
    await this.t.tick();
    await Promise.all(this.#reminders.map((one) => one.tick()));
    await Promise.all(this.#dispatchers.map((one) => one.tick()));
  }

  async incident(job: string, kind = 'missing'): Promise<number> {
    const { json } = await this.t.call('GET', `/incidents?job=${job}`);
    const found = json.incidents.find((one: { kind: string }) => one.kind === kind);
    if (!found) throw new Error(`no ${kind} of ${job}`);
    return found.id;
  }

  /** `channel event: state reason` of everything that was to be said of an incident. */
  async notifications(id: number): Promise<readonly string[]> {
    const { json } = await this.t.call('GET', `/incidents/${id}/notifications`);
    return json.notifications.map(
      ({ channel, event, state, reason }: Record<string, unknown>) =>
        `${channel} ${event}: ${state}${reason === null ? '' : `, ${reason}`}`,
    );
  }

  /** From now on the job is in maintenance for so long. */
  async maintain(job: string, duration: string): Promise<void> {
    const { status, json } = await this.t.call('PUT', '/maintenance/deploy', { jobs: [job], duration });
    if (status > 201) throw new Error(JSON.stringify(json));
  }

  async drop(): Promise<void> {
    for (const hook of this.hooks.values()) await hook.close();
    await this.t.drop();
  }
}

function eventsOf(body: string): readonly string[] {
  const { events } = JSON.parse(body) as { events: SentEvent[] };
  return events.map(({ type, incident, job, notice }) =>
    notice ? `notice ${notice.text}` : `${type.replace('incident.', '')} ${job?.slug} ${incident?.kind}`,
  );
}

type SentEvent = {
  readonly type: string;
  readonly incident?: { readonly kind: string };
  readonly job?: { readonly slug: string };
  readonly notice?: { readonly text: string };
};
