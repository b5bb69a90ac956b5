import { z } from 'zod';
import { formatKey } from '../core/key.ts';
import { type Instant, parseInstant, type Result } from '../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../core/zone.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type Ask, type CommandDeps, giveUp, jobPath, type RemoteAnswer } from './remote.ts';

const entryShape = z.looseObject({
  key: z.string(),
  state: z.string(),
  useful_until: z.string().nullable(),
  run_after: z.string().nullable(),
  unconfirmed: z.boolean(),
});
const pageShape = z.object({ owed: z.array(entryShape), next_cursor: z.string().nullable() });
const jobShape = z.object({ zone: z.string(), paused: z.boolean(), missed_runs: z.string().nullable() });
const incidentsShape = z.object({ incidents: z.array(z.object({ kind: z.string() })) });

type Page = z.infer<typeof pageShape>;
type Entry = Page['owed'][number];
type Job = z.infer<typeof jobShape> & { readonly slug: string; readonly hasBacklog: boolean };

/** So many pages of 500 are followed; what comes after them is left, with its cursor. */
const MOST_PAGES = 20;

export type OwedDeps = CommandDeps & { readonly zones: { get(name: string): Result<Zone> } };

/** `rollcall owed JOB`: what still has to run, oldest first, and what to do about it. */
export async function owed(slug: string, json: boolean, { ask, zones, ...output }: OwedDeps): Promise<ExitCode> {
  const path = jobPath(slug);
  if (!path.ok) return giveUp(output, path, json);
  const list = await readPages(ask, path.path);
  if (!list.ok) return giveUp(output, list, json);
  if (json) {
    output.out(`${JSON.stringify(list.value)}\n`);
    return EXIT.done;
  }
  const job = await readJob(ask, slug, path.path);
  if (!job.ok) return giveUp(output, job);
  const zone = zones.get(job.value.zone);
  output.out(`${asText(job.value, list.value, zone.ok ? zone.value : zoneOf(UTC_TABLE))}\n`);
  return EXIT.done;
}

async function readPages(ask: Ask, path: string): Promise<RemoteAnswer<Page>> {
  const all: Entry[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer: RemoteAnswer<Page> = await ask({ path: `${path}/owed?limit=500${after}`, shape: pageShape });
    if (!answer.ok) return answer;
    all.push(...answer.value.owed);
    cursor = answer.value.next_cursor;
    if (cursor === null) break;
  }
  const value = { owed: all, next_cursor: cursor };
  return { ok: true, value, json: value };
}

async function readJob(ask: Ask, slug: string, path: string): Promise<RemoteAnswer<Job>> {
  const job = await ask({ path, shape: jobShape });
  if (!job.ok) return job;
  const open = await ask({ path: `/incidents?state=open&job=${slug}&limit=500`, shape: incidentsShape });
  if (!open.ok) return open;
  const hasBacklog = open.value.incidents.some(({ kind }) => kind === 'backlog');
  return { ...job, value: { ...job.value, slug, hasBacklog } };
}

function asText(job: Job, { owed: entries, next_cursor: more }: Page, zone: Zone): string {
  const count = `${entries.length}${more === null ? '' : ' and more'}`;
  const lines =
    entries.length === 0 ? [nothingOwed(job)] : [`${job.slug} owes ${count}:`, '', ...table(entries, zone), ''];
  return [...lines, ...nextSteps(job, entries)].join('\n');
}

function nothingOwed({ slug, missed_runs }: Job): string {
  if (missed_runs === null) return `${slug} owes nothing, as it is a heartbeat`;
  return missed_runs === 'skip' ? `${slug} owes nothing: with skip a late run is not wanted` : `${slug} owes nothing`;
}

function table(entries: readonly Entry[], zone: Zone): readonly string[] {
  const time = (text: string | null, otherwise: string): string => (text === null ? otherwise : inZone(text, zone));
  const rows = [
    ['KEY', 'STATE', 'USEFUL UNTIL', 'RUN AFTER'],
    ...entries.map((entry) => [
      entry.key,
      entry.state,
      time(entry.useful_until, 'no end'),
      time(entry.run_after, 'a person says run'),
    ]),
  ];
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** As keys are written; cut up to whole seconds, because before that nothing is handed out. */
function inZone(text: string, zone: Zone): string {
  const at = parseInstant(text);
  return at.ok ? formatKey(ceilToSecond(at.value), zone) : text;
}

function ceilToSecond(at: Instant): Instant {
  return Math.ceil(at / 1000) * 1000;
}

/** What a person can do now, the most pressing first. */
function nextSteps({ slug, paused, hasBacklog }: Job, entries: readonly Entry[]): readonly string[] {
  if (paused) return [`The job is paused: nothing is handed out until rollcall resume ${slug}`];
  if (entries.length === 0) return [];
  const decide = `rollcall backlog ${slug} run, or rollcall backlog ${slug} skip`;
  if (hasBacklog) {
    return [`More has piled up than max_catch_up allows: nothing is handed out until somebody says ${decide}`];
  }
  const waiting = entries.find(({ unconfirmed }) => !unconfirmed);
  return [
    ...(waiting ? [`Runners get them in this order: rollcall exec ${slug} -- COMMAND`] : []),
    ...(entries.some(({ unconfirmed }) => unconfirmed)
      ? [`Nobody knows whether the unknown ones ran; to say so about all that is listed: ${decide}`]
      : []),
    `One that was done, or is not wanted: rollcall settle ${slug} ${entries[0]?.key} on_time|skipped --note TEXT`,
  ];
}
