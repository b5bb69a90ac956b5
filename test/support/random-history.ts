import fc from 'fast-check';
import { type ThresholdKind, thresholdKinds } from '../../src/core/definition.ts';
import { formatKey } from '../../src/core/key.ts';
import { type ScheduleSpec, timetable } from '../../src/core/schedule.ts';
import { floorToSecond, formatInstant, type Instant } from '../../src/core/time.ts';
import { formatLocal, type Zone } from '../../src/core/zone.ts';
import type { Zones } from '../../src/zones.ts';
import type { History, HistorySettings, Input } from './history.ts';

/**
 * Short random histories of one job, biased towards the instants at which something changes. They are drawn as a plan of
 * small independent choices and turned into a history afterwards, so they shrink well: fewer inputs, fewer settings,
 * plainer schedules, UTC. `crossings`: also edits between heartbeats and other schedules; `after`: also jobs that go after
 * others.
 */
export function historyArbitrary(zones: Zones, { crossings = false, after = false } = {}): fc.Arbitrary<History> {
  return plan.map((drawn) => historyOf(after ? drawn : { ...drawn, after: [] }, zones, crossings));
}

const SECOND = 1000;
const DAY = 86_400 * SECOND;

// ---- Choices --------------------------------------------------------------------------------------------------------

/** Where the history takes place: an ordinary day, or around a change of clocks. */
const moments = [
  { zone: 'UTC', at: '2026-03-02T10:00:00Z' },
  { zone: 'Europe/Berlin', at: '2026-03-29T01:00:00Z' },
  { zone: 'Europe/Berlin', at: '2026-10-25T01:00:00Z' },
  { zone: 'America/New_York', at: '2026-03-08T07:00:00Z' },
  { zone: 'America/New_York', at: '2026-11-01T06:00:00Z' },
  { zone: 'Australia/Lord_Howe', at: '2026-04-04T15:00:00Z' },
  { zone: 'Australia/Lord_Howe', at: '2026-10-03T15:30:00Z' },
] as const;

const every = (seconds: number, anchor = 0): ScheduleSpec => ({ every: seconds, anchor });
const cron = (expression: string): ScheduleSpec => ({ cron: expression });

/** Schedules of about one pace, so that an edit from one to another of them does not make thousands of occurrences. */
type Pace = {
  readonly plain: readonly ScheduleSpec[];
  readonly heartbeat: number;
  /** No history is longer than this many seconds after its first occurrence. */
  readonly span: number;
};

const HOURS: Pace = {
  plain: [
    cron('0 * * * *'),
    cron('*/30 * * * *'),
    cron('0,30 * * * *'),
    cron('30 1-3 * * *'),
    cron('0 */2 * * *'),
    every(3600),
    every(1800, 600 * SECOND),
  ],
  heartbeat: 3600,
  span: 24 * 3600,
};
const MINUTES: Pace = {
  plain: [
    cron('*/5 * * * *'),
    cron('* * * * *'),
    cron('5/15 * * * *'),
    cron('*/10 1-3 * * *'),
    every(60),
    every(420, 7 * SECOND),
  ],
  heartbeat: 300,
  span: 2 * 3600,
};
const NIGHTS: Pace = {
  plain: [
    cron('30 2 * * *'),
    cron('0,30 2 * * *'),
    cron('0 2,3 * * *'),
    cron('*/30 1 * * *'),
    cron('0,30 1 * * *'),
    cron('15,45 1-2 * * *'),
    cron('0 0 * * *'),
    cron('30 2 * * 0'),
  ],
  heartbeat: 86_400,
  span: 9 * 86_400,
};
const SECONDS: Pace = {
  plain: [every(60), every(30), every(10), every(5), every(7, 3 * SECOND)],
  heartbeat: 10,
  span: 600,
};
const paces: readonly Pace[] = [HOURS, MINUTES, NIGHTS, SECONDS];

