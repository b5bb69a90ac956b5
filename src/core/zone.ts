import { Zone as LuxonZone } from 'luxon';
import type { Instant, Seconds } from './time.ts';

/**
 * A reading of a local clock: milliseconds since 1970-01-01T00:00:00 as that clock shows it. Two instants may share a
 * reading (clocks back) and a reading may have no instant (clocks forward).
 */
export type LocalTime = number;

/**
 * All changes of one zone's offset since 1970. `offsets[i]` (seconds east of UTC) is in force before `transitions[i]`
 * (epoch ms, ascending), the last one after all of them. The last `cycle` transitions repeat every 400 years for ever
 * (the Gregorian calendar, weekdays included, does); 0: the last offset stays.
 */
export type ZoneTable = {
  readonly name: string;
  readonly transitions: readonly Instant[];
  readonly offsets: readonly Seconds[];
  readonly cycle: number;
};

/** One change of offset: from `at` on, `after` seconds east of UTC instead of `before`. */
export type Transition = { readonly at: Instant; readonly before: Seconds; readonly after: Seconds };

/** A stretch of constant offset: from `start` (inside) to `end` (outside), either may be infinite. */
export type Stretch = { readonly start: Instant; readonly end: Instant; readonly offset: Seconds };

/** A time zone as one table of transitions: the only source of local time in Rollcall. Total for every finite input. */
export type Zone = {
  readonly name: string;
  /** Seconds east of UTC at this instant. */
  offsetAt(at: Instant): Seconds;
  /** What the local clock shows. */
  localAt(at: Instant): LocalTime;
  /** The instants at which the local clock shows this: none in a gap, two in an overlap; ascending. */
  instantsOf(local: LocalTime): readonly Instant[];
  /** The first instant at which the local clock shows this or has passed it: in a gap, the transition. */
  firstInstantAtOrPast(local: LocalTime): Instant;
  /** The latest reading the local clock has shown up to this instant: in a second pass more than it shows now. */
  highWater(at: Instant): LocalTime;
  /** The next change of offset strictly after this instant, or null when none ever comes. */
  nextTransition(after: Instant): Transition | null;
  /** The change of offset exactly at this instant, or null. */
  transitionAt(at: Instant): Transition | null;
  /** The stretch of constant offset around this instant. */
  stretchAt(at: Instant): Stretch;
};

const CYCLE_MS = 146_097 * 86_400_000;
/** More than any two offsets of one zone differ, and than any offset is long. */
export const MAX_SHIFT_MS = 26 * 3_600_000;

/** A zone over its table. The table must be ascending, with one offset more than transitions. */
export function zoneOf(table: ZoneTable): Zone {
  return new TableZone(table);
}

/** UTC needs no table from anywhere. */
export const UTC_TABLE: ZoneTable = { name: 'UTC', transitions: [], offsets: [0], cycle: 0 };

/**
 * Stretches are numbered: stretch i ends at transition i. Numbers past the table are the last `cycle` transitions again,
 * 400 years later each round, so nothing here has a last year.
 */
class TableZone implements Zone {
  readonly name: string;
  readonly #transitions: readonly Instant[];
  readonly #offsetsMs: readonly number[];
  readonly #cycle: number;
  readonly #repeatsFrom: Instant;
  /** The stretch found last: neighbouring questions come together. */
  #last = 0;

  constructor({ name, transitions, offsets, cycle }: ZoneTable) {
    if (offsets.length !== transitions.length + 1 || cycle > transitions.length) {
      throw new Error(
        `the transition table of ${name} is malformed: ${transitions.length} transitions, ${offsets.length} offsets`,
      );
    }
    this.name = name;
    this.#transitions = transitions;
    this.#offsetsMs = offsets.map((seconds) => seconds * 1000);
    this.#cycle = cycle;
    this.#repeatsFrom = cycle === 0 ? Number.POSITIVE_INFINITY : (transitions.at(-1) as Instant);
  }

  offsetAt(at: Instant): Seconds {
    return this.#offset(this.#find(at)) / 1000;
  }

  localAt(at: Instant): LocalTime {
    return at + this.#offset(this.#find(at));
  }

