import type { Report, ReportDefinition } from '../core/report.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from './database.ts';
import { GROUPING_MS } from './outbox.ts';

/** A report as stored. */
export type StoredReport = {
  readonly id: number;
  readonly projectId: number;
  readonly slug: string;
  readonly definition: ReportDefinition;
  readonly createdAt: Instant;
  /** The end of the last period that was reported, or of the newest one that was over when the report was made. */
  readonly sentUntil: Instant;
};

const columns = ({ sql }: Tx) => sql`
  id, project_id as "projectId", slug, definition, created_at as "createdAt", sent_until as "sentUntil"`;

export type NewReport = Pick<StoredReport, 'projectId' | 'slug' | 'definition'> & {
  /** Nothing that ended by then is sent by itself. Of an old one only where its periods change. */
  readonly sentUntil: Instant;
};

/** Creates or replaces a report. Where `every` or `zone` change, it begins anew at `sentUntil`. */
export async function putReport(
  tx: Tx,
  { projectId, slug, definition, sentUntil }: NewReport,
): Promise<{ readonly report: StoredReport; readonly created: boolean }> {
  const [row] = await tx.sql<(StoredReport & { created: boolean })[]>`
    insert into reports as r (project_id, slug, definition, created_at, sent_until)
    values (${projectId}, ${slug}, ${JSON.stringify(definition)}::jsonb, ${tx.now}, ${sentUntil})
    on conflict (project_id, slug) do update
    set definition = excluded.definition, sent_until = case
      when r.definition -> 'every' = excluded.definition -> 'every' and r.definition -> 'zone' = excluded.definition -> 'zone'
        then r.sent_until else excluded.sent_until end
    returning ${columns(tx)}, xmax = 0 as created`;
  if (!row) throw new Error('an upsert returned no row');
  const { created, ...report } = row;
  return { report, created };
}

export async function getReport(tx: Tx, projectId: number, slug: string): Promise<StoredReport | null> {
  const [row] = await tx.sql<StoredReport[]>`
    select ${columns(tx)} from reports where project_id = ${projectId} and slug = ${slug}`;
  return row ?? null;
}

/** The reports of a project by slug, those after `after` only. */
export async function listReports(
  tx: Tx,
  projectId: number,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly StoredReport[]> {
  return tx.sql<StoredReport[]>`
    select ${columns(tx)} from reports
    where project_id = ${projectId} and slug collate "C" > ${after ?? ''} order by slug collate "C" limit ${limit}`;
}

/** False: there was none. */
export async function deleteReport(tx: Tx, projectId: number, slug: string): Promise<boolean> {
  const rows = await tx.sql`delete from reports where project_id = ${projectId} and slug = ${slug} returning id`;
  return rows.length === 1;
}

/** The reports of all projects. */
export async function allReports(tx: Tx): Promise<readonly StoredReport[]> {
  return tx.sql<StoredReport[]>`select ${columns(tx)} from reports order by id`;
}

/** The report, locked against other makers; null: it is gone, or one of them has it. */
export async function lockReport(tx: Tx, id: number): Promise<StoredReport | null> {
  const [row] = await tx.sql<StoredReport[]>`
    select ${columns(tx)} from reports where id = ${id} for update skip locked`;
  return row ?? null;
}

/** Everything that ended by `until` is done with. The caller holds the lock. */
export async function moveSentUntil(tx: Tx, id: number, until: Instant): Promise<void> {
  await tx.sql`update reports set sent_until = ${until} where id = ${id}`;
}

/** What an outbox row of a report holds: a notice, for whoever knows no reports, and the report itself. */
type ReportPayload = {
  readonly type: 'notice';
  readonly notice: { readonly id: number; readonly kind: 'report'; readonly text: string; readonly at: Instant };
  readonly report: Report;
};

export type NewReportMessage = {
  /** Unlike that of any other message. */
  readonly subject: string;
  /** One line that says the most important. */
  readonly text: string;
  readonly report: Report;
};

/**
 * Promises a report to those of these channels of the project that are e-mail channels, and answers their slugs. In the same
 * transaction as `moveSentUntil` it is neither lost nor promised twice.
 */
export async function enqueueReport(
  tx: Tx,
  { projectId, channels }: { readonly projectId: number; readonly channels: readonly string[] },
  { subject, text, report }: NewReportMessage,
): Promise<readonly string[]> {
  const [notice] = await tx.sql<{ id: number }[]>`
    insert into notices (kind, subject, text, at) values ('report', ${subject}, ${text}, ${tx.now}) returning id`;
  if (!notice) throw new Error('an insert returned no row');
  const payload: ReportPayload = {
    type: 'notice',
    notice: { id: notice.id, kind: 'report', text, at: tx.now },
    report,
  };
  const rows = await tx.sql<{ slug: string }[]>`
    with promised as (
      insert into outbox (channel_id, notice_id, payload, created_at, not_before)
      select id, ${notice.id}, ${JSON.stringify(payload)}::jsonb, ${tx.now}::timestamptz, ${tx.now + GROUPING_MS}::timestamptz
      from channels where project_id = ${projectId} and kind = 'email' and slug = any(${channels as string[]}::text[])
      order by id for key share
      returning channel_id)
    select c.slug from channels c join promised p on p.channel_id = c.id order by c.slug`;
  return rows.map(({ slug }) => slug);
}

/** The e-mail channels of a project, by slug. */
export async function emailChannels(tx: Tx, projectId: number): Promise<ReadonlySet<string>> {
  const rows = await tx.sql<{ slug: string }[]>`
    select slug from channels where project_id = ${projectId} and kind = 'email'`;
  return new Set(rows.map(({ slug }) => slug));
}

/** Whether Rollcall was blind within the last `ms`: what was due then may not be settled yet. */
export async function wasBlindLately(tx: Tx, ms: number): Promise<boolean> {
  const rows = await tx.sql`
    select 1 from blind_windows where kind = 'blind' and until > ${tx.now - ms} and until <= ${tx.now} limit 1`;
  return rows.length > 0;
}
