import type { ScheduleSpec } from '../../src/core/schedule.ts';
import type { Instant } from '../../src/core/time.ts';
import type { HistorySettings } from './history.ts';

/** How a job reports when all is well. */
type Style = 'success' | 'start_end' | 'exit_code' | 'named' | 'keyed';

/** A job of the year before anything happens to it. */
export type YearJob = {
  readonly slug: string;
  readonly zone: string;
  readonly settings: HistorySettings;
  readonly style: Style;
  readonly channels: readonly string[] | null;
  /** The settings and schedules it is edited to, one after the other. */
  readonly edits: readonly Partial<HistorySettings>[];
  readonly pauses: number;
  /** Stretches (after, until] in which its host is down: nothing is heard. */
  readonly silences: readonly { readonly after: Instant; readonly until: Instant }[];
};

export const YEAR_START = Date.parse('2018-01-02T00:00:00Z');
export const YEAR_END = Date.parse('2019-01-02T00:00:00Z');

/** Nine zones whose clocks changed twice or more in 2018 (by an hour or half of one, at night or at midnight), and two without. */
const BERLIN = 'Europe/Berlin';
const NEW_YORK = 'America/New_York';
const LORD_HOWE = 'Australia/Lord_Howe';
const SANTIAGO = 'America/Santiago';
const CHATHAM = 'Pacific/Chatham';
const CASABLANCA = 'Africa/Casablanca';
const SAO_PAULO = 'America/Sao_Paulo';
const APIA = 'Pacific/Apia';
const AZORES = 'Atlantic/Azores';
const KOLKATA = 'Asia/Kolkata';

const HOUR = 3600;
const DAY = 24 * HOUR;
const cron = (...expressions: readonly string[]): ScheduleSpec[] => expressions.map((text) => ({ cron: text }));
const every = (seconds: number, anchor: Instant = 0): ScheduleSpec => ({ every: seconds, anchor });

type Given = Partial<HistorySettings> & Partial<Pick<YearJob, 'style' | 'channels' | 'edits' | 'pauses' | 'silences'>>;

let count = 0;

function job(zone: string, schedules: readonly ScheduleSpec[], given: Given = {}): YearJob {
  const { style = 'success', channels = null, edits = [], pauses = 0, silences = [], ...settings } = given;
  const isHeartbeat = schedules.some((spec) => 'heartbeat' in spec);
  count += 1;
  return {
    slug: `job-${String(count).padStart(2, '0')}`,
    zone,
    settings: {
      schedules,
      missedRuns: isHeartbeat ? null : 'catch_up',
      early: null,
      startWithin: null,
      grace: null,
      usefulFor: null,
      maxRuntime: null,
      maxCatchUp: null,
      throttle: null,
      overlap: 'forbid',
      alertAfter: {},
      duplicates: 'alert',
      unscheduled: 'record',
      ...settings,
    },
    style,
    channels,
    edits,
    pauses,
    silences,
  };
}

const skip = { missedRuns: 'skip' } as const;
const coalesce = { missedRuns: 'coalesce' } as const;
const alert = { unscheduled: 'alert' } as const;
const record = { duplicates: 'record' } as const;

const silent = (after: string, until: string) => ({ after: Date.parse(after), until: Date.parse(until) });
/** While the evaluators stand still, so that a job gets far behind before it is heard of again. */
const silences = [
  silent('2018-03-24T15:00:00Z', '2018-03-27T09:00:00Z'),
  silent('2018-07-02T05:30:00Z', '2018-07-03T16:00:00Z'),
];

