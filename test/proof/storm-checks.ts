import { expect } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { readMail } from '../support/receivers.ts';
import { type SlackPayload, toldByMail, toldBySlack, verifiedBody, type WebhookBody } from './crontab-messages.ts';
import {
  CHANNELS,
  RETRY_AFTER_S,
  type Receivers,
  SECRET,
  type StormChannel,
  type TimedReceiver,
} from './storm-receivers.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** One statement on the database of the service. */
export function rowsOf(database: Database, statement: string, parameter?: string): Promise<Rows> {
  return database.transaction(async ({ sql }) => sql.unsafe(statement, parameter === undefined ? [] : [parameter]));
}

/** One attempt to send one message. `at`: when it had ended. */
export type Attempt = {
  readonly channel: StormChannel;
  readonly at: number;
  readonly outcome: string;
  readonly reason: string | null;
  readonly message: string;
};

export async function readAttempts(database: Database): Promise<readonly Attempt[]> {
  const rows = await rowsOf(
    database,
    `select c.slug as channel, a.at, a.outcome, a.reason, a.message_id as message
     from attempts a join channels c on c.id = a.channel_id order by a.id`,
  );
  return rows as unknown as readonly Attempt[];
}

/** Every job has one incident, of one occurrence, and it is in this state. */
export async function expectOneIncidentEach(
  database: Database,
  jobs: number,
  state: 'open' | 'resolved',
): Promise<void> {
  const found = await rowsOf(
    database,
    `select i.kind, i.resolved_at is null as open, i.occurrence_count as occurrences, i.silent,
       count(*) as incidents, count(distinct i.job_id) as jobs from incidents i group by 1, 2, 3, 4`,
  );
  const all = { kind: 'missing', open: state === 'open', occurrences: 1, silent: false, incidents: jobs, jobs };
  expect(found).toEqual([all]);
}

/**
 * What became of the promises to one channel: `1 delivered`, `2 withheld: REASON`, by event of the incidents, each with
 * the number of rows.
 */
export async function fatesOf(database: Database, channel: StormChannel): Promise<Readonly<Record<string, number>>> {
  const rows = await rowsOf(
    database,
    `select o.event || ' ' || o.state || case when o.state in ('rejected', 'withheld') then ': ' || o.reason else '' end as fate,
       count(*) as rows from outbox o join channels c on c.id = o.channel_id
     where o.incident_id is not null and c.slug = $1 group by 1 order by 1`,
    channel,
  );
  return Object.fromEntries(rows.map(({ fate, rows: count }) => [String(fate), Number(count)]));
}

/** What a webhook accepted, with the signature checked. */
export const bodiesOf = ({ requests }: TimedReceiver): readonly WebhookBody[] =>
  requests.map(({ headers, body }) => verifiedBody(headers, body, SECRET));

/** Every job's problem is told once and its end once, the end never before, each message under an id of its own. */
export function expectToldOnce(bodies: readonly WebhookBody[], jobs: number): void {
  expect(new Set(bodies.map(({ id }) => id)).size).toBe(bodies.length);
  const told = bodies.flatMap(({ events }) => events).filter(({ type }) => type !== 'notice');
  const slugs = (type: string): readonly string[] =>
    told.filter((event) => event.type === type).map(({ job }) => job.slug);
  const [opened, resolved] = [slugs('incident.opened'), slugs('incident.resolved')];
  expect([opened.length, resolved.length, told.length]).toEqual([jobs, jobs, 2 * jobs]);
  expect([new Set(opened).size, new Set(resolved).size]).toEqual([jobs, jobs]);
  const place = new Map(told.map(({ type, job }, index) => [`${type} ${job.slug}`, index]));
  const before = (slug: string): boolean =>
    (place.get(`incident.opened ${slug}`) ?? Infinity) < (place.get(`incident.resolved ${slug}`) ?? 0);
  expect(opened.filter((slug) => !before(slug))).toEqual([]);
}