const length = fc.oneof(
  fc.constantFrom(60, 300, 1, 5, 30, 120, 600, 1800, 3600, 7200, 86_400).map((seconds) => ({ seconds })),
  fc.constantFrom(0.5, 0.1, 0.9, 1, 1.1, 2, 3, 5).map((gaps) => ({ gaps })),
);
type Length = { readonly seconds: number } | { readonly gaps: number };
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null, freq: 2 });

const tolerances = fc.record({
  early: maybe(fc.oneof(fc.constant({ seconds: 0 }), length)),
  startWithin: maybe(length),
  grace: maybe(fc.oneof({ weight: 1, arbitrary: fc.constant({ seconds: 0 }) }, { weight: 5, arbitrary: length })),
  usefulFor: maybe(length),
  maxRuntime: maybe(length),
});

const threshold = fc
  .record({ count: fc.constantFrom(2, 3, 1, 4), more: fc.constantFrom(0, 0, 1, 2) })
  .map(({ count, more }) => ({ count, of: Math.min(5, count + more) }));
const kinds: readonly ThresholdKind[] = thresholdKinds;
/** Kinds of which not every occurrence is told. */
const thresholds = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom<string>(...kinds), threshold, { maxKeys: 7 }) },
) as fc.Arbitrary<HistorySettings['alertAfter']>;

const policies = fc.record({
  missedRuns: fc.constantFrom('catch_up' as const, 'coalesce' as const, 'skip' as const),
  duplicates: fc.constantFrom('alert' as const, 'alert' as const, 'record' as const),
  unscheduled: fc.constantFrom('record' as const, 'alert' as const),
  maxCatchUp: fc.constantFrom(null, 1, 0, 2, 3),
  throttle: fc.constantFrom(0, null, 10, 60),
  overlap: fc.constantFrom('forbid' as const, 'replace' as const, 'allow' as const, 'replace' as const),
  alertAfter: thresholds,
});

/** Indices into the plain schedules of a pace: one of them, or the union of two; or its heartbeat. */
const scheduleChoice = fc.record({
  picks: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 2 }),
  isHeartbeat: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  slower: fc.constantFrom(1, 2, 3),
});

/** An instant, as a place beside an occurrence (counted from the first) or shortly after the input before. */
const place = fc.record({
  near: fc.constantFrom(
    'due',
    'grace',
    'window',
    'early',
    'start_within',
    'limit',
    'next_grace',
    'half',
    'last_input',
    'lease',
    'throttle',
  ),
  occurrence: fc.nat({ max: 24 }),
  shift: fc.constantFrom(
    0,
    -1,
    1,
    1000,
    -1000,
    500,
    5000,
    29_999,
    30_000,
    60_000,
    119_999,
    120_000,
    3_600_000,
    DAY - 1,
    DAY,
  ),
});
type Place = { readonly near: string; readonly occurrence: number; readonly shift: number };

const keyChoice = fc.record({
  /** Counted from the latest due at or before the ping. */
  steps: fc.constantFrom(0, -1, 0, -2, 1),
  spelling: fc.constantFrom('key', 'utc', 'local', 'key', 'date', 'unix', 'local', 'key', 'beside', 'nonsense'),
});

const pingChoice = fc.record({
  type: fc.constant('ping' as const),
  kind: fc.constantFrom(
    'success' as const,
    'start' as const,
    'fail' as const,
    'success' as const,
    'start' as const,
    'log' as const,
  ),
  isExitCode: fc.constantFrom(false, false, false, true),
  rid: fc.constantFrom(null, null, null, 'a', 'b', 'claimed', 'claimed before'),
  source: fc.constantFrom('host-a', 'host-a', 'host-b'),
  body: fc.constantFrom('', '', 'other'),
  occ: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: keyChoice }),
  ownAt: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: place }),
});

