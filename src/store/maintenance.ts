import type { Concerned, MaintenanceDefinition } from '../core/maintenance.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { lookAgain } from './withholding.ts';

/** The revision of a window that is in force. */
export type StoredWindow = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly definition: MaintenanceDefinition;
  readonly actor: string;
  readonly knownFrom: Instant;
  readonly fetchedAt: Instant | null;
  readonly fetchFailure: string | null;
};

/** A revision as it decides: without the text of a calendar, of which only the events matter. */
export type StoredRevision = Omit<StoredWindow, 'fetchedAt' | 'fetchFailure'> & {
  readonly knownUntil: Instant | null;
  readonly isReplaced: boolean;
};

/** Name of the fact that changes with every revision: whoever has seen its value knows all of them. */
const STAMP = 'maintenance';
/** Facts `maintenance:<revision>`: the past of that revision is not applied to all jobs yet; the value is the last job done. */
const PENDING = 'maintenance:';
/** Facts `calendar:<project>:<slug>`: when a feed was tried last. */
const TRIED = 'calendar:';
/** Revisions that ended longer ago decide nothing any more: no blind window is judged that is older. */
const FORGOTTEN_MS = 400 * 86_400_000;

const columns = ({ sql }: Tx) => sql`
  id, project_id as "projectId", slug, definition, actor, known_from as "knownFrom", fetched_at as "fetchedAt",
  fetch_failure as "fetchFailure"`;

/** Changes with every revision of any project; null: there has never been one. One row by its key. */
export async function maintenanceStamp(tx: Tx): Promise<string | null> {
  const rows = await tx.sql<{ value: string }[]>`select value from facts where name = ${STAMP}`;
  return rows[0]?.value ?? null;
}

/** Whoever writes revisions holds this row to the end, so that there is one order of them. */
async function takeStamp({ sql }: Tx): Promise<void> {
  await sql`
    insert into facts (name, value) values (${STAMP}, gen_random_uuid()::text)
    on conflict (name) do update set value = excluded.value`;
}