/** Messages that hold at least one event of this type. */
export const countOf = (bodies: readonly WebhookBody[], type: string): number =>
  bodies.filter(({ events }) => events.some((event) => event.type === type)).length;

/** What came again came under the same id with the same words. */
export function expectSameAgain(bodies: readonly WebhookBody[]): void {
  const wordsOf = ({ events }: WebhookBody): string => JSON.stringify(events);
  const first = new Map<string, WebhookBody>();
  for (const body of bodies) first.set(body.id, first.get(body.id) ?? body);
  expect(bodies.filter((body) => wordsOf(first.get(body.id) ?? body) !== wordsOf(body)).map(({ id }) => id)).toEqual(
    [],
  );
}

/** A message for people: how many problems and ends it counts, what it tells of them, and where it leads. */
export type Read = {
  readonly missing: number;
  readonly recovered: number;
  readonly stories: number;
  readonly linked: boolean;
};

/** What people read in Slack: the messages that were taken, not those that were answered 429. */
export function readChat({ chat }: Receivers, refusals: number, link: string): readonly Read[] {
  return chat.requests.slice(refusals).map(({ body }) => {
    const payload = JSON.parse(body) as SlackPayload;
    return { ...counted(payload.text), stories: toldBySlack(payload).length, linked: body.includes(link) };
  });
}

export function readMails({ mail }: Receivers, link: string): readonly Read[] {
  return mail.mails.map(({ raw }) => {
    const { text } = readMail(raw);
    const [headline = ''] = text.split('\n');
    return { ...counted(headline), stories: toldByMail(raw).length, linked: text.includes(link) };
  });
}

function counted(headline: string): Pick<Read, 'missing' | 'recovered'> {
  const count = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(headline)?.[1] ?? 0);
  return { missing: count('missing'), recovered: count('recovered') };
}

/** The numbers of all messages add up to every job, each tells the worst ten and leads on. */
export function expectGrouped(messages: readonly Read[], jobs: number): void {
  const sum = (of: (message: Read) => number): number => messages.reduce((total, message) => total + of(message), 0);
  expect([sum(({ missing }) => missing), sum(({ recovered }) => recovered)]).toEqual([jobs, jobs]);
  const most = ({ missing, recovered }: Read): number => Math.min(10, missing + recovered);
  expect(messages.filter((message) => message.stories !== most(message) || !message.linked)).toEqual([]);
}

/** Whoever answers 429 is left alone as long as it asks. */
export function expectLeftAlone({ chat }: Receivers, refusals: number): void {
  const gaps = chat.cameAt.slice(1, refusals + 1).map((at, index) => at - (chat.cameAt[index] ?? at));
  expect(gaps).toHaveLength(refusals);
  expect(gaps.filter((gap) => gap < RETRY_AFTER_S * 1000)).toEqual([]);
}

/** An attempt on the receiver that hangs ends after 10 s; on a busy machine it may be written down later. */
export function expectGivenUpInTime(attempts: readonly Attempt[], cameAt: readonly number[]): void {
  const took = attempts.map(({ at }, index) => at - (cameAt[index] ?? at));
  expect(took.length).toBeGreaterThan(0);
  expect(took.filter((ms) => ms < 9_000 || ms > 15_000)).toEqual([]);
  expect(attempts.map(({ outcome, reason }) => `${outcome}: ${reason}`)).toEqual(
    attempts.map(() => 'retry: no answer within 10 s'),
  );
}

/** Milliseconds from the common deadline to the first message delivered to each channel. */
export async function firstDelivered(database: Database, deadline: number): Promise<Readonly<Record<string, number>>> {
  const rows = await rowsOf(
    database,
    `select c.slug as channel, min(o.delivered_at) as at from outbox o join channels c on c.id = o.channel_id
     where o.delivered_at is not null group by 1`,
  );
  const found = new Map(rows.map(({ channel, at }) => [channel, Number(at) - deadline]));
  return Object.fromEntries(
    CHANNELS.flatMap((channel) => (found.has(channel) ? [[channel, found.get(channel) ?? 0]] : [])),
  );
}
