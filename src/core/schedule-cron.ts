import { CronExpressionParser } from 'cron-parser';
import type { ScheduleSpec } from './schedule.ts';
import { type Calendar, calendarOf } from './schedule-cron-calendar.ts';
import { expandFixed, expandWildcard } from './schedule-cron-expansion.ts';
import { cronWarnings } from './schedule-cron-warnings.ts';
import type { Expansion, ParsedSpec, ScheduleKind } from './schedule-registry.ts';
import { parsed, type Result, refused } from './time.ts';
import type { Zone } from './zone.ts';

/** One field of an expression as written, and what its numbers stand for. */
type CronField = {
  readonly text: string;
  readonly values: ReadonlySet<number>;
  readonly elements: readonly string[];
};
/** An expression read; `isFixed`: no star in minute and hour, so it follows local time and not real time. */
export type Cron = {
  readonly fields: Readonly<Record<FieldName, CronField>>;
  readonly isFixed: boolean;
  readonly daysMustBothMatch: boolean;
  readonly calendar: Calendar;
};

type FieldName = 'minute' | 'hour' | 'dayOfMonth' | 'month' | 'dayOfWeek';
type FieldRule = {
  readonly name: FieldName;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly names?: string;
};

export const FIELD_RULES: readonly FieldRule[] = [
  { name: 'minute', label: 'minute', min: 0, max: 59 },
  { name: 'hour', label: 'hour', min: 0, max: 23 },
  { name: 'dayOfMonth', label: 'day of month', min: 1, max: 31 },
  { name: 'month', label: 'month', min: 1, max: 12, names: 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC' },
  { name: 'dayOfWeek', label: 'day of week', min: 0, max: 7, names: 'SUN|MON|TUE|WED|THU|FRI|SAT' },
];

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
]);
const LONGEST = 256;
/** Past here all zones follow yearly rules: what is not due after it within 400 years never is. */
const RULES_ONLY = Date.UTC(2100, 0, 1);

/** Classic five-field cron as Debian runs it, without its three-hour limit on clock changes. */
export const cron: ScheduleKind = {
  fields: ['cron'],
  parse(input, zone) {
    const text = input['cron'];
    const problem = (message: string): ParsedSpec => ({ ok: false, problems: [{ field: 'cron', message }] });
    if (typeof text !== 'string') return problem('must be text, such as "30 2 * * *"');
    const read = parseCron(text);
    if (!read.ok) return problem(read.reason);
    if (expandCron(read.value, zone).next(RULES_ONLY) === null) {
      return problem(`is never due in ${zone.name}: the local times it names are always skipped by a clock change`);
    }
    return { ok: true, value: { cron: text.replace(/^[ \t]+|[ \t]+$/g, '') } };
  },
  expand: (spec, zone) => expandCron(checked(spec), zone),
  describe: (spec) => ('cron' in spec ? spec.cron : ''),
  warnings: (spec, zone, now) => cronWarnings(checked(spec), zone, now),
};

function checked(spec: ScheduleSpec): Cron {
  const read = parseCron('cron' in spec ? String(spec.cron) : '');
  if (!read.ok) throw new Error(`not a cron schedule: ${JSON.stringify(spec)}: ${read.reason}`);
  return read.value;
}

function expandCron({ isFixed, calendar }: Cron, zone: Zone): Expansion {
  return isFixed ? expandFixed(calendar, zone) : expandWildcard(calendar, zone);
}

