import type { FC } from 'hono/jsx';
import { formatKey } from '../../core/key.ts';
import { floorToSecond, formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';

/** An instant as keys are written, with a space to read it by: `2026-10-25 02:30+02:00`. */
export function timeText(at: Instant, zone: Zone): string {
  return formatKey(floorToSecond(at), zone).replace('T', ' ').replace(/Z$/, ' UTC');
}

/** An instant in a zone, its offset always shown; a tooltip says the same in UTC and in the viewer's zone. */
export const Time: FC<{ at: Instant; zone: Zone; viewerZone?: Zone }> = ({ at, zone, viewerZone }) => {
  const others = [
    formatInstant(floorToSecond(at)),
    ...(viewerZone && viewerZone.name !== zone.name ? [`${timeText(at, viewerZone)} ${viewerZone.name}`] : []),
  ];
  return (
    <time datetime={formatInstant(at)} title={`${zone.name} · ${others.join(' · ')}`}>
      {timeText(at, zone)}
    </time>
  );
};

/** "in 4 min", "3 h 20 min ago": goes on by itself where there is JavaScript (assets/app.js has the same wording). */
export const Ago: FC<{ at: Instant; now: Instant }> = ({ at, now }) => (
  <span class="ago" data-from={at}>
    {relativeText(at, now)}
  </span>
);

function relativeText(at: Instant, now: Instant): string {
  const seconds = Math.trunc((at - now) / 1000);
  return seconds >= 0 ? `in ${spokenDuration(seconds)}` : `${spokenDuration(-seconds)} ago`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Seconds for people: the two largest units of days to minutes, or one: `2 d 4 h`, `3 h`, `12 min`, `40 s`. */
export function spokenDuration(seconds: number): string {
  const found = UNITS.findIndex(([size]) => seconds >= size);
  const index = found === -1 ? UNITS.length - 1 : found;
  const [size, unit] = UNITS[index] ?? [1, 's'];
  const next = index < 2 ? UNITS[index + 1] : undefined;
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${next && rest > 0 ? ` ${rest} ${next[1]}` : ''}`;
}
