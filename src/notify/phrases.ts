import type { IncidentKind } from '../core/message.ts';
import { floorToSecond, type Instant } from '../core/time.ts';
import { formatOffset } from '../core/zone.ts';
import type { ChannelContext } from './channel.ts';

/** How a kind is spoken of. All but `word` follow the name of the job. */
export type Phrases = {
  /** In a list, behind a number: `3 missing`. */
  readonly word: string;
  /** For more than one, where that differs. */
  readonly words?: string;
  readonly opened: string;
  readonly reminded: string;
  /** When nothing has changed since it was told. */
  readonly still: string;
  /** When it is over. */
  readonly past: string;
  /** How it ended: its own run was done, or a later one went well. */
  readonly itself: string;
  readonly later: string;
};

/** The worst first. */
export const KINDS: Readonly<Record<IncidentKind, Phrases>> = {
  missing: {
    word: 'missing',
    opened: 'did not run',
    reminded: 'missed another run',
    still: 'still has not run',
    past: 'did not run in time',
    itself: 'ran after all',
    later: 'runs again',
  },
  failed: {
    word: 'failed',
    opened: 'failed',
    reminded: 'failed again',
    still: 'has still not succeeded',
    past: 'failed',
    itself: 'succeeded after all',
    later: 'runs again',
  },
  overrun: {
    word: 'running too long',
    opened: 'is running too long',
    reminded: 'is running too long again',
    still: 'is still running too long',
    past: 'ran too long',
    itself: 'has finished',
    later: 'runs in time again',
  },
  schedule_error: {
    word: 'schedule error',
    words: 'schedule errors',
    opened: 'has a schedule that cannot be read',
    reminded: 'still has a schedule that cannot be read',
    still: 'still has a schedule that cannot be read',
    past: 'had a schedule that could not be read',
    itself: 'can be scheduled again',
    later: 'can be scheduled again',
  },
  backlog: {
    word: 'backlog',
    words: 'backlogs',
    opened: 'owes too many runs',
    reminded: 'owes too many runs again',
    still: 'still owes too many runs',
    past: 'owed too many runs',
    itself: 'is out of its backlog',
    later: 'is out of its backlog',
  },
  not_started: {
    word: 'not started',
    opened: 'has not started',
    reminded: 'has another run that has not started',
    still: 'has still not started',
    past: 'did not start in time',
    itself: 'has started',
    later: 'runs again',
  },
  expired: {
    word: 'finished too late',
    opened: 'finished too late to be useful',
    reminded: 'finished too late again',
    still: 'has still not finished in time to be useful',
    past: 'finished too late to be useful',
    itself: 'is settled',
    later: 'runs in time again',
  },
  late: {
    word: 'late',
    opened: 'started but has not finished',
    reminded: 'has another run that has not finished',
    still: 'has still not finished',
    past: 'did not finish in time',
    itself: 'has finished',
    later: 'runs again',
  },
  duplicate: {
    word: 'ran more than once',
    opened: 'ran more than once',
    reminded: 'ran more than once again',
    still: 'ran more than once, which is still open',
    past: 'ran more than once',
    itself: 'is settled',
    later: 'ran just once this time',
  },
  unscheduled: {
    word: 'ran off schedule',
    opened: 'ran off schedule',
    reminded: 'ran off schedule again',
    still: 'ran off schedule, which is still open',
    past: 'ran off schedule',
    itself: 'is back on schedule',
    later: 'is back on schedule',
  },
};
export const WORST_FIRST: readonly string[] = Object.keys(KINDS);

const STATES: Readonly<Record<string, string>> = {
  expected: 'still expected',
  running: 'running now',
  overdue: 'still not completed',
  on_time: 'completed in time',
  late: 'completed late',
  expired: 'completed too late to be useful',
  failed: 'failed',
  missed: 'never ran',
  coalesced: 'covered by a later run',
  skipped: 'skipped',
  unknown: 'unknown, Rollcall could not hear',
};

/** A state of the ledger, for a sentence. */
export function stateText(state: string): string {
  return STATES[state] ?? state;
}

/** A key, spaced for reading: `2026-10-25 02:30 +01:00`, `2026-10-25 02:30 UTC`. */
export function keyText(key: string): string {
  return key
    .replace('T', ' ')
    .replace(/Z$/, ' UTC')
    .replace(/([+-]\d{2}:\d{2})$/, ' $1');
}

/** An instant on the clock of a zone, its offset beside it; in UTC when the zone is not known any more. */
export function timeText(at: Instant, zoneName: string, zones: ChannelContext['zones']): string {
  const zone = zones.get(zoneName);
  const shown = floorToSecond(at);
  const local = new Date(zone.ok ? zone.value.localAt(shown) : shown).toISOString().slice(0, 19).replace('T', ' ');
  const offset = zone.ok && zoneName !== 'UTC' ? formatOffset(zone.value.offsetAt(shown)) : 'UTC';
  return `${local.replace(/:00$/, '')} ${offset}`;
}

/** Without its date, where that stands above already. */
export function undated(text: string, date: string | null): string {
  return date !== null && text.startsWith(`${date} `) ? text.slice(date.length + 1) : text;
}

/** The date in front of a time or a key. */
export const dateOf = (text: string): string => text.slice(0, 10);

/** Elapsed time in its two largest units: `5 min`, `1 h 20 min`, `3 d 2 h`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ].filter(([value]) => value !== 0);
  return parts.length === 0
    ? '0 s'
    : parts
        .slice(0, 2)
        .map(([value, unit]) => `${value} ${unit}`)
        .join(' ');
}

/** How long ago it was when the message left: `just now`, `40 s ago`, `12 min ago`, `1 d 2 h ago`. */
export function ago(at: Instant, now: Instant): string {
  const unit = now - at < 60_000 ? 1000 : 60_000;
  const rounded = Math.floor((now - at) / unit) * unit;
  return rounded <= 0 ? 'just now' : `${span(rounded)} ago`;
}

/** How long until then when the message left: `in 40 s`, `in 2 d 3 h`. */
export function ahead(at: Instant, now: Instant): string {
  const unit = at - now < 60_000 ? 1000 : 60_000;
  return `in ${span(Math.ceil((at - now) / unit) * unit)}`;
}

/** One line without controls and direction marks, which could make a name read as something else. */
export function plain(text: string, most: number): string {
  const line = text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ').trim();
  const points = [...line];
  return points.length > most ? `${points.slice(0, most - 1).join('')}…` : line;
}

/** Output as lines without controls and direction marks: what a terminal would have acted on has no business in a message. */
export function shownOutput(output: string): string {
  return output
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '')
    .trim();
}
