import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { createOutageLog, type OutageLog } from '../log-outage.ts';
import { forgetReplicas } from '../store/beats.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import type { Vitals } from '../vitals.ts';
import type { Zones } from '../zones.ts';
import { arrivalOf, earliestArrivalOf, type Reading, readClock } from './arrival.ts';
import { applyPings, keepPings } from './batch.ts';
import { beatCalmly, keepWatch, WatchFirst } from './blindness.ts';
import { createPulse, type Pulse } from './clock-pulse.ts';
import { createWaitingPings, type Waiting, type WaitingPings } from './waiting-pings.ts';
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
const RETRY_DELAY_MS = 20;
/** A batch that takes longer is given up. */
const DEADLINE_MS = 5000;
/** What goes before a batch is quick, but where a clock that went back touches every job: then it gets more, and more. */
const WATCH_MS = 4000;
const LONGEST_WATCH_MS = 60_000;

export type IngestDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly versions: VersionCache;
  readonly zones: Zones;
  readonly settleMs: number;
  readonly vitals: Vitals;
  readonly log: Logger;
  /** The longest a batch may take, in real milliseconds (5000). */
  readonly deadlineMs?: number;
};

/**
 * Takes pings in batches, one transaction a batch, and answers after the commit. A batch goes when the previous one has
 * committed, so load makes batches larger, never the queue longer.
 */
