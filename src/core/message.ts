import type { Report } from './report.ts';
import type { Instant } from './time.ts';

/** Kinds of incidents (DESIGN section 8); `backlog` belongs to the owed list. */
export const incidentKinds = [
  'not_started',
  'missing',
  'late',
  'overrun',
  'failed',
  'expired',
  'duplicate',
  'unscheduled',
  'backlog',
  'schedule_error',
] as const;
export type IncidentKind = (typeof incidentKinds)[number];

/** A job as notifications and webhooks show it: no uuid, no ping URL, ever. `zone` stays inside. */
export type MessageJob = {
  readonly slug: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly zone: string;
};

export type MessageOccurrence = {
  readonly key: string;
  readonly scheduledFor: Instant;
  readonly state: string;
  /** When the run that settled it ended, where that was before it was due, as of a heartbeat; else left out. */
  readonly endedAt?: Instant;
};

/**
 * One event of one incident, as it was when it happened: the payload of an outbox row.
 * `occurrences` has at most 100: the one that is told first, then the others from the oldest on.
 */
export type IncidentMessage = {
  readonly type: 'incident.opened' | 'incident.reminded' | 'incident.resolved';
  /** Of a reminder without news, why it comes; left out where an occurrence joined. */
  readonly again?: 'interval' | 'snooze_over';
  readonly incident: {
    readonly id: number;
    readonly kind: IncidentKind;
    readonly state: 'open' | 'resolved';
    readonly openedAt: Instant;
    readonly resolvedAt: Instant | null;
    readonly occurrenceCount: number;
  };
  readonly job: MessageJob;
  readonly occurrences: readonly MessageOccurrence[];
  /** What a person wants to know besides; null where it does not apply. */
  readonly facts: {
    /** The kind of the incident this occurrence was in before. */
    readonly before: IncidentKind | null;
    /** When completion (not_started: the start) of the first occurrence was expected at the latest. */
    readonly expectedBy: Instant | null;
    /** Key of the newest completed occurrence, and how it ended. */
    readonly lastCompleted: string | null;
    readonly lastCompletedState: 'on_time' | 'late' | null;
    /** When that was completed, of a heartbeat, whose due instant may be to come; else left out. */
    readonly lastCompletedAt?: Instant;
    /** `duplicate`: how often the first occurrence was completed, and by which successful runs (address only). */
    readonly completions: number | null;
    readonly runs: readonly { readonly endedAt: Instant | null; readonly source: string | null }[] | null;
    readonly missedRuns: 'catch_up' | 'coalesce' | 'skip' | null;
    readonly exitCode: number | null;
    /** The last lines the failing run sent, as text, at most 2,000 characters. */
    readonly output: string | null;
    /** Reason of a schedule_error. */
    readonly detail: string | null;
    /** The following are left out in what was promised before they were known. From then on a completion is worthless. */
    readonly usefulUntil?: Instant | null;
    /** Key of the next occurrence due after the event. */
    readonly nextDue?: string | null;
    /** It was told when `count` of the last `of` occurrences were in trouble of its kind; null: at once. */
    readonly alertAfter?: { readonly count: number; readonly of: number } | null;
    /** `backlog`: more than so many are owed. */
    readonly maxCatchUp?: number | null;
  };
};

/** What is about Rollcall itself, its blind windows, or a week or month. For `unknown` the sender reads the occurrences when it sends. */
export type NoticeMessage = {
  readonly type: 'notice';
  readonly notice: {
    readonly id: number;
    readonly kind: 'unknown' | 'operator' | 'report';
    readonly text: string;
    readonly at: Instant;
  };
  /** Of kind `report`: what a mail makes of it; whoever knows no reports has the text. */
  readonly report?: Report;
};

export type Message = IncidentMessage | NoticeMessage;
