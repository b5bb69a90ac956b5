import type { IncidentKind } from '../../core/message.ts';
import type { State } from '../../core/occurrence.ts';
import type { Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import type { PublicStatus, StatusView } from '../../engine/status-pages-view.ts';
import type { Share } from '../../store/shares.ts';

/** A job's status as the public reads it, and the shape that goes with it. */
export const STATUS_WORDS: Readonly<Record<PublicStatus, readonly [words: string, shape: State]>> = {
  up: ['as expected', 'on_time'],
  late: ['late', 'late'],
  down: ['in trouble', 'failed'],
  blocked: ['waits for another job', 'expected'],
  paused: ['paused', 'skipped'],
  new: ['has not run yet', 'expected'],
  unknown: ['unknown', 'unknown'],
  maintenance: ['in maintenance', 'skipped'],
};

/** What happened, in words that say nothing about why. */
export const KIND_WORDS: Readonly<Record<IncidentKind, string>> = {
  not_started: 'did not start on time',
  missing: 'did not run',
  late: 'ran late',
  overrun: 'ran too long',
  failed: 'failed',
  expired: 'ran too late to be of use',
  duplicate: 'ran more than once',
  unscheduled: 'ran off schedule',
  backlog: 'has runs to catch up on',
  schedule_error: 'has a schedule that cannot be read',
};

export type Overall = {
  readonly status: 'ok' | 'trouble' | 'unknown' | 'empty';
  readonly text: string;
  readonly jobs: number;
  readonly troubled: number;
  readonly unknown: number;
  readonly paused: number;
};

/** How it stands in one sentence; of the jobs of one group, or of all. A job that appears twice counts once. */
export function overallOf(groups: StatusView['groups']): Overall {
  const jobs = [...new Map(groups.flatMap((group) => group.jobs).map((job) => [job.jobId, job.status])).values()];
  const count = (...those: readonly PublicStatus[]) => jobs.filter((status) => those.includes(status)).length;
  const numbers = {
    jobs: jobs.length,
    troubled: count('down', 'late'),
    unknown: count('unknown'),
    paused: count('paused'),
  };
  return { ...numbers, ...verdict(numbers, count('new')) };
}

type Numbers = Omit<Overall, 'status' | 'text'>;

function verdict({ jobs, troubled, unknown }: Numbers, fresh: number): Pick<Overall, 'status' | 'text'> {
  if (jobs === 0) return { status: 'empty', text: 'No jobs are shown here yet' };
  if (troubled > 0) {
    const of = jobs === 1 ? 'The job is' : `${troubled} of ${jobs} jobs ${troubled === 1 ? 'is' : 'are'}`;
    return { status: 'trouble', text: `${of} in trouble` };
  }
  if (unknown > 0) {
    const of = jobs === 1 ? 'the last run is' : `the last run of ${unknown} of ${jobs} jobs is`;
    return { status: 'unknown', text: `No trouble is known, but ${of} unknown` };
  }
  if (fresh === jobs) return { status: 'empty', text: 'No job has run yet' };
  return { status: 'ok', text: jobs === 1 ? 'The job ran as expected' : 'All jobs ran as expected' };
}

/** `99.9 %`: never rounded up to 100; a dash where nothing counts. */
export function shareText({ counted, onTime }: Share): string {
  if (counted === 0) return '–';
  const share = Math.floor((onTime / counted) * 1000) / 10;
  return `${Number.isInteger(share) ? share : share.toFixed(1)} %`;
}

/** What of a share was left out: `2 skipped, 1 unknown`; null: nothing. */
export function leftOut({ skipped, unknown }: Share): string | null {
  const parts = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(unknown > 0 ? [`${unknown} unknown`] : [])];
  return parts.length === 0 ? null : parts.join(', ');
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (n: number): string => String(n).padStart(2, '0');

/** `Mon 30 Nov`, with the year where it is not that of `now`. */
export function dayText(at: Instant, zone: Zone, now: Instant): string {
  const local = new Date(zone.localAt(at));
  const year = local.getUTCFullYear();
  const other = new Date(zone.localAt(now)).getUTCFullYear() === year ? '' : ` ${year}`;
  return `${DAYS[local.getUTCDay()]} ${local.getUTCDate()} ${MONTHS[local.getUTCMonth()]}${other}`;
}

/** `02:30 +01:00`: to the minute, the offset always shown. */
export function clockText(at: Instant, zone: Zone): string {
  const local = new Date(zone.localAt(at));
  const offset = Math.round(zone.offsetAt(at) / 60);
  const size = Math.abs(offset);
  const sign = offset < 0 ? '−' : '+';
  const shown = zone.name === 'UTC' ? 'UTC' : `${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return `${two(local.getUTCHours())}:${two(local.getUTCMinutes())} ${shown}`;
}

/** `Mon 30 Nov 02:30 +01:00`. */
export const momentText = (at: Instant, zone: Zone, now: Instant): string =>
  `${dayText(at, zone, now)} ${clockText(at, zone)}`;
