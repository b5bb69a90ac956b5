import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Claim, ClaimAnswer, Server } from './server.ts';

/** What to do next. */
export type HandOut =
  /** `rid`: the run id that the claim is held under. Any other run needs a new one: a claim may have been given to this. */
  | { readonly kind: 'run'; readonly claim: Claim; readonly rid: string; readonly claimedMs: number }
  /** Rollcall answers, and expects no run now: run without an occurrence. */
  | { readonly kind: 'off_schedule' }
  /** Rollcall cannot say: run all the same. `why` is for the person. */
  | { readonly kind: 'unadvised'; readonly why: string; readonly isAway: boolean }
  /** Nothing is left: completed or paused. */
  | { readonly kind: 'nothing'; readonly why: string }
  /** Not now: try again later, or a person has to decide. */
  | { readonly kind: 'not_now'; readonly why: string }
  | { readonly kind: 'stopped' };

export type HandOutDeps = {
  readonly server: Pick<Server, 'claim'>;
  readonly clock: Clock;
  /** What is being waited for. */
  readonly progress: (text: string) => void;
  /** The person wants to go. */
  readonly stop: AbortSignal;
};

/** After these pauses Rollcall is asked again before it counts as away: a restart is over in a few seconds. */
const AWAY_PAUSES_MS: readonly number[] = [1000, 2000];
/** Where Rollcall does not say how long. */
const DEFAULT_PAUSE_MS = 5000;
const SHORTEST_PAUSE_MS = 250;

/**
 * Asks for the next occurrence until there is a clear answer, at most `waitMs` while others are at work. The same run id
 * throughout: a claim whose answer was lost is given again.
 */
export async function handOut(
  { job, waitMs }: { readonly job: string; readonly waitMs: number },
  deps: HandOutDeps,
): Promise<HandOut> {
  const { server, clock, stop, progress } = deps;
  const beganMs = clock.monotonic();
  const pauses = [...AWAY_PAUSES_MS];
  const rid = randomUUID();
  // The earliest request that may have been granted: of those before it the refusal arrived.
  let askedMs = beganMs;
  for (;;) {
    const answer = await server.claim(job, rid, stop);
    if (answer.kind === 'given') return { kind: 'run', claim: answer.claim, rid, claimedMs: askedMs };
    if (stop.aborted) return { kind: 'stopped' };
    if (answer.kind === 'unfit') return { kind: 'unadvised', why: answer.advice, isAway: false };
    if (answer.kind === 'away') {
      const pause = pauses.shift();
      if (pause === undefined) return { kind: 'unadvised', why: `Rollcall is away (${answer.reason})`, isAway: true };
      await clock.sleep(pause, stop);
    } else {
      const decided = decide(job, answer);
      if (decided) return decided;
      const leftMs = waitMs - (clock.monotonic() - beganMs);
      const pause = Math.max(answer.retryAfterMs ?? DEFAULT_PAUSE_MS, SHORTEST_PAUSE_MS);
      if (leftMs <= 0 || (answer.word === 'not_yet' && pause > leftMs)) return { kind: 'not_now', why: answer.detail };
      progress(`${job}: ${answer.detail}; waiting`);
      await clock.sleep(Math.min(pause, leftMs), stop);
      askedMs = clock.monotonic();
    }
    if (stop.aborted) return { kind: 'stopped' };
  }
}

type Refused = Extract<ClaimAnswer, { kind: 'refused' }>;

/** null: waiting helps. */
function decide(job: string, { word, detail, past }: Refused): HandOut | null {
  if (word === 'completed')
    return { kind: 'nothing', why: `${job}: already completed, by another run: nothing to run` };
  if (word === 'paused') return { kind: 'nothing', why: `${job} is paused: nothing is run` };
  if (word === 'backlog') {
    const how = `a person decides: rollcall backlog ${job} run, or rollcall backlog ${job} skip`;
    return { kind: 'not_now', why: `${detail}; ${how}` };
  }
  if (word === 'off_schedule') {
    if (past === null) return { kind: 'off_schedule' };
    return { kind: 'not_now', why: `${past.key} is too old: it was useful until ${past.usefulUntil}` };
  }
  if (word === 'in_progress' || word === 'not_yet') return null;
  return {
    kind: 'unadvised',
    why: `Rollcall refuses with a word this version does not know (${word}: ${detail})`,
    isAway: false,
  };
}
