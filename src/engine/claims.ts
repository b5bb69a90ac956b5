import { followingInstant, isHeartbeat, versionDueAt, versionOf } from '../core/instants.ts';
import { formatKey } from '../core/key.ts';
import type { Ledger, Version } from '../core/ledger.ts';
import type { Claim } from '../core/occurrence.ts';
import {
  applyBacklogDecision,
  applyClaim,
  applyExtend,
  applyRelease,
  type Claimed,
  endDecision,
  type Refused,
  undecidedRows,
} from '../core/owed.ts';
import { termsAt } from '../core/terms.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { recordAudit } from '../store/job-writing.ts';
import { jobOfClaim } from '../store/ledger-owed.ts';
import { byName, type ChangingDeps, change } from './changing.ts';

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

type ExtendAnswer =
  | { readonly outcome: 'extended'; readonly claim: GivenClaim }
  | { readonly outcome: 'no_claim' }
  | { readonly outcome: 'over'; readonly type: 'completed' | 'replaced' | 'lease_lost'; readonly detail: string };

type DecisionAnswer =
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

/** Rows of a decision in one transaction. */
const DECIDED_AT_ONCE = 1000;

export function createClaims(deps: ChangingDeps): Claims {
  return {
    async claim({ projectId, slug }, rid) {
      const target = { find: byName(projectId, slug), owed: { rid } };
      const given = await change(deps, target, async (tx, { ledger }) => {
        const result = applyClaim(ledger, rid, tx.now);
        return result.kind === 'given'
          ? { ...result, ...namesOf(ledger, result.claim) }
          : answerOf(ledger, result, tx.now);
      });
      if (given === null) return { outcome: 'no_job' };
      // Its id is known when all of it is stored.
      return 'outcome' in given ? given : { outcome: 'given', again: given.again, claim: claimOf(given) };
    },
    async extend(projectId, claimId) {
      const target = { find: (tx: Tx) => jobOfClaim(tx, projectId, claimId), owed: { claimId } };
      const extended = await change(deps, target, async (tx, { ledger }) => {
        const claim = ledger.claims.find(({ id }) => id === claimId);
        return claim && { claim, became: applyExtend(ledger, claim, tx.now), ...namesOf(ledger, claim) };
      });
      if (!extended) return { outcome: 'no_claim' };
      const { became } = extended;
      if (became === 'extended') return { outcome: 'extended', claim: claimOf(extended) };
      return { outcome: 'over', type: became, detail: `${extended.key} ${OVER[became]}` };
    },
    async release(projectId, claimId) {
      const target = { find: (tx: Tx) => jobOfClaim(tx, projectId, claimId), owed: { claimId } };
      const released = await change(deps, target, async (tx, { ledger }) => {
        const claim = ledger.claims.find(({ id }) => id === claimId);
        if (claim) applyRelease(ledger, claim, tx.now);
        return claim !== undefined;
      });
      return released === true;
    },
    decide: (who, decision) => decide(deps, who, decision),
  };
}

const OVER = {
  completed: 'is settled already: another run, a later one or a person was first',
  replaced: 'was given up for a newer run (overlap: replace)',
  lease_lost: 'was given back, for its lease ended: it may be in other hands',
} as const;

type Named = { readonly claim: Claim; readonly key: string; readonly usefulUntil: Instant | null };

function namesOf(ledger: Ledger, { scheduledFor }: Claim): Omit<Named, 'claim'> {
  return { key: keyOf(ledger, scheduledFor), usefulUntil: usefulUntilOf(ledger, scheduledFor) };
}

function claimOf({ claim: { id, scheduledFor, leaseUntil }, key, usefulUntil }: Named): GivenClaim {
  return { id, key, scheduledFor, usefulUntil, leaseUntil };
}

const keyOf = (ledger: Ledger, at: Instant): string => formatKey(at, versionAt(ledger, at).zone);

function usefulUntilOf(ledger: Ledger, at: Instant): Instant | null {
  const { usefulUntil } = termsAt(ledger, at, versionAt(ledger, at));
  return Number.isFinite(usefulUntil) ? usefulUntil : null;
}

