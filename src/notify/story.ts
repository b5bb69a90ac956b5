import { groupBy } from '../core/group.ts';
import type { IncidentMessage, MessageJob, MessageOccurrence } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { ChannelContext, NoticeEvent } from './channel.ts';
import {
  ago,
  dateOf,
  KINDS,
  keyText,
  PING_URL_IS,
  payLine,
  plain,
  span,
  stateText,
  timeText,
  undated,
  whatNow,
} from './phrases.ts';

type Fact = { readonly label: string; readonly text: string };

/** What stands below a title, in the order in which it is read. */
export type Part =
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  /** One line for each occurrence, and what became of it. */
  | { readonly kind: 'runs'; readonly lines: readonly string[] }
  /** The last lines of a run. */
  | { readonly kind: 'output'; readonly text: string }
  /** A line to paste, and what to do instead. */
  | { readonly kind: 'command'; readonly line: string; readonly instead: string | null };

/** One incident (or notice) as people read it. Plain text throughout: whoever shows it escapes it. */
export type Story = {
  readonly mood: 'problem' | 'recovered' | 'notice';
  /** Says everything by itself. */
  readonly title: string;
  readonly parts: readonly Part[];
};

/** All events of one incident in this batch: a problem, its end, or both. */
export type IncidentTopic = { readonly last: IncidentMessage; readonly hasProblem: boolean };

/** Stands in front of a title. */
export const MARKS: Readonly<Record<Story['mood'], string>> = { problem: '🔴', recovered: '🟢', notice: '🔵' };

export type Telling = {
  readonly zones: ChannelContext['zones'];
  readonly now: Instant;
  /** The date that stands in the first line of the message already. */
  readonly date: string | null;
  /** With all its facts, or just what happened. */
  readonly isFull: boolean;
  /** Lines about occurrences at most. */
  readonly lines: number;
};

export const isOpen = ({ last }: IncidentTopic): boolean => last.type !== 'incident.resolved';

/** The time that stands first in the title, with its date; null where there is none. */
export function leadTime({ last }: IncidentTopic, zones: Telling['zones']): string | null {
  const [first] = inOrder(last);
  if (last.type === 'incident.resolved') {
    const key = endingOf(last).key ?? first?.key;
    return key === undefined ? null : keyText(key);
  }
  if (last.incident.kind === 'unscheduled') return timeText(last.incident.openedAt, last.job.zone, zones);
  return last.occurrences[0] ? keyText(last.occurrences[0].key) : null;
}

/** Tells one incident. */
export function incidentStory(topic: IncidentTopic, telling: Telling): Story {
  const { last } = topic;
  const lead = leadTime(topic, telling.zones);
  const own = lead === null ? null : dateOf(lead);
  // A story of another day says its own date once, and after that nothing may be left to guess.
  const near = telling.date === null || telling.date === own ? own : null;
  const short = (text: string): string => undated(text, near);
  const first = lead === null ? null : undated(lead, telling.date);
  const name = nameOf(last.job, !telling.isFull);
  if (isOpen(topic)) {
    const parts = telling.isFull ? problemParts(last, telling, short) : [];
    return { mood: 'problem', title: `${name} ${problemTitle(last, first)}`, parts };
  }
  const runs = last.incident.occurrenceCount > MOST_NAMED ? [runsPart(last, telling.lines, short)] : [];
  const facts = telling.isFull ? [recoveryFacts(last, telling.zones, short)] : [];
  return { mood: 'recovered', title: `${name} ${recoveryTitle(topic, first, short)}`, parts: [...runs, ...facts] };
}

/** Tells what is about Rollcall itself. */
export function noticeStory({ notice, occurrences, occurrenceCount }: NoticeEvent, { zones, lines }: Telling): Story {
  const list = occurrences
    .slice(0, lines)
    .map(({ job, key, state }) => `${job.slug}, ${keyText(key)}: ${stateText(state)}`);
  const rest = occurrenceCount - list.length;
  const runs = [...list, ...(rest > 0 ? [`and ${rest} more`] : [])];
  const [first] = occurrences;
  const now = { label: 'What now', text: `Check whether these ran. Report each that did, with its key ${PING_URL_IS}` };
  const isUnknown = notice.kind === 'unknown';
  const facts = [{ label: 'Time', text: timeText(notice.at, 'UTC', zones) }, ...(isUnknown ? [now] : [])];
  return {
    mood: 'notice',
    title: plain(notice.text, 500),
    parts: [
      { kind: 'facts', facts },
      ...(isUnknown ? [{ kind: 'command', line: payLine(first?.key ?? 'KEY'), instead: null } as const] : []),
      ...(runs.length > 0 ? [{ kind: 'runs', lines: runs } as const] : []),
    ],
  };
}

