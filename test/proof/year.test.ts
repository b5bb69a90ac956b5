import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import { listOccurrences, readableJob } from '../../src/engine/reading.ts';
import type { Tx } from '../../src/store/database.ts';
import { readJob } from '../../src/store/jobs.ts';
import { loadZones } from '../../src/zones.ts';
import type { History, LedgerView } from '../support/history.ts';
import { explainDifference } from '../support/ledger-difference.ts';
import { slowLedger } from '../support/slow-ledger.ts';
import { wrongCursors, wrongIncidents, wrongInstants, wrongOutbox } from '../support/year-checks.ts';
import { YEAR_END, YEAR_START, yearJobs } from '../support/year-jobs.ts';
import { randomOf, yearOf } from '../support/year-plan.ts';
import { type PlayedJob, play, type Service, settleDown, startService } from '../support/year-service.ts';
import { asAccepted, comparable, readView } from '../support/year-view.ts';

const zones = loadZones();
const HOUR = 3_600_000;
const at = (text: string): Instant => Date.parse(text);

/** 20 minutes in which nobody listens, on the night the clocks of Europe go back. */
const windows: History['windows'] = [
  { kind: 'blind', after: at('2018-10-28T00:50:00Z'), until: at('2018-10-28T01:10:00Z') },
];

/** The evaluators stand still, ingest goes on: hours, days, a fortnight in which clocks change. */
const outages = [
  { after: at('2018-02-18T01:00:00Z'), until: at('2018-02-18T07:30:00Z') },
  { after: at('2018-07-02T05:00:00Z'), until: at('2018-07-04T17:00:00Z') },
  { after: at('2018-03-20T00:00:00Z'), until: at('2018-04-03T00:00:00Z') },
];
const isOut = (now: Instant): boolean => outages.some(({ after, until }) => after < now && now <= until);

const jobs: readonly PlayedJob[] = yearJobs.map((job) => ({
  slug: job.slug,
  history: yearOf(job, zones, windows),
  channels: job.channels,
}));

let service: Service;
/** What the slow, perfect evaluator is fed with: the pings in the order in which the database took them. */
const accepted = new Map<string, History>();

beforeAll(async () => {
  service = await startService(zones, { settleMs: 600_000, start: YEAR_START });
  await service.beat();
  const random = randomOf(2018);
  const wished = Array.from({ length: 250 }, () => YEAR_START + Math.floor(random() * (YEAR_END - YEAR_START)));
  const ticks = {
    at: wished.filter((now) => !isOut(now)),
    atStep: (_step: number, now: Instant) => !isOut(now) && random() < 0.25,
  };
  await play(service, jobs, { windows, until: YEAR_END, ticks, onStep: monthly() });
  await settleDown(service, YEAR_END);
  for (const { slug, history } of jobs) accepted.set(slug, await service.run((tx) => asAccepted(tx, slug, history)));
}, 600_000);

afterAll(() => service?.stop());

/** A line for each simulated month. */
function monthly(): (now: Instant) => void {
  const begun = performance.now();
  let month = '';
  let steps = 0;
  return (now) => {
    steps += 1;
    const current = formatInstant(now).slice(0, 7);
    if (current === month) return;
    month = current;
    process.stdout.write(`  year: ${month}, ${steps} steps, ${Math.round((performance.now() - begun) / 1000)} s\n`);
  };
}

const historyOf = (slug: string): History => {
  const history = accepted.get(slug);
  if (!history) throw new Error(`no history of ${slug}`);
  return history;
};

const viewOf = (slug: string): Promise<LedgerView> => service.run((tx) => readView(tx, slug, zones));

