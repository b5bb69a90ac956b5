import { randomUUID } from 'node:crypto';
import { type HandOut, handOut } from './hand-out.ts';
import { type RunDeps, runOnce } from './run.ts';
import type { Claim, Server } from './server.ts';
import { signalExitCode } from './signals.ts';

export type ExecDeps = Omit<RunDeps, 'server'> & {
  readonly server: Server;
  /** For a person who watches: a terminal, or --verbose. */
  readonly progress: (text: string) => void;
  readonly isWatched: boolean;
  /** That there was nothing to run; --quiet keeps it back. */
  readonly note: (text: string) => void;
};

/** What exec itself ends with; otherwise it is the command's own exit code. */
const DONE = 0;
const REFUSED = 2;
/** EX_TEMPFAIL: nothing was run, and later it may. */
const NOT_NOW = 75;

/** Before the first claim, and after the last run: what earlier runs of this host have left is delivered. */
const BEFORE = { patienceMs: 15_000, budgetMs: 30_000 };
const AFTER = { patienceMs: 0, budgetMs: 20_000 };
/** After the end of a run: a Rollcall that restarts is back within these. */
const PAUSES_MS: readonly number[] = [1000, 2000, 4000];
/** Where it was away before the run, it is hardly back just now. */
const PAUSES_AWAY_MS: readonly number[] = [1000];

/** Where the only copy of the news is in our memory, for ten minutes. */
const PAUSES_UNKEPT_MS: readonly number[] = [1, 2, 4, 8, 15, 30, ...Array.from({ length: 9 }, () => 60)].map(
  (seconds) => seconds * 1000,
);

const UNKEPT = 'Rollcall is away, and the news of this run is on no disk: it is tried for ten minutes';

/** Runs the command for everything that is handed out; answers the exit code of the process. */
export async function exec(deps: ExecDeps): Promise<number> {
  const { request, outbox, signals } = deps;
  const stop = signals.stop;
  // First what is waiting of this job: a run that Rollcall has not heard of yet would be handed out once more.
  const { reason } = await outbox.collect({ job: request.job, ...BEFORE, stop });
  const others = await outbox.elsewhere(request.job);
  if (others !== null) deps.warn(`${request.job}: ${others}`);
  const code = await runAll(deps);
  if (reason === null && !stop.aborted) await outbox.collect({ job: null, ...AFTER, stop });
  return code;
}

async function runAll(deps: ExecDeps): Promise<number> {
  const { request, signals, progress } = deps;
  const ran = new Set<string>();
  while (ran.size < request.max) {
    const next = request.catchUp ? await handOutDebt(deps) : await handOutNext(deps);
    const first = signals.first();
    if (first !== null) {
      if (next.kind === 'run') await deps.server.release(next.claim);
      return signalExitCode(first);
    }
    if (next.kind !== 'run') return withoutClaim(next, ran.size, deps);
    const { claim, rid } = next;
    const reason = await whyNot(next, ran, deps);
    if (reason !== null) {
      deps.warn(ran.size === 0 ? `${reason}: nothing was run` : reason);
      await deps.server.release(claim);
      return ran.size === 0 ? NOT_NOW : DONE;
    }
    progress(`${request.job} ${claim.key}: running`);
    const { code, isTold } = await runAndTell(rid, claim, deps);
    // What failed, or is not known to have been done, would be handed out again and again.
    if (code !== 0 || !isTold || signals.first() !== null) return code;
    ran.add(claim.key);
  }
  return DONE;
}

/** Why what was handed out is not to be run after all; null: it is. */
async function whyNot(
  { claim, claimedMs }: Extract<HandOut, { kind: 'run' }>,
  ran: ReadonlySet<string>,
  { request, clock, outbox }: ExecDeps,
): Promise<string | null> {
  if (ran.has(claim.key)) return `${claim.key} was handed out again although it was just run: left alone`;
  const news = await outbox.untold(request.job, { key: claim.key, at: Date.parse(claim.scheduledFor) });
  if (news !== null) {
    return `${claim.key} may have been run by this host, and Rollcall does not know (${news}; if it was not, delete the file)`;
  }
  if (claim.usefulMs !== null && clock.monotonic() - claimedMs >= claim.usefulMs) {
    return `${claim.key} is too old: its useful time is over`;
  }
  return null;
}

function ask({ request, server, clock, progress, signals }: ExecDeps): Promise<HandOut> {
  const { job, waitMs } = request;
  return handOut({ job, waitMs }, { server, clock, progress, stop: signals.stop });
}

/** What is owed, then the current one. How much is owed is of interest only to someone who watches. */
async function handOutNext(deps: ExecDeps): Promise<HandOut> {
  const { request, server, signals, progress, isWatched } = deps;
  const owed = isWatched ? await server.owed(request.job, signals.stop) : null;
  if (owed?.kind === 'owed' && owed.keys.length > 0) progress(`${request.job}: ${owed.keys.length} owed`);
  return ask(deps);
}