const repeatChoice = fc.record({ type: fc.constant('repeat' as const), other: fc.boolean() });
const editChoice = fc.record({
  type: fc.constant('edit' as const),
  parts: fc.constantFrom('tolerances', 'schedules', 'policies', 'all', 'nothing', 'thresholds'),
  schedules: scheduleChoice,
  tolerances,
  policies,
});
const settleChoice = fc.record({
  type: fc.constant('settle' as const),
  steps: fc.constantFrom(0, -1, 1, -2),
  state: fc.constantFrom('skipped' as const, 'on_time' as const),
});
/** `next`: what its runner does then. */
const claimChoice = fc.record({
  type: fc.constant('claim' as const),
  rid: fc.constantFrom('new', 'new', 'new', 'new', 'claimed', 'a'),
  next: maybe(
    fc.record({
      type: fc.constantFrom(
        'success' as const,
        'release' as const,
        'extend' as const,
        'start' as const,
        'fail' as const,
      ),
      afterMs: fc.constantFrom(1000, 1, 0, 59_999, 60_000, 61_000),
    }),
  ),
});
const leaseChoice = fc.record({
  type: fc.constantFrom('extend' as const, 'extend' as const, 'release' as const),
  rid: fc.constantFrom('claimed', 'claimed', 'claimed before'),
});
const decisionChoice = fc.record({
  type: fc.constant('decide' as const),
  decision: fc.constantFrom('run' as const, 'skip' as const),
});

const action = fc.oneof(
  { weight: 12, arbitrary: pingChoice },
  // The ping before once more, as curl --retry sends it, from another place when `other`.
  { weight: 2, arbitrary: repeatChoice },
  { weight: 2, arbitrary: editChoice },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('pause' as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('resume' as const) }) },
  { weight: 1, arbitrary: settleChoice },
  { weight: 3, arbitrary: claimChoice },
  { weight: 1, arbitrary: leaseChoice },
  { weight: 1, arbitrary: decisionChoice },
);
/** Runners that ask for their work. */
const actionOfRunners = fc.oneof(
  { weight: 8, arbitrary: claimChoice },
  { weight: 2, arbitrary: leaseChoice },
  { weight: 3, arbitrary: pingChoice },
  { weight: 1, arbitrary: decisionChoice },
  { weight: 1, arbitrary: action },
);
const stepsOf = <T>(one: fc.Arbitrary<T>) =>
  fc.array(fc.record({ place, action: one }), { maxLength: 25, size: 'max' });

const windowChoice = fc.record({
  kind: fc.constantFrom('blind' as const, 'gap' as const),
  place,
  lengthMs: fc.constantFrom(30_000, 3000, 10_000, 31_000, 600_000, 3_600_000, 86_400_000),
});

/** `known` null: before the creation; `back`: when it is taken back, counted from when it became known. */
const maintenanceChoice = fc.record({
  place,
  length: fc.oneof(
    fc.constantFrom(1, 2.5, 0.5, 4, 12).map((gaps) => ({ gaps })),
    length,
  ),
  known: maybe(place),
  back: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: place }),
});

/** An occurrence of a job that goes first: due near one of this job, done so long after that, or never. */
const upstreamChoice = fc.record({
  place,
  done: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0.1, 0.5, 1, 1.5, 3, 0, 8) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
});

