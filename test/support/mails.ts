import PostalMime, { type Email } from 'postal-mime';
import { createReminders } from '../../src/engine/reminders.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { createDispatcher, type Dispatcher } from '../../src/notify/dispatcher.ts';
import { closeChannels } from '../../src/notify/registry.ts';
import { createMaintenanceBook } from '../../src/store/maintenance-book.ts';
import { unsubscribePages } from '../../src/web/unsubscribe.tsx';
import { loadZones } from '../../src/zones.ts';
import { startApi, type TestApi } from '../web/api/api.ts';
import { channelContext } from './messages.ts';
import { createSmtpReceiver, type SmtpReceiver } from './receivers.ts';

/** A mail as a mail program reads it. */
export type ReadMail = Email & { readonly rcpt: readonly string[]; header(name: string): string | undefined };

/** The API with evaluator, reminders and dispatcher on one database and one manual clock, and a real SMTP receiver. */
export class Mailroom {
  readonly t: TestApi;
  readonly smtp: SmtpReceiver;
  readonly pages: ReturnType<typeof unsubscribePages>;
  readonly #context: ReturnType<typeof channelContext>;
  readonly #dispatcher: Dispatcher;
  readonly #reminders: ReturnType<typeof createReminders>;

  static async start(at: string): Promise<Mailroom> {
    return new Mailroom(await startApi(at), await createSmtpReceiver());
  }

  private constructor(t: TestApi, smtp: SmtpReceiver) {
    this.t = t;
    this.smtp = smtp;
    const { database } = t;
    const zones = loadZones();
    const book = createMaintenanceBook(zones);
    const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
    const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void t.logged.push(fields) };
    this.#context = channelContext({ smtpUrl: smtp.url });
    this.#dispatcher = createDispatcher({ database, context: this.#context, log, readMaintenance: book.heldNow });
    const versions = createVersionCache(zones);
    this.#reminders = createReminders({ database, versions, settleMs: 600_000, clock, log: createLog('silent'), book });
    this.pages = unsubscribePages({ database });
  }

  /** A channel of its own for each address. */
  async channel(slug: string, more: object = {}): Promise<void> {
    await this.put(`/channels/${slug}`, { kind: 'email', to: `${slug}@example.org`, ...more });
  }

  /** A job of Berlin at half past two; its catch_up window is two days. */
  async job(slug: string, more: object = {}): Promise<void> {
    const daily = { schedules: [{ cron: '30 2 * * *' }], zone: 'Europe/Berlin', missed_runs: 'catch_up' };
    await this.put(`/jobs/${slug}`, { ...daily, useful_for: '2d', ...more });
  }

  async put(path: string, body: object): Promise<void> {
    const { status, json } = await this.t.call('PUT', path, body);
    if (status > 201) throw new Error(JSON.stringify(json));
  }

  /** The loops look at what is due at this instant, and then each second until what was enqueued has left. */
  async at(instant: string): Promise<void> {
    await this.#round(Date.parse(instant));
    for (const second of [5, 6, 7, 8]) await this.#round(Date.parse(instant) + second * 1000);
  }

  async #round(at: number): Promise<void> {
    await this.t.at(new Date(at).toISOString());
    await this.t.tick();
    await this.#reminders.tick();
    await this.#dispatcher.tick();
  }

  /** What came to this address, the oldest first. */
  async to(address: string): Promise<readonly ReadMail[]> {
    const own = this.smtp.mails.filter(({ to }) => to.includes(address));
    return Promise.all(
      own.map(async ({ raw, to }) => {
        const mail = await PostalMime.parse(Buffer.from(raw, 'latin1'));
        const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
        return Object.assign(mail, { rcpt: to, header });
      }),
    );
  }

  async drop(): Promise<void> {
    await closeChannels(this.#context);
    await this.smtp.close();
    await this.t.drop();
  }
}
