import { heartbeatPeriod } from '../../src/core/definition.ts';
import { graceMs } from '../../src/core/occurrence.ts';
import { timetable } from '../../src/core/schedule.ts';
import { floorToSecond, formatInstant, type Instant } from '../../src/core/time.ts';
import type { Tx } from '../../src/store/database.ts';
import type { Zones } from '../../src/zones.ts';
import type { History, HistorySettings } from './history.ts';

type RowAt = { readonly at: Instant; readonly state: string; readonly settledAt: Instant | null };

/** What the schedules of a history say, without asking the ledger: each version covers (start, end]. */
function versionsOf({ createdAt, settings, inputs, until }: History) {
  const versions = [{ start: createdAt, end: until, settings }];
  for (const input of inputs) {
    const last = versions.at(-1);
    if (input.type !== 'edit' || !last) continue;
    if (JSON.stringify(last.settings.schedules) === JSON.stringify(input.settings.schedules)) continue;
    last.end = input.at;
    versions.push({ start: input.at, end: until, settings: input.settings });
  }
  return versions;
}

function newestSettings({ settings, inputs }: History): HistorySettings {
  const edit = inputs.findLast((input) => input.type === 'edit');
  return edit?.type === 'edit' ? edit.settings : settings;
}

/** Every instant of every version has a row or is still expected; every row is an instant. Lines say what is wrong. */
export async function wrongInstants(tx: Tx, slug: string, history: History, zones: Zones): Promise<string[]> {
  const rows = await tx.sql<RowAt[]>`
    select o.scheduled_for as at, o.state, o.settled_at as "settledAt" from occurrences o join jobs j on j.id = o.job_id
    where j.slug = ${slug} order by o.scheduled_for`;
  const [cursor] = await tx.sql<{ next: Instant | null }[]>`
    select c.next_unrecorded as next from cursors c join jobs j on j.id = c.job_id where j.slug = ${slug}`;
  const next = cursor?.next ?? null;
  const isHeartbeat = heartbeatPeriod(history.settings.schedules) !== null;
  return isHeartbeat ? wrongBeats(slug, history, rows, next) : wrongRows(slug, history, zones, { rows, next });
}

function wrongRows(
  slug: string,
  history: History,
  zones: Zones,
  { rows, next }: { readonly rows: readonly RowAt[]; readonly next: Instant | null },
): string[] {
  const zone = zones.get(history.zone);
  if (!zone.ok) return [zone.reason];
  const settings = newestSettings(history);
  const firstCheck = Math.min(graceMs(settings), (settings.startWithin ?? Number.POSITIVE_INFINITY) * 1000);
  const recorded = new Set(rows.map(({ at }) => at));
  const wrong: string[] = [];
  const versions = versionsOf(history).map((version) => ({
    ...version,
    table: timetable(version.settings.schedules, zone.value),
  }));
  for (const { start, end, table } of versions) {
    for (const { at } of table.dueIn(start, end)) {
      const isAwaited = next !== null && at >= next && at + firstCheck > history.until;
      if (!recorded.has(at) && !isAwaited) wrong.push(`${slug}: ${formatInstant(at)} is an instant and has no row`);
    }
  }
  for (const { at } of rows) {
    // Evidence may lie beyond the end of its version: recorded before the edit.
    const isInstant = versions.some(({ start, table }) => at > start && table.previous(at + 1)?.at === at);
    if (!isInstant) wrong.push(`${slug}: ${formatInstant(at)} has a row and is no instant`);
  }
  return wrong;
}

