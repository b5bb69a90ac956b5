import { formatKey } from './key.ts';
import { type Cron, FIELD_RULES } from './schedule-cron.ts';
import type { Calendar } from './schedule-cron-calendar.ts';
import { expandFixed, expandWildcard } from './schedule-cron-expansion.ts';
import type { Instant } from './time.ts';
import { formatLocal, type LocalTime, type Transition, type Zone } from './zone.ts';

const YEAR_MS = 366 * 86_400_000;
const MEAN_YEAR_MS = 365.2425 * 86_400_000;
/** How far ahead a clock change is worth a warning. */
const CHANGES_AHEAD_MS = 2 * YEAR_MS;

/** What may surprise the owner of this expression, and why (DESIGN section 2). */
export function cronWarnings(cron: Cron, zone: Zone, now: Instant): readonly string[] {
  return [
    ...bothDays(cron),
    ...everyMinute(cron),
    ...stepsThatReset(cron),
    ...readDifferently(cron),
    ...longWait(cron, zone, now),
    ...nextClockChange(cron, zone, now),
  ];
}

function bothDays({ fields: { dayOfMonth, dayOfWeek }, daysMustBothMatch }: Cron): string[] {
  if (dayOfMonth.text === '*' || dayOfWeek.text === '*') return [];
  const days = `day of month "${dayOfMonth.text}" and day of week "${dayOfWeek.text}" are both set`;
  return daysMustBothMatch
    ? [`${days}: one of them starts with *, so a day must match both`]
    : [`${days}: a day that matches either of them is due, not only days that match both`];
}

function everyMinute({ fields: { minute, hour } }: Cron): string[] {
  if (minute.values.size < 60 || hour.values.size === 24) return [];
  const first = Math.min(...hour.values);
  return [
    `minute "${minute.text}" means every minute: 60 runs in each hour of "${hour.text}", then none; for one run write 0 ${first} and so on`,
  ];
}

function stepsThatReset({ fields }: Cron): string[] {
  return FIELD_RULES.flatMap(({ name, label, min, max }) =>
    fields[name].elements.flatMap((element) => {
      const [base = '', digits = '1'] = element.split('/');
      const reachesEnd = !base.includes('-') || base === `${min}-${max}`;
      const step = reachesEnd ? Number(digits) : 1;
      const size = name === 'dayOfWeek' ? 7 : max - min + 1;
      // A step that goes in without a rest, and one that is so long that it leaves a single value, have no odd gap.
      const resets = name === 'dayOfMonth' ? step > 1 : size % step !== 0;
      if (!resets || step >= size) return [];
      return [`${label} "${element}" starts again at each new ${PERIOD[name]}: the gap there is not ${step}`];
    }),
  );
}

const PERIOD = { minute: 'hour', hour: 'day', dayOfMonth: 'month', month: 'year', dayOfWeek: 'week' } as const;

function readDifferently({ fields }: Cron): string[] {
  return FIELD_RULES.flatMap(({ name, label, min, max }) =>
    fields[name].elements.flatMap((element) => {
      if (/^(?:L|LW|\dL)$/.test(element)) {
        return [`${label} "${element}": Debian cron does not know L and refuses it`];
      }
      if (element.includes('#')) return [`${label} "${element}": Debian cron reads # differently or refuses it`];
      const [base = '', step] = element.split('/');
      if (step === undefined) return [];
      if (base !== '*' && !base.includes('-')) {
        return [
          `${label} "${element}" is read as ${base}-${max}/${step}: Debian cron refuses a step after a single value`,
        ];
      }
      const [from = min, to = max] = base === '*' ? [] : base.split('-').map(Number);
      if (Number(step) <= to - from) return [];
      return [`${label} "${element}": the step is longer than the range, so only its first value counts`];
    }),
  );
}

function longWait(cron: Cron, zone: Zone, now: Instant): string[] {
  const next = expand(cron, zone).next(now);
  if (next === null || next - now <= YEAR_MS) return [];
  const years = Math.round((next - now) / MEAN_YEAR_MS);
  return [`the next occurrence is ${formatKey(next, zone)}, in about ${years === 1 ? 'a year' : `${years} years`}`];
}

function expand({ isFixed, calendar }: Cron, zone: Zone) {
  return isFixed ? expandFixed(calendar, zone) : expandWildcard(calendar, zone);
}

/** The next change of the clocks that touches the schedule, spelled out; nothing when none does within two years. */
function nextClockChange(cron: Cron, zone: Zone, now: Instant): string[] {
  for (let change = zone.nextTransition(now); change !== null; change = zone.nextTransition(change.at)) {
    if (change.at - now > CHANGES_AHEAD_MS) return [];
    const touched = runsEvenly(cron, change) ? [] : localTimesTouched(cron.calendar, change);
    if (touched.length > 0) {
      return [
        `${changeInWords(change, zone)}: ${whatHappens(cron, change, zone, touched)}`,
        'at clock changes this follows Debian cron; Kubernetes, systemd, Quartz and RFC 5545 calendars decide differently',
      ];
    }
  }
  return [];
}

/** A wildcard of every hour keeps its pace through a shift of whole hours: nobody would notice. */
function runsEvenly({ isFixed, fields: { hour } }: Cron, { before, after }: Transition): boolean {
  return !isFixed && hour.values.size === 24 && (after - before) % 3600 === 0;
}

/** The schedule's local times that the change skips or repeats. */
function localTimesTouched(calendar: Calendar, { at, before, after }: Transition): LocalTime[] {
  const from = at + Math.min(before, after) * 1000;
  const to = at + Math.max(before, after) * 1000;
  const touched: LocalTime[] = [];
  let local = calendar.after(from - 1);
  for (; local !== null && local < to; local = calendar.after(local)) touched.push(local);
  return touched;
}

function changeInWords({ at, before, after }: Transition, zone: Zone): string {
  const [from, to] = [formatLocal(at + before * 1000), formatLocal(at + after * 1000)];
  const [fromText, toText] = from.slice(0, 10) === to.slice(0, 10) ? [from.slice(11), to.slice(11)] : [from, to];
  const date = from.slice(0, 10);
  return `on ${date} the clocks of ${zone.name} go ${after > before ? 'forward' : 'back'} from ${fromText} to ${toText}`;
}

function whatHappens(
  { isFixed }: Cron,
  { at, before, after }: Transition,
  zone: Zone,
  touched: readonly LocalTime[],
): string {
  const shown = touched.slice(0, 3).map((local) => formatLocal(local).slice(11));
  const times = touched.length > 3 ? `${shown.join(', ')} and ${touched.length - 3} more` : shown.join(' and ');
  const are = touched.length === 1 ? 'does' : 'do';
  const happen = touched.length === 1 ? 'happens' : 'happen';
  if (after > before) {
    const skipped = `${times} ${are} not exist that day`;
    if (!isFixed) return `${skipped}, and nothing is due instead`;
    return `${skipped}, and ${touched.length === 1 ? 'is' : 'are one occurrence,'} due at ${formatKey(at, zone)}`;
  }
  return `${times} ${happen} twice, and ${isFixed ? 'only the first pass is due' : 'both passes are due'}`;
}