/** The windows of a project in force, by slug, those after `after` only; calendars without their text. */
export async function listWindows(
  tx: Tx,
  projectId: number,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly StoredWindow[]> {
  return tx.sql<StoredWindow[]>`
    select id, project_id as "projectId", slug, definition #- '{when,ics}' as definition, actor, known_from as "knownFrom",
      fetched_at as "fetchedAt", fetch_failure as "fetchFailure"
    from maintenance_windows
    where project_id = ${projectId} and known_until is null and slug collate "C" > ${after ?? ''}
    order by slug collate "C" limit ${limit}`;
}

export async function findWindow(tx: Tx, projectId: number, slug: string): Promise<StoredWindow | null> {
  const [row] = await tx.sql<StoredWindow[]>`
    select ${columns(tx)} from maintenance_windows
    where project_id = ${projectId} and slug = ${slug} and known_until is null`;
  return row ?? null;
}

/** A revision that is still in force; null: it was replaced or ended. */
export async function findRevision(tx: Tx, id: number): Promise<StoredWindow | null> {
  const [row] = await tx.sql<StoredWindow[]>`
    select ${columns(tx)} from maintenance_windows where id = ${id} and known_until is null`;
  return row ?? null;
}

/** Every revision that may still decide something about jobs of these projects, the newest first. */
export async function readRevisions(tx: Tx, projectIds: readonly number[]): Promise<readonly StoredRevision[]> {
  return tx.sql<StoredRevision[]>`
    select m.id, m.project_id as "projectId", m.slug, m.definition #- '{when,ics}' as definition, m.actor,
      m.known_from as "knownFrom", m.known_until as "knownUntil",
      exists (select from maintenance_windows later where later.project_id = m.project_id and later.slug = m.slug
        and later.id > m.id and later.known_from = m.known_until) as "isReplaced"
    from maintenance_windows m
    where m.project_id = any(${projectIds as number[]}::bigint[])
      and (m.known_until is null or m.known_until > ${tx.now - FORGOTTEN_MS})
    order by m.known_from desc, m.id desc`;
}

export type NewRevision = {
  readonly projectId: number;
  readonly slug: string;
  readonly actor: string;
  /** Made from what is in force, which is locked until the end of the transaction. */
  readonly define: (old: StoredWindow | null) => MaintenanceDefinition;
};

export type PutWindow = { readonly window: StoredWindow; readonly created: boolean; readonly changed: boolean };

/** Defines a window anew from `tx.now` on. One that changes nothing is no revision; `isSame` compares. */
export async function putRevision(
  tx: Tx,
  { projectId, slug, actor, define }: NewRevision,
  isSame: (a: MaintenanceDefinition, b: MaintenanceDefinition) => boolean,
): Promise<PutWindow> {
  await takeStamp(tx);
  const old = await findWindow(tx, projectId, slug);
  const definition = define(old);
  if (old && isSame(old.definition, definition)) {
    const fetched = await noteFetched(tx, old);
    return { window: fetched, created: false, changed: false };
  }
  // Two transactions may have read the clock in the other order.
  const at = Math.max(tx.now, old?.knownFrom ?? tx.now);
  if (old) await tx.sql`update maintenance_windows set known_until = ${at} where id = ${old.id}`;
  const isFeed = definition.when.kind === 'calendar' && definition.when.url !== null;
  const [row] = await tx.sql<StoredWindow[]>`
    insert into maintenance_windows (project_id, slug, definition, actor, known_from, fetched_at)
    values (${projectId}, ${slug}, ${JSON.stringify(definition)}::jsonb, ${actor}, ${at}, ${isFeed ? tx.now : null})
    returning ${columns(tx)}`;
  if (!row) throw new Error('an insert returned no row');
  const { when } = definition;
  const hasPast = when.kind !== 'once' || when.from <= at;
  if (hasPast) await tx.sql`insert into facts (name, value) values (${PENDING + row.id}, '0')`;
  await lookAgain(tx, projectId);
  return { window: row, created: old === null, changed: true };
}

async function noteFetched(tx: Tx, window: StoredWindow): Promise<StoredWindow> {
  if (window.definition.when.kind !== 'calendar' || window.definition.when.url === null) return window;
  await tx.sql`update maintenance_windows set fetched_at = ${tx.now}, fetch_failure = null where id = ${window.id}`;
  return { ...window, fetchedAt: tx.now, fetchFailure: null };
}

/** Ends a window from `tx.now` on; what was due in it until then stays in it. False: there is none. */
export async function endWindow(tx: Tx, projectId: number, slug: string): Promise<boolean> {
  await takeStamp(tx);
  const rows = await tx.sql`
    update maintenance_windows set known_until = greatest(${tx.now}::timestamptz, known_from)
    where project_id = ${projectId} and slug = ${slug} and known_until is null returning id`;
  await tx.sql`delete from facts where name = ${`${TRIED}${projectId}:${slug}`}`;
  await lookAgain(tx, projectId);
  return rows.length === 1;
}

/** Revisions whose past is not applied to all jobs yet, and the last job that it was applied to. */
export async function pendingRevisions(tx: Tx): Promise<readonly { readonly id: number; readonly after: number }[]> {
  return tx.sql<{ id: number; after: number }[]>`
    select substr(name, ${PENDING.length + 1})::bigint as id, value::bigint as after
    from facts where name ~ '^maintenance:[0-9]+$' order by id`;
}

/** How far the past of a revision has been applied; null: to all jobs. */
export async function notePending(tx: Tx, id: number, after: number | null): Promise<void> {
  const name = PENDING + id;
  if (after === null) await tx.sql`delete from facts where name = ${name}`;
  else await tx.sql`update facts set value = ${String(after)} where name = ${name} and value::bigint < ${after}`;
}

const MOST_COUNTED = 100_000;

/** How many jobs the past of a revision has not been applied to yet. */
export async function jobsLeft(tx: Tx, { id, projectId, definition }: StoredWindow): Promise<number> {
  const pending = (await pendingRevisions(tx)).find((one) => one.id === id);
  if (!pending) return 0;
  return (await concernedJobs(tx, projectId, definition, { after: pending.after, limit: MOST_COUNTED })).length;
}

/** A job that a window may be about. `isDue`: the clock has something to say about it that is not written yet. */
export type ConcernedJob = Concerned & { readonly id: number; readonly isDue: boolean };

/** Jobs that a definition is about, by id, those after `after` only. */
export async function concernedJobs(
  tx: Tx,
  projectId: number,
  { jobs, tags }: Pick<MaintenanceDefinition, 'jobs' | 'tags'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly ConcernedJob[]> {
  const slugs = jobs as string[] | null;
  return tx.sql<ConcernedJob[]>`
    select j.id, j.slug, j.definition -> 'tags' as tags, coalesce(c.next_check_at <= ${tx.now}, false) as "isDue"
    from jobs j join cursors c on c.job_id = j.id
    where j.project_id = ${projectId} and j.id > ${after}
      and ((${slugs}::text[] is null and ${tags as string[] | null}::text[] is null)
        or j.slug = any(${slugs}::text[]) or j.definition -> 'tags' ?| ${tags as string[] | null}::text[])
    order by j.id limit ${limit}`;
}

/** Occurrences of a job that nobody ran, due from `from` (inside) to now, the oldest first. */
export async function silentOccurrences(
  tx: Tx,
  jobId: number,
  { from, limit }: { readonly from: Instant; readonly limit: number },
): Promise<readonly Instant[]> {
  const rows = await tx.sql<{ at: Instant }[]>`
    select scheduled_for as at from occurrences
    where job_id = ${jobId} and state in ('expected', 'overdue', 'missed') and started_at is null
      and scheduled_for >= ${from} and scheduled_for <= ${tx.now}
    order by scheduled_for limit ${limit}`;
  return rows.map(({ at }) => at);
}

/** Feeds that are due to be read again, each taken by one process: last tried a day ago, after a failure an hour. */
export async function takeFeeds(
  tx: Tx,
  { dayMs, hourMs }: { readonly dayMs: number; readonly hourMs: number },
): Promise<readonly number[]> {
  const { sql, now } = tx;
  // Only feeds have been fetched; their definitions may be large, and are not looked at here.
  const due = await sql<{ id: number; name: string; before: Instant }[]>`
    select id, ${TRIED} || project_id || ':' || slug as name,
      case when fetch_failure is null then ${now - dayMs}::timestamptz else ${now - hourMs}::timestamptz end as before
    from maintenance_windows
    where known_until is null and fetched_at is not null
      and (fetch_failure is not null or fetched_at <= ${now - dayMs} or fetched_at > ${now})
    order by id`;
  const taken: number[] = [];
  for (const { id, name, before } of due) {
    const rows = await sql`
      insert into facts (name, value) values (${name}, ${String(now)})
      on conflict (name) do update set value = excluded.value
      where facts.value::bigint <= ${before}::bigint or facts.value::bigint > ${now}::bigint returning name`;
    if (rows.length > 0) taken.push(id);
  }
  return taken;
}

/** A feed could not be read; what is known of it stays. */
export async function noteFetchFailure(tx: Tx, id: number, reason: string): Promise<void> {
  await tx.sql`update maintenance_windows set fetch_failure = ${reason} where id = ${id} and known_until is null`;
}