/** Each occurrence of a heartbeat is a period after something that anchors it; exactly one is open unless it is paused. */
function wrongBeats(slug: string, history: History, rows: readonly RowAt[], next: Instant | null): string[] {
  const anchors = new Set([history.createdAt, ...history.inputs.map(({ at }) => at)].map(floorToSecond));
  for (const input of history.inputs) if (input.type === 'ping' && input.ownAt) anchors.add(floorToSecond(input.ownAt));
  for (const { settledAt } of rows) if (settledAt !== null) anchors.add(floorToSecond(settledAt));
  const periods = versionsOf(history).map(({ settings }) => (heartbeatPeriod(settings.schedules) ?? 0) * 1000);
  const isAnchored = (at: Instant): boolean =>
    periods.some((period) => [0, 1000, 2000].some((later) => anchors.has(at - later - period)));
  const wrong = rows
    .filter(({ at }) => !isAnchored(at))
    .map(({ at }) => `${slug}: ${formatInstant(at)} is no period after any end, creation, edit or resume`);
  const open = rows.filter(({ state }) => ['expected', 'running', 'overdue'].includes(state)).length;
  const isPaused = history.inputs.findLast(({ type }) => type === 'pause' || type === 'resume')?.type === 'pause';
  const awaited = open + (next === null ? 0 : 1);
  if (awaited !== 1 && !(isPaused && awaited === 0)) wrong.push(`${slug}: ${awaited} occurrences are open`);
  return wrong;
}

type Line = { readonly line: string };
const lines = (rows: readonly Line[]): string[] => rows.map(({ line }) => line);

/** Each event of each incident has one outbox row for each channel of its job, and no other. */
export async function wrongOutbox(tx: Tx): Promise<string[]> {
  return lines(
    await tx.sql<Line[]>`
      with routes as (
        select j.id as job_id, c.id as channel_id from jobs j join channels c on c.project_id = j.project_id
        where j.definition -> 'channels' = 'null' or j.definition -> 'channels' @> to_jsonb(c.slug)),
      promised as (
        select i.id, r.channel_id, n as event from incidents i join routes r on r.job_id = i.job_id
        cross join lateral generate_series(1, i.events) n),
      kept as (select incident_id as id, channel_id, event from outbox where incident_id is not null)
      select format('incident %s, event %s, channel %s: promised %s, kept %s', id, event, channel_id,
        count(p.event), count(k.event)) as line
      from (select *, 1 as p from promised) p full join (select *, 1 as k from kept) k using (id, channel_id, event)
      where p.p is null or k.k is null group by id, event, channel_id`,
  );
}

/** At most one open incident per job and kind; counts as its members have them; the cursor knows how many are open. */
export async function wrongIncidents(tx: Tx): Promise<string[]> {
  const doubled = await tx.sql<Line[]>`
    select format('job %s has %s open incidents %s', job_id, count(*), kind) as line from incidents
    where resolved_at is null group by job_id, kind having count(*) > 1`;
  const miscounted = await tx.sql<Line[]>`
    select format('incident %s (%s, resolved %s): occurrences %s, counted %s; troubled %s, counted %s', i.id, i.kind,
      i.resolved_at, i.occurrence_count, m.present, i.troubled_count, m.troubled) as line
    from incidents i cross join lateral (
      select count(*) as present, count(*) filter (where i.resolved_at is null and i.kind <> 'duplicate' and case
        when i.kind = 'not_started' then o.state in ('expected', 'running', 'overdue') and o.started_at is null
        else o.state in ('running', 'overdue') or o.wanted end) as troubled
      from incident_occurrences x join occurrences o on o.job_id = i.job_id and o.scheduled_for = x.scheduled_for
      where x.incident_id = i.id and not x.moved) m
    where i.occurrence_count <> m.present or (i.resolved_at is null and i.troubled_count <> m.troubled)`;
  const cursors = await tx.sql<Line[]>`
    select format('job %s: the cursor counts %s open incidents of %s', c.job_id, c.open_incidents, n.open) as line
    from cursors c cross join lateral (
      select count(*) as open from incidents i where i.job_id = c.job_id and i.resolved_at is null) n
    where c.open_incidents <> n.open`;
  return lines([...doubled, ...miscounted, ...cursors]);
}

/** Nothing is deferred, pushed back or overdue for judgement any more. */
export async function wrongCursors(tx: Tx): Promise<string[]> {
  return lines(
    await tx.sql<Line[]>`
      select format('job %s: deferred %s, failures %s, next check %s', job_id, deferred, failures, next_check_at) as line
      from cursors where deferred > 0 or failures > 0 or next_check_at <= ${tx.now}
      union all
      select format('ping %s of job %s is still deferred', id, job_id) from pings where matched_by = 'deferred'`,
  );
}