  instantsOf(local: LocalTime): readonly Instant[] {
    const found: Instant[] = [];
    for (let i = this.#find(local - MAX_SHIFT_MS); this.#start(i) <= local + MAX_SHIFT_MS; i++) {
      const at = local - this.#offset(i);
      if (at >= this.#start(i) && at < this.#end(i)) found.push(at);
    }
    return found;
  }

  firstInstantAtOrPast(local: LocalTime): Instant {
    for (let i = this.#find(local - MAX_SHIFT_MS); ; i++) {
      const at = Math.max(this.#start(i), local - this.#offset(i));
      if (at < this.#end(i)) return at;
    }
  }

  highWater(at: Instant): LocalTime {
    const i = this.#find(at);
    let highest = at + this.#offset(i);
    for (let j = i - 1; j >= 0 && at - this.#end(j) < MAX_SHIFT_MS; j--) {
      highest = Math.max(highest, this.#end(j) - 1 + this.#offset(j));
    }
    return highest;
  }

  nextTransition(after: Instant): Transition | null {
    // One whole round without a change of offset means there is none: some rules only rename.
    const from = this.#find(after);
    const giveUp = Math.max(from, this.#transitions.length) + this.#cycle;
    for (let i = from; i <= giveUp && this.#end(i) !== Number.POSITIVE_INFINITY; i++) {
      if (this.#offset(i) !== this.#offset(i + 1)) return this.#change(i);
    }
    return null;
  }

  transitionAt(at: Instant): Transition | null {
    const i = this.#find(at);
    return this.#start(i) === at && this.#offset(i - 1) !== this.#offset(i) ? this.#change(i - 1) : null;
  }

  stretchAt(at: Instant): Stretch {
    const i = this.#find(at);
    return { start: this.#start(i), end: this.#end(i), offset: this.#offset(i) / 1000 };
  }

  #change(i: number): Transition {
    return { at: this.#end(i), before: this.#offset(i) / 1000, after: this.#offset(i + 1) / 1000 };
  }

  #start(i: number): Instant {
    return i === 0 ? Number.NEGATIVE_INFINITY : this.#end(i - 1);
  }

  #end(i: number): Instant {
    const known = this.#transitions.length;
    if (i < known) return this.#transitions[i] as Instant;
    if (this.#cycle === 0) return Number.POSITIVE_INFINITY;
    const rounds = 1 + Math.floor((i - known) / this.#cycle);
    return (this.#transitions[i - rounds * this.#cycle] as Instant) + rounds * CYCLE_MS;
  }

  #offset(i: number): number {
    const known = this.#transitions.length;
    if (i <= known) return this.#offsetsMs[i] as number;
    const rounds = Math.ceil((i - known) / this.#cycle);
    return this.#offsetsMs[i - rounds * this.#cycle] as number;
  }

  #find(at: Instant): number {
    const last = this.#last;
    if (at >= this.#start(last) && at < this.#end(last)) return last;
    const rounds = at < this.#repeatsFrom ? 0 : 1 + Math.floor((at - this.#repeatsFrom) / CYCLE_MS);
    this.#last = this.#search(at - rounds * CYCLE_MS) + rounds * this.#cycle;
    return this.#last;
  }

  /** The number of transitions at or before this instant. */
  #search(at: Instant): number {
    let low = 0;
    let high = this.#transitions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#transitions[middle] as Instant) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Our table as a luxon zone, so that pages and formats never use the zone data of Node. Offsets are cut to minutes. */
export class LuxonTableZone extends LuxonZone {
  readonly #zone: Zone;

  constructor(zone: Zone) {
    super();
    this.#zone = zone;
  }

  override get type(): string {
    return 'rollcall';
  }

  override get name(): string {
    return this.#zone.name;
  }

  get ianaName(): string {
    return this.#zone.name;
  }

  override get isUniversal(): boolean {
    return this.#zone.nextTransition(Number.MIN_SAFE_INTEGER) === null;
  }

  override get isValid(): boolean {
    return true;
  }

  override offset(at: number): number {
    return Math.trunc(this.#zone.offsetAt(at) / 60);
  }

  override offsetName(at: number): string {
    return this.#zone.name === 'UTC' ? 'UTC' : `UTC${this.formatOffset(at, 'short')}`;
  }

  override formatOffset(at: number, format: string): string {
    return formatOffset(this.offset(at) * 60, format === 'techie' ? '' : ':');
  }

  override equals(other: LuxonZone): boolean {
    return other instanceof LuxonTableZone && other.#zone === this.#zone;
  }
}

/** Seconds east of UTC as `+02:00`; whole minutes, the seconds of historic offsets are cut. */
export function formatOffset(offset: Seconds, separator = ':'): string {
  const minutes = Math.floor(Math.abs(offset) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${separator}${two(minutes % 60)}`;
}

/** A local reading as `2026-03-29T02:30`, with seconds only when they are not zero. */
export function formatLocal(local: LocalTime): string {
  const text = new Date(local).toISOString();
  return local % 60_000 === 0 ? text.slice(0, -8) : text.slice(0, -5);
}
