import { heartbeatPeriod } from '../core/definition.ts';
import { type ScheduleSpec, timetable } from '../core/schedule.ts';
import type { Instant, Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import { differences, firstMove, type Move, type Span } from '../core/zone-difference.ts';
import type { NewestVersion } from '../store/zone-tables.ts';
import type { Zones } from '../zones.ts';

/** What this process's tz data do to a schedule version that was made with older ones. */
export type Verdict =
  /** Every instant stays, past and to come: it may be read by the new data. */
  | { readonly kind: 'same' }
  | { readonly kind: 'moved'; readonly move: Move }
  /** What is to come stays, but the new data would have had it due at other instants before: it keeps its own. */
  | { readonly kind: 'past' }
  /** The old table was not kept. */
  | { readonly kind: 'unknown' }
  /** The new data do not know the zone. */
  | { readonly kind: 'lost' }
  /** The schedules make no sense, which is told elsewhere. */
  | { readonly kind: 'broken' };

/** How far ahead is looked: laws are written year by year, and what repeats has moved by then. */
const AHEAD_MS = 3653 * 86_400_000;
/** Instants compared of one schedule, where the tables differ: 69 days of a minutely one, some 50 ms. */
const MOST_COMPARED = 100_000;

/**
 * Compares, as of `now`, schedule versions by the zone they are read by with this process's. Tables that are equal decide
 * at once, and jobs of one schedule and zone are compared once. Only cron follows a zone: what an interval or a heartbeat
 * is due at stays, though its key is written with another offset.
 */
export function createTzComparison(zones: Zones, now: Instant): (version: NewestVersion, old: Result<Zone>) => Verdict {
  const spans = new Map<string, readonly Span[]>();
  const moves = new Map<string, Move | null>();
  return (version, old) => {
    const fresh = zones.get(version.zone);
    if (!fresh.ok) return { kind: old.ok ? 'lost' : 'broken' };
    try {
      const crons = cronsOf(version.schedules);
      if (crons.length === 0 || version.zone === 'UTC') return { kind: 'same' };
      if (!old.ok || old.value === fresh.value) return { kind: 'unknown' };
      const zonePair = [old.value, fresh.value] as const;
      const compared = (within: readonly Span[]): Move | null => {
        const [was, is] = zonePair.map((zone) => timetable(crons, zone));
        return was && is ? firstMove(was, is, within, MOST_COMPARED) : null;
      };
      const name = `${version.tzVersion} ${version.zone}`;
      const ahead = once(spans, name, () => differences(...zonePair, { after: now, until: now + AHEAD_MS }));
      const move = ahead.length === 0 ? null : once(moves, `${name} ${JSON.stringify(crons)}`, () => compared(ahead));
      if (move) return { kind: 'moved', move };
      const past = differences(...zonePair, { after: version.startsAfter, until: now });
      return past.length > 0 && compared(past) ? { kind: 'past' } : { kind: 'same' };
    } catch {
      return { kind: 'broken' };
    }
  };
}

function cronsOf(schedules: readonly ScheduleSpec[]): readonly ScheduleSpec[] {
  return heartbeatPeriod(schedules) === null ? schedules.filter((spec) => 'cron' in spec) : [];
}

function once<T>(known: Map<string, T>, name: string, make: () => T): T {
  const found = known.get(name);
  if (found !== undefined) return found;
  const made = make();
  known.set(name, made);
  return made;
}
