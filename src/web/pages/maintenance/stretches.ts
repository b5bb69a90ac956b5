import type { NamedStretch } from '../../../core/calendar.ts';
import { parseCalendar } from '../../../core/calendar-text.ts';
import { compileWindow, cronOf, type When, type Window } from '../../../core/maintenance.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { Zones } from '../../../zones.ts';
import { parseWindow, type SentWhen } from '../../api/maintenance-definition.ts';
import type { ApiFlaw } from '../call.ts';
import { clockChangeSentences, nextClockChange, type Subject } from '../job-editor/clock-change.ts';
import { type Draft, textOf } from '../job-editor/draft.ts';
import { windowBody, windowKindOf } from './draft.ts';

/** The stretch that is under way and the next ones, at most `limit`. */
export function comingStretches(window: Window, now: Instant, limit: number): readonly NamedStretch[] {
  const around = window.around(now);
  const found: NamedStretch[] = around === null ? [] : [around];
  let next = window.next(now);
  while (next !== null && found.length < limit) {
    found.push(next);
    next = window.next(next.from);
  }
  return found;
}

/** What a form about a window would mean. */
export type WindowPreview = {
  readonly now: Instant;
  readonly zone: Zone | null;
  readonly flaws: readonly ApiFlaw[];
  /** null: not to be said yet, because something is missing or an address has to be read. */
  readonly stretches: readonly NamedStretch[] | null;
  readonly clocks: readonly string[];
  /** What is to be said in place of stretches. */
  readonly note: string | null;
};

const SHOWN = 6;
/** A page waits no longer for a calendar than this. */
const READING_MS = 1000;
const WINDOW: Subject = {
  isDue: 'the window begins',
  isExpected: 'the window begins',
  none: 'no window begins instead',
  schedule: 'when these windows begin',
};

export function readWindowPreview(
  draft: Draft,
  { zones, now, monotonic }: { readonly zones: Zones; readonly now: Instant; readonly monotonic: () => number },
): WindowPreview {
  const found = zones.get(textOf(draft, 'zone').trim());
  const zone = found.ok ? found.value : null;
  const empty = { now, zone, flaws: [], stretches: null, clocks: [], note: null };
  if (isUnsaid(draft)) return { ...empty, note: 'Say when, and the next windows are shown here.' };
  const { body, flaws } = windowBody(draft, zones);
  const { jobs: _, tags: __, ...when } = body;
  const parsed = parseWindow('preview', when, { zones, now, jobs: new Set() });
  if (flaws.length > 0 || !parsed.ok) return { ...empty, flaws: parsed.ok ? flaws : [...flaws, ...parsed.errors] };
  const read = whenOf(parsed.value.when, { zones, now, monotonic });
  if (!read.ok) return { ...empty, flaws: [{ path: 'ics', message: read.reason }] };
  if (read.value === null)
    return { ...empty, note: 'The calendar is read when this is saved, and once a day from then on.' };
  const window = compileWindow(read.value, (name) => {
    const one = zones.get(name);
    if (!one.ok) throw new Error(one.reason);
    return one.value;
  });
  return { ...empty, stretches: comingStretches(window, now, SHOWN), clocks: clocksOf(read.value, zone, now) };
}

/** Nothing has been written that could be wrong. */
function isUnsaid(draft: Draft): boolean {
  const says = (...names: readonly string[]): boolean => names.some((name) => textOf(draft, name).trim() !== '');
  switch (windowKindOf(draft)) {
    case 'once':
      return !says('until', 'duration');
    case 'weekly':
      return !Object.keys(draft).some((name) => name.startsWith('weekly.') && says(name));
    case 'cron':
      return !says('cron') || !says('cron_duration');
    case 'ics':
      return !says('ics');
    case 'ics_url':
      return !says('ics_url');
  }
}

type Read = { readonly ok: true; readonly value: When | null } | { readonly ok: false; readonly reason: string };

/** The window as it would be stored; null: its calendar has to be read from its address first. */
function whenOf(
  when: SentWhen,
  { zones, now, monotonic }: { readonly zones: Zones; readonly now: Instant; readonly monotonic: () => number },
): Read {
  if (when.kind === 'once') {
    const from = when.from ?? now;
    return { ok: true, value: { kind: 'once', from, until: when.until ?? from + (when.duration ?? 0) * 1000 } };
  }
  if (when.kind !== 'calendar') return { ok: true, value: when };
  if (!('ics' in when.source)) return { ok: true, value: null };
  const deadline = monotonic() + READING_MS;
  const hasTime = (): boolean => monotonic() < deadline;
  const events = parseCalendar(when.source.ics, { zone: when.zone, zoneOf: zones.get, hasTime }, now);
  if (!events.ok) return events;
  return { ok: true, value: { kind: 'calendar', zone: when.zone, url: null, ics: null, events: events.value } };
}

/** What the next clock change does to the beginnings of a window; a calendar's events have zones of their own. */
export function clocksOf(when: When, zone: Zone | null, now: Instant): readonly string[] {
  if (zone === null || when.kind === 'once' || when.kind === 'calendar') return [];
  const crons = when.kind === 'cron' ? [when.cron] : when.weekly.map(cronOf);
  const change = nextClockChange(
    crons.map((cron) => ({ cron })),
    zone,
    now,
    WINDOW,
  );
  return clockChangeSentences(change, zone, WINDOW);
}
