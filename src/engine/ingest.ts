import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { createOutageLog, type OutageLog } from '../log-outage.ts';
import { forgetReplicas } from '../store/beats.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import type { Vitals } from '../vitals.ts';
import type { Zones } from '../zones.ts';
import { applyPings, keepPings } from './batch.ts';
import { keepWatch } from './blindness.ts';
import { createPulse, type Pulse } from './clock-pulse.ts';
import type { VersionCache } from './working-set.ts';

/** Where a ping wants to go. Keys arrive hashed (SHA-256, hex): nothing behind the door sees the key itself. */
export type PingTarget =
  | { readonly uuid: string }
  | { readonly pingKeyHash: string; readonly slug: string; readonly create: boolean };

/** One request, as parsed at the door by web/pings.ts. */
export type IncomingPing = {
  readonly target: PingTarget;
  readonly kind: 'start' | 'success' | 'fail' | 'log';
  readonly exitCode: number | null;
  /** Canonical lower-case UUID. */
  readonly rid: string | null;
  /** `occ=` or the header, as given; `at=` and `dur=` as given. */
  readonly occ: string | null;
  readonly at: string | null;
  readonly dur: string | null;
  /** Something the door could not read (exit code 256, rid, occ with NUL): stored unmatched, answered with this. */
  readonly flaw: { readonly status: 400; readonly message: string } | null;
  readonly body: Uint8Array;
  readonly bodyBytes: number;
  readonly truncated: boolean;
  readonly source: string | null;
  readonly userAgent: string | null;
  readonly method: string;
  /** Clock.monotonic() when the request was complete enough to be answered. */
  readonly arrivedMs: number;
};

/** `key`: the occurrence, canonical. `not_found`: unknown uuid, key or slug; nothing is stored. */
export type PingAnswer =
  | { readonly outcome: 'accepted'; readonly created: boolean; readonly matchedBy: string; readonly key: string | null }
  | { readonly outcome: 'not_found' }
  | { readonly outcome: 'refused'; readonly status: 400 | 422; readonly message: string };

export type Ingest = {
  /** Resolves after the commit; rejects with DatabaseUnavailable when the ping could not be stored (503, Retry-After). */
  submit(ping: IncomingPing): Promise<PingAnswer>;
  /** Beats twice a second until aborted; then flushes what is left. */
  run(signal: AbortSignal): Promise<void>;
};

const BEAT_MS = 500;
const MAX_BATCH = 500;
/** How long a ping waits for a job that another transaction holds before its sender is asked to try again. */
const MAX_WAIT_MS = 12_000;
const RETRY_DELAY_MS = 20;
/** curl gives up after 10 s in every snippet: it should hear a 503 before. */
const DEADLINE_MS = 8000;
const MIN_DEADLINE_MS = 1000;

export type IngestDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly versions: VersionCache;
  readonly zones: Zones;
  readonly settleMs: number;
  readonly vitals: Vitals;
  readonly log: Logger;
};

