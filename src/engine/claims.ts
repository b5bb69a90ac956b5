import type { Instant } from '../core/time.ts';

/** An occurrence in the hands of one runner. `usefulUntil` null: unbounded. */
export type GivenClaim = {
  readonly id: number;
  readonly key: string;
  readonly scheduledFor: Instant;
  readonly usefulUntil: Instant | null;
  readonly leaseUntil: Instant;
};

/** Why nothing is handed out; the words are problem types of the API. */
export type Refusal = 'paused' | 'backlog' | 'not_yet' | 'in_progress' | 'completed' | 'off_schedule';

export type ClaimAnswer =
  /** `again`: the same rid asked before, and its claim is still live. */
  | { readonly outcome: 'given'; readonly again: boolean; readonly claim: GivenClaim }
  | { readonly outcome: 'no_job' }
  /** A run or a claim of this job had this rid before. */
  | { readonly outcome: 'rid_used' }
  | {
      readonly outcome: 'refused';
      readonly type: Refusal;
      readonly detail: string;
      /** For Retry-After; null: waiting does not help. */
      readonly retryAfterMs: number | null;
      /** `off_schedule`: the current occurrence, whose window is over. */
      readonly past: { readonly key: string; readonly usefulUntil: Instant } | null;
    };

export type ExtendAnswer =
  | { readonly outcome: 'extended'; readonly claim: GivenClaim }
  | { readonly outcome: 'no_claim' }
  | { readonly outcome: 'over'; readonly type: 'completed' | 'replaced' | 'lease_lost'; readonly detail: string };

export type DecisionAnswer =
  /** `count`: occurrences that were skipped (skip), or that are owed or confirmed now (run). */
  | { readonly outcome: 'decided'; readonly until: Instant; readonly count: number }
  | { readonly outcome: 'no_job' }
  /** The job's policy is not catch_up: there is nothing to decide. */
  | { readonly outcome: 'no_backlog' };

/** Hands occurrences to runners and takes a person's word on a backlog (docs/ledger.md, rules 41 to 47). */
export type Claims = {
  claim(who: { readonly projectId: number; readonly slug: string }, rid: string): Promise<ClaimAnswer>;
  extend(projectId: number, claimId: number): Promise<ExtendAnswer>;
  /** Gives it back. false: no such claim; one that is over already is true. */
  release(projectId: number, claimId: number): Promise<boolean>;
  decide(
    who: { readonly projectId: number; readonly slug: string; readonly actor: string },
    decision: 'run' | 'skip',
  ): Promise<DecisionAnswer>;
};
