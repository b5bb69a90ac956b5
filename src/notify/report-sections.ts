import type { IncidentKind } from '../core/message.ts';
import type { ClockChange, EditLine, JobLine, OwedLine, Report, Tally } from '../core/report.ts';
import { countText, shareText } from '../core/report-words.ts';
import { parseInstant } from '../core/time.ts';
import { payLine, runLine, type Way } from './advice.ts';
import type { ChannelContext } from './channel.ts';
import { KINDS, keyText, plain, span, timeText, WORST_FIRST } from './phrases.ts';

/** One thing in a section: its name, a figure beside it, and what there is to know. Plain text throughout. */
export type Row = {
  readonly name: string;
  readonly figure: string | null;
  readonly details: readonly string[];
};

export type Section = {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Sentences below the rows, or instead of them. */
  readonly notes: readonly string[];
  /** What a person can do. */
  readonly ways: readonly Way[];
};

/** Rows of a section: no mailbox wants them all, and Gmail clips what is over 102 kB. */
const MOST_ROWS = 25;

type Zones = ChannelContext['zones'];

/** What a report says below its numbers, as text and HTML show it alike. */
export function sectionsOf(report: Report, zones: Zones): readonly Section[] {
  const time = (instant: string): string => timeIn(report.zone, instant, zones);
  return [
    worstJobs(report, time),
    owed(report),
    incidents(report, time),
    scheduleEdits(report, time),
    clockChanges(report.clock_changes),
  ];
}

/** An instant of a report on the clock of a zone, to the minute. */
export function timeIn(zone: string, instant: string, zones: Zones): string {
  const at = parseInstant(instant);
  return at.ok ? timeText(Math.floor(at.value / 60_000) * 60_000, zone, zones) : instant;
}

const STATES: readonly (readonly [keyof Tally & string, string])[] = [
  ['missed', 'missed'],
  ['failed', 'failed'],
  ['overdue', 'still not completed'],
  ['late', 'late'],
  ['expired', 'too late to be useful'],
  ['coalesced', 'covered by a later run'],
];
const APART: readonly (readonly [keyof Tally & string, string])[] = [
  ['skipped', 'skipped'],
  ['unknown', 'unknown'],
  ['pending', 'not decided yet'],
];

/** What was not on time, the worst first: `3 missed, 1 late`. */
export function notOnTime(tally: Tally): string {
  return counts(tally, STATES);
}

/** What does not count: `14 skipped, 2 unknown`. */
export function leftOut(tally: Tally): string {
  return counts(tally, APART);
}

function counts(tally: Tally, of: typeof STATES): string {
  return of.flatMap(([state, word]) => (tally[state] ? [`${countText(tally[state])} ${word}`] : [])).join(', ');
}

