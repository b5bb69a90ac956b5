import type { ScheduleSpec } from '../core/schedule.ts';
import type { Instant } from '../core/time.ts';
import type { ZoneTable } from '../core/zone.ts';
import type { Tx } from './database.ts';

/** What a process knows of zones: the tables of one version of the tz database; null: no such zone. */
export type TableSource = { readonly version: string; table(name: string): ZoneTable | null };

/** Which table a schedule version is read by. */
export type TableName = { readonly tzVersion: string; readonly zone: string };

/** Keeps the tables of these zones as this process has them, unless they are kept already. UTC needs none. */
export async function keepTables(tx: Tx, source: TableSource, zones: readonly string[]): Promise<void> {
  // In one order, so that two transactions never wait for each other.
  const wanted = [...new Set(zones)].filter((zone) => zone !== 'UTC').sort();
  if (wanted.length === 0) return;
  const kept = await tx.sql<{ zone: string }[]>`
    select zone from zone_tables where tz_version = ${source.version} and zone = any(${wanted}::text[])`;
  const known = new Set(kept.map(({ zone }) => zone));
  for (const zone of wanted.filter((name) => !known.has(name))) {
    const table = source.table(zone);
    if (table === null) continue;
    const { name: _, ...rest } = table;
    await tx.sql`
      insert into zone_tables (tz_version, zone, zone_table)
      values (${source.version}, ${zone}, ${JSON.stringify(rest)}::jsonb) on conflict do nothing`;
  }
}

/** Those of these tables that are kept. */
export async function readTables(
  tx: Tx,
  names: readonly TableName[],
): Promise<readonly (TableName & { readonly table: ZoneTable })[]> {
  if (names.length === 0) return [];
  const rows = await tx.sql<(TableName & { table: Omit<ZoneTable, 'name'> })[]>`
    select t.tz_version as "tzVersion", t.zone, t.zone_table as table
    from unnest(${names.map(({ tzVersion }) => tzVersion)}::text[], ${names.map(({ zone }) => zone)}::text[]) w(tz, zone)
    join zone_tables t on t.tz_version = w.tz and t.zone = w.zone`;
  return rows.map(({ table, ...name }) => ({ ...name, table: { name: name.zone, ...table } }));
}

/** Zones of schedule versions made with this tz version whose table is not kept: of installations from before. */
export async function zonesWithoutTable(tx: Tx, tzVersion: string): Promise<readonly string[]> {
  const rows = await tx.sql<{ zone: string }[]>`
    select distinct v.zone from schedule_versions v
    where v.tz_version = ${tzVersion} and v.zone <> 'UTC'
      and not exists (select from zone_tables t where t.tz_version = v.tz_version and t.zone = v.zone)`;
  return rows.map(({ zone }) => zone);
}

/** The tz versions that the newest schedule versions of all jobs are read by. */
export async function tzVersionsInUse(tx: Tx): Promise<readonly string[]> {
  const rows = await tx.sql<{ tzVersion: string }[]>`
    select distinct tz_version as "tzVersion" from schedule_versions where ends_at is null`;
  return rows.map(({ tzVersion }) => tzVersion);
}

/** The newest schedule version of a job. */
export type NewestVersion = TableName & {
  readonly jobId: number;
  readonly projectId: number;
  readonly slug: string;
  readonly number: number;
  readonly schedules: readonly ScheduleSpec[];
  readonly startsAfter: Instant;
};

/** Newest versions that are read by one of these tz versions, by job, after job `after`. */
export async function pageOfNewestVersions(
  tx: Tx,
  tzVersions: readonly string[],
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly NewestVersion[]> {
  return tx.sql<NewestVersion[]>`
    select v.job_id as "jobId", j.project_id as "projectId", j.slug, v.number, v.zone, v.schedules,
      v.starts_after as "startsAfter", v.tz_version as "tzVersion"
    from schedule_versions v join jobs j on j.id = v.job_id
    where v.ends_at is null and v.tz_version = any(${tzVersions as string[]}::text[]) and v.job_id > ${after}
    order by v.job_id limit ${limit}`;
}

/**
 * From now on these versions are read by the tables of another tz version, which must give the same instants. One that
 * somebody holds, or that another process changed since, is left as it is.
 */
export async function readBy(
  tx: Tx,
  source: TableSource,
  versions: readonly Pick<NewestVersion, 'jobId' | 'number' | 'tzVersion' | 'zone'>[],
): Promise<void> {
  if (versions.length === 0) return;
  await keepTables(
    tx,
    source,
    versions.map(({ zone }) => zone),
  );
  const wanted = versions.map(({ jobId: job, number, tzVersion: tz }) => ({ job, number, tz }));
  await tx.sql`
    update schedule_versions v set tz_version = ${source.version}
    from (
      select s.job_id, s.number from schedule_versions s
      join jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) w(job bigint, number int, tz text)
        on s.job_id = w.job and s.number = w.number and s.tz_version = w.tz
      where s.ends_at is null for update of s skip locked) own
    where v.job_id = own.job_id and v.number = own.number`;
}

export type MovedJob = {
  readonly projectId: number;
  readonly slug: string;
  /** The first due instant that moved, RFC 3339; null: none. */
  readonly was: string | null;
  readonly is: string | null;
};

/** What the audit knows of the jobs that this tz version moved, in their order. */
export async function movedBy(tx: Tx, tzVersion: string): Promise<readonly MovedJob[]> {
  return tx.sql<MovedJob[]>`
    select project_id as "projectId", subject as slug, detail ->> 'was' as was, detail ->> 'is' as is
    from audit where action = ${MOVED} and detail ->> 'to' = ${tzVersion} order by id`;
}

/** The audit's word for a new schedule version that a tz version made. */
export const MOVED = 'job.tz_change';

/** A small fact of the installation; null: never set. */
export async function readFact(tx: Tx, name: string): Promise<string | null> {
  const [row] = await tx.sql<{ value: string }[]>`select value from facts where name = ${name}`;
  return row?.value ?? null;
}