export function createIngest(deps: IngestDeps): Ingest & { flush(): Promise<void> } {
  const replica = randomUUID();
  const outage = createOutageLog(deps.log, 'ingest', deps.clock.monotonic);
  const waiting = createWaitingPings(deps.clock.monotonic);
  const work: Work = { ...deps, replica, outage, waiting, pulse: createPulse(), patience: { watchMs: WATCH_MS } };
  let flushing: Promise<void> = Promise.resolve();
  let isFlushing = false;
  let beatDue = false;

  async function flushAll(): Promise<void> {
    try {
      while (!waiting.isEmpty || beatDue) await flushOnce();
    } finally {
      // In the same breath as the last look at what waits: a ping that comes a moment later must begin anew.
      isFlushing = false;
    }
  }

  async function flushOnce(): Promise<void> {
    const batch = waiting.take();
    const isBeatDue = beatDue;
    beatDue = false;
    const begun = deps.clock.monotonic();
    const { left, committed } = await commitBatch(work, { batch, isBeatDue });
    waiting.hold(left);
    if (committed !== null) deps.vitals.beat({ pings: committed, ms: deps.clock.monotonic() - begun });
    if (left.length > 0 && left.length === batch.length) await deps.clock.sleep(RETRY_DELAY_MS);
  }

  function flush(): Promise<void> {
    if (!isFlushing) {
      isFlushing = true;
      flushing = flushAll();
    }
    return flushing;
  }

  return {
    flush: () => {
      beatDue = true;
      return flush();
    },
    submit: (incoming) =>
      new Promise((resolve, reject) => {
        waiting.add({ incoming, resolve, reject });
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

type Work = IngestDeps & {
  readonly replica: string;
  readonly outage: OutageLog;
  /** What waits behind the batch: a beat must not claim it. */
  readonly waiting: WaitingPings;
  readonly pulse: Pulse;
  readonly patience: { watchMs: number };
};

type Batch = {
  readonly batch: readonly Waiting[];
  /** Taken out with it, and not committed by it. */
  readonly aside?: readonly Waiting[];
  readonly isBeatDue: boolean;
};

/** `left`: to go in the next batch, for their jobs are locked by somebody else. `committed` null: nothing could be. */
type Committed = { readonly left: readonly Waiting[]; readonly committed: number | null };

/** Commits a batch and answers it. */
async function commitBatch(work: Work, batch: Batch): Promise<Committed> {
  const { clock, database, deadlineMs = DEADLINE_MS, outage, pulse, vitals, waiting } = work;
  const begun = clock.monotonic();
  let answers: Answers;
  try {
    answers = await database.transaction((tx) => applyBatch(tx, work, { ...batch, begun }), {
      deadlineMs,
      // The server gives up as well: what it still did would hold locks that the next batch needs.
      statementTimeoutMs: deadlineMs,
    });
  } catch (error) {
    if (error instanceof WatchFirst) return watchAlone(work, batch);
    vitals.beatFailed(error instanceof Error ? error.message : String(error));
    if (batch.batch.length > 1 && !(error instanceof DatabaseUnavailable)) return commitOneByOne(work, batch);
    // What else keeps a ping from being stored is told by the door that gets the rejection.
    if (error instanceof DatabaseUnavailable || batch.batch.length === 0)
      outage.failed(error, 'a beat of ingest failed');
    for (const one of batch.batch) one.reject(error);
    waiting.failed(error);
    if (batch.batch.length === 0) throw error;
    return { left: [], committed: null };
  }
  outage.over();
  waiting.succeeded(batch.batch.length);
  const { given, reading } = answers;
  pulse.keep(reading.tx.now, reading.before);
  for (const [one, answer] of given) {
    if (answer instanceof DatabaseUnavailable) one.reject(answer);
    else one.resolve(answer);
  }
  return { left: batch.batch.filter((one) => !given.has(one)), committed: given.size };
}

/** What has to be recorded before the batch, by itself; the batch comes again. */
async function watchAlone(work: Work, { batch, aside = [] }: Batch): Promise<Committed> {
  const { clock, database, log, outage, patience, pulse, replica, vitals, waiting } = work;
  const begun = clock.monotonic();
  try {
    const reading = await database.transaction(
      async (tx) => {
        const read = await readClock(tx, begun, clock.monotonic);
        await keepWatch(read.tx, { replica, ...soundings(work, read, [...batch, ...aside]), log });
        return read;
      },
      { deadlineMs: patience.watchMs, statementTimeoutMs: patience.watchMs },
    );
    patience.watchMs = WATCH_MS;
    pulse.keep(reading.tx.now, reading.before);
    return { left: batch, committed: 0 };
  } catch (error) {
    vitals.beatFailed(error instanceof Error ? error.message : String(error));
    outage.failed(error, 'a silence could not be recorded');
    patience.watchMs = Math.min(LONGEST_WATCH_MS, patience.watchMs * 2);
    const left = waiting.failed(error, batch);
    if (batch.length === 0) throw error;
    return { left, committed: null };
  }
}

/** What this process knows of the clock, and up to where it has flushed, once the batch is committed or while it waits. */
function soundings({ pulse, waiting }: Work, reading: Reading, taken: readonly Waiting[]) {
  const { tx, after } = reading;
  // Pings that wait behind this batch, or that it may have to leave, are not flushed yet.
  const arrivals = [...waiting.arrivals(), ...taken.map(({ incoming }) => incoming.arrivedMs)];
  const unflushed = arrivals.map((ms) => earliestArrivalOf(reading, ms) - 1);
  return { through: Math.min(tx.now, ...unflushed), jumpedFrom: pulse.jumpedFrom(tx.now, after) };
}

/** One ping that cannot be stored must not take its batch with it. */
async function commitOneByOne(work: Work, { batch, isBeatDue }: Batch): Promise<Committed> {
  const left: Waiting[] = [];
  let committed: number | null = null;
  for (const [i, one] of batch.entries()) {
    const isLast = i === batch.length - 1;
    const result = await commitBatch(work, { batch: [one], aside: left, isBeatDue: isBeatDue && isLast });
    left.push(...result.left);
    if (result.committed !== null) committed = (committed ?? 0) + result.committed;
  }
  return { left, committed };
}

/** `given`: what each ping is answered; one that could not be stored has the reason. */
type Answers = {
  readonly reading: Reading;
  readonly given: ReadonlyMap<Waiting, PingAnswer | DatabaseUnavailable>;
};

async function applyBatch(begunTx: Tx, work: Work, { batch, aside = [], isBeatDue, begun }: Batch & { begun: number }) {
  const reading = await readClock(begunTx, begun, work.clock.monotonic);
  const { tx } = reading;
  const { replica } = work;
  const doubt = await beatCalmly(tx, { replica, ...soundings(work, reading, [...batch, ...aside]), isDue: isBeatDue });
  const arrived = batch.map(({ incoming }) => ({ incoming, arrival: arrivalOf(reading, incoming.arrivedMs) }));
  const answers = doubt ? await keepPings(tx, arrived, doubt) : await applyPings(tx, work, arrived);
  const given: Answers['given'] = new Map(
    batch.flatMap((one, i) => {
      const answer = answers[i];
      return answer ? [[one, answer] as const] : [];
    }),
  );
  return { reading, given };
}
