import type { JobDefinition } from '../../src/core/definition.ts';
import type { ScheduleSpec } from '../../src/core/schedule.ts';
import type { Instant, Seconds } from '../../src/core/time.ts';

/** What a random or written test does to one job, in the order of acceptance; `at` is the arrival on the one clock. */
export type History = {
  readonly zone: string;
  readonly createdAt: Instant;
  readonly settings: HistorySettings;
  readonly inputs: readonly Input[];
  /** Blind windows (after, until]; known from `until` on. `gap`: 3 to 30 s without a beat. */
  readonly windows: readonly { readonly kind: 'blind' | 'gap'; readonly after: Instant; readonly until: Instant }[];
  /** Maintenance windows; each that becomes known later than the creation does so by an input at its `knownFrom`. */
  readonly maintenance: readonly MaintenanceWindow[];
  /** Of each job that goes first, its occurrences: when due, and when done (null: never). */
  readonly after: readonly (readonly { readonly due: Instant; readonly doneAt: Instant | null }[])[];
  readonly settleSeconds: Seconds;
  /** The instant up to which the ledger is judged at the end. */
  readonly until: Instant;
};

/** What is due in [from, until) is in it, as far as a check instant in [knownFrom, knownUntil) is concerned (null: for ever). */
export type MaintenanceWindow = {
  readonly name: string;
  readonly from: Instant;
  readonly until: Instant;
  readonly knownFrom: Instant;
  readonly knownUntil: Instant | null;
};

export type HistorySettings = {
  readonly schedules: readonly ScheduleSpec[];
  readonly missedRuns: 'catch_up' | 'coalesce' | 'skip' | null;
  readonly early: Seconds | null;
  readonly startWithin: Seconds | null;
  readonly grace: Seconds | null;
  readonly usefulFor: Seconds | null;
  readonly maxRuntime: Seconds | null;
  readonly maxCatchUp: number | null;
  readonly throttle: Seconds | null;
  readonly overlap: 'forbid' | 'allow' | 'replace';
  readonly alertAfter: JobDefinition['alertAfter'];
  readonly duplicates: 'alert' | 'record';
  readonly unscheduled: 'alert' | 'record';
};

export type Input =
  | {
      readonly type: 'ping';
      readonly at: Instant;
      readonly kind: 'start' | 'success' | 'fail' | 'log';
      /** 0 to 255 when the ping was an exit code (then kind is success or fail), else null. */
      readonly exitCode: number | null;
      readonly rid: string | null;
      readonly source: string;
      readonly body: string;
      /** `occ=` as given. */
      readonly occ: string | null;
      /** `at=` as read (already validated), else null. */
      readonly ownAt: Instant | null;
    }
  | { readonly type: 'edit'; readonly at: Instant; readonly settings: HistorySettings }
  | { readonly type: 'pause'; readonly at: Instant }
  | { readonly type: 'resume'; readonly at: Instant }
  | {
      readonly type: 'settle';
      readonly at: Instant;
      readonly scheduledFor: Instant;
      readonly state: 'skipped' | 'on_time';
    }
  /** One or more windows have become known. */
  | { readonly type: 'maintenance'; readonly at: Instant }
  | { readonly type: 'claim'; readonly at: Instant; readonly rid: string }
  /** Of the claim that was made with that rid. */
  | { readonly type: 'extend' | 'release'; readonly at: Instant; readonly rid: string }
  | { readonly type: 'decide'; readonly at: Instant; readonly decision: 'run' | 'skip' };

/** What a claim, an extension, a release or a decision was answered. */
export type Answer = {
  readonly to: 'claim' | 'extend' | 'release' | 'decide';
  /** `given`, `extended`, `released`, `decided`, or the word of the refusal. */
  readonly word: string;
  /** The occurrence given, or the one that is past its window. */
  readonly scheduledFor: Instant | null;
  readonly leaseUntil: Instant | null;
  /** When a refused claim may be tried again, where waiting helps. */
  readonly retryAt: Instant | null;
};

/** The whole observable ledger of one job: what both evaluators must agree on, sorted, every instant ≤ `until` present. */
export type LedgerView = {
  readonly occurrences: readonly {
    readonly scheduledFor: Instant;
    readonly state: string;
    readonly reason: string | null;
    /** The window that a skipped one lay in, else null. */
    readonly note: string | null;
    readonly standsFor: number;
    readonly completions: number;
    /** Instant of the end that completed it (on_time, late, expired by a run), else null. */
    readonly completedAt: Instant | null;
    readonly coveredBy: Instant | null;
    readonly wanted: boolean;
    /** Unknown, and a person said that it is to be run. */
    readonly confirmed: boolean;
  }[];
  /** One per ping input, in order. */
  readonly pings: readonly { readonly matchedBy: string; readonly scheduledFor: Instant | null }[];
  /** In order of opening (then kind). Members ascending; `left`: moved to another incident. */
  readonly incidents: readonly {
    readonly kind: string;
    readonly openedAt: Instant;
    readonly resolvedAt: Instant | null;
    /** Ended without a word: also one that nobody was told of. */
    readonly silent: boolean;
    readonly members: readonly { readonly scheduledFor: Instant; readonly left: boolean }[];
    /** None: it has not reached its threshold. */
    readonly events: readonly {
      readonly type: 'opened' | 'reminded' | 'resolved';
      readonly at: Instant;
      /** The occurrence told first (opened, reminded), else null. */
      readonly first: Instant | null;
      readonly before: string | null;
    }[];
  }[];
  readonly status: string;
  /** One per claim, extension, release and decision, in order. */
  readonly answers: readonly Answer[];
  /** What still has to run, oldest first. */
  readonly owed: readonly {
    readonly scheduledFor: Instant;
    readonly state: string;
    readonly unconfirmed: boolean;
    readonly runAfter: Instant | null;
  }[];
};

export function answer(to: Answer['to'], word: string, rest: Partial<Answer> = {}): Answer {
  return { to, word, scheduledFor: null, leaseUntil: null, retryAt: null, ...rest };
}