describe('a year of forty jobs', () => {
  test('breaks nothing', () => {
    expect(service.failures).toEqual([]);
  });

  test('sees pings of every kind', () => {
    const words = ['key', 'rid', 'running', 'current', 'again', 'off_schedule', 'retry', 'refused', 'deferred'];
    expect(words.filter((word) => !service.answers.has(word))).toEqual([]);
  });

  test('has a row for every instant of every version, and for nothing else', async () => {
    const wrong: string[] = [];
    for (const { slug } of jobs) {
      wrong.push(...(await service.run((tx) => wrongInstants(tx, slug, historyOf(slug), zones))));
    }
    expect(wrong).toEqual([]);
  });

  test.each(jobs.map(({ slug, channels }) => ({ slug, channels })))(
    '$slug is the slow ledger',
    async ({ slug, channels }) => {
      const having = { hasChannels: channels?.length !== 0 };
      const slow = slowLedger(historyOf(slug), zones);
      expect(explainDifference(comparable(slow, having), comparable(await viewOf(slug), having))).toBeNull();
    },
  );

  test('tells every event once to every channel of its job', async () => {
    expect(await service.run(wrongOutbox)).toEqual([]);
  });

  test('counts incidents and their occurrences right', async () => {
    expect(await service.run(wrongIncidents)).toEqual([]);
  });

  test('leaves nothing to be judged', async () => {
    expect(await service.run(wrongCursors)).toEqual([]);
  });

  test('never looks later than something changes', async () => {
    const wrong: string[] = [];
    const cursors = await service.run(
      (tx) => tx.sql<{ slug: string; next: Instant | null }[]>`
        select j.slug, c.next_check_at as next from cursors c join jobs j on j.id = c.job_id
        where j.paused_at is null order by j.slug`,
    );
    for (const { slug, next } of cursors.filter((_, i) => i % 3 === 0)) {
      const until = next === null ? YEAR_END + 2400 * HOUR : next - 1;
      const [now, then] = [await viewOf(slug), slowLedger({ ...historyOf(slug), until }, zones)];
      const known = new Set(now.occurrences.map(({ scheduledFor }) => scheduledFor));
      const occurrences = then.occurrences.filter(({ scheduledFor }) => known.has(scheduledFor));
      // What is owed may be run after now, whenever that is.
      const bare = { incidents: [], owed: [] };
      const difference = explainDifference({ ...then, occurrences, ...bare }, { ...now, ...bare });
      if (difference) wrong.push(`${slug} until ${formatInstant(until)}: ${difference}`);
      for (const { scheduledFor, state } of then.occurrences) {
        if (!known.has(scheduledFor) && state !== 'expected') wrong.push(`${slug}: ${scheduledFor} is ${state}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is read alike before and after a tick', async () => {
    const later = YEAR_END + 30 * HOUR;
    service.clock.set(later);
    await service.beat();
    const slugs = ['job-01', 'job-05', 'job-06', 'job-11', 'job-13', 'job-28', 'job-32', 'job-37', 'job-40'];
    const due = await service.run((tx) => dueAmong(tx, slugs));
    expect(due.length).toBeGreaterThan(0);
    await service.catchUp(due);
    const list = () => service.run((tx) => Promise.all(slugs.map((slug) => listed(tx, slug))));
    const before = await list();
    await service.tick();
    expect(await list()).toEqual(before);
  });
});

async function jobIdOf(tx: Tx, slug: string): Promise<number | null> {
  const [row] = await tx.sql<{ id: number }[]>`select id from jobs where slug = ${slug}`;
  return row?.id ?? null;
}

/** Whom a reader of these jobs brings to the horizon first. */
async function dueAmong(tx: Tx, slugs: readonly string[]): Promise<number[]> {
  const rows = await tx.sql<{ id: number }[]>`
    select j.id from cursors c join jobs j on j.id = c.job_id where c.next_check_at <= ${tx.now} and j.slug in ${tx.sql(slugs)}`;
  return rows.map(({ id }) => id);
}

async function listed(tx: Tx, slug: string) {
  const stored = await readJob(tx, (await jobIdOf(tx, slug)) ?? 0);
  if (!stored) throw new Error(`no job ${slug}`);
  const window = { after: YEAR_END - 90 * 24 * HOUR, until: tx.now, states: null };
  return listOccurrences(tx, await readableJob(tx, stored, zones), window, { limit: 500, zones });
}
