import {
  type Answer,
  answer,
  type History,
  type HistorySettings,
  type Input,
  type LedgerView,
  type MaintenanceWindow,
} from './history.ts';

/** A small story in literal times: what happens to one job, and the parts of the ledger that must come of it. */
export type Story = { readonly name: string; readonly history: History; readonly expect: PartialView };

/** Lists are complete, their items may name only some fields (as in vitest's toMatchObject). */
type PartialView = {
  readonly [part in 'occurrences' | 'pings' | 'incidents' | 'answers' | 'owed']?: readonly Partial<
    LedgerView[part][number]
  >[];
} & { readonly status?: string };

type PingInput = Extract<Input, { type: 'ping' }>;

/** `10:05:30` is on Monday, 2 March 2026, UTC; `08 10:05` on the 8th of that month; other months are written in full. */
export function at(text: string): number {
  const [time = '', day = '02'] = text.split(' ').reverse();
  return Date.parse(text.includes('T') ? text : `2026-03-${day}T${time.length === 5 ? `${time}:00` : time}Z`);
}

const HOURLY = [{ cron: '0 * * * *' }];
export const EVERY_MINUTE = [{ cron: '* * * * *' }];

export function job(settings: Partial<HistorySettings> = {}): HistorySettings {
  return {
    schedules: HOURLY,
    missedRuns: 'catch_up',
    early: null,
    startWithin: null,
    grace: null,
    usefulFor: null,
    maxRuntime: null,
    maxCatchUp: null,
    throttle: null,
    overlap: 'forbid',
    alertAfter: {},
    duplicates: 'alert',
    unscheduled: 'record',
    ...settings,
  };
}

export function heartbeat(settings: Partial<HistorySettings> = {}): HistorySettings {
  return job({ schedules: [{ heartbeat: 3600 }], missedRuns: null, grace: 600, ...settings });
}

type Told = {
  readonly created: string;
  readonly until: string;
  readonly settings?: HistorySettings;
  readonly zone?: string;
};
type Window = { readonly kind: 'blind' | 'gap'; readonly after: string; readonly until: string };

export function told(
  { created, until, settings = job(), zone = 'UTC' }: Told,
  inputs: readonly Input[],
  windows: readonly Window[] = [],
  maintenance: readonly MaintenanceWindow[] = [],
): History {
  const known = windows.map(({ kind, after, until }) => ({ kind, after: at(after), until: at(until) }));
  const facts = { zone, createdAt: at(created), settings, inputs, windows: known, maintenance, after: [] };
  return { ...facts, settleSeconds: 600, until: at(until) };
}

/** A maintenance window [from, until), known since ever; `known` and `back`: from then on, and until it was taken back. */
export function maintained(
  name: string,
  from: string,
  until: string,
  { known, back }: { readonly known?: string; readonly back?: string } = {},
): MaintenanceWindow {
  const knownFrom = known === undefined ? Number.NEGATIVE_INFINITY : at(known);
  return { name, from: at(from), until: at(until), knownFrom, knownUntil: back === undefined ? null : at(back) };
}

/** The same story of a job that goes after others: of each, `due` or `due, done` of its occurrences. */
export function goesAfter(history: History, ...upstream: readonly (readonly string[])[]): History {
  const after = upstream.map((occurrences) =>
    occurrences.map((one) => {
      const [due = '', done] = one.split(', ');
      return { due: at(due), doneAt: done === undefined ? null : at(done) };
    }),
  );
  return { ...history, after };
}

/** Maintenance windows have become known. */
export const knowMaintenance = (when: string): Input => ({ type: 'maintenance', at: at(when) });

type PingDetails = Partial<Pick<PingInput, 'rid' | 'source' | 'body' | 'occ' | 'exitCode'>> & {
  readonly ownAt?: string;
};

function ping(kind: PingInput['kind'], arrival: string, { ownAt, ...details }: PingDetails = {}): PingInput {
  const nothing = { exitCode: null, rid: null, source: 'host-a', body: '', occ: null };
  return { type: 'ping', kind, at: at(arrival), ...nothing, ...details, ownAt: ownAt === undefined ? null : at(ownAt) };
}

