import { createHash } from 'node:crypto';
import ical, { ICalEventTransparency } from 'ical-generator';
import type { Instant } from '../../core/time.ts';
import type { PublicStretch, ShownJob } from '../../engine/status-pages-view.ts';
import type { Rendered, Shown } from './representation.ts';

/** Instants of expected runs by job. */
export type Expected = ReadonlyMap<number, readonly Instant[]>;

/** Expected runs of one job at most, and of all jobs together. */
export const MOST_OF_JOB = 50;
const MOST_RUNS = 1000;

/** Maintenance and expected runs of the next 30 days. Nothing in it blocks anybody's time. */
export function calendar({ page, view, url }: Shown, expected: Expected): Rendered {
  const file = ical({
    name: view.title,
    description: `Maintenance and expected runs of the next 30 days: at most ${MOST_OF_JOB} runs of a job, ${MOST_RUNS} in all.`,
    url,
    prodId: { company: 'Rollcall', product: 'Status page', language: 'EN' },
    ttl: 3600,
  });
  // The same events are the same text, or no calendar would ever be told that nothing changed.
  const common = { stamp: new Date(page.createdAt), transparency: ICalEventTransparency.TRANSPARENT };
  for (const stretch of view.maintenance) {
    const { from, until } = stretch;
    const id = uid(url, `maintenance ${from} ${until} ${stretchTitle(stretch)}`);
    const text = stretch.reason === null ? {} : { description: stretch.reason };
    file.createEvent({
      ...common,
      id,
      start: new Date(from),
      end: new Date(until),
      summary: stretchTitle(stretch),
      ...text,
    });
  }
  for (const { job, at } of runsOf(jobsOf(view.groups), expected)) {
    file.createEvent({ ...common, id: uid(url, `run ${job.id} ${at}`), start: new Date(at), summary: job.name });
  }
  return { type: 'text/calendar; charset=utf-8', body: file.toString() };
}

/** What a stretch is called: `Maintenance: Nightly backup`. */
export function stretchTitle({ name, isCalendar, jobs }: PublicStretch): string {
  const what = name ?? (isCalendar ? 'No runs expected' : 'Maintenance');
  return jobs === null ? what : `${what}: ${jobs.map((job) => job.name).join(', ')}`;
}

/** Each job once, however often the page shows it. */
function jobsOf(groups: Shown['view']['groups']): readonly ShownJob[] {
  const all = groups.flatMap(({ jobs }) => jobs);
  return [...new Map(all.toReversed().map((job) => [job.jobId, job])).values()];
}

function runsOf(jobs: readonly ShownJob[], expected: Expected) {
  return jobs
    .flatMap((job) => (expected.get(job.jobId) ?? []).map((at) => ({ job, at })))
    .sort((a, b) => a.at - b.at)
    .slice(0, MOST_RUNS);
}

function uid(url: string, of: string): string {
  return `${createHash('sha256').update(`${url} ${of}`).digest('hex').slice(0, 24)}@${new URL(url).hostname}`;
}