type Waiting = {
  readonly incoming: IncomingPing;
  readonly resolve: (answer: PingAnswer) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Takes pings in batches, one transaction a batch, and answers after the commit. A batch goes when the previous one has
 * committed, so load makes batches larger, never the queue longer.
 */
export function createIngest(deps: IngestDeps): Ingest & { flush(): Promise<void> } {
  const replica = randomUUID();
  const outage = createOutageLog(deps.log, 'ingest', deps.clock.monotonic);
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | null = null;
  let beatDue = false;
  const pulse = createPulse();

  async function flushAll(): Promise<void> {
    while (waiting.length > 0 || beatDue) {
      const batch = waiting.splice(0, MAX_BATCH);
      const withBeat = beatDue;
      beatDue = false;
      const begun = deps.clock.monotonic();
      const { left, committed } = await commitBatch(
        { ...deps, outage, pulse },
        { replica, batch, rest: waiting, beat: withBeat },
      );
      waiting = [...left, ...waiting];
      if (committed !== null) deps.vitals.beat({ pings: committed, ms: deps.clock.monotonic() - begun });
      if (left.length > 0 && left.length === batch.length) await deps.clock.sleep(RETRY_DELAY_MS);
    }
  }

  function flush(): Promise<void> {
    flushing ??= flushAll().finally(() => {
      flushing = null;
    });
    return flushing;
  }

  return {
    flush: () => {
      beatDue = true;
      return flush();
    },
    submit: (incoming) =>
      new Promise((resolve, reject) => {
        waiting.push({ incoming, resolve, reject });
        // What is thrown here reached every ping of the batch already.
        flush().catch(() => undefined);
      }),
    async run(signal) {
      while (!signal.aborted) {
        beatDue = true;
        // Not awaited: under load flushing never ends, and the next batch has to carry the next beat.
        flush().catch(() => undefined);
        await deps.clock.sleep(BEAT_MS, signal).catch(() => undefined);
      }
      await flush().catch(() => undefined);
      await deps.database.transaction((tx) => forgetReplicas(tx, replica)).catch(() => undefined);
    },
  };
}

type Batch = {
  readonly replica: string;
  readonly batch: readonly Waiting[];
  /** What waits behind this batch: the beat must not claim it. */
  readonly rest: readonly Waiting[];
  readonly beat: boolean;
};

/** `left`: their jobs are locked by somebody else, so they go in the next batch. `committed` null: nothing could be. */
type Committed = { readonly left: Waiting[]; readonly committed: number | null };

type CommitDeps = IngestDeps & { readonly outage: OutageLog; readonly pulse: Pulse };

/** Commits a batch and answers it. */
async function commitBatch(deps: CommitDeps, batch: Batch): Promise<Committed> {
  const begun = deps.clock.monotonic();
  let answers: Answers;
  try {
    answers = await deps.database.transaction((tx) => applyBatch(tx, deps, batch), {
      deadlineMs: patience(deps, batch),
    });
  } catch (error) {
    deps.vitals.beatFailed(error instanceof Error ? error.message : String(error));
    if (batch.batch.length > 1 && !(error instanceof DatabaseUnavailable)) return commitOneByOne(deps, batch);
    // What else keeps a ping from being stored is told by the door that gets the rejection.
    if (error instanceof DatabaseUnavailable || batch.batch.length === 0)
      deps.outage.failed(error, 'a beat of ingest failed');
    for (const one of batch.batch) one.reject(error);
    if (batch.batch.length === 0) throw error;
    return { left: [], committed: null };
  }
  deps.outage.over();
  deps.pulse.keep(answers.now, begun);
  const { given } = answers;
  for (const [one, answer] of given) {
    if (answer instanceof DatabaseUnavailable) one.reject(answer);
    else one.resolve(answer);
  }
  const left = batch.batch.filter((one) => !given.has(one));
  const now = deps.clock.monotonic();
  const tooLong = left.filter(({ incoming }) => now - incoming.arrivedMs > MAX_WAIT_MS);
  for (const one of tooLong) one.reject(new DatabaseUnavailable('the job is locked by another transaction'));
  return { left: left.filter((one) => !tooLong.includes(one)), committed: given.size };
}

/** What waited behind a batch that hung must not wait as long again. */
function patience({ clock }: IngestDeps, { batch }: Batch): number {
  const now = clock.monotonic();
  const oldest = Math.max(0, ...batch.map(({ incoming }) => now - incoming.arrivedMs));
  return Math.max(MIN_DEADLINE_MS, DEADLINE_MS - oldest);
}

/** One ping that cannot be stored must not take its batch with it. */
async function commitOneByOne(deps: CommitDeps, { batch, ...common }: Batch): Promise<Committed> {
  const results: Committed[] = [];
  for (const one of batch) results.push(await commitBatch(deps, { ...common, batch: [one] }));
  const committed = results.reduce((sum, one) => sum + (one.committed ?? 0), 0);
  return { left: results.flatMap(({ left }) => left), committed: committed > 0 ? committed : null };
}

/** `given`: what each ping is answered; one that could not be stored has the reason. `now`: the batch's instant. */
type Answers = { readonly now: Instant; readonly given: ReadonlyMap<Waiting, PingAnswer | DatabaseUnavailable> };

async function applyBatch(tx: Tx, deps: CommitDeps, work: Batch): Promise<Answers> {
  // The database told its time just before: a ping's instant is that, less the time it has waited since.
  const asked = deps.clock.monotonic();
  const instantOf = (ms: number): Instant => tx.now - Math.max(0, Math.round(asked - ms));
  const { replica, batch, rest } = work;
  // Pings that wait behind this batch, or that it may have to leave, are not flushed yet.
  const unflushed = Math.min(...[...rest, ...batch].map(({ incoming }) => instantOf(incoming.arrivedMs) - 1));
  const through = Math.min(tx.now, unflushed);
  const jumpedFrom = deps.pulse.jumpedFrom(tx.now, asked);
  const doubt = await keepWatch(tx, { replica, through, isDue: work.beat, jumpedFrom, log: deps.log });
  const arrived = batch.map(({ incoming }) => ({ incoming, arrival: instantOf(incoming.arrivedMs) }));
  const answers = doubt ? await keepPings(tx, arrived, doubt) : await applyPings(tx, deps, arrived);
  const given = new Map<Waiting, PingAnswer | DatabaseUnavailable>();
  for (const [i, one] of batch.entries()) {
    const answer = answers[i];
    if (answer) given.set(one, answer);
  }
  return { now: tx.now, given };
}
