import type { IncidentKind, IncidentMessage } from '../core/message.ts';
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
    past: 'did not run in time',
    itself: 'ran after all',
    later: 'runs again',
  },
  failed: {
    word: 'failed',
    opened: 'failed',
    reminded: 'failed again',
    past: 'failed',
    itself: 'succeeded after all',
    later: 'runs again',
  },
  overrun: {
    word: 'running too long',
    opened: 'is running too long',
    reminded: 'is running too long again',
    past: 'ran too long',
    itself: 'has finished',
    later: 'runs in time again',
  },
  schedule_error: {
    word: 'schedule error',
    words: 'schedule errors',
    opened: 'has a schedule that cannot be read',
    reminded: 'still has a schedule that cannot be read',
    past: 'had a schedule that could not be read',
    itself: 'can be scheduled again',
    later: 'can be scheduled again',
  },
  backlog: {
    word: 'backlog',
    words: 'backlogs',
    opened: 'owes too many runs',
    reminded: 'owes too many runs again',
    past: 'owed too many runs',
    itself: 'is out of its backlog',
    later: 'is out of its backlog',
  },
  not_started: {
    word: 'not started',
    opened: 'has not started',
    reminded: 'has another run that has not started',
    past: 'did not start in time',
    itself: 'has started',
    later: 'runs again',
  },
  expired: {
    word: 'finished too late',
    opened: 'finished too late to be useful',
    reminded: 'finished too late again',
    past: 'finished too late to be useful',
    itself: 'is settled',
    later: 'runs in time again',
  },
  late: {
    word: 'late',
    opened: 'started but has not finished',
    reminded: 'has another run that has not finished',
    past: 'did not finish in time',
    itself: 'has finished',
    later: 'runs again',
  },
  duplicate: {
    word: 'ran more than once',
    opened: 'ran more than once',
    reminded: 'ran more than once again',
    past: 'ran more than once',
    itself: 'is settled',
    later: 'ran just once this time',
  },
  unscheduled: {
    word: 'ran off schedule',
    opened: 'ran off schedule',
    reminded: 'ran off schedule again',
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

type Policy = NonNullable<IncidentMessage['facts']['missedRuns']>;

/** What the policy makes of a run that nobody heard of, that has not ended, or that failed. */
const OUTLOOK: Readonly<Record<'silent' | 'hanging' | 'failed', Readonly<Record<Policy, string>>>> = {
  silent: {
    catch_up: 'It stays owed (catch_up) until it is done or no longer useful. Run it, then report it',
    coalesce: 'The next good run covers it (coalesce). If you run this one by hand, report it',
    skip: 'Nothing is owed (skip). If it ran unheard, report it',
  },
  hanging: {
    catch_up:
      'See whether it hangs. It stays owed (catch_up) until it is done or no longer useful. Once it is done, report it',
    coalesce: 'See whether it hangs. The next good run covers it (coalesce). If this one ended unheard, report it',
    skip: 'See whether it hangs. Nothing is owed (skip). If it ended unheard, report it',
  },
  failed: {
    catch_up:
      'It stays owed (catch_up) until a run of it succeeds or it is no longer useful. Run it again, then report it',
    coalesce: 'The next good run covers it (coalesce). If you repeat this one by hand, report it',
    skip: 'Nothing is owed (skip): the next good run ends this. If you repeat this one by hand, report it',
  },
};

const FIXED: Partial<Record<IncidentKind, string>> = {
  duplicate: 'Check for double effects. This ends with the next run that happens just once.',
  unscheduled: 'It counts for no due run. A run that makes up for one must ping with its key (occ=…).',
  schedule_error: 'No run is expected until the job is saved with a schedule that can be read.',
  expired: 'It is done, but after its window: nothing is owed. This ends with the next good run.',
};

export type Advice = {
  readonly text: string;
  /** A line to paste, and what to do instead. */
  readonly command: { readonly line: string; readonly instead: string } | null;
};

/** The line that reports an occurrence done. The real URL is a secret: who runs the job has it. */
export const payLine = (key: string): string => `curl -fsS "$PING_URL/0?occ=${key}"`;
/** Stands before it. */
export const PING_URL_IS = '(PING_URL is its ping address):';

/** What the job's policy makes of it, and what a person can do. */
export function whatNow({ incident, facts, occurrences, job }: IncidentMessage): Advice {
  const { kind, occurrenceCount } = incident;
  const { missedRuns } = facts;
  const [first] = occurrences;
  const path = `/api/v1/jobs/${job.slug}`;
  const fixed = FIXED[kind];
  if (fixed !== undefined) return { text: fixed, command: null };
  if (kind === 'backlog')
    return { text: `Nothing is handed out until you decide: POST ${path}/backlog with run or skip.`, command: null };
  if (missedRuns === null || !first) {
    return { text: `The next ${kind === 'failed' ? 'good ping' : 'ping'} of this job settles it.`, command: null };
  }
  const hangs = kind === 'late' || kind === 'overrun';
  const outlook =
    kind === 'not_started'
      ? 'It is missing only once its deadline passes. If you run it by hand, report it'
      : OUTLOOK[kind === 'failed' ? 'failed' : hangs ? 'hanging' : 'silent'][missedRuns];
  const others = missedRuns === 'catch_up' && occurrenceCount > 1 ? `; all that is owed: GET ${path}/owed` : '';
  const instead = `or settle it by hand: PATCH ${path}/occurrences/${first.key}${others}`;
  return { text: `${outlook} ${PING_URL_IS}`, command: { line: payLine(first.key), instead } };
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

/** One line without controls and direction marks, which could make a name read as something else. */
export function plain(text: string, most: number): string {
  const line = text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
  const points = [...line];
  return points.length > most ? `${points.slice(0, most - 1).join('')}…` : line;
}

/** Output as lines without controls: what a terminal would have acted on has no business in a message. */
export function shownOutput(output: string): string {
  return output
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .trim();
}
