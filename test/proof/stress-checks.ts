import { expect } from 'vitest';
import { query } from './promises.ts';
import type { Attempt, Sent } from './stress-clients.ts';
import type { Fleet, Member } from './stress-fleet.ts';
import type { StressJob } from './stress-jobs.ts';

/** What the run amounts to. */
export type Figures = Record<string, number>;

/**
 * Every ping that was acknowledged is stored for the occurrence its sender was told, and counted once; its retries are
 * marked as such. What a job far behind will make of a ping is not known when it is answered. Where a start was tried again, a belated try may come after the end of its run: that is news, and so is
 * what comes again after it.
 */
export async function expectAcknowledgedOnce(url: string, sent: readonly Sent[]): Promise<Figures> {
  const restarted = new Set(
    sent.filter(({ kind, attempts }) => kind === 'start' && attempts.length > 1).map(({ rid }) => rid),
  );
  const promised = sent.flatMap(({ slug, kind, rid, acknowledged }) =>
    acknowledged === null
      ? []
      : [
          {
            slug,
            kind,
            rid,
            due: instantOf(acknowledged.key),
            again: restarted.has(rid),
            later: acknowledged.match === 'deferred',
          },
        ],
  );
  const table =
    'jsonb_to_recordset($1::jsonb) m(slug text, kind text, rid text, due timestamptz, again boolean, later boolean)';
  const counted = `select m.*, count(p.id) as times from ${table}
     left join jobs j on j.slug = m.slug
     left join pings p on p.rid = m.rid and p.kind = m.kind and p.job_id = j.id and p.counted
       and (m.later or p.scheduled_for is not distinct from m.due)
     group by m.slug, m.kind, m.rid, m.due, m.again, m.later`;
  const given = JSON.stringify(promised);
  const lost = await query(url, `select * from (${counted}) x where times = 0`, given);
  const doubles = await query(url, `select * from (${counted}) x where times > 1 and not again`, given);
  expect(lost.slice(0, 10), 'acknowledged, but not stored as answered').toEqual([]);
  expect(doubles.slice(0, 10), 'counted twice').toEqual([]);
  const odd = await query(
    url,
    `select id, rid, kind, matched_by, occ, received_at from pings p where not counted and matched_by <> 'retry' limit 10`,
  );
  expect(odd, 'neither counted nor a retry').toEqual([]);
  const retries = await query(url, "select count(*) as n from pings where matched_by = 'retry'");
  return {
    sent: sent.length,
    acknowledged: promised.length,
    lost: lost.length,
    doubles: doubles.length,
    retries: number(retries),
  };
}

const instantOf = (key: string): string | null => (key === '' ? null : new Date(key).toISOString());
const number = (rows: Awaited<ReturnType<typeof query>>): number => Number(rows[0]?.['n']);

/** From its creation to its pause every instant of a job has its row; that it has no more than one is the table's key. */
export async function expectNoHoles(url: string, jobs: readonly StressJob[]): Promise<Figures> {
  const scheduled = JSON.stringify(jobs.map(({ slug, every }) => ({ slug, every })));
  const holes = await query(
    url,
    `with due as (
       select j.id, j.slug, to_timestamp(s) as at from jsonb_to_recordset($1::jsonb) m(slug text, every int)
       join jobs j on j.slug = m.slug
       cross join lateral generate_series(
         (floor(extract(epoch from j.created_at) / every) + 1) * every, extract(epoch from j.paused_at), every) s)
     select d.slug, d.at from due d
     where not exists (select from occurrences o where o.job_id = d.id and o.scheduled_for = d.at) limit 10`,
    scheduled,
  );
  expect(holes, 'instants without a row').toEqual([]);
  const strangers = await query(
    url,
    `select j.slug, o.scheduled_for from jsonb_to_recordset($1::jsonb) m(slug text, every int)
     join jobs j on j.slug = m.slug join occurrences o on o.job_id = j.id
     where mod(extract(epoch from o.scheduled_for), every) <> 0 or o.scheduled_for <= j.created_at limit 10`,
    scheduled,
  );
  expect(strangers, 'rows that are no instants').toEqual([]);
  return { rows: number(await query(url, 'select count(*) as n from occurrences')) };
}

