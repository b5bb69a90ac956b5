import { Cron as Croner } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Due, parseSchedules, type ScheduleSpec, timetable } from '../../src/core/schedule.ts';
import { type Cron, parseCron } from '../../src/core/schedule-cron.ts';
import type { Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};

const MINUTE = 60_000;
const DAY = 86_400_000;

const oneOf = (min: number, max: number) => fc.integer({ min, max }).map(String);
const range = (min: number, max: number) =>
  fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
const element = (min: number, max: number) =>
  fc.oneof(
    { weight: 4, arbitrary: oneOf(min, max) },
    { weight: 2, arbitrary: range(min, max) },
    {
      weight: 1,
      arbitrary: fc.tuple(range(min, max), fc.integer({ min: 1, max: 9 })).map(([span, step]) => `${span}/${step}`),
    },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 23 }).map((step) => `*/${step}`) },
    { weight: 2, arbitrary: fc.constant('*') },
  );
const field = (min: number, max: number) =>
  fc.array(element(min, max), { minLength: 1, maxLength: 3 }).map((list) => list.join(','));
const dayOfMonth = fc.oneof(
  { weight: 3, arbitrary: fc.constant('*') },
  field(1, 31),
  fc.constantFrom('L', 'LW', '1,L'),
);
const dayOfWeek = fc.oneof(
  { weight: 3, arbitrary: fc.constant('*') },
  field(0, 7),
  fc.constantFrom('5L', '1#2', 'MON#1,FRI'),
);
const month = fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, field(1, 12));
const expression = fc
  .tuple(field(0, 59), field(0, 23), dayOfMonth, month, dayOfWeek)
  .map((fields) => fields.join(' '))
  .filter((cron) => parseCron(cron).ok);

/** Zones whose changes are of every kind, each with an instant near one. */
const places = [
  ['UTC', '2026-03-01T00:00:00Z'],
  ['Europe/Berlin', '2026-03-29T01:00:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00:00Z'],
  ['America/Santiago', '2026-09-06T04:00:00Z'],
  ['America/Santiago', '2026-04-05T03:00:00Z'],
  ['America/St_Johns', '2010-11-07T02:31:00Z'],
  ['America/Sao_Paulo', '2018-02-18T02:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'],
  ['Pacific/Chatham', '2026-09-26T14:00:00Z'],
  ['Antarctica/Troll', '2026-03-29T01:00:00Z'],
  ['Asia/Pyongyang', '2018-05-04T15:00:00Z'],
] as const;
const spot = fc
  .tuple(fc.constantFrom(...places), fc.integer({ min: -2 * DAY, max: 2 * DAY }))
  .map(([[name, near], shift]) => ({ zone: zone(name), at: Date.parse(near) + shift }));
const specs: fc.Arbitrary<ScheduleSpec[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: expression.map((cron) => ({ cron })) },
    {
      weight: 1,
      arbitrary: fc.record({
        every: fc.integer({ min: 600, max: 90_000 }),
        anchor: fc.integer({ min: 0, max: 2e9 }).map((s) => s * 1000),
      }),
    },
  ),
  { minLength: 1, maxLength: 3 },
);
const length = fc.integer({ min: 0, max: 2 * DAY });

/** Processor time of this process: a busy machine must not fail a promise about work. */
function cpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe('for any schedules, zone and window', () => {
  test('a window is the sum of its parts, wherever it is cut', () => {
    fc.assert(
      fc.property(specs, spot, length, length, (schedules, { zone: where, at }, first, second) => {
        const table = timetable(schedules, where);
        const parts = [...table.dueIn(at, at + first), ...table.dueIn(at + first, at + first + second)];
        expect([...table.dueIn(at, at + first + second)]).toEqual(parts);
      }),
      { numRuns: 300 },
    );
  });

  test('due instants are strictly ascending, inside the window, and whole seconds', () => {
    fc.assert(
      fc.property(specs, spot, length, (schedules, { zone: where, at }, size) => {
        let last: Instant = at;
        for (const due of timetable(schedules, where).dueIn(at, at + size)) {
          expect(due.at).toBeGreaterThan(last);
          expect(due.at).toBeLessThanOrEqual(at + size);
          expect(due.at % 1000).toBe(0);
          expect(due.standsFor).toBeGreaterThanOrEqual(1);
          last = due.at;
        }
      }),
      { numRuns: 300 },
    );
  });

  test('next is later, previous is earlier, and both agree with the window', () => {
    fc.assert(
      fc.property(specs, spot, length, (schedules, { zone: where, at }, size) => {
        const table = timetable(schedules, where);
        const dues = [...table.dueIn(at, at + size)];
        const [next, previous] = [table.next(at), table.previous(at)];
        if (next) expect(next.at).toBeGreaterThan(at);
        if (previous) expect(previous.at).toBeLessThan(at);
        if (dues.length > 0) expect(next).toEqual(dues[0]);
        else if (next) expect(next.at).toBeGreaterThan(at + size);
        const last = table.previous(at + size + 1);
        if (dues.length > 0) expect(last).toEqual(dues.at(-1));
        else if (last) expect(last.at).toBeLessThanOrEqual(at);
        if (next) expect(table.previous(next.at)?.at ?? 0).toBeLessThanOrEqual(at);
        if (previous) expect(table.next(previous.at)?.at).toBeGreaterThanOrEqual(at);
      }),
      { numRuns: 300 },
    );
  });

  test('expansion is what a walk over every real minute finds', () => {
    fc.assert(
      fc.property(expression, spot, length, (cron, { zone: where, at }, size) => {
        const read = parseCron(cron);
        if (!read.ok) throw new Error(read.reason);
        const walked = read.value.isFixed
          ? walkFixed(read.value, where, at, at + size)
          : walkWildcard(read.value, where, at, at + size);
        expect([...timetable([{ cron }], where).dueIn(at, at + size)]).toEqual(walked);
      }),
      { numRuns: 150 },
    );
  });
});

