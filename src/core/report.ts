import type { IncidentKind } from './message.ts';
import { isOpen, type State } from './occurrence.ts';
import type { Every, Period } from './report-period.ts';
import { formatInstant, type Instant } from './time.ts';

/** A report as PUT defines it; stored as JSON. */
export type ReportDefinition = {
  readonly every: Every;
  /** Weeks and months begin at midnight here. */
  readonly zone: string;
  /** Slugs of e-mail channels. */
  readonly channels: readonly string[];
  /** Only jobs with one of these; null: all. */
  readonly tags: readonly string[] | null;
};

// From here on as the API writes it, instants as RFC 3339 in UTC: the outbox keeps a report, the API answers it, the
// command line prints it and a mail tells it, all in this one spelling.

/** Occurrences by how they stand. `due` is the sum of all others but `counted` and the share. */
export type Tally = {
  readonly due: number;
  readonly on_time: number;
  readonly late: number;
  readonly expired: number;
  readonly failed: number;
  readonly missed: number;
  /** Past the deadline, and still not completed. */
  readonly overdue: number;
  /** Nobody ran it on time; a later run covered it. */
  readonly coalesced: number;
  readonly skipped: number;
  readonly unknown: number;
  /** The deadline has not passed yet. */
  readonly pending: number;
  /** What the share is of: all but skipped, unknown and pending ones. */
  readonly counted: number;
  /** on_time / counted, from 0 to 1; null: nothing counts. */
  readonly on_time_share: number | null;
};

export type ReportPeriod = {
  readonly name: string;
  /** The first instant inside. */
  readonly starts_at: string;
  /** The first instant after it. */
  readonly ends_at: string;
};

export type JobLine = {
  readonly job: string;
  readonly name: string;
  /** When it was made, if that was within the period: it counts from there. */
  readonly since: string | null;
  readonly occurrences: Tally;
};

export type OwedLine = {
  readonly job: string;
  readonly count: number;
  /** Key of the oldest owed one. */
  readonly oldest: string | null;
  /** Nobody knows whether they ran: a person says run or skip. */
  readonly unconfirmed: number;
  /** More is owed than max_catch_up: nothing is handed out before a person says run or skip. */
  readonly needs_decision: boolean;
  readonly is_paused: boolean;
};

export type EditLine = {
  readonly job: string;
  readonly at: string;
  readonly actor: string;
  /** What changed, in words. */
  readonly changes: readonly string[];
};

export type IncidentSummary = {
  /** Opened in the period, of which somebody was told. */
  readonly opened: Readonly<Partial<Record<IncidentKind, number>>>;
  /** Of all that were open at some time in the period, those that still are. */
  readonly still_open: number;
  readonly longest: {
    readonly id: number;
    readonly job: string;
    readonly kind: IncidentKind;
    readonly opened_at: string;
    /** null: it is still open. */
    readonly resolved_at: string | null;
    /** To now, if it is still open. */
    readonly seconds: number;
  } | null;
};

export type ClockChange = {
  readonly zone: string;
  readonly at: string;
  /** How much the clocks go forward; negative: back. */
  readonly shift_seconds: number;
  /** What the local clock shows at that instant, and what instead. */
  readonly from: string;
  readonly to: string;
  /** Jobs in the zone. */
  readonly jobs: number;
  /** Those whose schedules it touches, and how. */
  readonly touched: readonly { readonly job: string; readonly effects: readonly string[] }[];
};

/** What people read about one week or month of a project. */
export type Report = {
  readonly slug: string;
  readonly project: { readonly slug: string; readonly name: string };
  readonly every: Every;
  readonly zone: string;
  readonly tags: readonly string[] | null;
  readonly period: ReportPeriod & { readonly is_complete: boolean };
  /** The ledger as it stood then. */
  readonly as_of: string;
  readonly occurrences: Tally;
  /** The period before; `occurrences` null: there was no job yet. */
  readonly before: { readonly name: string; readonly occurrences: Tally | null } | null;
  readonly jobs: {
    readonly total: number;
    /** With something that was not on time. */
    readonly in_trouble: number;
    /** Everything that counts was on time. */
    readonly well: number;
    /** Nothing of it counts. */
    readonly without_data: number;
  };
  /** The lowest share first, at most 10. */
  readonly worst_jobs: readonly JobLine[];
  /** At most 100 of `owed_jobs`. */
  readonly owed: readonly OwedLine[];
  readonly owed_jobs: number;
  /** Oldest first, at most 50 of `schedule_edit_count`. */
  readonly schedule_edits: readonly EditLine[];
  readonly schedule_edit_count: number;
  readonly incidents: IncidentSummary;
  readonly clock_changes: readonly ClockChange[];
  /** Earlier periods that no report was sent about; null: there is none. */
  readonly unreported: { readonly count: number; readonly first: string; readonly last: string } | null;
};