/** Only what is owed. A claim may bring the current occurrence when another runner was quicker: that is given back. */
async function handOutDebt(deps: ExecDeps): Promise<HandOut> {
  const { request, server, signals, progress } = deps;
  const answer = await server.owed(request.job, signals.stop);
  if (answer.kind === 'unfit') return { kind: 'unadvised', why: answer.advice, isAway: false };
  if (answer.kind === 'away') {
    return { kind: 'unadvised', why: `Rollcall is away (${answer.reason})`, isAway: true };
  }
  const nothing: HandOut = { kind: 'nothing', why: `${request.job}: nothing is owed` };
  if (answer.keys.length === 0) return nothing;
  progress(`${request.job}: ${answer.keys.length} owed`);
  const next = await ask(deps);
  if (next.kind === 'off_schedule') return nothing;
  if (next.kind !== 'run' || answer.keys.includes(next.claim.key)) return next;
  await server.release(next.claim);
  return nothing;
}

async function withoutClaim(next: Exclude<HandOut, { kind: 'run' }>, ran: number, deps: ExecDeps): Promise<number> {
  const { request, warn, note } = deps;
  if (next.kind === 'nothing') {
    if (ran === 0) note(next.why);
    return DONE;
  }
  if (next.kind === 'not_now') {
    warn(`${next.why}${ran === 0 ? ': nothing was run' : ''}`);
    return ran === 0 ? NOT_NOW : DONE;
  }
  if (ran > 0 || next.kind === 'stopped') {
    // What was run may have been the current occurrence: it is not run again on a guess.
    if (next.kind === 'unadvised') warn(`${next.why}; what is still owed is left to the next time`);
    return DONE;
  }
  if (next.kind === 'unadvised') {
    if (request.catchUp) {
      warn(`${next.why}: what is owed is not known, so nothing was run`);
      return next.isAway ? NOT_NOW : REFUSED;
    }
    warn(`${next.why}; the command runs all the same`);
  }
  const isAway = next.kind === 'unadvised' && next.isAway;
  // A run id of its own: the one that was asked with may hold a claim whose answer was lost, of another occurrence.
  return (await runAndTell(randomUUID(), null, deps, isAway ? PAUSES_AWAY_MS : PAUSES_MS)).code;
}

/** Runs it, and is a little patient with a Rollcall that does not answer when it has ended. */
async function runAndTell(
  rid: string,
  claim: Claim | null,
  deps: ExecDeps,
  pauses: readonly number[] = PAUSES_MS,
): Promise<{ readonly code: number; readonly isTold: boolean }> {
  const { outbox, clock, signals, progress, request } = deps;
  const began = clock.monotonic();
  const code = await runOnce(rid, claim, deps);
  const seconds = Math.round((clock.monotonic() - began) / 1000);
  progress(`${request.job}${claim ? ` ${claim.key}` : ''}: exit code ${code} after ${seconds} s`);
  let told = await outbox.deliverOwn();
  for (let tries = 0; told.kind === 'waiting' && signals.first() === null; tries += 1) {
    const pause = (told.isKept ? pauses : PAUSES_UNKEPT_MS)[tries];
    if (pause === undefined) break;
    if (!told.isKept && tries === 0) deps.warn(`${request.job}: ${UNKEPT}`);
    await clock.sleep(pause, signals.stop);
    told = await outbox.deliverOwn();
  }
  if (told.kind === 'waiting') {
    const then = told.isKept ? 'it is told the next time' : 'the news is on no disk, and is lost';
    deps.warn(`${request.job}: Rollcall has not heard of this run (${told.reason}); ${then}`);
  }
  return { code, isTold: told.kind === 'told' };
}

/** `--flush`: delivers what waits, and says what became of it. */
export async function flush(
  { all, adopt }: { readonly all: boolean; readonly adopt: boolean },
  { outbox, signals, warn, progress }: Pick<ExecDeps, 'outbox' | 'signals' | 'warn' | 'progress'>,
): Promise<number> {
  const kept = all ? await outbox.restore(adopt) : null;
  const round = { job: null, adopt, patienceMs: 60_000, budgetMs: Number.POSITIVE_INFINITY, stop: signals.stop };
  const { delivered, rejected, left, reason } = await outbox.collect(round);
  progress(`${delivered} delivered, ${rejected} rejected, ${left ?? 'no one knows how many'} left`);
  const others = adopt ? null : await outbox.elsewhere(null);
  const still = left === 0 || left === null ? null : `${left} still wait${reason === null ? '' : `: ${reason}`}`;
  const unsent = [still, others, kept].filter((text) => text !== null);
  for (const text of unsent) warn(text);
  // Where nobody could look, something may wait.
  return unsent.length === 0 && left !== null ? DONE : NOT_NOW;
}
