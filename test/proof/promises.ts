import { expect } from 'vitest';
import { connect } from '../../src/store/database.ts';
import type { Answered } from './load.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Runs one statement on a database of which only the URL is known. */
export async function query(url: string, statement: string, parameter?: string): Promise<Rows> {
  const database = connect(url, { max: 1 });
  try {
    return await database.transaction((tx) => tx.sql.unsafe(statement, parameter === undefined ? [] : [parameter]));
  } finally {
    await database.close();
  }
}

/** Every ping that was acknowledged is stored once, for the occurrence its sender was told, and the ledger agrees with itself. */
export async function expectKept(url: string, acknowledged: ReadonlyMap<string, Answered>): Promise<void> {
  const promised = [...acknowledged.values()].map(({ rid, slug, key }) => ({
    rid,
    slug,
    due: key === undefined ? null : new Date(key).toISOString(),
  }));
  const broken = await query(
    url,
    `select m.*, j.slug as stored_slug, p.scheduled_for from jsonb_to_recordset($1::jsonb) m(rid text, slug text, due timestamptz)
     left join pings p on p.rid = m.rid left join jobs j on j.id = p.job_id
     where p.id is null or j.slug <> m.slug or p.scheduled_for is distinct from m.due limit 10`,
    JSON.stringify(promised),
  );
  expect(broken, 'acknowledged, but not stored as answered').toEqual([]);
  // Every ping of these tests has a run id of its own, and is sent once.
  const twice = await query(url, 'select rid, count(*) from pings group by rid having count(*) > 1 limit 10');
  expect(twice, 'a ping is stored twice').toEqual([]);
  await expectSound(url);
}

/** The ledger agrees with itself. */
export async function expectSound(url: string): Promise<void> {
  for (const [rule, statement] of RULES) expect(await query(url, `${statement} limit 10`), rule).toEqual([]);
}

/** Each finds what must not be there. */
const RULES: readonly (readonly [rule: string, statement: string])[] = [
  ['a ping waits for ever', "select id from pings where matched_by = 'deferred'"],
  [
    'a counted ping has no run, or that of another occurrence',
    `select p.id, p.job_id, p.kind from pings p left join runs r on r.id = p.run_id and r.job_id = p.job_id and r.thread = p.thread
     where p.counted and p.kind <> 'log' and (r.id is null or r.scheduled_for is distinct from p.scheduled_for)`,
  ],
  [
    'a run has neither ping nor claim',
    `select r.id, r.job_id from runs r where not exists (select from pings p where p.run_id = r.id and p.counted)
     and not exists (select from claims c where c.run_id = r.id)`,
  ],
  [
    'a run belongs to an occurrence without a row',
    `select r.id, r.job_id, r.scheduled_for from runs r where r.scheduled_for is not null
     and not exists (select from occurrences o where o.job_id = r.job_id and o.scheduled_for = r.scheduled_for)`,
  ],
  [
    'an occurrence counts other completions than there are',
    `select o.job_id, o.scheduled_for, o.completions, count(r.id) as runs from occurrences o
     left join runs r on r.job_id = o.job_id and r.scheduled_for = o.scheduled_for and r.verdict = 'success'
     group by o.job_id, o.scheduled_for having o.completions <> count(r.id)`,
  ],
  [
    'an occurrence was completed by no run of its own',
    `select o.job_id, o.scheduled_for from occurrences o
     left join runs r on r.id = o.completed_by and r.job_id = o.job_id and r.scheduled_for = o.scheduled_for
     where o.state in ('on_time', 'late', 'expired') and (r.id is null or o.completed_at is null)`,
  ],
  [
    'a heartbeat has two open occurrences',
    `select o.job_id, count(*) from occurrences o join jobs j on j.id = o.job_id
     where o.state in ('expected', 'running', 'overdue') and j.definition->'schedules'->0 ? 'heartbeat'
     group by o.job_id having count(*) > 1`,
  ],
  [
    'a cursor counts other incidents than are open',
    `select c.job_id, c.open_incidents, count(i.id) from cursors c
     left join incidents i on i.job_id = c.job_id and i.resolved_at is null
     group by c.job_id, c.open_incidents having c.open_incidents <> count(i.id)`,
  ],
];
