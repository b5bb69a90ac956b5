import { DateTime } from 'luxon';
import type { Report, Tally } from './report.ts';

/**
 * A share in per cent. Rounded down, so that only a whole one is 100 %, and never down to nothing.
 */
export function shareText(share: number | null): string {
  if (share === null) return 'no data';
  if (share > 0 && share < 0.001) return 'under 0.1 %';
  // 0.29 × 1000 is 289.99…: the sum is over as many occurrences as there are, so a millionth is no part of it.
  return `${(Math.floor(share * 1000 + 1e-6) / 10).toFixed(share === 1 ? 0 : 1)} %`;
}

/** Whole numbers with thousands apart: `12,345`. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** The period as people call it: `October 2026`, `week 53 of 2026 (28 December to 3 January)`. */
export function periodText({ name }: { readonly name: string }): string {
  const first = DateTime.fromISO(name, { zone: 'utc', locale: 'en' });
  if (!name.includes('W')) return first.toFormat('LLLL yyyy');
  const last = first.plus({ days: 6 });
  const from = first.month === last.month ? first.toFormat('d') : first.toFormat('d LLLL');
  return `week ${first.weekNumber} of ${first.weekYear} (${from} to ${last.toFormat('d LLLL')})`;
}

/** The same in short: `Oct 2026`, `2026-W53`. */
function shortPeriod({ name }: { readonly name: string }): string {
  return name.includes('W') ? name : DateTime.fromISO(name, { zone: 'utc', locale: 'en' }).toFormat('LLL yyyy');
}

/** Against the period before: `up from 97.0 % in September 2026`. Empty where the two cannot be compared. */
export function comparison({ occurrences, before }: Report): string {
  const [now, then] = [occurrences.on_time_share, before?.occurrences?.on_time_share ?? null];
  if (before === null || now === null) return '';
  const where = `in ${shortPeriod(before)}`;
  if (then === null) return `no data ${where}`;
  const [is, was] = [shareText(now), shareText(then)];
  if (is === was) return `as ${where}`;
  return `${now > then ? 'up' : 'down'} from ${was} ${where}`;
}

/** One line that says the most important: which project and period, and how much was on time. */
export function headline(report: Report): string {
  const { project, period, occurrences } = report;
  const so = period.is_complete ? '' : ' so far';
  return `${project.name}, ${periodText(period)}${so}: ${onTimeText(occurrences)}`;
}

/** `98.3 % on time (1,234 of 1,255)`. */
function onTimeText({ on_time, counted, on_time_share }: Tally): string {
  if (on_time_share === null) return 'nothing to report';
  return `${shareText(on_time_share)} on time (${countText(on_time)} of ${countText(counted)})`;
}