const many = (count: number, one: string, more = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : more}`;

function worstJobs({ worst_jobs: worst, jobs }: Report, time: (instant: string) => string): Section {
  const rest = jobs.in_trouble - worst.length;
  const others = [
    ...(rest > 0 ? [`${many(rest, 'more job')} had something that was not on time`] : []),
    ...(jobs.well > 0 ? [`of ${many(jobs.well, 'job')} everything was on time`] : []),
    ...(jobs.without_data > 0 ? [`of ${many(jobs.without_data, 'job')} there is nothing to count`] : []),
  ];
  const notes = [
    ...(jobs.total === 0 ? ['There was no job.'] : []),
    ...(others.length > 0 ? [`${capital(others.join('; '))}.`] : []),
  ];
  const title = worst.length === 0 ? 'Jobs' : 'Worst jobs';
  return { title, rows: worst.map((line) => worstRow(line, time)), notes, ways: [] };
}

function worstRow({ job, name, since, occurrences }: JobLine, time: (instant: string) => string): Row {
  const { on_time, counted } = occurrences;
  const apart = leftOut(occurrences);
  return {
    name: nameOf(job, name),
    figure: shareText(occurrences.on_time_share),
    details: [
      `${countText(on_time)} of ${countText(counted)} on time: ${notOnTime(occurrences)}${apart === '' ? '' : `; apart: ${apart}`}`,
      ...(since === null ? [] : [`counted since it was made, ${time(since)}`]),
    ],
  };
}

/** The name people gave it, and the slug to ask for. */
function nameOf(slug: string, name: string): string {
  return name === slug ? slug : `${plain(name, 100)} (${slug})`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function owed({ owed: lines, owed_jobs: total }: Report): Section {
  const [first] = lines;
  const title = 'Owed now';
  if (!first) return { title, rows: [], notes: ['Nothing is owed.'], ways: [] };
  const shown = lines.slice(0, MOST_ROWS);
  const more = total - shown.length;
  const notes = more > 0 ? [`And ${many(more, 'more job')}.`] : [];
  return { title, rows: shown.map(owedRow), notes, ways: owedWays(lines) };
}

/** How to pay, by the first that can be paid, and how to decide, by the first that has to be decided about. */
function owedWays(lines: readonly OwedLine[]): readonly Way[] {
  const payable = lines.find(({ oldest, needs_decision, is_paused }) => oldest && !needs_decision && !is_paused);
  const undecided = lines.find(({ needs_decision, unconfirmed }) => needs_decision || unconfirmed > 0);
  return [
    ...(payable?.oldest
      ? [
          { says: 'Pay what a job owes, on its host:', line: `rollcall exec ${payable.job} --catch-up -- COMMAND` },
          { says: 'Or report one that was run (PING_URL is its ping address):', line: payLine(payable.oldest) },
        ]
      : []),
    ...(undecided
      ? [{ says: 'Say of all that a job owes that it is to run (or: skip):', line: runLine(undecided.job) }]
      : []),
  ];
}

function owedRow({ job, count, oldest, unconfirmed, needs_decision, is_paused }: OwedLine): Row {
  return {
    name: job,
    figure: countText(count),
    details: [
      ...(oldest === null ? [] : [`the oldest is due since ${keyText(oldest)}`]),
      ...(unconfirmed > 0 ? [`${countText(unconfirmed)} unconfirmed: nobody knows whether they ran`] : []),
      ...(needs_decision ? ['too many: nothing is handed out before somebody says run or skip'] : []),
      ...(is_paused ? [`paused: nothing is handed out before rollcall resume ${job}`] : []),
    ],
  };
}

function incidents({ incidents: { opened, still_open, longest } }: Report, time: (instant: string) => string): Section {
  const kinds = (Object.entries(opened) as [IncidentKind, number][]).sort(
    ([a, countA], [b, countB]) => countB - countA || WORST_FIRST.indexOf(a) - WORST_FIRST.indexOf(b),
  );
  const said = kinds.map(([kind, count]) => `${countText(count)} ${wordOf(kind, count)}`).join(', ');
  const title = 'Incidents';
  const notes = [
    said === '' ? 'None was opened.' : `Opened: ${said}.`,
    ...(longest
      ? [
          `The longest: ${longest.job}, ${KINDS[longest.kind].word}, ${span(longest.seconds * 1000)}, ${lasted(longest, time)}.`,
        ]
      : []),
    ...(still_open > 0
      ? [`${many(still_open, 'incident')} of this time ${still_open === 1 ? 'is' : 'are'} still open.`]
      : []),
  ];
  return { title, rows: [], notes, ways: [] };
}

function wordOf(kind: IncidentKind, count: number): string {
  const { word, words = word } = KINDS[kind];
  return count === 1 ? word : words;
}

function lasted(
  { opened_at, resolved_at }: NonNullable<Report['incidents']['longest']>,
  time: (instant: string) => string,
): string {
  return resolved_at === null
    ? `from ${time(opened_at)} on, still open`
    : `from ${time(opened_at)} to ${time(resolved_at)}`;
}

function scheduleEdits(
  { schedule_edits: edits, schedule_edit_count: total }: Report,
  time: (instant: string) => string,
): Section {
  const shown = edits.slice(0, MOST_ROWS);
  const more = total - shown.length;
  return {
    title: 'Schedule edits',
    rows: shown.map((edit) => editRow(edit, time)),
    notes: [...(total === 0 ? ['None.'] : []), ...(more > 0 ? [`And ${many(more, 'more edit')}.`] : [])],
    ways: [],
  };
}

function editRow({ job, at, actor, changes }: EditLine, time: (instant: string) => string): Row {
  return {
    name: job,
    figure: null,
    details: [...changes.map((it) => plain(it, 300)), `${time(at)}, by ${plain(actor, 60)}`],
  };
}

const MOST_TOUCHED = 10;

function clockChanges(changes: readonly ClockChange[]): Section {
  const notes = changes.length === 0 ? ['None in the next 35 days.'] : [];
  return { title: 'Clock changes to come', rows: changes.map(changeRow), notes, ways: [] };
}

function changeRow({ zone, shift_seconds: shift, from, to, jobs, touched }: ClockChange): Row {
  const toText = to.slice(0, 10) === from.slice(0, 10) ? to.slice(11) : to.replace('T', ' ');
  const shown = touched.slice(0, MOST_TOUCHED).map(({ job, effects }) => `${job}: ${effects.join('; ')}`);
  const more = touched.length - shown.length;
  const touches =
    touched.length === 0
      ? `it touches the schedule of none of ${many(jobs, 'job')} there`
      : `it touches ${touched.length} of ${many(jobs, 'job')} there`;
  return {
    name: `${zone}, ${from.slice(0, 10)}`,
    figure: null,
    details: [
      `the clocks go ${shift > 0 ? 'forward' : 'back'} by ${span(Math.abs(shift) * 1000)}, from ${from.slice(11)} to ${toText}; ${touches}`,
      ...shown,
      ...(more > 0 ? [`and ${countText(more)} more`] : []),
    ],
  };
}
