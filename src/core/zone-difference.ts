import type { Due, Timetable } from './schedule.ts';
import type { Instant } from './time.ts';
import { MAX_SHIFT_MS, type Zone } from './zone.ts';

/** A stretch of instants (after, until]. */
export type Span = { readonly after: Instant; readonly until: Instant };

/**
 * Where in (after, until] two zones may give local times different instants: while their offsets differ, and near the
 * changes at both ends of that, where clocks that jump move what is due. Ascending and apart; none: the zones are one.
 */
export function differences(a: Zone, b: Zone, { after, until }: Span): readonly Span[] {
  const found: Span[] = [];
  for (let at = after - MAX_SHIFT_MS; at < until; ) {
    const changes = [a, b].map((zone) => zone.nextTransition(at)?.at ?? Number.POSITIVE_INFINITY);
    const end = Math.min(until, ...changes);
    if (a.offsetAt(at) !== b.offsetAt(at)) {
      const span = { after: Math.max(after, at - MAX_SHIFT_MS - 1), until: Math.min(until, end + MAX_SHIFT_MS) };
      const last = found.at(-1);
      if (last && last.until >= span.after) found.splice(-1, 1, { after: last.after, until: span.until });
      else if (span.after < span.until) found.push(span);
    }
    at = end;
  }
  return found;
}

/** The first place at which two timetables part; null where one of them has nothing more. */
export type Move = { readonly was: Due | null; readonly is: Due | null };

/**
 * Where two timetables part first within these spans: another instant, or another number of local times on it. At most
 * `most` instants are compared; null: none of them moved.
 */
export function firstMove(was: Timetable, is: Timetable, spans: readonly Span[], most: number): Move | null {
  let left = most;
  for (const { after, until } of spans) {
    const [old, fresh] = [was, is].map((timetable) => timetable.dueIn(after, until)[Symbol.iterator]());
    for (; left > 0; left -= 1) {
      const move = { was: taken(old), is: taken(fresh) };
      if (move.was === null && move.is === null) break;
      if (move.was?.at !== move.is?.at || move.was?.standsFor !== move.is?.standsFor) return move;
    }
  }
  return null;
}

function taken(source: Iterator<Due> | undefined): Due | null {
  const one = source?.next();
  return one && !one.done ? one.value : null;
}
