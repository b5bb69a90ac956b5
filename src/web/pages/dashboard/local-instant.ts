import { type Instant, readingMillis } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';

const LOCAL = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2}))?$/;

/**
 * The instant of a local time as browsers send it (`2026-10-25T02:30`), as the end of something: of an hour that comes twice
 * the second pass, of one that does not come the transition. null: it is no such time.
 */
export function localInstant(text: string, zone: Zone): Instant | null {
  const parts = LOCAL.exec(text)?.groups;
  const local = parts ? readingMillis(parts) : null;
  return local === null ? null : (zone.instantsOf(local).at(-1) ?? zone.firstInstantAtOrPast(local));
}