/** No alarm about an occurrence whose success was acknowledged before its deadline. Returns how many those are. */
export async function expectNoFalseAlarms(
  url: string,
  sent: readonly Sent[],
  jobs: readonly StressJob[],
): Promise<Figures> {
  const graceOf = new Map(jobs.map(({ slug, grace }) => [slug, grace * 1000]));
  const inTime = sent.flatMap(({ slug, kind, acknowledged }) => {
    const grace = graceOf.get(slug);
    const due = acknowledged && instantOf(acknowledged.key);
    if (kind !== 'success' || !acknowledged || !due || grace === undefined) return [];
    return acknowledged.answeredAt < Date.parse(due) + grace ? [{ slug, due }] : [];
  });
  const wrong = await query(
    url,
    `select m.slug, m.due, o.state, o.reason, i.kind from jsonb_to_recordset($1::jsonb) m(slug text, due timestamptz)
     join jobs j on j.slug = m.slug left join occurrences o on o.job_id = j.id and o.scheduled_for = m.due
     left join (incident_occurrences x join incidents i on i.id = x.incident_id and i.kind in ('missing', 'late', 'not_started', 'overrun'))
       on i.job_id = j.id and x.scheduled_for = m.due
     where o.state is distinct from 'on_time' or i.id is not null limit 10`,
    JSON.stringify(inTime),
  );
  expect(wrong, 'acknowledged in time, and yet in trouble').toEqual([]);
  return { in_time: inTime.length };
}

/** Milliseconds, while there was load: how long the senders waited, and how long nobody was answered. */
export function pauses(
  sent: readonly Sent[],
  webs: readonly Member[],
  load: { readonly from: number; readonly until: number },
) {
  const attempts = sent.flatMap((one) => one.attempts).filter(({ status }) => status === 200 || status === 201);
  const served = attempts.filter((attempt) => lifeOf(attempt));
  const lives = webs.flatMap((member) => member.lives.map((life) => ({ member, ...clip(life, load) })));
  return {
    longest_wait: Math.max(0, ...served.map(({ from, until }) => until - from)),
    /** Of each process that was up. */
    longest_pause: Math.max(
      0,
      ...lives.map(({ member, ...life }) =>
        longestGap(
          served.filter((one) => one.member === member),
          life,
        ),
      ),
    ),
    /** Of all together. */
    longest_silence: longestGap(served, load),
  };
}

type Span = { readonly from: number; readonly until: number };

const clip = (life: Span, load: Span): Span => ({
  from: Math.max(life.from, load.from),
  until: Math.min(life.until, load.until),
});

/** The life in which a try began and ended; a process that was stopped meanwhile says nothing about waiting. */
const lifeOf = ({ member, from, until }: Attempt): Span | undefined =>
  member.lives.find((life) => life.from <= from && until <= life.until);

function longestGap(attempts: readonly Attempt[], { from, until }: Span): number {
  const instants = attempts.map((attempt) => attempt.until).filter((at) => at >= from && at <= until);
  const marks = [from, ...instants.sort((a, b) => a - b), until];
  return Math.max(0, ...marks.slice(1).map((at, i) => at - (marks[i] ?? at)));
}

/** Lines that say that something is wrong with Rollcall itself. Not so: a database or a channel that is away. */
export function expectNoBugs(fleet: Fleet): void {
  const lines = fleet.members.flatMap(({ name, logs, service: { printed } }) =>
    [...logs, printed.out, printed.err].flatMap((log) => log.split('\n')).map((line) => `${name}: ${line}`),
  );
  const bugs = lines.filter((line) => /"level":(50|60)\b|rollcall ends|(Type|Reference|Range)Error/.test(line));
  expect([...new Set(bugs)].slice(0, 20)).toEqual([]);
}
