import { Agent, get } from 'node:http';
import type { Database } from '../../src/store/database.ts';
import { PING_KEY, type Service } from './service.ts';
import { rowsOf } from './storm-checks.ts';

const CONNECTIONS = 64;

/**
 * Makes so many jobs that are all due, and late, at one instant, `aheadMs` from now at the least. One is made through the
 * API; the others are copies of its rows, because thousands of calls would take longer than the storm.
 */
export async function createFleet(
  service: Service,
  { database, jobs, aheadMs }: { readonly database: Database; readonly jobs: number; readonly aheadMs: number },
): Promise<number> {
  const deadline = Math.ceil((Date.now() + aheadMs) / 1000) * 1000;
  await service.api('PUT', `/jobs/${slugOf(1)}`, {
    schedules: [{ every: '1h', anchor: new Date(deadline).toISOString() }],
    zone: 'Europe/Berlin',
    missed_runs: 'catch_up',
    early: '0s',
    grace: '0s',
  });
  await rowsOf(database, COPY, String(jobs));
  if (Date.now() >= deadline) throw new Error('the jobs were made too late: this machine is too busy');
  return deadline;
}

const slugOf = (number: number): string => `storm-${String(number).padStart(4, '0')}`;

const COPY = `
  with made as (
    insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
    select j.project_id, gen_random_uuid(), name, jsonb_set(j.definition, '{name}', to_jsonb(name)), j.created_at, j.settings_since
    from jobs j, generate_series(2, $1::integer) number, format('storm-%s', lpad(number::text, 4, '0')) name
    where j.slug = '${slugOf(1)}' returning id
  ), versions as (
    insert into schedule_versions (job_id, number, zone, schedules, starts_after, ends_at, tz_version)
    select made.id, v.number, v.zone, v.schedules, v.starts_after, v.ends_at, v.tz_version
    from made, schedule_versions v join jobs j on j.id = v.job_id where j.slug = '${slugOf(1)}'
  )
  insert into cursors (job_id, version, next_unrecorded, next_check_at)
  select made.id, c.version, c.next_unrecorded, c.next_check_at
  from made, cursors c join jobs j on j.id = c.job_id where j.slug = '${slugOf(1)}'`;

/** Every job says that it has run after all; answers how many were acknowledged. */
export async function pingAll({ url }: Service, jobs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const slugs = Array.from({ length: jobs }, (_, index) => slugOf(index + 1));
  const statuses = await Promise.all(slugs.map((slug) => ping(agent, `${url}/ping/${PING_KEY}/${slug}`)));
  agent.destroy();
  return statuses.filter((status) => status === 200).length;
}

function ping(agent: Agent, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    }).on('error', reject);
  });
}