/** What stands between what happened and the time. */
const DUE: Readonly<Record<string, string>> = { unscheduled: ':', backlog: ', the latest due' };

function problemTitle({ type, incident, facts }: IncidentMessage, time: string | null): string {
  const { kind, occurrenceCount } = incident;
  const code = kind === 'failed' && facts.exitCode !== null ? ` (exit code ${facts.exitCode})` : '';
  const due = time === null ? '' : `${DUE[kind] ?? ': due'} ${time}`;
  const isAgain = type === 'incident.reminded';
  const count = isAgain && occurrenceCount > 1 ? ` (${occurrenceCount} so far)` : '';
  const detail = kind === 'schedule_error' && facts.detail ? `: ${plain(facts.detail, 200)}` : '';
  const { completions } = facts;
  const times = kind === 'duplicate' && completions !== null && completions > 1 ? timesText(completions) : null;
  const says = times === null ? KINDS[kind][isAgain ? 'reminded' : 'opened'] : `${isAgain ? 'again ' : ''}ran ${times}`;
  return `${says}${code}${due}${count}${detail}`;
}

const timesText = (count: number): string => (count === 2 ? 'twice' : `${count} times`);

type Short = (text: string) => string;

function problemParts(message: IncidentMessage, telling: Telling, short: Short): readonly Part[] {
  const { incident, facts, job } = message;
  const { text, command } = whatNow(message);
  const said = facts.output?.trim() ? [{ kind: 'output', text: facts.output } as const] : [];
  const isFailed = incident.kind === 'failed';
  return [
    // Why it failed is what one wants to know.
    ...(isFailed ? said : []),
    { kind: 'facts', facts: [...problemFacts(message, telling, short), { label: 'What now', text }] },
    ...(command === null ? [] : [{ kind: 'command', ...command } as const]),
    ...(incident.occurrenceCount > 1 ? [runsPart(message, telling.lines, short)] : []),
    { kind: 'facts', facts: [jobFact(job)] },
    ...(isFailed ? [] : said),
  ];
}

const EXPECTED: Readonly<Record<string, string>> = {
  missing: 'Expected by',
  late: 'Expected by',
  not_started: 'Start expected by',
  overrun: 'Should have ended by',
  expired: 'Expected by',
};

function problemFacts(message: IncidentMessage, { zones, now }: Telling, short: Short): readonly Fact[] {
  const { incident, job, occurrences, type } = message;
  const { facts } = message;
  const list: Fact[] = [];
  const add = (label: string, text: string): unknown => list.push({ label, text });
  const time = (at: Instant): string => short(timeText(at, job.zone, zones));
  const by = EXPECTED[incident.kind];
  if (by !== undefined && facts.expectedBy !== null)
    add(by, `${time(facts.expectedBy)} (${ago(facts.expectedBy, now)})`);
  const runs = incident.kind === 'duplicate' ? (facts.runs ?? []) : [];
  const ends = runs.map(({ endedAt, source }) => `${endedAt === null ? 'no end' : time(endedAt)}${fromText(source)}`);
  if (ends.length > 0) add('Completed', ends.join(', '));
  if (facts.before) add('Before', `reported as ${KINDS[facts.before].word}`);
  if (type === 'incident.reminded') add('Open since', `${time(incident.openedAt)} (${ago(incident.openedAt, now)})`);
  const { lastCompleted } = facts;
  if (lastCompleted === null && incident.kind !== 'duplicate') add('Last completed', 'none yet');
  // The run that is complained about tells nothing new.
  else if (lastCompleted !== null && !occurrences.some(({ key }) => key === lastCompleted))
    add('Last completed', `due ${short(keyText(lastCompleted))} (${ago(Date.parse(lastCompleted), now)})`);
  return list;
}

const fromText = (source: string | null): string => (source === null ? '' : ` from ${plain(source, 60)}`);

function jobFact({ slug, tags, zone }: MessageJob): Fact {
  const tagged = tags.length > 0 ? ` [${plain(tags.join(', '), 200)}]` : '';
  return { label: 'Job', text: `${slug}${tagged}, times are ${zone}` };
}

/** How an incident ended: with its own run, a later one (its key), or without a run. */
type Ending = { readonly how: 'itself' | 'later' | 'settled'; readonly key: string | null };