function versionAt(ledger: Ledger, at: Instant): Version {
  const row = ledger.rows.get(at);
  return row ? versionOf(ledger, row.version) : versionDueAt(ledger, at);
}

function answerOf(ledger: Ledger, result: Exclude<Claimed, { kind: 'given' }>, now: Instant): ClaimAnswer {
  if (result.kind === 'rid_used') return { outcome: 'rid_used' };
  const { why: type, retryAfterMs, about } = result;
  const key = about === null ? null : keyOf(ledger, about);
  const usefulUntil = about === null ? null : usefulUntilOf(ledger, about);
  const isPast = type === 'off_schedule' && key !== null && usefulUntil !== null;
  const past = isPast ? { key, usefulUntil } : null;
  return { outcome: 'refused', type, detail: detailOf(ledger, result, key, now), retryAfterMs, past };
}

function detailOf(ledger: Ledger, { why, about }: Refused, key: string | null, now: Instant): string {
  switch (why) {
    case 'paused':
      return 'the job is paused: nothing is handed out until it is resumed';
    case 'backlog':
      return key === null
        ? `${ledger.backlog} occurrences are owed, more than max_catch_up: a person has to say run or skip`
        : `whether ${key} was run is unknown, for Rollcall could not hear: a person has to say run or skip`;
    case 'not_yet':
      return `${key} is owed, and not handed out before the throttle has passed`;
    case 'in_progress':
      return key === null
        ? 'a run off the schedule is in progress'
        : `${key} is in progress, and overlap is "${ledger.settings.overlap}"`;
    case 'completed':
      return `${key} is ${about === null ? 'done' : (ledger.rows.get(about)?.state ?? 'done')} already`;
    case 'off_schedule':
      return key === null ? offSchedule(ledger, now) : `${key} is past its usefulness window, and none is due near`;
    default:
      return why satisfies never;
  }
}

function offSchedule(ledger: Ledger, now: Instant): string {
  const next = isHeartbeat(ledger) ? null : followingInstant(ledger, now);
  if (isHeartbeat(ledger)) return 'a heartbeat has no occurrences to hand out';
  return `no occurrence is near: ${next === null ? 'none is to come' : `the next one is ${keyOf(ledger, next)}`}`;
}

/**
 * All that is wanted or unconfirmed and due by now, a thousand at a time: a person's word on a month of silence is many
 * transactions, and the decision stands when the last one is done.
 */
async function decide(
  deps: ChangingDeps,
  { projectId, slug, actor }: Parameters<Claims['decide']>[0],
  decision: 'run' | 'skip',
): Promise<DecisionAnswer> {
  let after: Instant = 0;
  let count = 0;
  for (;;) {
    const from = after;
    const target = { find: byName(projectId, slug), owed: { undecided: { after: from, limit: DECIDED_AT_ONCE + 1 } } };
    const round = await change(deps, target, async (tx, { ledger }) => {
      if (ledger.settings.missedRuns !== 'catch_up') return null;
      const rows = undecidedRows(ledger, from, tx.now);
      const some = rows.slice(0, DECIDED_AT_ONCE);
      const decided = applyBacklogDecision(ledger, decision, some, tx.now);
      const isLast = rows.length <= DECIDED_AT_ONCE;
      if (isLast) {
        endDecision(ledger, tx.now);
        const detail = { decision, count: count + decided };
        await recordAudit(tx, { projectId, actor, action: 'job.backlog', subject: slug, detail });
      }
      return { decided, isLast, until: tx.now, last: some.at(-1)?.scheduledFor ?? from };
    });
    if (round === null)
      return (await deps.database.transaction(byName(projectId, slug))) === null ? NO_JOB : NO_BACKLOG;
    count += round.decided;
    after = round.last;
    if (round.isLast) return { outcome: 'decided', until: round.until, count };
  }
}

const NO_JOB = { outcome: 'no_job' } as const;
const NO_BACKLOG = { outcome: 'no_backlog' } as const;
