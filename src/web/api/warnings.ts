import { heartbeatPeriod, type JobDefinition } from '../../core/definition.ts';
import { type ScheduleSpec, scheduleWarnings, type Timetable } from '../../core/schedule.ts';
import { formatDuration, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import type { JobReading, MinuteUse } from '../../store/jobs.ts';

/** So many jobs in one minute make the machine busy then, and late. */
const CROWD = 10;
const RUNS_LOOKED_AT = 5;

/** What a job warns of is made of this. `timetable` null: a heartbeat, or a stored schedule that makes no sense. */
export type WarningContext = {
  readonly zone: Zone;
  readonly timetable: Timetable | null;
  readonly minuteUse: readonly MinuteUse[];
  /** Slugs of the project's channels. */
  readonly channels: ReadonlySet<string>;
  readonly now: Instant;
};

/** What may surprise the owner of a job, in sentences. */
export function jobWarnings(job: JobReading, context: WarningContext): readonly string[] {
  const { definition } = job;
  const { zone, timetable, now } = context;
  const unreviewed =
    'unreviewed: made by a ping with create=1; define it with PUT /api/v1/jobs/{slug} to say when it should run';
  const constantRid =
    'constant run id: the same rid came with runs of different occurrences; make a new one for each run, such as $(uuidgen)';
  return [
    ...(job.unreviewed ? [unreviewed] : []),
    ...(timetable === null ? [] : scheduleWarnings(definition.schedules, zone, now)),
    ...crowdWarnings(definition, context.minuteUse),
    ...(runsOverlap(job, timetable)
      ? ['the last five runs took longer than the gap between them: the schedule is too tight']
      : []),
    ...(job.constantRid ? [constantRid] : []),
    ...goneChannels(definition, context.channels),
  ];
}

/** A job that names a channel which was deleted later tells nobody through it. */
function goneChannels({ channels }: JobDefinition, known: ReadonlySet<string>): readonly string[] {
  return (channels ?? [])
    .filter((slug) => !known.has(slug))
    .map((slug) => `channel ${slug} is gone: nobody is told through it; create it again, or name another one`);
}

/** Whether the last five runs each took longer than until the next occurrence was due. */
function runsOverlap({ definition, lastRuns }: JobReading, timetable: Timetable | null): boolean {
  if (lastRuns.length < RUNS_LOOKED_AT) return false;
  const period = heartbeatPeriod(definition.schedules);
  return lastRuns.every(({ due, took }) => {
    const next = period === null ? timetable?.next(due)?.at : due + period * 1000;
    return took !== null && next !== undefined && took > next - due;
  });
}

/** A minute shared with many jobs of the project, with the nearest one that is shared least. */
function crowdWarnings(
  { schedules, zone }: Pick<JobDefinition, 'schedules' | 'zone'>,
  minuteUse: readonly MinuteUse[],
): readonly string[] {
  const uses = minuteUse.filter((use) => use.zone === zone);
  return schedules.flatMap((spec) => {
    const fields = plainMinute(spec);
    if (!fields) return [];
    const crowd = jobsAt(uses, fields.minute, fields.hour);
    if (crowd < CROWD) return [];
    const offsets = Array.from({ length: 59 }, (_, i) => (fields.minute + i + 1) % 60);
    const least = Math.min(...offsets.map((minute) => jobsAt(uses, minute, fields.hour)));
    const free = offsets.find((minute) => jobsAt(uses, minute, fields.hour) === least) ?? 0;
    const rest = fields.rest.join(' ');
    return [
      `${crowd} jobs of the project share minute ${fields.minute} of "${fields.minute} ${rest}": stagger them, for example "${free} ${rest}" (${formatDuration(((free - fields.minute + 60) % 60) * 60)} later)`,
    ];
  });
}

type MinuteFields = { readonly minute: number; readonly hour: string; readonly rest: readonly string[] };

function plainMinute(spec: ScheduleSpec): MinuteFields | null {
  if (!('cron' in spec)) return null;
  const [minute = '', ...rest] = spec.cron.trim().split(/[ \t]+/);
  if (!/^\d{1,2}$/.test(minute) || rest.length !== 4) return null;
  return { minute: Number(minute), hour: rest[0] ?? '*', rest };
}

/** How many jobs are due at this minute in the busiest of these hours; an hourly job is there in every one. */
function jobsAt(uses: readonly MinuteUse[], minute: number, hour: string): number {
  const here = uses.filter((use) => use.minute === minute);
  const hourly = here.find((use) => use.hour === '*')?.jobs ?? 0;
  const others = here.filter((use) => use.hour !== '*' && (hour === '*' || use.hour === hour));
  return hourly + Math.max(0, ...others.map((use) => use.jobs));
}
