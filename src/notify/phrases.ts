import type { IncidentKind, IncidentMessage, MessageJob, MessageOccurrence } from '../core/message.ts';
import { floorToSecond, type Instant } from '../core/time.ts';
import { formatOffset } from '../core/zone.ts';
import type { ChannelContext } from './channel.ts';

/** What a kind is called in a list, and what happened to the job, for a sentence. */
export const KINDS: Readonly<Record<IncidentKind, { readonly word: string; readonly says: string }>> = {
  missing: { word: 'missing', says: 'did not run' },
  failed: { word: 'failed', says: 'failed' },
  overrun: { word: 'running too long', says: 'is running too long' },
  schedule_error: { word: 'schedule error', says: 'has a schedule that cannot be read' },
  backlog: { word: 'backlog', says: 'owes too many runs' },
  not_started: { word: 'not started', says: 'has not started' },
  expired: { word: 'finished too late', says: 'finished too late to be useful' },
  late: { word: 'late', says: 'started but has not finished' },
  duplicate: { word: 'ran twice', says: 'ran more than once' },
  unscheduled: { word: 'ran off schedule', says: 'ran off schedule' },
};
/** The kinds, the worst first. */
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

/** What the job's policy makes of it, and what a person can do. */
export function whatNow(
  kind: IncidentKind,
  policy: IncidentMessage['facts']['missedRuns'],
  first: MessageOccurrence | null,
  { slug }: MessageJob,
): string {
  const pay = first
    ? `run it with a ping that says occ=${first.key}, or settle it by hand in the API`
    : 'settle it by hand in the API';
  if (kind === 'duplicate') return 'Check for double effects; this ends with the next run that happens once.';
  if (kind === 'unscheduled')
    return 'It counts for no due run. A run that makes up for one must ping with its key (occ=…).';
  if (kind === 'schedule_error') return 'No run is expected until the job is saved with a schedule that can be read.';
  if (kind === 'backlog')
    return `Nothing is handed out until somebody decides: POST /api/v1/jobs/${slug}/backlog with run or skip.`;
  if (kind === 'expired') return 'It is done, but after its window: nothing is owed. This ends with the next good run.';
  if (policy === null) return 'The next ping of this job settles it.';
  if (kind === 'not_started')
    return `It may still start: it is missing only once its deadline passes. If it does not: ${pay}.`;
  const hangs = kind === 'late' || kind === 'overrun' ? 'Its run has not reported its end: see whether it hangs. ' : '';
  if (policy === 'catch_up')
    return `${hangs}It stays owed (catch_up) until it is done or no longer useful. To pay: ${pay}.`;
  if (policy === 'coalesce') return `${hangs}The next good run covers it (coalesce). To complete this one: ${pay}.`;
  const say = first ? `ping with occ=${first.key}, or ` : '';
  return `${hangs}Nothing is owed (skip). If it ran unheard, say so: ${say}settle it by hand in the API.`;
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

/** One line without controls and direction marks, which could make a name read as something else. */
export function plain(text: string, most: number): string {
  const line = text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
  const points = [...line];
  return points.length > most ? `${points.slice(0, most - 1).join('')}…` : line;
}