/** How many occurrences are in each state. */
export type Counts = Readonly<Partial<Record<State, number>>>;

/** A job with what its occurrences came to in the period and in the one before. */
export type JobCounts = {
  readonly slug: string;
  readonly name: string;
  readonly createdAt: Instant;
  readonly now: Counts;
  readonly before: Counts;
};

const MOST_WORST = 10;

/** Counts as a report shows them. */
export function tallyOf(counts: Counts): Tally {
  const of = (state: State): number => counts[state] ?? 0;
  const rest = { skipped: of('skipped'), unknown: of('unknown'), pending: of('expected') + of('running') };
  const judged = {
    on_time: of('on_time'),
    late: of('late'),
    expired: of('expired'),
    failed: of('failed'),
    missed: of('missed'),
    overdue: of('overdue'),
    coalesced: of('coalesced'),
  };
  const counted = Object.values(judged).reduce((sum, count) => sum + count, 0);
  const due = counted + rest.skipped + rest.unknown + rest.pending;
  const share = counted === 0 ? null : judged.on_time / counted;
  return { due, ...judged, ...rest, counted, on_time_share: share };
}

/** The sum of counts. */
function sumOf(all: readonly Counts[]): Counts {
  const sum: Partial<Record<State, number>> = {};
  for (const counts of all) {
    for (const [state, count] of Object.entries(counts) as [State, number][]) sum[state] = (sum[state] ?? 0) + count;
  }
  return sum;
}

/** What jobs came to in a period. Jobs that did not exist in it are left out, whatever they are counted with. */
export function numbersOf(
  all: readonly JobCounts[],
  period: Period,
  before: Period | null,
): Pick<Report, 'occurrences' | 'before' | 'jobs' | 'worst_jobs'> {
  const existed = ({ createdAt }: JobCounts, { endsAt }: Period): boolean => createdAt < endsAt;
  const jobs = all.filter((job) => existed(job, period));
  const lines = jobs.map((job) => lineOf(job, period));
  const isBad = ({ occurrences: { counted, on_time } }: JobLine): boolean => on_time < counted;
  const bad = lines.filter(isBad);
  const withoutData = lines.filter(({ occurrences }) => occurrences.counted === 0).length;
  const earlier = before ? all.filter((job) => existed(job, before)) : [];
  return {
    occurrences: tallyOf(sumOf(jobs.map(({ now }) => now))),
    before: before && {
      name: before.name,
      occurrences: earlier.length === 0 ? null : tallyOf(sumOf(earlier.map((job) => job.before))),
    },
    jobs: {
      total: lines.length,
      in_trouble: bad.length,
      well: lines.length - bad.length - withoutData,
      without_data: withoutData,
    },
    worst_jobs: bad.sort(worstFirst).slice(0, MOST_WORST),
  };
}

function lineOf({ slug, name, createdAt, now }: JobCounts, { startsAt }: Period): JobLine {
  const since = createdAt >= startsAt ? formatInstant(createdAt) : null;
  return { job: slug, name, since, occurrences: tallyOf(now) };
}

/** By share, then by how many were not on time, then by slug. */
function worstFirst({ job: jobA, occurrences: a }: JobLine, { job: jobB, occurrences: b }: JobLine): number {
  const bad = (one: Tally): number => one.counted - one.on_time;
  return (a.on_time_share ?? 1) - (b.on_time_share ?? 1) || bad(b) - bad(a) || (jobA < jobB ? -1 : 1);
}

/** As a report shows a period. */
export function periodLine({ name, startsAt, endsAt }: Period): ReportPeriod {
  return { name, starts_at: formatInstant(startsAt), ends_at: formatInstant(endsAt) };
}

/** The state a row counts as. What is open and due since a pause began is skipped, though no row says so yet. */
export function countedState(state: State, isInPause: boolean): State {
  return isInPause && isOpen(state) ? 'skipped' : state;
}