export const start = (arrival: string, details?: PingDetails): Input => ping('start', arrival, details);
export const success = (arrival: string, details?: PingDetails): Input => ping('success', arrival, details);
export const fail = (arrival: string, details?: PingDetails): Input => ping('fail', arrival, details);
export const log = (arrival: string, details?: PingDetails): Input => ping('log', arrival, details);
export const edit = (when: string, settings: HistorySettings): Input => ({ type: 'edit', at: at(when), settings });
export const pause = (when: string): Input => ({ type: 'pause', at: at(when) });
export const resume = (when: string): Input => ({ type: 'resume', at: at(when) });
export const settle = (when: string, due: string, state: 'skipped' | 'on_time'): Input => ({
  type: 'settle',
  at: at(when),
  scheduledFor: at(due),
  state,
});

type Row = LedgerView['occurrences'][number];
type IncidentView = LedgerView['incidents'][number];

export function row(due: string, state: string, fields: Partial<Row> = {}): Partial<Row> {
  return { scheduledFor: at(due), state, ...fields };
}

export function matched(matchedBy: string, due: string | null): LedgerView['pings'][number] {
  return { matchedBy, scheduledFor: due === null ? null : at(due) };
}

/** An event as `opened 10:05 10:00 before missing`: type, instant, the occurrence told first, what it was before. */
export function event(text: string): IncidentView['events'][number] {
  const [type, when = '', first, , before = null] = text.split(', ');
  return {
    type: type as IncidentView['events'][number]['type'],
    at: at(when),
    first: first === undefined || first === '-' ? null : at(first),
    before,
  };
}

/** `resolved` null: still open. Members that moved to another incident are in brackets: `(10:00)`. */
export function incident(
  kind: string,
  members: readonly string[],
  events: readonly string[],
  silentEnd: string | null = null,
): Partial<IncidentView> {
  const all = events.map(event);
  const resolved = all.find(({ type }) => type === 'resolved')?.at ?? null;
  return {
    kind,
    openedAt: all[0]?.at ?? 0,
    resolvedAt: silentEnd === null ? resolved : at(silentEnd),
    silent: silentEnd !== null,
    members: members.map((due) => ({ scheduledFor: at(due.replace(/[()]/g, '')), left: due.startsWith('(') })),
    events: all,
  };
}

export function everyMinutes(step: number, from: string, count: number): number[] {
  return Array.from({ length: count }, (_, i) => at(from) + i * step * 60_000);
}

export const claim = (when: string, rid: string): Input => ({ type: 'claim', at: at(when), rid });
export const extend = (when: string, rid: string): Input => ({ type: 'extend', at: at(when), rid });
export const release = (when: string, rid: string): Input => ({ type: 'release', at: at(when), rid });
export const decide = (when: string, decision: 'run' | 'skip'): Input => ({ type: 'decide', at: at(when), decision });

export function given(due: string, leaseUntil: string): Answer {
  return answer('claim', 'given', { scheduledFor: at(due), leaseUntil: at(leaseUntil) });
}

/** `retry`: when asking again may help; `past`: the occurrence whose window is over. */
export function refused(
  word: string,
  { retry, past }: { readonly retry?: string; readonly past?: string } = {},
): Answer {
  const retryAt = retry === undefined ? null : at(retry);
  return answer('claim', word, { scheduledFor: past === undefined ? null : at(past), retryAt });
}

export function extended(due: string, leaseUntil: string): Answer {
  return answer('extend', 'extended', { scheduledFor: at(due), leaseUntil: at(leaseUntil) });
}

/** `runAfter` null: a person has to confirm it first. */
export function owing(due: string, state: string, runAfter: string | null): LedgerView['owed'][number] {
  return {
    scheduledFor: at(due),
    state,
    unconfirmed: runAfter === null,
    runAfter: runAfter === null ? null : at(runAfter),
  };
}
