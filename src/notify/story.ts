import type { IncidentMessage, MessageJob, MessageOccurrence } from '../core/message.ts';
import type { Instant } from '../core/time.ts';
import type { Way } from './advice.ts';
import type { ChannelContext, IncidentEvent } from './channel.ts';
import { keyText, plain, stateText, timeText } from './phrases.ts';

/** `2026-10-25 02:30 +01:00`, `completed late`. */
type RunLine = { readonly when: string; readonly fate: string };

export type Fact = { readonly label: string; readonly text: string };

/** What stands below a title, in the order in which it is read. */
export type Part =
  | { readonly kind: 'facts'; readonly facts: readonly Fact[] }
  /** Occurrences and what became of each; `more` that are not listed. */
  | { readonly kind: 'runs'; readonly runs: readonly RunLine[]; readonly more: number }
  /** The last lines of a run. */
  | { readonly kind: 'output'; readonly text: string }
  /** What happens by itself, and what a person can do: lines to paste. */
  | { readonly kind: 'advice'; readonly text: string; readonly ways: readonly Way[] }
  /** Where to act. The address is ours, and needs no escaping but what a markup itself asks for. */
  | { readonly kind: 'link'; readonly text: string; readonly url: string };

/** One incident (or notice) as people read it. Plain text throughout: whoever shows it escapes it. */
export type Story = {
  readonly mood: 'problem' | 'recovered' | 'notice';
  /** What it is in a word or two: `missing`, `recovered`. */
  readonly label: string;
  /** Says everything by itself. */
  readonly title: string;
  readonly parts: readonly Part[];
};

/** All events of one incident in this batch: a problem, its end, or both. */
export type IncidentTopic = { readonly last: IncidentEvent; readonly hasProblem: boolean };

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

/** Leaves the date out of a time where it stands above already. */
export type Short = (text: string) => string;

export function jobFact({ slug, tags, zone }: MessageJob): Fact {
  const tagged = tags.length > 0 ? ` [${plain(tags.join(', '), 200)}]` : '';
  return { label: 'Job', text: `${slug}${tagged}, times are ${zone}` };
}

/** A run too many is what it was about, however well each ended. */
export function fateText(kind: string, { state }: MessageOccurrence): string {
  return kind === 'duplicate' ? `${stateText(state)}, more than once` : stateText(state);
}

/** The time an occurrence is spoken of by: when it was due, or when it ended where that is to come after. */
export const whenText = (it: MessageOccurrence, { zone }: MessageJob, zones: Telling['zones']): string =>
  it.endedAt === undefined ? keyText(it.key) : timeText(it.endedAt, zone, zones);

/** In a list of several days every line has its date. */
export function runsPart(message: IncidentMessage, { lines, zones }: Telling, short: Short): Part {
  const { kind, occurrenceCount } = message.incident;
  const listed = inOrder(message).slice(0, lines);
  const times = listed.map((it) => ({ when: whenText(it, message.job, zones), fate: fateText(kind, it) }));
  const isOneDay = times.every(({ when }) => short(when) !== when);
  const runs = isOneDay ? times.map(({ when, fate }) => ({ when: short(when), fate })) : times;
  return { kind: 'runs', runs, more: occurrenceCount - runs.length };
}

/** One line for each run of a list. */
export function runLines({ runs, more }: Extract<Part, { readonly kind: 'runs' }>): readonly string[] {
  return [...runs.map(({ when, fate }) => `${when}: ${fate}`), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** The payload has the one that is told first in front. */
export function inOrder({ occurrences }: IncidentMessage): readonly MessageOccurrence[] {
  return [...occurrences].sort((a, b) => a.scheduledFor - b.scheduledFor);
}
