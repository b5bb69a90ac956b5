import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parsed, type Result, refused } from '../core/time.ts';
import { isSlug } from '../web/api/slug.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type Ask, type CommandDeps, giveUp, type RemoteAnswer, refusedCall, type Unwelcome } from './remote.ts';

const windowShape = z.object({
  slug: z.string(),
  name: z.string(),
  reason: z.string(),
  jobs: z.array(z.string()).nullable(),
  tags: z.array(z.string()).nullable(),
  active: z.boolean(),
  next: z.object({ from: z.string(), until: z.string() }).nullable(),
  jobs_left: z.number(),
});
const listShape = z.object({ maintenance: z.array(windowShape) });
type Window = z.infer<typeof windowShape>;

/** As typed. */
export type MaintenanceOptions = {
  readonly for?: string;
  readonly from?: string;
  readonly until?: string;
  readonly ics?: string;
  readonly zone?: string;
  readonly jobs?: string;
  readonly tags?: string;
  readonly name?: string;
  readonly reason?: string;
  readonly end?: boolean;
  readonly json?: boolean;
};

/** What a window is made of; without any of them, nothing is changed. */
const DEFINING = ['for', 'from', 'until', 'ics', 'zone', 'jobs', 'tags', 'name', 'reason'] as const;

/** `rollcall maintenance [SLUG]`: lists, shows, begins or ends maintenance windows and calendars. */
export async function maintenance(
  slug: string | undefined,
  options: MaintenanceOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const refusal = refusalOf(slug, options);
  if (refusal) return giveUp(deps, refusal, options.json);
  if (slug === undefined) return list(options, deps);
  if (options.end) return end(slug, options, deps);
  return DEFINING.some((name) => options[name] !== undefined) ? begin(slug, options, deps) : show(slug, options, deps);
}

function refusalOf(slug: string | undefined, options: MaintenanceOptions): Unwelcome | null {
  const given = DEFINING.filter((name) => options[name] !== undefined);
  const isChange = given.length > 0 || options.end === true;
  if (slug === undefined) return isChange ? refusedCall('name the window: rollcall maintenance SLUG …') : null;
  if (!isSlug(slug))
    return refusedCall(`no window is called ${JSON.stringify(slug)}: a slug is 1 to 100 of a-z, 0-9, "-" and "_"`);
  if (options.end && given.length > 0) return refusedCall(`--end stands alone: leave out --${given[0]}`);
  // An unset variable of a script must not make it a window about every job.
  const empty = (['jobs', 'tags'] as const).find(
    (name) => options[name] !== undefined && listOf(options[name]).length === 0,
  );
  return empty ? refusedCall(`--${empty} names none: leave it out for all jobs`) : null;
}

async function list({ json = false }: MaintenanceOptions, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const answer = await ask({ path: '/maintenance?limit=500', shape: listShape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(`${json ? JSON.stringify(answer.json) : asTable(answer.value.maintenance)}\n`);
  return EXIT.done;
}

function asTable(windows: readonly Window[]): string {
  if (windows.length === 0) return 'no maintenance windows';
  const lines = windows.map((window) => [
    window.slug,
    whenOf(window),
    whomOf(window),
    window.reason.replaceAll(/\s+/g, ' ').trim(),
  ]);
  const rows = [['SLUG', 'WHEN', 'JOBS', 'REASON'], ...lines];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

async function show(slug: string, { json = false }: MaintenanceOptions, { ask, ...output }: CommandDeps) {
  const answer = await ask({ path: `/maintenance/${slug}`, shape: windowShape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : inWords(answer.value));
  return EXIT.done;
}

async function begin(slug: string, options: MaintenanceOptions, { ask, ...output }: CommandDeps): Promise<ExitCode> {
  const { for: duration, ics, jobs, tags, json = false, end: _, ...rest } = options;
  const calendar = ics === undefined ? parsed({}) : await readCalendar(ics);
  if (!calendar.ok) return giveUp(output, refusedCall(calendar.reason), json);
  const kept = await keptOf(slug, options, ask);
  if (!kept.ok) return giveUp(output, kept, json);
  const lists = { ...(jobs && { jobs: listOf(jobs) }), ...(tags && { tags: listOf(tags) }) };
  const body = { ...kept.value, ...rest, ...lists, ...calendar.value, ...(duration !== undefined && { duration }) };
  const answer = await ask({ method: 'PUT', path: `/maintenance/${slug}`, body, shape: windowShape });
  if (!answer.ok) return giveUp(output, answer, json);
  output.out(json ? `${JSON.stringify(answer.json)}\n` : inWords(answer.value));
  return EXIT.done;
}

/** Of a window that is not over, whom it is about and why, as far as that is not said anew: `--for 1h` is one hour more of it. */
async function keptOf(slug: string, { jobs, tags }: MaintenanceOptions, ask: Ask): Promise<RemoteAnswer<object>> {
  const answer = await ask({ path: `/maintenance/${slug}`, shape: windowShape });
  if (!answer.ok && answer.exit !== EXIT.notFound) return answer;
  if (!answer.ok || answer.value.next === null) return { ok: true, value: {}, json: null };
  const { name, reason, ...whom } = answer.value;
  const isSaidAnew = jobs !== undefined || tags !== undefined;
  const lists = isSaidAnew ? {} : { jobs: whom.jobs, tags: whom.tags };
  return { ok: true, value: { name, reason, ...lists }, json: null };
}

async function end(slug: string, { json = false }: MaintenanceOptions, { ask, ...output }: CommandDeps) {
  const answer = await ask({ method: 'DELETE', path: `/maintenance/${slug}`, shape: z.null() });
  if (!answer.ok) return giveUp(output, answer, json);
  if (!json) output.out(`${slug} has ended: what is due from now on is expected again\n`);
  return EXIT.done;
}

/** A file here, or an address that Rollcall reads by itself. */
async function readCalendar(ics: string): Promise<Result<object>> {
  // What calendar programs call webcal is fetched over https.
  const address = ics.replace(/^webcals?:\/\//i, 'https://');
  if (/^https?:\/\//i.test(address)) return parsed({ ics_url: address });
  try {
    return parsed({ ics: await readFile(ics, 'utf8') });
  } catch (error) {
    return refused(`cannot read ${ics}: ${(error as NodeJS.ErrnoException).code ?? 'it is no text file'}`);
  }
}

const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

function whenOf({ active, next }: Window): string {
  if (next === null) return 'over';
  return active ? `now, until ${next.until}` : `${next.from} until ${next.until}`;
}

function whomOf({ jobs, tags }: Window): string {
  if (jobs === null && tags === null) return 'all';
  return [...(jobs ?? []), ...(tags ?? []).map((tag) => `tag ${tag}`)].join(', ');
}

function inWords(window: Window): string {
  const { slug } = window;
  const whom = whomOf(window);
  if (window.next === null) return `${slug}: over; jobs: ${whom}; what nobody ran in it is skipped${restOf(window)}\n`;
  const silence = 'what nobody runs in it is skipped, and nobody is called';
  return `${slug}: ${whenOf(window)}; jobs: ${whom}; ${silence}${restOf(window)}. To end it: rollcall maintenance ${slug} --end\n`;
}

function restOf({ jobs_left: left }: Window): string {
  return left > 0 ? `; its past is still being applied to ${left === 1 ? '1 job' : `${left} jobs`}` : '';
}