/** The rules of test/vectors/README.md read word for word, minute by minute. */
function matches(cron: Cron, local: number): boolean {
  const reading = new Date(local);
  const { minute, hour, month: months, dayOfMonth: dom, dayOfWeek: dow } = cron.fields;
  if (!minute.values.has(reading.getUTCMinutes()) || !hour.values.has(reading.getUTCHours())) return false;
  if (!months.values.has(reading.getUTCMonth() + 1)) return false;
  const [day, weekday] = [reading.getUTCDate(), reading.getUTCDay()];
  const inDays = (shift: number) => new Date(local + shift * DAY);
  const isLastDay = inDays(1).getUTCDate() === 1;
  const lastWorkday = (): boolean => {
    if (weekday === 0 || weekday === 6) return false;
    for (let ahead = 1; inDays(ahead).getUTCMonth() === reading.getUTCMonth(); ahead++) {
      if (![0, 6].includes(inDays(ahead).getUTCDay())) return false;
    }
    return true;
  };
  const inMonth =
    dom.values.has(day) || (dom.elements.includes('L') && isLastDay) || (dom.elements.includes('LW') && lastWorkday());
  const special = dow.elements.some((text) => {
    if (text === '5L') return weekday === 5 && inDays(7).getUTCMonth() !== reading.getUTCMonth();
    const nth = /^(?:1|MON)#(\d)$/.exec(text);
    return nth !== null && weekday === 1 && Math.ceil(day / 7) === Number(nth[1]);
  });
  const inWeek = dow.values.has(weekday) || special;
  return dom.text.startsWith('*') || dow.text.startsWith('*') ? inMonth && inWeek : inMonth || inWeek;
}

function walkWildcard(cron: Cron, where: Zone, after: Instant, until: Instant): Due[] {
  const dues: Due[] = [];
  for (let at = (Math.floor(after / MINUTE) + 1) * MINUTE; at <= until; at += MINUTE) {
    if (matches(cron, where.localAt(at))) dues.push({ at, standsFor: 1 });
  }
  return dues;
}

function walkFixed(cron: Cron, where: Zone, after: Instant, until: Instant): Due[] {
  const dues: Due[] = [];
  const start = (Math.floor(after / MINUTE) - 2 * 1440) * MINUTE;
  let shown = where.localAt(start);
  for (let at = start + MINUTE; at <= until; at += MINUTE) {
    const reading = where.localAt(at);
    let standsFor = 0;
    for (let nominal = shown + MINUTE; nominal <= reading; nominal += MINUTE) if (matches(cron, nominal)) standsFor++;
    shown = Math.max(shown, reading);
    if (standsFor > 0 && at > after) dues.push({ at, standsFor });
  }
  return dues;
}

test('in UTC, where the rules agree, croner finds the same', () => {
  // Left out: stars that restrict a day (croner ORs them) and both day fields at once with a star in one.
  const plain = (min: number, max: number) => fc.oneof(oneOf(min, max), range(min, max), fc.constant('*'));
  const agreed = fc
    .tuple(
      field(0, 59),
      field(0, 23),
      plain(1, 31),
      plain(1, 12),
      fc.oneof(oneOf(0, 6), range(0, 6), fc.constant('*'), fc.constantFrom('1#2', '5L')),
    )
    .filter((fields) => parseCron(fields.join(' ')).ok)
    .map((fields) => fields.join(' '));
  fc.assert(
    fc.property(agreed, fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2040, 0, 1) }), (cron, start) => {
      const from = Math.floor(start / 1000) * 1000;
      const theirs = new Croner(cron, { timezone: 'UTC', paused: true })
        .nextRuns(8, new Date(from))
        .map((date) => date.getTime());
      const table = timetable([{ cron }], zone('UTC'));
      const ours: Instant[] = [];
      for (let due = table.next(from); due && ours.length < theirs.length; due = table.next(due.at)) ours.push(due.at);
      expect(ours).toEqual(theirs);
    }),
    { numRuns: 300 },
  );
});

test('any text at all is accepted or refused with a reason, in time, and what is accepted can be expanded', () => {
  const scrap = fc
    .array(
      fc.constantFrom(
        '*',
        '/',
        '-',
        ',',
        '#',
        'L',
        'W',
        '?',
        ' ',
        '\t',
        '0',
        '7',
        '31',
        '59',
        'MON',
        'feb',
        '@',
        'H',
        '٣',
        '\0',
      ),
      { maxLength: 24 },
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      fc.oneof(scrap, fc.string({ maxLength: 300 }), expression),
      fc.constantFrom('UTC', 'Europe/Berlin'),
      (cron, name) => {
        const started = cpuMillis();
        const read = parseSchedules([{ cron }], zone(name));
        expect(cpuMillis() - started).toBeLessThan(50);
        if (read.ok) expect(timetable(read.value, zone(name)).next(Date.UTC(2026, 0, 1))).not.toBeNull();
        else expect(read.errors[0]?.message.length).toBeGreaterThan(5);
      },
    ),
    { numRuns: 1000 },
  );
});