function endingOf({ incident, occurrences, facts }: IncidentMessage): Ending {
  const { lastCompleted } = facts;
  if (incident.kind === 'schedule_error') return { how: 'itself', key: null };
  const isOwn = occurrences.some(({ key, state }) => key === lastCompleted || state === 'running');
  if (isOwn) return { how: 'itself', key: null };
  const newest = Math.max(...occurrences.map(({ scheduledFor }) => scheduledFor));
  if (lastCompleted !== null && Date.parse(lastCompleted) > newest) return { how: 'later', key: lastCompleted };
  return { how: occurrences.length === 0 ? 'later' : 'settled', key: null };
}

/** What is well now, and then what the incident was about. */
function recoveryTitle({ last, hasProblem }: IncidentTopic, time: string | null, short: Short): string {
  const { kind } = last.incident;
  const { how, key } = endingOf(last);
  const { past, ...phrases } = KINDS[kind];
  const well = how === 'settled' && kind !== 'backlog' ? 'is settled' : phrases[how === 'settled' ? 'later' : how];
  const says = hasProblem ? `${past}, but ${well}` : well;
  const { lastCompletedState = null } = last.facts;
  const done = lastCompletedState === null ? 'completed' : stateText(lastCompletedState);
  const later = key === null ? '' : `: ${time} ${done}`;
  const fates = fatesOf(last, key === null && time !== null ? () => time : short, short);
  return fates === null ? `${says}${later}` : `${says}${later}${key === null ? ': ' : '; before: '}${fates}`;
}

/** So many occurrences are all named in the title of an end; of more there is a list. */
const MOST_NAMED = 3;

/** `… and … completed late, … never ran`, or `5 completed late (… to …)`. `lead` writes the first time in the title. */
function fatesOf(message: IncidentMessage, lead: Short, short: Short): string | null {
  const { occurrenceCount, kind } = message.incident;
  const occurrences = inOrder(message);
  const [first] = occurrences;
  const last = occurrences.at(-1);
  if (!first || !last) return null;
  const fates = [...groupBy(occurrences, (it) => fateText(kind, it))];
  const unlisted = occurrenceCount - occurrences.length;
  if (occurrenceCount <= MOST_NAMED && unlisted <= 0) {
    const timeOf = (it: MessageOccurrence): string => (it === first ? lead : short)(keyText(it.key));
    return fates.map(([fate, group]) => `${listText(group.map(timeOf))} ${fate}`).join(', ');
  }
  const parts = fates.map(([fate, { length }]) => `${length} ${fate}`);
  const end = unlisted > 0 ? ' and later' : ` to ${after(keyText(first.key), keyText(last.key), short)}`;
  return `${[...parts, ...(unlisted > 0 ? [`${unlisted} more`] : [])].join(', ')} (${lead(keyText(first.key))}${end})`;
}

/** The second of two times, which needs no date where the first has said it. */
const after = (first: string, second: string, short: Short): string =>
  dateOf(first) === dateOf(second) ? undated(second, dateOf(first)) : short(second);

/** `a`, `a and b`, `a, b and c`. */
const listText = (items: readonly string[]): string => items.join(', ').replace(/, (?!.*, )/, ' and ');

/** A run too many is what it was about, however well each ended. */
function fateText(kind: string, { state }: MessageOccurrence): string {
  return kind === 'duplicate' ? `${stateText(state)}, more than once` : stateText(state);
}

function runsPart(message: IncidentMessage, most: number, short: Short): Part {
  const { incident } = message;
  const listed = inOrder(message).map((it) => `${short(keyText(it.key))}: ${fateText(incident.kind, it)}`);
  const rest = incident.occurrenceCount - Math.min(most, listed.length);
  return { kind: 'runs', lines: [...listed.slice(0, most), ...(rest > 0 ? [`and ${rest} more`] : [])] };
}

/** The payload has the one that is told first in front. */
function inOrder({ occurrences }: IncidentMessage): readonly MessageOccurrence[] {
  return [...occurrences].sort((a, b) => a.scheduledFor - b.scheduledFor);
}

function recoveryFacts({ incident, job }: IncidentMessage, zones: Telling['zones'], short: Short): Part {
  const { openedAt, resolvedAt } = incident;
  if (resolvedAt === null) return { kind: 'facts', facts: [jobFact(job)] };
  const from = timeText(openedAt, job.zone, zones);
  const to = after(from, timeText(resolvedAt, job.zone, zones), short);
  const lasted = { label: 'Lasted', text: `${span(resolvedAt - openedAt)}, from ${short(from)} to ${to}` };
  return { kind: 'facts', facts: [lasted, jobFact(job)] };
}

function nameOf({ name, slug }: MessageJob, withSlug: boolean): string {
  const shown = plain(name, 80);
  return withSlug && shown !== slug ? `${shown} (${slug})` : shown;
}
