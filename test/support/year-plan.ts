import { formatKey } from '../../src/core/key.ts';
import { type Due, timetable } from '../../src/core/schedule.ts';
import type { Instant } from '../../src/core/time.ts';
import { formatLocal, type Zone } from '../../src/core/zone.ts';
import type { Zones } from '../../src/zones.ts';
import type { History, HistorySettings, Input } from './history.ts';
import { type Case, deviations, graceOf, healthy, ping } from './year-deviations.ts';
import { YEAR_END, YEAR_START, type YearJob } from './year-jobs.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Numbers that look random and are the same each time (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const HEALTHY = 0.78;

/** The year of one job: seeded, mostly healthy, without what would fall into a window. */
export function yearOf(job: YearJob, zones: Zones, windows: History['windows']): History {
  const random = randomOf(Number(job.slug.replace(/\D/g, '')) * 7919);
  const zone = zones.get(job.zone);
  if (!zone.ok) throw new Error(zone.reason);
  const createdAt = YEAR_START + Math.floor(random() * 5000) * SECOND;
  const changes = changesOf(job, createdAt, random);
  const inputs: Input[] = [...changes];
  for (const [i, { after, until, settings }] of eras(job.settings, changes, createdAt).entries()) {
    const [only] = settings.schedules;
    if (only && 'heartbeat' in only) inputs.push(...beatsOf(only.heartbeat * SECOND, { after, until }, random));
    else inputs.push(...runsOf({ job, zone: zone.value, settings, random, era: i }, { after, until }));
  }
  inputs.push(...decisionsOf(job, zone.value, random));
  const moved = inputs.map((input) => ({ ...input, at: outside(windows, Math.max(input.at, createdAt + 1)) }));
  const kept = moved.filter(({ at }) => at < YEAR_END);
  kept.sort((a, b) => a.at - b.at);
  return {
    zone: job.zone,
    createdAt,
    settings: job.settings,
    inputs: kept,
    windows,
    maintenance: [],
    after: [],
    settleSeconds: 600,
    until: YEAR_END,
  };
}

function outside(windows: History['windows'], at: Instant): Instant {
  const inside = windows.find(({ after, until }) => after < at && at <= until);
  return inside ? inside.until + 1 + ((at - inside.after) % 1000) : at;
}

/** Edits and pauses, far enough from each other. */
function changesOf({ settings, edits, pauses }: YearJob, createdAt: Instant, random: () => number): Input[] {
  const inputs: Input[] = [];
  let current = settings;
  for (const [i, edit] of edits.entries()) {
    current = { ...current, ...edit };
    const at = createdAt + Math.floor(((i + 0.4 + 0.5 * random()) / edits.length) * 300 * DAY);
    inputs.push({ type: 'edit', at, settings: current });
  }
  for (let i = 0; i < pauses; i++) {
    const at = createdAt + Math.floor(((i + 0.3 + 0.4 * random()) / pauses) * 330 * DAY);
    inputs.push({ type: 'pause', at }, { type: 'resume', at: at + Math.floor((0.2 + 6 * random()) * DAY) });
  }
  return inputs;
}

type Era = { readonly after: Instant; readonly until: Instant };

function eras(first: HistorySettings, changes: readonly Input[], createdAt: Instant) {
  const list: (Era & { settings: HistorySettings })[] = [];
  let [after, settings] = [createdAt, first];
  for (const change of changes) {
    if (change.type !== 'edit') continue;
    list.push({ after, until: change.at, settings });
    [after, settings] = [change.at, change.settings];
  }
  return [...list, { after, until: YEAR_END, settings }];
}

type Plan = {
  readonly job: YearJob;
  readonly zone: Zone;
  readonly settings: HistorySettings;
  readonly random: () => number;
  readonly era: number;
};

function runsOf({ job, zone, settings, random, era }: Plan, { after, until }: Era): Input[] {
  const table = timetable(settings.schedules, zone);
  const inputs: Input[] = [];
  let index = 0;
  for (const { at: due, standsFor } of table.dueIn(after, until)) {
    index += 1;
    const gap = (table.next(due)?.at ?? due + DAY) - due;
    const count = index;
    let named = 0;
    const rid = () => `${era}${(count * 4 + (named++ % 4)).toString(36)}`;
    const grace = graceOf(settings);
    // Whole seconds shared by many jobs: what arrives at one instant costs one transaction.
    const delay = Math.max(
      0,
      Math.min(30 * SECOND, settings.startWithin === null ? grace / 4 : settings.startWithin * 500),
    );
    const took = Math.min(60 * SECOND, Math.max(grace / 4, settings.maxRuntime === null ? 1 : 30 * SECOND));
    const one = {
      due,
      gap,
      settings,
      key: formatKey(due, zone),
      local: formatLocal(zone.localAt(due)),
      delay,
      took,
      rid,
    };
    const isSilent = job.silences.some((silence) => silence.after < due && due <= silence.until);
    if (isSilent) continue;
    const deviation = random() < HEALTHY ? null : deviations[Math.floor(random() * deviations.length)];
    inputs.push(...(deviation ? deviation(one, random) : runsOfOne(job, one, { at: due, standsFor })));
  }
  return inputs;
}

/** One that stands for several local times may be run that often. */
function runsOfOne({ style }: YearJob, one: Case, { standsFor }: Due): Input[] {
  return Array.from({ length: standsFor }, (_, i) =>
    healthy(style, { ...one, delay: one.delay + i * 3 * MINUTE }),
  ).flat();
}

/** A heartbeat's pings come a period after the last one, more or less. */
function beatsOf(period: number, { after, until }: Era, random: () => number): Input[] {
  const inputs: Input[] = [];
  let at = after;
  for (let index = 0; at < until; index += 1) {
    at += Math.floor(period * (0.95 + 0.06 * random()));
    const draw = random();
    const rid = `h${index.toString(36)}`;
    if (draw < 0.05) at += Math.floor(period * 2.5 * random());
    if (draw < 0.08) inputs.push(ping(at, { kind: 'fail' }));
    else if (draw < 0.11) inputs.push(ping(at, { rid }), ping(at + 300, { rid: `${rid}2` }), ping(at + 9000, {}));
    else if (draw < 0.14) inputs.push(ping(at, { kind: 'start' }), ping(at + HOUR, { body: 'done' }));
    else if (draw < 0.17) inputs.push(ping(at, { kind: 'start', rid }));
    else if (draw < 0.2) inputs.push(ping(at, {}), ping(at + HOUR, { ownAt: at - 2 * HOUR }));
    else if (draw < 0.22)
      inputs.push(ping(at, { kind: 'log' }), ping(at + MINUTE, { rid }), ping(at + 2 * MINUTE, { rid }));
    else inputs.push(ping(at, {}));
  }
  return inputs;
}

/** Now and then a person settles an occurrence: a debt of some days ago, or the next one. */
function decisionsOf({ settings }: YearJob, zone: Zone, random: () => number): Input[] {
  const [only] = settings.schedules;
  if (!only || 'heartbeat' in only) return [];
  const table = timetable(settings.schedules, zone);
  return [0.25, 0.5, 0.75].flatMap((part): Input[] => {
    const at = YEAR_START + Math.floor((part + 0.2 * random()) * 365 * DAY);
    const due = random() < 0.7 ? table.previous(at) : table.next(at);
    const state = random() < 0.5 ? 'skipped' : 'on_time';
    return due ? [{ type: 'settle', at, scheduledFor: due.at, state }] : [];
  });
}
