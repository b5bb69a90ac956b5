import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Hono } from 'hono';
import { compose } from '../src/cli/compose.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { createLog } from '../src/log.ts';
import { connect, type Database } from '../src/store/database.ts';
import { startEmbedded } from '../src/store/embedded.ts';
import { createFirstRun } from '../src/store/first-run.ts';
import { migrate, migrationsFolder } from '../src/store/migrate.ts';
import { loadZones } from '../src/zones.ts';

/** One page: what it weighs, and how long the service takes to make it, database included, without the network. */
export type PageFigures = {
  readonly page: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly firstMs: number;
  readonly medianMs: number;
};

const ORIGIN = 'http://127.0.0.1:3000';
const SIZES = [50, 500, 2000] as const;
const TIMES = 20;
/** What every job has behind it, and the one whose page is measured. */
const DAYS = 90;
const HOURS = 24 * 30;

/** Weight and time of the pages people look at most, in one process over a database of its own. */
export async function pageBench(progress: (line: string) => void = () => undefined): Promise<readonly PageFigures[]> {
  const figures: PageFigures[] = [];
  for (const size of SIZES) {
    progress(`pages with ${size} jobs`);
    figures.push(...(await withSite(size, (site) => measureAll(site, size))));
  }
  return figures;
}

/** For people. */
export function pageLines(figures: readonly PageFigures[]): readonly string[] {
  const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`.padStart(9);
  const ms = (time: number): string => `${time.toFixed(1)} ms`.padStart(9);
  return [
    `pages: HTML, the same with gzip, the first time, median of ${TIMES}`,
    ...figures.map(
      ({ page, bytes, gzipBytes, firstMs, medianMs }) =>
        `${page.padEnd(30)} ${kB(bytes)} ${kB(gzipBytes)} ${ms(firstMs)} ${ms(medianMs)}`,
    ),
  ];
}

type Site = { readonly app: Hono; readonly cookie: string };

async function measureAll(site: Site, size: number): Promise<readonly PageFigures[]> {
  const figures = [await measure(site, `dashboard, ${size} jobs`, '/projects/default')];
  if (size !== SIZES[0]) return figures;
  figures.push(await measure(site, 'job, hourly for 30 days', '/projects/default/jobs/job-0'));
  figures.push(await measure(site, `status page, ${size} jobs`, (time) => `/status/acme-${time}`));
  figures.push(await measure(site, 'status page within 5 s of that', '/status/acme-0'));
  return figures;
}

/** `path` may be another one each time, of pages that show the same: what the service keeps of one is no help then. */
async function measure(site: Site, page: string, path: string | ((time: number) => string)): Promise<PageFigures> {
  const times: number[] = [];
  let html = '';
  for (let time = 0; time <= TIMES; time += 1) {
    const url = ORIGIN + (typeof path === 'string' ? path : path(time));
    const begins = performance.now();
    const answer = await site.app.request(url, { headers: { Cookie: site.cookie, Accept: 'text/html' } });
    html = await answer.text();
    times.push(performance.now() - begins);
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
  }
  const [firstMs = 0, ...rest] = times;
  const medianMs = rest.sort((a, b) => a - b)[TIMES / 2] ?? 0;
  return { page, bytes: Buffer.byteLength(html), gzipBytes: gzipSync(html).length, firstMs, medianMs };
}

async function withSite<T>(size: number, use: (site: Site) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  // As root the database runs as another user, who must get in.
  await chmod(folder, 0o755);
  const log = createLog('warn');
  const embedded = await startEmbedded(folder, log);
  const database = connect(embedded.url, { prepare: true });
  try {
    const config = readConfig({ PUBLIC_URL: ORIGIN, DATA_DIR: folder });
    if (!config.ok) throw new Error(config.reason);
    const firstRun = createFirstRun(config.value, log);
    await migrate(database, migrationsFolder, log, firstRun.seed);
    const told = firstRun.finish();
    if (told?.kind !== 'first') throw new Error('a new folder, and no first start');
    await fill(database, size);
    const { app } = compose({
      config: config.value,
      roles: new Set(['web'] as const),
      database,
      ingestDatabase: database,
      zones: loadZones(),
      clock: systemClock,
      log,
    });
    await publish(app, told.told.api_key ?? '', Math.min(size, 50));
    return await use({ app, cookie: await signIn(app, told.told.sign_in_url) });
  } finally {
    await database.close();
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function signIn(app: Hono, link: string): Promise<string> {
  const account = { name: 'Ada Marsh', email: 'ada@example.org', password: 'correct horse battery' };
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded', Origin: ORIGIN };
  const answer = await app.request(link, { method: 'POST', headers, body: new URLSearchParams(account).toString() });
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  if (answer.status !== 303 || cookies.length === 0) throw new Error(`not signed in: ${answer.status}`);
  return cookies.join('; ');
}

/** As many pages of the same jobs as one is measured times. */
async function publish(app: Hono, key: string, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({ job: `job-${i}` }));
  const body = JSON.stringify({ title: 'Acme nightly', zone: 'Europe/Berlin', groups: [{ name: 'All', jobs }] });
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  for (let time = 0; time <= TIMES; time += 1) {
    const url = `${ORIGIN}/api/v1/status-pages/acme-${time}`;
    const { status } = await app.request(url, { method: 'PUT', headers, body });
    if (status !== 201) throw new Error(`no status page: ${status}`);
  }
}

/**
 * Daily jobs with 90 days on the ledger, the first one hourly with its pings; every fiftieth did not run last time. Written
 * as the engine would have, by statements that take 2,000 jobs at once.
 */
async function fill(database: Database, size: number): Promise<void> {
  await database.transaction(async (tx) => {
    const { sql, now } = tx;
    const hour = Math.floor(now / 3_600_000) * 3_600_000;
    await sql`
      insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
      select p.id, gen_random_uuid(), 'job-' || i, jsonb_build_object(
        'name', 'Job ' || i, 'description', '', 'tags', jsonb_build_array('team-' || i % 12), 'zone', 'UTC',
        'schedules', jsonb_build_array(jsonb_build_object('cron', case i when 0 then '0 * * * *' else '0 ' || i % 24 || ' * * *' end)),
        'missedRuns', 'coalesce', 'missedRunsReason', '', 'early', null, 'startWithin', null, 'grace', null,
        'usefulFor', null, 'maxRuntime', null, 'maxCatchUp', null, 'throttle', null, 'overlap', 'forbid',
        'alertAfter', '{}'::jsonb, 'after', '[]'::jsonb, 'duplicates', 'alert', 'unscheduled', 'record', 'channels', null),
        ${now - DAYS * 86_400_000}, ${now - DAYS * 86_400_000}
      from projects p, generate_series(0, ${size - 1}::int) i where p.slug = 'default'`;
    await sql`
      insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
      select id, 1, 'UTC', definition -> 'schedules', created_at, 'bench' from jobs`;
    await sql`
      create temporary table last_due on commit drop as
      select j.id, substr(j.slug, 5)::int as i, case j.slug when 'job-0' then '1 hour' else '1 day' end::interval as step,
        case when j.slug = 'job-0' then ${hour}::timestamptz
          else date_trunc('day', ${hour}::timestamptz) - '1 day'::interval + substr(j.slug, 5)::int % 24 * '1 hour'::interval end as due
      from jobs j`;
    await sql`
      insert into cursors (job_id, version, next_unrecorded)
      select id, 1, case when due + step > ${now} then due + step else due + 2 * step end from last_due`;
    await sql`
      insert into occurrences (job_id, scheduled_for, version, state, settled_at, completions, started_at, completed_at, duration_ms, matched_by)
      select id, due - k * step, 1, case when k = 0 and i % 50 = 1 then 'missed' when k % 17 = 3 then 'late' else 'on_time' end,
        due - k * step + '9 minutes'::interval, case when k = 0 and i % 50 = 1 then 0 else 1 end,
        due - k * step + '5 seconds'::interval, due - k * step + (120 + k % 40) * '1 second'::interval, (120 + k % 40) * 1000, 'current'
      from last_due, generate_series(case when due + step > ${now} then 0 else -1 end, case i when 0 then ${HOURS - 1}::int else ${DAYS - 1}::int end) k`;
    await sql`
      insert into pings (job_id, kind, thread, fingerprint, received_at, at, scheduled_for, matched_by, counted, source, user_agent, method, notes)
      select job_id, kind, 'bench', 'bench', started_at, started_at, scheduled_for, 'current', true, '192.0.2.1', 'curl/8.5.0', 'GET', '[]'
      from occurrences join last_due on id = job_id, unnest(array['start', 'success']) kind where i = 0 order by scheduled_for, kind`;
    await sql`
      insert into incidents (job_id, kind, opened_at, events, last_told, occurrence_count, troubled_count)
      select id, 'missing', due, 1, due, 1, 0 from last_due where i % 50 = 1`;
  });
}

if (import.meta.filename === process.argv[1])
  for (const line of pageLines(await pageBench(console.error))) console.log(line);
