import { formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { localInstant } from './dashboard/local-instant.ts';

/** What the API is asked for: an instant, a duration from now, or null for the end of the quiet. */
export type Snooze =
  | { readonly ok: true; readonly until: string | null }
  | { readonly ok: false; readonly reason: string };

/** How a snooze may end. `tomorrow`: at 09:00 in the job's zone, the next day. */
export const SNOOZES = { '1h': '1 hour', '4h': '4 hours', tomorrow: 'Tomorrow, 09:00', custom: 'Until' } as const;

const DAY_MS = 86_400_000;
const NINE_MS = 9 * 3_600_000;

/** Reads what a form asks for; local times are in the job's zone. */
export function snoozeUntil(
  { wanted, until }: { readonly wanted: string; readonly until: string },
  zone: Zone,
  now: Instant,
): Snooze {
  switch (wanted) {
    case '1h':
    case '4h':
      return { ok: true, until: wanted };
    case 'tomorrow':
      return { ok: true, until: formatInstant(tomorrowAtNine(zone, now)) };
    case 'end':
      return { ok: true, until: null };
    case 'custom': {
      const at = localInstant(until, zone);
      return at === null
        ? { ok: false, reason: 'say until when, as a date and a time' }
        : { ok: true, until: formatInstant(at) };
    }
    default:
      return { ok: false, reason: 'choose how long' };
  }
}

/** By the calendar of the zone: a day of 23 or 25 hours is one day. */
export function tomorrowAtNine(zone: Zone, now: Instant): Instant {
  const midnight = Math.floor(zone.localAt(now) / DAY_MS) * DAY_MS;
  return zone.firstInstantAtOrPast(midnight + DAY_MS + NINE_MS);
}
