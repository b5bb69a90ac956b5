import type { LocalTime } from './zone.ts';

/** The local times a rule names: which minutes, hours and months, and which days of a month of a given shape. */
export type CalendarRule = {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** `day` 1 to 31 in a month of `length` days whose first day is `firstWeekday` (0 = Sunday). */
  readonly hasDay: (day: number, length: number, firstWeekday: number) => boolean;
};

/** Walks the local times of a rule, to the minute, without looking at the times between them. */
export type Calendar = {
  /** No day of any year matches. */
  readonly isEmpty: boolean;
  /** The first local time strictly after this one, or null when there is none in the next 400 years. */
  after(local: LocalTime): LocalTime | null;
  /** The last local time at or before this one, or null when there is none in the 400 years before. */
  upTo(local: LocalTime): LocalTime | null;
};

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
/** The Gregorian calendar, weekdays included, repeats after this many months: what is not in them is nowhere. */
const CYCLE_MONTHS = 4800;

export function calendarOf(rule: CalendarRule): Calendar {
  return new RuleCalendar(rule);
}

class RuleCalendar implements Calendar {
  readonly isEmpty: boolean;
  readonly #minutes: Steps;
  readonly #hours: Steps;
  readonly #months: readonly boolean[];
  /** By shape of month (length, first weekday): bit d-1 is day d. */
  readonly #shapes = new Int32Array(28);
  /** The month looked at last: its number since year 0, its first day since 1970, its length and its days. */
  #month = 0;
  #first = 0;
  #length = 0;
  #days = 0;

  constructor({ minutes, hours, months, hasDay }: CalendarRule) {
    this.#minutes = stepsOf(minutes, 60);
    this.#hours = stepsOf(hours, 24);
    this.#months = Array.from({ length: 12 }, (_, month) => months.has(month + 1));
    for (let length = 28; length <= 31; length++) {
      for (let weekday = 0; weekday < 7; weekday++) {
        let days = 0;
        for (let day = 1; day <= length; day++) if (hasDay(day, length, weekday)) days |= 1 << (day - 1);
        this.#shapes[(length - 28) * 7 + weekday] = days;
      }
    }
    this.#open(1970 * 12);
    this.isEmpty = this.#nextDay(0) === null;
  }

  after(local: LocalTime): LocalTime | null {
    const minute = Math.floor(local / MINUTE_MS) + 1;
    let day = Math.floor(minute / DAY_MINUTES);
    if (this.#hasDay(day)) {
      const found = this.#nextInDay(minute - day * DAY_MINUTES);
      if (found >= 0) return (day * DAY_MINUTES + found) * MINUTE_MS;
    }
    const next = this.#nextDay(day + 1);
    if (next === null) return null;
    day = next;
    return (day * DAY_MINUTES + this.#nextInDay(0)) * MINUTE_MS;
  }

  upTo(local: LocalTime): LocalTime | null {
    const minute = Math.floor(local / MINUTE_MS);
    const day = Math.floor(minute / DAY_MINUTES);
    if (this.#hasDay(day)) {
      const found = this.#lastInDay(minute - day * DAY_MINUTES);
      if (found >= 0) return (day * DAY_MINUTES + found) * MINUTE_MS;
    }
    const last = this.#lastDay(day - 1);
    return last === null ? null : (last * DAY_MINUTES + this.#lastInDay(DAY_MINUTES - 1)) * MINUTE_MS;
  }

  #nextInDay(minute: number): number {
    const hour = Math.floor(minute / 60);
    if (this.#hours.from[hour] === hour) {
      const found = this.#minutes.from[minute - hour * 60] as number;
      if (found >= 0) return hour * 60 + found;
    }
    const next = this.#hours.from[hour + 1] as number;
    return next < 0 ? -1 : next * 60 + (this.#minutes.from[0] as number);
  }

  #lastInDay(minute: number): number {
    const hour = Math.floor(minute / 60);
    if (this.#hours.to[hour] === hour) {
      const found = this.#minutes.to[minute - hour * 60] as number;
      if (found >= 0) return hour * 60 + found;
    }
    const last = hour === 0 ? -1 : (this.#hours.to[hour - 1] as number);
    return last < 0 ? -1 : last * 60 + (this.#minutes.to[59] as number);
  }

  #hasDay(day: number): boolean {
    this.#seek(day);
    return ((this.#days >>> (day - this.#first)) & 1) === 1;
  }

  #nextDay(day: number): number | null {
    this.#seek(day);
    let days = this.#days & (-1 << (day - this.#first));
    for (let months = 0; days === 0; months++) {
      if (months > CYCLE_MONTHS) return null;
      this.#open(this.#month + 1);
      days = this.#days;
    }
    return this.#first + 31 - Math.clz32(days & -days);
  }

  #lastDay(day: number): number | null {
    this.#seek(day);
    let days = this.#days & (2 ** (day - this.#first + 1) - 1);
    for (let months = 0; days === 0; months++) {
      if (months > CYCLE_MONTHS) return null;
      this.#open(this.#month - 1);
      days = this.#days;
    }
    return this.#first + 31 - Math.clz32(days);
  }

  #seek(day: number): void {
    const ahead = day - this.#first;
    if (ahead >= 0 && ahead < this.#length) return;
    if (ahead >= 0 && ahead < this.#length + 28) this.#open(this.#month + 1);
    else this.#open(monthOf(day));
  }

  #open(month: number): void {
    this.#month = month;
    this.#first = firstDayOf(month);
    this.#length = firstDayOf(month + 1) - this.#first;
    // 1 January 1970 was a Thursday.
    const weekday = (((this.#first + 4) % 7) + 7) % 7;
    this.#days = this.#months[month % 12] ? (this.#shapes[(this.#length - 28) * 7 + weekday] as number) : 0;
  }
}

/** For every number below `size`: the next member from it on and the last one up to it, -1 where there is none. */
type Steps = { readonly from: Int8Array; readonly to: Int8Array };

function stepsOf(members: ReadonlySet<number>, size: number): Steps {
  const from = new Int8Array(size + 1).fill(-1);
  const to = new Int8Array(size + 1).fill(-1);
  for (let i = size - 1; i >= 0; i--) from[i] = members.has(i) ? i : (from[i + 1] as number);
  for (let i = 0; i < size; i++) to[i] = members.has(i) ? i : i === 0 ? -1 : (to[i - 1] as number);
  return { from, to };
}

/** Days from 1970-01-01 to the first of a month counted since January of year 0 (proleptic Gregorian). */
function firstDayOf(month: number): number {
  // Counted in years that begin in March, so that the leap day is the last one.
  const year = Math.floor((month - 2) / 12);
  const inYear = month - 2 - year * 12;
  const leaps = Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
  return year * 365 + leaps + Math.floor((153 * inYear + 2) / 5) - 719_468;
}

function monthOf(day: number): number {
  // Never more than one month early: 30.436875 days is the mean month of 400 years.
  let month = Math.floor((day + 719_528) / 30.436875) - 1;
  while (firstDayOf(month + 1) <= day) month++;
  return month;
}
