import { formatKey } from '../core/key.ts';
import { parseSchedules, type ScheduleSpec, scheduleWarnings, timetable } from '../core/schedule.ts';
import { formatInstant, type Instant, parseInstant, type Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import { EXIT, type ExitCode, type Output } from './exit-codes.ts';

/** As typed; every value is text. */
export type PreviewOptions = {
  readonly zone?: string;
  readonly every?: string;
  readonly anchor?: string;
  readonly after?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly json?: boolean;
};

export type PreviewDeps = Output & {
  readonly zones: { get(name: string): Result<Zone> };
  /** Where the preview begins without --after. */
  readonly now: Instant;
};

type Occurrences = {
  readonly occurrences: readonly { readonly key: string; readonly scheduled_for: string }[];
  readonly warnings: readonly string[];
};
type Problem = { readonly path: string; readonly message: string };
type Preview =
  | { readonly ok: true; readonly value: Occurrences }
  | { readonly ok: false; readonly errors: readonly Problem[] };

const DEFAULT_LIMIT = 10;
const MOST = 10_000;

/** `rollcall preview`: when a schedule is due, straight from the core; no server is asked. */
export function preview(
  cron: string | undefined,
  options: PreviewOptions,
  { zones, now, out, err }: PreviewDeps,
): ExitCode {
  const result = computePreview(cron, options, zones, now);
  if (!result.ok) {
    if (options.json) out(`${JSON.stringify({ errors: result.errors })}\n`);
    for (const { path, message } of result.errors) err(`rollcall: ${path}: ${message}\n`);
    return EXIT.refused;
  }
  out(options.json ? `${JSON.stringify(result.value)}\n` : asText(result.value));
  if (!options.json && cron !== undefined) out(CRON_ITSELF);
  return EXIT.done;
}

/** Every job of a host misses at once when its cron is dead: one line says that it lives, and one message that it does not. */
const CRON_ITSELF = `
Each job's own check finds a run that is missing, and a crontab that says something else than the job.
Whether cron runs at all, one heartbeat job for each host tells you:
*/5 * * * *  curl -fsS -m 10 --retry 5 --retry-connrefused -o /dev/null https://ROLLCALL/ping/PING_KEY/cron-of-HOST
See "Who watches cron itself" in docs/pinging.md.
`;

function computePreview(
  cron: string | undefined,
  options: PreviewOptions,
  zones: PreviewDeps['zones'],
  now: Instant,
): Preview {
  const problem = (path: string, message: string): Preview => ({ ok: false, errors: [{ path, message }] });
  if (options.zone === undefined) return problem('zone', 'is required: --zone Europe/Berlin, or --zone UTC');
  const zone = zones.get(options.zone);
  if (!zone.ok) return problem('zone', zone.reason);
  const schedules = readSchedules(cron, options, zone.value);
  if (!schedules.ok) return schedules;
  const after = options.after === undefined ? { ok: true as const, value: now } : parseInstant(options.after);
  if (!after.ok) return problem('after', after.reason);
  const until = options.until === undefined ? { ok: true as const, value: null } : parseInstant(options.until);
  if (!until.ok) return problem('until', until.reason);
  const limit = Number(options.limit ?? DEFAULT_LIMIT);
  if (!/^\d+$/.test(options.limit ?? '1') || limit < 1)
    return problem('limit', `must be a whole number from 1 to ${MOST}`);
  const window = { after: after.value, until: until.value, limit: Math.min(limit, MOST) };
  return { ok: true, value: expand(schedules.value, zone.value, window) };
}

function readSchedules(
  cron: string | undefined,
  { every, anchor }: PreviewOptions,
  zone: Zone,
):
  | { readonly ok: true; readonly value: readonly ScheduleSpec[] }
  | { readonly ok: false; readonly errors: readonly Problem[] } {
  if (cron === undefined && every === undefined) {
    return { ok: false, errors: [{ path: 'schedule', message: "is required: '30 2 * * *', or --every 2h" }] };
  }
  if (anchor !== undefined && every === undefined) {
    return { ok: false, errors: [{ path: 'anchor', message: 'belongs to --every' }] };
  }
  const parsed = parseSchedules(
    [
      ...(cron === undefined ? [] : [{ cron }]),
      ...(every === undefined ? [] : [{ every, ...(anchor === undefined ? {} : { anchor }) }]),
    ],
    zone,
  );
  if (parsed.ok) return parsed;
  // On the command line there is no list: `schedules[0].cron` is just `cron`.
  const short = (path: string): string => path.replace(/^schedules(?:\[\d+\]\.?)?/, '') || 'schedule';
  return { ok: false, errors: parsed.errors.map(({ path, message }) => ({ path: short(path), message })) };
}

function expand(
  schedules: readonly ScheduleSpec[],
  zone: Zone,
  { after, until, limit }: { readonly after: Instant; readonly until: Instant | null; readonly limit: number },
): Occurrences {
  const table = timetable(schedules, zone);
  const occurrences: { key: string; scheduled_for: string }[] = [];
  for (let due = table.next(after); due !== null && occurrences.length < limit; due = table.next(due.at)) {
    if (until !== null && due.at > until) break;
    occurrences.push({ key: formatKey(due.at, zone), scheduled_for: formatInstant(due.at) });
  }
  return { occurrences, warnings: scheduleWarnings(schedules, zone, after) };
}

function asText({ occurrences, warnings }: Occurrences): string {
  const width = Math.max(0, ...occurrences.map(({ key }) => key.length));
  const lines = occurrences.map(({ key, scheduled_for }) => `${key.padEnd(width)}  ${scheduled_for}`);
  if (lines.length === 0) lines.push('nothing is due in this stretch');
  return [...lines, ...warnings.map((warning) => `warning: ${warning}`), ''].join('\n');
}
