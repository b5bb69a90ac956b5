import { parseCalendar } from '../../src/core/calendar-text.ts';
import { compileWindow, type Window } from '../../src/core/maintenance.ts';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
export const at = (text: string): Instant => Date.parse(text);
export const NOW = at('2026-03-01T12:00:00Z');

/** An .ics text of these events, each a list of its lines. */
export const ics = (...events: readonly (readonly string[])[]): string =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//example//holidays//EN',
    ...events.flatMap((lines) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']),
    'END:VCALENDAR',
    '',
  ].join('\r\n');

export const read = (text: string, name = 'Europe/Berlin', hasTime = () => true) =>
  parseCalendar(text, { zone: name, zoneOf: zones.get, hasTime }, NOW);

export function windowOf(text: string, name = 'Europe/Berlin'): Window {
  const events = read(text, name);
  if (!events.ok) throw new Error(events.reason);
  return compileWindow({ kind: 'calendar', zone: name, url: null, ics: null, events: events.value }, zone);
}

/** The stretches that begin after `from`, the first `count` of them. */
export function stretches(window: Window, from: string, count: number): string[] {
  const found: string[] = [];
  for (let next = window.next(at(from)); next && found.length < count; next = window.next(next.from)) {
    found.push(`${formatInstant(next.from)} ${formatInstant(next.until)} ${next.summary}`.trim());
  }
  return found;
}