/** Every kind of schedule, policy and deadline; most instants lie on the nights at which clocks change (Sundays). */
export const yearJobs: readonly YearJob[] = [
  job(BERLIN, cron('30 2 * 2-4,9-11 *'), { grace: HOUR, usefulFor: 3 * DAY, pauses: 1 }),
  job(BERLIN, cron('0,30 2 * * 0'), { ...coalesce, grace: 600, style: 'named', edits: [{ grace: 1200 }] }),
  job(BERLIN, cron('*/30 1-3 * 3,10 0'), { ...skip, grace: 600, maxRuntime: 1500, style: 'start_end' }),
  job(BERLIN, [...cron('15 3 * 3,10 1-5'), every(DAY * 7, 4 * HOUR * 1000)], { ...coalesce, grace: 900, pauses: 1 }),
  job(BERLIN, [{ heartbeat: 2 * DAY }], { grace: HOUR, maxRuntime: 2 * HOUR, pauses: 1 }),
  job(NEW_YORK, cron('30 1 * 1-3,10-12 *'), {
    ...coalesce,
    startWithin: 300,
    grace: HOUR,
    maxRuntime: 1800,
    style: 'start_end',
  }),
  job(NEW_YORK, cron('0 2 * 3,11 *'), { ...skip, grace: HOUR, usefulFor: 4 * HOUR, channels: ['ops'], pauses: 1 }),
  job(NEW_YORK, cron('*/20 1 * 3,11 0'), { grace: 300, usefulFor: 2 * DAY, style: 'exit_code' }),
  job(NEW_YORK, cron('@weekly'), { startWithin: 600, grace: 2 * HOUR, style: 'named', ...alert, channels: [] }),
  job(LORD_HOWE, cron('45 1 * * 0,3'), { ...coalesce, grace: 1800, usefulFor: 5 * DAY, style: 'keyed' }),
  job(LORD_HOWE, cron('10,40 1-2 1-7 4,10 *'), { ...skip, early: 600, grace: 900, style: 'success' }),
  job(LORD_HOWE, cron('30 2 * 3,4,9,10 *'), { grace: HOUR, maxRuntime: 2 * HOUR, style: 'named', ...record }),
  job(LORD_HOWE, [{ heartbeat: 3 * DAY }], { startWithin: 6 * HOUR, grace: 6 * HOUR, style: 'named' }),
  job(SANTIAGO, cron('30 0 * * 0'), { ...skip, grace: 1800, edits: [{ schedules: cron('30 0 * * 0,3') }] }),
  job(SANTIAGO, cron('0 0 * 5,8 *'), { grace: HOUR, usefulFor: DAY, style: 'start_end', maxRuntime: HOUR }),
  job(SANTIAGO, cron('*/15 23 * 5,8 6'), { ...coalesce, grace: 300, style: 'exit_code', channels: ['ops'] }),
  job(CHATHAM, cron('50 2 * * 0'), { grace: 2 * HOUR, style: 'keyed', edits: [{ ...coalesce }] }),
  job(CHATHAM, cron('15 3 * 4,9 *'), { ...coalesce, startWithin: 900, grace: 1800, style: 'start_end' }),
  job(CHATHAM, cron('0 * 1 4 *', '30 2-4 30 9 *'), { ...skip, grace: 600, early: 0 }),
  job(CASABLANCA, cron('30 2 * * 0'), {
    ...coalesce,
    grace: HOUR,
    maxRuntime: 2 * HOUR,
    style: 'start_end',
    pauses: 1,
  }),
  job(CASABLANCA, cron('0 3 * 3,6,10 0-4'), { grace: 900, usefulFor: 7 * DAY, ...alert, style: 'named' }),
  job(CASABLANCA, cron('*/30 2 * * 0'), { ...skip, startWithin: 120, grace: 240, style: 'start_end' }),
  job(SAO_PAULO, cron('0 0 * * 0'), {
    grace: 3 * HOUR,
    style: 'success',
    edits: [{ usefulFor: 2 * DAY }, { early: 900 }],
  }),
  job(SAO_PAULO, cron('30 23 * 2,11 *'), { ...coalesce, grace: HOUR, usefulFor: HOUR, style: 'keyed' }),
  job(SAO_PAULO, cron('*/20 0,23 15-20 2 *', '*/20 0,23 1-5 11 *'), { ...skip, grace: 300, style: 'exit_code' }),
  job(APIA, cron('30 3 * * 0'), { ...skip, grace: HOUR, usefulFor: DAY, style: 'start_end', pauses: 1 }),
  job(APIA, cron('0 3,4 * 4,9 *'), { ...coalesce, grace: 600, maxRuntime: 4 * HOUR, style: 'start_end' }),
  job(APIA, [every(4 * DAY, 3 * HOUR * 1000)], {
    grace: 2 * HOUR,
    style: 'named',
    edits: [{ schedules: [every(5 * DAY)] }],
  }),
  job(AZORES, cron('30 0 * 3,10,11 *'), { ...skip, grace: 1200, style: 'exit_code' }),
  job(AZORES, cron('0 1 * 3,10 6,0'), { startWithin: 60, grace: 600, maxRuntime: 900, style: 'start_end', ...alert }),
  job(KOLKATA, cron('30 9 * 1,4,7 1-5'), {
    ...coalesce,
    grace: HOUR,
    ...alert,
    edits: [{ schedules: cron('30 10 * 1,4,7,9 1-5') }],
  }),
  job(KOLKATA, [every(60 * HOUR, 1000)], { ...skip, style: 'success', usefulFor: 6 * HOUR, grace: 1800 }),
  job(KOLKATA, [{ heartbeat: 3 * DAY }], {
    grace: HOUR,
    channels: ['ops'],
    edits: [{ schedules: [{ heartbeat: 2 * DAY }] }],
  }),
  job('UTC', cron('0 */4 1-20 7 *'), { grace: 600, usefulFor: 20 * DAY, style: 'named', edits: [{ grace: HOUR }] }),
  job('UTC', cron('*/15 * 2-3 7 *'), { ...coalesce, grace: 120, silences }),
  job('UTC', cron('0 */4 20-31 3 *', '0 */4 1-5 7 *'), { grace: 20 * HOUR, usefulFor: 9 * DAY, silences }),
  job('UTC', [every(3 * DAY, 6 * HOUR * 1000), every(7 * DAY)], {
    ...coalesce,
    grace: HOUR,
    style: 'success',
    pauses: 1,
  }),
  job('UTC', cron('0 12 1 * *'), {
    grace: DAY,
    usefulFor: 10 * DAY,
    startWithin: HOUR,
    maxRuntime: 2 * DAY,
    style: 'start_end',
  }),
  job('UTC', cron('0 0 * 1-4 *'), {
    early: 0,
    grace: 0,
    maxRuntime: 6 * HOUR,
    style: 'start_end',
    ...record,
    ...alert,
  }),
  job('UTC', [{ heartbeat: 30 * HOUR }], { grace: 1800, pauses: 2 }),
];