/** Reads an expression, or says what is wrong with it and what to write instead. Rules: crontab(5) and DESIGN section 2. */
export function parseCron(input: string): Result<Cron> {
  if (input.length > LONGEST) return refused(`is longer than ${LONGEST} characters`);
  const strange = /[^\t\x20-\x7e]/u.exec(input);
  if (strange) {
    const code = (strange[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return refused(`character ${strange.index + 1} (U+${code}) is not plain ASCII: type the expression again`);
  }
  const text = input.replace(/^[ \t]+|[ \t]+$/g, '');
  if (text === '') return refused('is required: write five fields, such as "30 2 * * *"');
  if (text.startsWith('@') && !NICKNAMES.has(text)) return refused(whyNoNickname(text));
  if (/^(?:CRON_)?TZ=/i.test(text)) return refused('takes no time zone: leave out the prefix and set "zone"');
  const texts = (NICKNAMES.get(text) ?? text).split(/[ \t]+/);
  if (texts.length !== 5) {
    const extra = texts.length > 5 ? '; seconds, years and commands are not accepted' : '';
    return refused(`5 fields expected (minute, hour, day of month, month, day of week), found ${texts.length}${extra}`);
  }
  const fields = new Map<FieldName, CronField>();
  const days: DaySets = { plain: new Set(), weekdays: new Set(), nth: [], hasLast: false, hasLastWeekday: false };
  for (const [i, rule] of FIELD_RULES.entries()) {
    const field = parseField(texts[i] ?? '', rule, days);
    if (!field.ok) return refused(`${rule.label}: ${field.reason}`);
    fields.set(rule.name, field.value);
  }
  return assemble(Object.fromEntries(fields) as Record<FieldName, CronField>, days);
}

function whyNoNickname(text: string): string {
  if (text === '@reboot') return '@reboot has no schedule: use a heartbeat';
  if (text.startsWith('@every')) return '@every is not cron: use an interval, {"every": "5m"}';
  return `unknown nickname: one of ${[...NICKNAMES.keys()].join(' ')} is expected, and nothing after it`;
}

/** The days an expression names other than by number. `nth`: week 1 to 5, or 0 for the last one of the month. */
type DaySets = {
  readonly plain: Set<number>;
  readonly weekdays: Set<number>;
  readonly nth: { weekday: number; week: number }[];
  hasLast: boolean;
  hasLastWeekday: boolean;
};

function parseField(text: string, rule: FieldRule, days: DaySets): Result<CronField> {
  const values = new Set<number>();
  const elements = text.toUpperCase().split(',');
  for (const element of elements) {
    if (addSpecialDay(element, rule, days)) continue;
    const reason = elementProblem(element, rule);
    const read = reason === null ? elementValues(element, rule) : refused(reason);
    if (!read.ok) return read;
    for (const value of read.value) values.add(value);
  }
  if (rule.name === 'dayOfMonth') for (const value of values) days.plain.add(value);
  if (rule.name === 'dayOfWeek') for (const value of values) days.weekdays.add(value);
  return parsed({ text, values, elements });
}

/** `L`, `LW`, `nL` and `n#k`: no library reads all of them, so we do. */
function addSpecialDay(element: string, rule: FieldRule, days: DaySets): boolean {
  if (rule.name === 'dayOfMonth' && element === 'L') {
    days.hasLast = true;
    return true;
  }
  if (rule.name === 'dayOfMonth' && element === 'LW') {
    days.hasLastWeekday = true;
    return true;
  }
  const nth =
    rule.name === 'dayOfWeek' ? /^(?:([0-7])L|([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#([1-5]))$/.exec(element) : null;
  if (!nth) return false;
  const [, last, day = '', week] = nth;
  const name = (rule.names ?? '').split('|').indexOf(day);
  const weekday = last !== undefined ? Number(last) : name >= 0 ? name : Number(day);
  days.nth.push({ weekday: weekday % 7, week: Number(week ?? 0) });
  return true;
}

/** What is wrong with the shape of a list element, in words; null when cron-parser may read its numbers. */
function elementProblem(element: string, rule: FieldRule): string | null {
  const value = rule.names === undefined ? '\\d+' : `(?:\\d+|${rule.names})`;
  const match = new RegExp(`^(?:\\*|(${value})(?:-(${value}))?)(?:/(\\d+))?$`).exec(element);
  if (!match) return shapeProblem(element, rule);
  const [, from, to, step] = match;
  if (step !== undefined && Number(step) === 0) return `the step of "${element}" is 0: write 1 or more`;
  const [first, last] = [from, to].map((end) => (end === undefined ? null : numberOf(end, rule)));
  for (const end of [first, last]) {
    if (typeof end === 'number' && (end < rule.min || end > rule.max)) {
      return `${end} is out of range: ${rule.min} to ${rule.max}`;
    }
  }
  if (typeof first !== 'number' || typeof last !== 'number' || first <= last) return null;
  const instead =
    rule.name === 'dayOfWeek' ? weekdayRange(first, last) : `${span(first, rule.max)},${span(rule.min, last)}`;
  return `the range ${element} runs backwards and matches nothing: write ${instead}`;
}

/** What a backward range of days of the week means: 7 and 0 are both Sunday, so one range does where Sunday is an end. */
function weekdayRange(first: number, last: number): string {
  if (last === 0) return first === 7 ? '0' : span(first, 7);
  return first === 7 ? span(0, last) : `${span(first, 6)},${span(0, last)}`;
}

function span(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

function numberOf(text: string, rule: FieldRule): number {
  const name = (rule.names ?? '').split('|').indexOf(text);
  return name < 0 || rule.names === undefined ? Number(text) : name + rule.min;
}

function shapeProblem(element: string, rule: FieldRule): string {
  if (element === '') return 'the list has an empty element: remove the extra comma';
  if (element.includes('?')) return '"?" means something else on every system: write *';
  if (/^H/.test(element)) return '"H" is Jenkins only: write the minute or hour you want';
  if (/W/.test(element) && rule.names === undefined) {
    return '"W" is not supported: only L (last day) and LW (last weekday of the month), in day of month';
  }
  if (element.includes('#'))
    return `cannot read "${element}": write one day and # and 1 to 5, such as MON#2, in day of week`;
  if (/\dL|^L/.test(element)) {
    return `cannot read "${element}": L alone is the last day (day of month), 5L the last Friday (day of week)`;
  }
  const names = rule.names === undefined ? '' : ` or ${rule.names.split('|').slice(0, 2).join(', ')}, ...`;
  return `cannot read "${element}": numbers ${rule.min} to ${rule.max}${names}, ranges 1-5, steps */2, lists 1,3 are accepted`;
}

/** Elements read so far: a fleet uses few, and cron-parser takes some 30 µs for each. */
const readElements = new Map<string, readonly number[]>();
const MOST_READ = 5000;

/** The numbers of one element, which is all that is asked of cron-parser: lists, stars and clock changes it gets wrong. */
function elementValues(element: string, rule: FieldRule): Result<readonly number[]> {
  const key = `${rule.name} ${element}`;
  const known = readElements.get(key);
  if (known) return parsed(known);
  const expression = FIELD_RULES.map(({ name }) => (name === rule.name ? element : '*')).join(' ');
  try {
    // A fixed date and zone, or the constructor would read the clock.
    const { fields } = CronExpressionParser.parse(expression, { currentDate: new Date(0), tz: 'UTC' });
    const numbers = fields[rule.name].values.map(Number);
    const values = rule.name === 'dayOfWeek' ? numbers.map((day) => day % 7) : numbers;
    if (readElements.size >= MOST_READ) readElements.clear();
    readElements.set(key, values);
    return parsed(values);
  } catch (error) {
    return refused(`cannot read "${element}": ${error instanceof Error ? error.message : String(error)}`);
  }
}

function assemble(fields: Record<FieldName, CronField>, days: DaySets): Result<Cron> {
  const { minute, hour, month, dayOfMonth, dayOfWeek } = fields;
  const daysMustBothMatch = dayOfMonth.text.startsWith('*') || dayOfWeek.text.startsWith('*');
  const calendar = calendarOf({
    minutes: minute.values,
    hours: hour.values,
    months: month.values,
    hasDay(day, length, firstWeekday) {
      const inMonth = isMonthDay(days, day, length, firstWeekday);
      const inWeek = isWeekDay(days, day, length, firstWeekday);
      return daysMustBothMatch ? inMonth && inWeek : inMonth || inWeek;
    },
  });
  if (calendar.isEmpty) {
    const days =
      dayOfWeek.text === '*' ? `day ${dayOfMonth.text}` : `${dayOfMonth.text} and ${dayOfWeek.text} on one day`;
    return refused(`matches no day of any year: no month of "${month.text}" ever has ${days}`);
  }
  return parsed({ fields, isFixed: !`${minute.text}${hour.text}`.includes('*'), daysMustBothMatch, calendar });
}

function isMonthDay(
  { plain, hasLast, hasLastWeekday }: DaySets,
  day: number,
  length: number,
  firstWeekday: number,
): boolean {
  if (plain.has(day) || (hasLast && day === length)) return true;
  if (!hasLastWeekday) return false;
  const last = (firstWeekday + length - 1) % 7;
  return day === length - (last === 6 ? 1 : last === 0 ? 2 : 0);
}

function isWeekDay({ weekdays, nth }: DaySets, day: number, length: number, firstWeekday: number): boolean {
  const weekday = (firstWeekday + day - 1) % 7;
  const isLast = day + 7 > length;
  const week = Math.ceil(day / 7);
  return (
    weekdays.has(weekday) || nth.some((one) => one.weekday === weekday && (one.week === 0 ? isLast : one.week === week))
  );
}
