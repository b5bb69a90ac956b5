import type { Clock } from '../clock.ts';
import type { Instant } from '../core/time.ts';
import type { RunRequest } from './arguments.ts';
import { type Environment, startCommand } from './command.ts';
import { keepLease } from './lease.ts';
import type { Outbox } from './outbox.ts';
import type { Claim, Server } from './server.ts';
import type { CaughtSignal, Signals } from './signals.ts';
import { createTail } from './tail.ts';

export type RunDeps = {
  readonly request: RunRequest;
  readonly env: Environment;
  readonly outbox: Outbox;
  readonly server: Pick<Server, 'extend'>;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly now: () => Instant;
  readonly warn: (text: string) => void;
};

/** How much of the output goes with the end. */
const TAIL_BYTES = 10_000;
/** While the command runs: what could not be sent is tried again so often. */
const TRY_AGAIN_MS = 20_000;

/** Runs the command once, tells Rollcall about it, and answers its exit code. `claim` null: for no occurrence. */
export async function runOnce(rid: string, claim: Claim | null, deps: RunDeps): Promise<number> {
  const { request, outbox, signals, clock, now } = deps;
  const ping = { job: request.job, rid, occ: claim?.key ?? null };
  const tail = createTail(TAIL_BYTES);
  const record = request.output ? tail.push : null;
  const env = environmentOf(deps.env, rid, claim);
  // On disk first, then run: whatever happens from here on, the start is known.
  await outbox.post({ ...ping, action: 'start', at: now(), durMs: null, body: null });
  const began = clock.monotonic();
  const command = startCommand({ argv: request.command, env, record });
  signals.forwardTo(command.send);
  const over = new AbortController();
  const meanwhile = accompany(claim, deps, over.signal);
  const code = await command.exited;
  const durMs = clock.monotonic() - began;
  await command.closed;
  const verdict = code === 0 && request.check !== null ? await check(request.check, { env, record, signals }) : code;
  signals.forwardTo(null);
  if (code === 0 && verdict !== 0) {
    const text = `--check disagrees (${verdict}): ${request.check}`;
    deps.warn(`${claim?.key ?? request.job}: ${text}`);
    record?.(Buffer.from(`\nrollcall: ${text}\n`));
  }
  const bytes = tail.bytes();
  const body = bytes.length === 0 ? null : Uint8Array.from(bytes);
  await outbox.post({ ...ping, action: verdict, at: now(), durMs, body });
  over.abort();
  await meanwhile;
  return verdict;
}

/** Sends the start, and keeps the lease, while the command runs. */
async function accompany(claim: Claim | null, deps: RunDeps, ended: AbortSignal): Promise<void> {
  const lease = claim === null ? null : keepLease(claim, deps, ended);
  while ((await deps.outbox.deliverOwn()).kind === 'waiting' && !ended.aborted)
    await deps.clock.sleep(TRY_AGAIN_MS, ended);
  await lease;
}

type CheckDeps = {
  readonly env: Environment;
  readonly record: ((chunk: Uint8Array) => void) | null;
  readonly signals: Signals;
};

async function check(line: string, { env, record, signals }: CheckDeps): Promise<number> {
  const shell = startCommand({ argv: ['/bin/sh', '-c', line], env, record });
  signals.forwardTo((signal: CaughtSignal) => shell.send(signal));
  const code = await shell.exited;
  await shell.closed;
  return code;
}

/** What an outer exec has set is not true of this run. */
function environmentOf(env: Environment, rid: string, claim: Claim | null): Environment {
  const { ROLLCALL_OCCURRENCE: _key, ROLLCALL_SCHEDULED_FOR: _due, ...rest } = env;
  return {
    ...rest,
    ROLLCALL_RUN_ID: rid,
    ...(claim === null ? {} : { ROLLCALL_OCCURRENCE: claim.key, ROLLCALL_SCHEDULED_FOR: claim.scheduledFor }),
  };
}