const plan = fc.record({
  moment: fc.constantFrom(...moments),
  pace: fc.constantFrom(...paces),
  schedules: scheduleChoice,
  tolerances,
  policies,
  count: fc.integer({ min: 1, max: 24 }),
  before: fc.nat({ max: 12 }),
  createdBefore: fc.constantFrom(1, 1000, 10_000, 0, 1_234_567),
  steps: fc.oneof({ weight: 3, arbitrary: stepsOf(action) }, { weight: 1, arbitrary: stepsOf(actionOfRunners) }),
  windows: fc.array(windowChoice, { maxLength: 3, size: 'max' }),
  maintenance: fc.oneof(
    { weight: 1, arbitrary: fc.array(maintenanceChoice, { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(maintenanceChoice, { maxLength: 3, size: 'max' }) },
  ),
  after: fc.oneof(
    { weight: 3, arbitrary: fc.array(fc.array(upstreamChoice), { maxLength: 0 }) },
    { weight: 1, arbitrary: fc.array(fc.array(upstreamChoice, { maxLength: 8, size: 'max' }), { maxLength: 2 }) },
  ),
  settleSeconds: fc.constantFrom(600, 60, 5),
  untilShift: fc.constantFrom(0, 1, 60_000, 300_000, 3_600_000),
});
type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;
type Plan = Drawn<typeof plan>;
type Tolerances = Drawn<typeof tolerances>;
type Action = Drawn<typeof action>;
type Step = Action | { readonly type: 'maintenance' };

// ---- From a plan to a history ---------------------------------------------------------------------------------------

/** What instants are counted from: the due instants of the first settings, and the usual distance between two. */
type Frame = {
  readonly zone: Zone;
  readonly createdAt: Instant;
  readonly dues: readonly Instant[];
  readonly gap: number;
};

function historyOf(drawn: Plan, zones: Zones, crossings: boolean): History {
  const zone = zones.get(drawn.moment.zone);
  if (!zone.ok) throw new Error(zone.reason);
  const pace = drawn.pace;
  const schedules = schedulesOf(pace, drawn.schedules);
  const frame = frameOf(drawn, zone.value, schedules);
  const settings = settingsOf(schedules, drawn.tolerances, drawn.policies, frame.gap);
  const end = (frame.dues.at(-1) ?? frame.createdAt) + Math.min(drawn.untilShift, drawn.pace.span * 100);

  const windows = windowsOf(drawn, settings, frame, end);
  const afterWindows = (at: Instant): Instant =>
    windows.reduce((t, { after, until }) => (after < t && t <= until ? until + 1 : t), at);
  let last = frame.createdAt;
  const maintenance = maintenanceOf(drawn, settings, frame, (at) => afterWindows(within(at, frame.createdAt, end)));
  const timed: { at: Instant; action: Step }[] = drawn.steps.flatMap(({ place, action }) => {
    const wished = instantOf(place, settings, frame, last);
    last = afterWindows(within(wished, frame.createdAt, end));
    const first = { at: last, action };
    if (action.type !== 'claim' || action.next === null) return [first];
    last = afterWindows(within(last + action.next.afterMs, frame.createdAt, end));
    return [first, { at: last, action: followUp(action.next.type) }];
  });
  const later = new Set(maintenance.map(({ knownFrom }) => knownFrom).filter((at) => at > frame.createdAt));
  // First of its instant: the checks of that instant know it too.
  for (const at of later) timed.unshift({ at, action: { type: 'maintenance' } });
  timed.sort((a, b) => a.at - b.at);

  const inputs: Input[] = [];
  let current = settings;
  for (const { at, action } of timed) {
    const isHeartbeat = current.schedules.some((spec) => 'heartbeat' in spec);
    const input = inputOf(action, at, { inputs, current, frame, isHeartbeat });
    if (action.type === 'edit') {
      const isBeatNext = crossings ? action.schedules.isHeartbeat : isHeartbeat;
      const next = schedulesOf(pace, { ...action.schedules, isHeartbeat: isBeatNext });
      current = editedSettings(action, current, next, frame.gap);
      inputs.push({ type: 'edit', at, settings: current });
    } else if (input) inputs.push(input);
  }
  const until = Math.max(end, ...timed.map(({ at }) => at));
  const { createdAt } = frame;
  const after = drawn.after.map((occurrences) => occurrences.map((one) => upstreamOf(one, settings, frame)));
  const facts = { zone: drawn.moment.zone, createdAt, settings, inputs, windows, maintenance, after };
  return { ...facts, settleSeconds: drawn.settleSeconds, until };
}

/** What the runner of the last claim does next. */
function followUp(type: 'success' | 'fail' | 'start' | 'extend' | 'release'): Action {
  if (type === 'extend' || type === 'release') return { type, rid: 'claimed' };
  return {
    type: 'ping',
    kind: type,
    isExitCode: false,
    rid: 'claimed',
    source: 'host-a',
    body: '',
    occ: null,
    ownAt: null,
  };
}

/** What lies beyond the end comes round again from the creation on, so that inputs do not gather at the end. */
function within(at: Instant, createdAt: Instant, end: Instant): Instant {
  return at <= end ? Math.max(at, createdAt) : createdAt + ((at - createdAt) % (end - createdAt + 1));
}

function schedulesOf(pace: Pace, { picks, isHeartbeat, slower }: Plan['schedules']): readonly ScheduleSpec[] {
  if (isHeartbeat) return [{ heartbeat: pace.heartbeat * slower }];
  const specs = picks.map((pick) => pace.plain[pick % pace.plain.length]).filter((spec) => spec !== undefined);
  return [...new Set(specs)];
}

function frameOf(drawn: Plan, zone: Zone, schedules: readonly ScheduleSpec[]): Frame {
  const { count, pace } = drawn;
  const moment = Date.parse(drawn.moment.at);
  const before = Math.min(drawn.before, count);
  const short = (dues: readonly Instant[]): Instant[] =>
    dues.filter((due) => due <= (dues[0] ?? 0) + pace.span * SECOND);
  const [only] = schedules;
  if (only && 'heartbeat' in only) {
    const gap = only.heartbeat * SECOND;
    const createdAt = moment - before * gap - drawn.createdBefore;
    const dues = Array.from({ length: count }, (_, i) => floorToSecond(createdAt) + (i + 1) * gap);
    return { zone, createdAt, dues: short(dues), gap };
  }
  const table = timetable(schedules, zone);
  const earliest = moment - (pace.span * SECOND) / 2;
  let first = table.previous(moment)?.at ?? moment;
  for (let i = 1; i < before && first > earliest; i++) first = table.previous(first)?.at ?? first;
  const createdAt = first - Math.min(drawn.createdBefore, pace.span * 250);
  const dues: Instant[] = [];
  for (let due = table.next(createdAt); due && dues.length < count; due = table.next(due.at)) dues.push(due.at);
  const start = dues[0] ?? createdAt;
  return { zone, createdAt, dues: short(dues), gap: (table.next(start)?.at ?? start + DAY) - start };
}

function settingsOf(
  schedules: readonly ScheduleSpec[],
  drawn: Tolerances,
  policy: Plan['policies'],
  gap: number,
): HistorySettings {
  const seconds = (value: Length | null): number | null => {
    if (value === null) return null;
    return 'seconds' in value ? value.seconds : Math.max(1, Math.round((value.gaps * gap) / SECOND));
  };
  const isHeartbeat = schedules.some((spec) => 'heartbeat' in spec);
  const grace = seconds(drawn.grace);
  const usefulFor = seconds(drawn.usefulFor);
  return {
    schedules,
    missedRuns: isHeartbeat ? null : policy.missedRuns,
    early: isHeartbeat ? null : seconds(drawn.early),
    startWithin: seconds(drawn.startWithin),
    grace,
    // The API refuses an explicit window shorter than an explicit grace.
    usefulFor: isHeartbeat || usefulFor === null ? null : Math.max(usefulFor, grace ?? 0),
    maxRuntime: seconds(drawn.maxRuntime),
    maxCatchUp: policy.maxCatchUp,
    throttle: policy.throttle,
    alertAfter: policy.alertAfter,
    overlap:
      policy.overlap === 'replace' && (isHeartbeat || policy.missedRuns === 'catch_up') ? 'allow' : policy.overlap,
    duplicates: policy.duplicates,
    unscheduled: policy.unscheduled,
  };
}

function editedSettings(
  edit: Extract<Action, { type: 'edit' }>,
  old: HistorySettings,
  schedules: readonly ScheduleSpec[],
  gap: number,
): HistorySettings {
  const fresh = settingsOf(
    edit.parts === 'schedules' || edit.parts === 'all' ? schedules : old.schedules,
    edit.tolerances,
    edit.policies,
    gap,
  );
  if (edit.parts === 'nothing') return old;
  if (edit.parts === 'all') return fresh;
  if (edit.parts === 'thresholds') return { ...old, alertAfter: fresh.alertAfter };
  if (edit.parts === 'policies') return { ...old, ...policiesOf(fresh) };
  if (edit.parts === 'tolerances') return { ...fresh, ...policiesOf(old) };
  const { schedules: fromNow, missedRuns } = fresh;
  if (missedRuns === null) {
    const overlap = old.overlap === 'replace' ? 'allow' : old.overlap;
    return { ...old, schedules: fromNow, missedRuns, overlap, early: null, usefulFor: null };
  }
  return { ...old, schedules: fromNow, missedRuns: old.missedRuns ?? missedRuns };
}

function policiesOf(settings: HistorySettings) {
  const { missedRuns, duplicates, unscheduled, maxCatchUp, throttle, overlap, alertAfter } = settings;
  return { missedRuns, duplicates, unscheduled, maxCatchUp, throttle, overlap, alertAfter };
}

function instantOf(
  { near, occurrence, shift }: Place,
  settings: HistorySettings,
  { dues, gap, createdAt }: Frame,
  last: Instant,
): Instant {
  const index = occurrence % Math.max(1, dues.length);
  const due = dues[index] ?? createdAt;
  const next = dues[index + 1] ?? due + gap;
  const ms = (seconds: number | null, otherwise: number): number => (seconds === null ? otherwise : seconds * SECOND);
  const grace = ms(settings.grace, Math.min(300, settings.usefulFor ?? 300) * SECOND);
  const places: Readonly<Record<string, Instant>> = {
    due,
    half: due + gap / 2,
    early: due - ms(settings.early, Math.min(gap / 10, 300 * SECOND)),
    start_within: due + ms(settings.startWithin, grace),
    grace: due + grace,
    window: settings.usefulFor === null ? Math.max(next, due + grace) : due + settings.usefulFor * SECOND,
    next_grace: next + grace,
    limit: last + ms(settings.maxRuntime, DAY),
    last_input: last + Math.abs(shift),
    lease: last + 60 * SECOND,
    throttle: last + ms(settings.throttle, 10 * SECOND),
  };
  return Math.floor((places[near] ?? due) + (near === 'last_input' ? 0 : shift));
}

function windowsOf(drawn: Plan, settings: HistorySettings, frame: Frame, end: Instant): History['windows'] {
  const wished = drawn.windows.map(({ kind, place, lengthMs }) => {
    const start = Math.max(frame.createdAt, instantOf(place, settings, frame, frame.createdAt));
    const length = kind === 'gap' ? Math.min(lengthMs, 30_000) : Math.max(lengthMs, 30_000);
    return { kind, after: start, until: start + length };
  });
  wished.sort((a, b) => a.after - b.after);
  return wished.filter(
    ({ after, until }, i) => until <= end && wished.slice(0, i).every((other) => other.until <= after),
  );
}

/** By when they became known; `acceptedAt`: an instant at which something may arrive. */
function maintenanceOf(
  drawn: Plan,
  settings: HistorySettings,
  frame: Frame,
  acceptedAt: (at: Instant) => Instant,
): History['maintenance'] {
  const wished = drawn.maintenance.map(({ place, length, known, back }, i) => {
    const from = instantOf(place, settings, frame, frame.createdAt);
    const lengthMs = Math.round('gaps' in length ? length.gaps * frame.gap : length.seconds * SECOND);
    const knownFrom = known === null ? frame.createdAt : acceptedAt(instantOf(known, settings, frame, from + lengthMs));
    const knownUntil = back && acceptedAt(instantOf(back, settings, frame, knownFrom));
    return { from, until: from + Math.max(1, lengthMs), knownFrom, knownUntil, i };
  });
  const known = wished.filter(({ knownFrom, knownUntil }) => knownUntil === null || knownUntil > knownFrom);
  known.sort((a, b) => a.knownFrom - b.knownFrom);
  return known.map(({ i, ...window }) => ({ name: `window ${i}`, ...window }));
}

function upstreamOf({ place, done }: Drawn<typeof upstreamChoice>, settings: HistorySettings, frame: Frame) {
  const due = instantOf(place, settings, frame, frame.createdAt);
  return { due, doneAt: done === null ? null : Math.floor(due + done * frame.gap) };
}

type Context = {
  readonly inputs: readonly Input[];
  readonly current: HistorySettings;
  readonly frame: Frame;
  readonly isHeartbeat: boolean;
};

function inputOf(drawn: Step, at: Instant, { inputs, current, frame, isHeartbeat }: Context): Input | null {
  switch (drawn.type) {
    case 'ping': {
      const { kind, source, body } = drawn;
      const rid = ridOf(drawn.rid, inputs);
      const exitCode = !drawn.isExitCode || kind === 'start' || kind === 'log' ? null : kind === 'success' ? 0 : 3;
      const own = drawn.ownAt && instantOf(drawn.ownAt, current, frame, at - 3_600_000);
      const ownAt = own !== null && own <= at && own > at - 30 * DAY ? own : null;
      // A heartbeat takes no key.
      const occ = drawn.occ && !isHeartbeat ? keyText(drawn.occ, at, current, frame.zone) : null;
      return { type: 'ping', at, kind, exitCode, rid, source, body, occ, ownAt };
    }
    case 'repeat': {
      const last = inputs.findLast((input) => input.type === 'ping');
      return last ? { ...last, at, source: drawn.other ? 'host-c' : last.source } : null;
    }
    case 'settle': {
      const scheduledFor = isHeartbeat
        ? guessedBeat(drawn.steps, inputs, frame)
        : dueBeside(drawn.steps, at, current, frame.zone);
      return scheduledFor === null ? null : { type: 'settle', at, scheduledFor, state: drawn.state };
    }
    case 'pause':
    case 'resume':
    case 'maintenance':
      return { type: drawn.type, at };
    case 'claim':
    case 'extend':
    case 'release': {
      const rid = ridOf(drawn.rid, inputs);
      return rid === null ? null : { type: drawn.type, at, rid };
    }
    case 'decide':
      return { type: 'decide', at, decision: drawn.decision };
    case 'edit':
      return null;
  }
}

/** A run id by name, one that nothing has had yet, or that of the last claim or the one before; null: there is none. */
function ridOf(drawn: string | null, inputs: readonly Input[]): string | null {
  const claims = inputs.filter((input) => input.type === 'claim');
  if (drawn === 'new') return `c${claims.length}`;
  if (drawn === 'claimed' || drawn === 'claimed before') return claims.at(drawn === 'claimed' ? -1 : -2)?.rid ?? null;
  return drawn;
}

/** The due instant so many steps from the latest due at or before `at`. */
function dueBeside(steps: number, at: Instant, { schedules }: HistorySettings, zone: Zone): Instant | null {
  const table = timetable(schedules, zone);
  let due = table.previous(at + 1);
  for (let i = 0; due && i < Math.abs(steps); i++) due = steps > 0 ? table.next(due.at) : table.previous(due.at);
  return due?.at ?? null;
}

/** Probably an occurrence of a heartbeat: a period after an end, or after the creation. */
function guessedBeat(steps: number, inputs: readonly Input[], { createdAt, gap }: Frame): Instant {
  const ends = inputs.filter((input) => input.type === 'ping' && (input.kind === 'success' || input.kind === 'fail'));
  return floorToSecond(ends.at(steps < 0 ? steps - 1 : -1)?.at ?? createdAt) + gap;
}

function keyText(
  { steps, spelling }: Drawn<typeof keyChoice>,
  at: Instant,
  settings: HistorySettings,
  zone: Zone,
): string {
  const due = dueBeside(steps, at, settings, zone) ?? at;
  switch (spelling) {
    case 'key':
      return formatKey(due, zone);
    case 'utc':
      return formatInstant(due);
    case 'local':
      return formatLocal(zone.localAt(due));
    case 'date':
      return formatLocal(zone.localAt(due)).slice(0, 10);
    case 'unix':
      return String(due / SECOND);
    case 'beside':
      return formatInstant(due + SECOND);
    case 'nonsense':
      return 'yesterday';
  }
}
