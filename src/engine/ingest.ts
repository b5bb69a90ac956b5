import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { advance } from '../core/advance.ts';
import { type Applied, applyPing } from '../core/apply.ts';
import { groupBy } from '../core/group.ts';
import { formatKey, keyCandidates } from '../core/key.ts';
import {
  currentVersion,
  dueAt,
  followingInstant,
  type Ledger,
  type LedgerEvent,
  latestInstant,
  termsAt,
  versionOf,
} from '../core/ledger.ts';
import { keyInstants, type Ping } from '../core/ping.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { BLIND_MS, beat, forgetReplicas, GAP_MS, lastBeat, recordSilence } from '../store/beats.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { type LockedJob, lockJobs } from '../store/ledger.ts';
import { type Outcome, save } from '../store/ledger-save.ts';
import { appendPings, type NewPing, noteDeferred, resolveTargets } from '../store/pings.ts';
import type { Vitals } from '../vitals.ts';
import type { Zones } from '../zones.ts';
import { insertJob, pingedDefinition } from './job-creation.ts';
import { type PingInput, readPing } from './ping-input.ts';
import { outputTail, type Said, tell } from './telling.ts';
import { type OpenJob, openJobs, outcomeOf, type VersionCache } from './working-set.ts';

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
/** A job further behind than this many checks is brought forward by the evaluator; its pings wait, stored. */
const MAX_STEPS = 100;
/** How long a ping waits for a job that another transaction holds before its sender is asked to try again. */
const MAX_WAIT_MS = 12_000;
const RETRY_DELAY_MS = 20;
/** curl gives up after 10 s in every snippet: it should hear a 503 before. */
const DEADLINE_MS = 8000;

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
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | null = null;
  let beatDue = false;

  async function flushAll(): Promise<void> {
    while (waiting.length > 0 || beatDue) {
      const batch = waiting.splice(0, MAX_BATCH);
      const withBeat = beatDue;
      beatDue = false;
      const begun = deps.clock.monotonic();
      const { left, committed } = await commitBatch(deps, { replica, batch, rest: waiting, beat: withBeat });
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
        flush().catch((error: unknown) => deps.log.error({ error }, 'a beat of ingest failed'));
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

/** Commits a batch and answers it. */
async function commitBatch(deps: IngestDeps, batch: Batch): Promise<Committed> {
  let answers: Map<Waiting, PingAnswer>;
  try {
    answers = await deps.database.transaction((tx) => applyBatch(tx, deps, batch), { deadlineMs: DEADLINE_MS });
  } catch (error) {
    deps.vitals.beatFailed(error instanceof Error ? error.message : String(error));
    if (batch.batch.length > 1 && !(error instanceof DatabaseUnavailable)) return commitOneByOne(deps, batch);
    for (const one of batch.batch) one.reject(error);
    if (batch.batch.length === 0) throw error;
    return { left: [], committed: null };
  }
  for (const [one, answer] of answers) one.resolve(answer);
  const left = batch.batch.filter((one) => !answers.has(one));
  const now = deps.clock.monotonic();
  const tooLong = left.filter(({ incoming }) => now - incoming.arrivedMs > MAX_WAIT_MS);
  for (const one of tooLong) one.reject(new DatabaseUnavailable('the job is locked by another transaction'));
  return { left: left.filter((one) => !tooLong.includes(one)), committed: answers.size };
}

/** One ping that cannot be stored must not take its batch with it. */
async function commitOneByOne(deps: IngestDeps, { batch, ...common }: Batch): Promise<Committed> {
  const results: Committed[] = [];
  for (const one of batch) results.push(await commitBatch(deps, { ...common, batch: [one] }));
  const committed = results.reduce((sum, one) => sum + (one.committed ?? 0), 0);
  return { left: results.flatMap(({ left }) => left), committed: committed > 0 ? committed : null };
}

async function applyBatch(tx: Tx, deps: IngestDeps, batch: Batch): Promise<Map<Waiting, PingAnswer>> {
  // The database told its time just before: a ping's instant is that, less the time it has waited since.
  const asked = deps.clock.monotonic();
  const instantOf = (ms: number): Instant => tx.now - Math.max(0, Math.round(asked - ms));
  await keepWatch(tx, deps, batch, instantOf);
  const answers = new Map<Waiting, PingAnswer>();
  const inputs = batch.batch.map((one) => ({ one, input: readPing(one.incoming, instantOf(one.incoming.arrivedMs)) }));
  const targets = await resolveOrCreate(
    tx,
    deps,
    inputs.map(({ one }) => one.incoming.target),
  );
  const found: Arrived[] = [];
  for (const [i, { one, input }] of inputs.entries()) {
    const target = targets[i];
    if (target?.jobId == null) answers.set(one, { outcome: 'not_found' });
    else found.push({ one, input, jobId: target.jobId, created: target.created });
  }
  await applyToJobs(tx, deps, found, answers);
  return answers;
}

/** Sees a silence before anything is judged by it, and says how far this replica has flushed. */
async function keepWatch(
  tx: Tx,
  deps: IngestDeps,
  { replica, rest, beat: due, batch }: Batch,
  instantOf: (ms: number) => Instant,
) {
  const last = await lastBeat(tx);
  const silent = last === null ? 0 : tx.now - last;
  if (last !== null && silent >= GAP_MS) {
    await recordSilence(tx, { kind: silent > BLIND_MS ? 'blind' : 'gap', after: last, until: tx.now });
    deps.log.warn(
      { after: formatInstant(last), until: formatInstant(tx.now) },
      'no beat of ingest: a blind window or gap',
    );
  }
  if (!due && silent < GAP_MS) return;
  // Pings that wait behind this batch, or that it may have to leave, are not flushed yet.
  const oldest = Math.min(...[...rest, ...batch].map(({ incoming }) => instantOf(incoming.arrivedMs) - 1));
  await beat(tx, replica, Math.min(tx.now, oldest));
}

type Arrived = {
  readonly one: Waiting;
  readonly input: PingInput;
  readonly jobId: number;
  readonly created: boolean;
};

async function resolveOrCreate(tx: Tx, deps: IngestDeps, targets: readonly PingTarget[]) {
  const resolved = await resolveTargets(tx, targets);
  const result: { jobId: number | null; created: boolean }[] = [];
  const made = new Map<string, number>();
  for (const [i, target] of targets.entries()) {
    const { jobId = null, projectId = null } = resolved[i] ?? {};
    if (jobId !== null || projectId === null || 'uuid' in target || !target.create) {
      result.push({ jobId, created: false });
      continue;
    }
    const name = `${projectId} ${target.slug}`;
    const known = made.get(name);
    const job =
      known === undefined
        ? await insertJob(tx, deps, projectId, target.slug, pingedDefinition(target.slug), true)
        : null;
    const id = known ?? job?.id ?? null;
    if (id !== null) made.set(name, id);
    result.push({ jobId: id, created: job?.created ?? false });
  }
  return result;
}

async function applyToJobs(tx: Tx, deps: IngestDeps, found: readonly Arrived[], answers: Map<Waiting, PingAnswer>) {
  const byJob = groupBy(found, ({ jobId }) => jobId);
  const locked = await lockJobs(tx, [...byJob.keys()], false);
  const ahead = new Map(
    [...byJob].map(([jobId, arrived]) => [
      jobId,
      { pings: arrived.map(({ input }) => input.ping), named: [], all: false },
    ]),
  );
  const { open, broken } = await openJobs(tx, locked, ahead, deps);
  const records: { readonly record: NewPing; readonly applied: Applied | null }[] = [];
  const said = new Map<LedgerEvent, Said>();
  const outcomes: Outcome[] = [];
  for (const { job } of broken) await storeAll(tx, job, byJob.get(job.id) ?? [], answers, records);
  for (const one of open) {
    const deferred = applyPings(one, byJob.get(one.job.id) ?? [], { answers, records, said });
    outcomes.push(outcomeOf(one, deferred, tx.now));
  }
  await save(tx, outcomes);
  await appendPings(
    tx,
    records.map(({ record, applied }) => ({ ...record, runId: applied?.run?.id ?? null })),
  );
  await tell(tx, open, said);
}

/** A job whose schedules make no sense just now: its pings are kept and applied when they do again. */
async function storeAll(
  tx: Tx,
  job: LockedJob,
  arrived: readonly Arrived[],
  answers: Map<Waiting, PingAnswer>,
  records: { readonly record: NewPing; readonly applied: Applied | null }[],
) {
  for (const { one, input, jobId, created } of arrived) {
    records.push({ record: recordOf(input, jobId, { matchedBy: 'deferred' }), applied: null });
    answers.set(one, { outcome: 'accepted', created, matchedBy: 'deferred', key: null });
  }
  await noteDeferred(tx, job.id, arrived.length);
}

function recordOf(
  input: PingInput,
  jobId: number,
  applied: { matchedBy: string; scheduledFor?: Instant | null; counted?: boolean },
): NewPing {
  const { matchedBy, scheduledFor = null, counted = false } = applied;
  return { ...input.record, jobId, matchedBy, scheduledFor, counted, runId: null };
}

/** Applies the pings of one job in their order; returns how many are deferred now. */
function applyPings(
  { job, ledger }: OpenJob,
  arrived: readonly Arrived[],
  out: {
    readonly answers: Map<Waiting, PingAnswer>;
    readonly records: { readonly record: NewPing; readonly applied: Applied | null }[];
    readonly said: Map<LedgerEvent, Said>;
  },
): number {
  let { deferred } = job;
  let steps = MAX_STEPS;
  for (const { one, input, jobId, created } of arrived) {
    if (input.flaw !== null) {
      out.records.push({ record: recordOf(input, jobId, { matchedBy: 'unmatched' }), applied: null });
      out.answers.set(one, { outcome: 'refused', status: 400, message: input.flaw });
      continue;
    }
    const reached = deferred === 0 && advance(ledger, input.ping.arrival, steps);
    if (!reached) {
      deferred += 1;
      steps = 0;
      out.records.push({ record: recordOf(input, jobId, { matchedBy: 'deferred' }), applied: null });
      out.answers.set(one, { outcome: 'accepted', created, matchedBy: 'deferred', key: null });
      continue;
    }
    const before = ledger.events.length;
    const applied = applyPing(ledger, input.ping);
    for (const event of ledger.events.slice(before)) {
      out.said.set(event, { exitCode: input.ping.exitCode, output: outputTail(input.record.body) });
    }
    const { match, scheduledFor, counted } = applied;
    const matchedBy = match.rule === 'none' ? 'unmatched' : match.rule;
    out.records.push({ record: recordOf(input, jobId, { matchedBy, scheduledFor, counted }), applied });
    out.answers.set(one, answerOf(ledger, input, applied, created));
  }
  return deferred;
}

function answerOf(ledger: Ledger, { ping }: PingInput, { match, scheduledFor }: Applied, created: boolean): PingAnswer {
  if (match.rule === 'none') return { outcome: 'refused', status: 422, message: refusalOf(ledger, ping, match.reason) };
  const key = scheduledFor === null ? null : keyOf(ledger, scheduledFor);
  return { outcome: 'accepted', created, matchedBy: match.rule, key };
}

/** A key that names no occurrence is answered with the two nearest, one not open yet with the instant it opens. */
function refusalOf(ledger: Ledger, ping: Ping, reason: string): string {
  const [at] = ping.key ? keyInstants(ledger, ping.key) : [];
  if (at !== undefined && reason.includes('not open')) {
    const { opensAt } = termsAt(ledger, at, dueAt(ledger, at)?.version ?? currentVersion(ledger));
    return `${keyOf(ledger, at)}: ${reason}; pings may name it from ${formatInstant(opensAt)} on`;
  }
  const around = at ?? nominalInstant(ledger, ping);
  const near = [latestInstant(ledger, around), followingInstant(ledger, around)].flatMap((one) =>
    one === null ? [] : [keyOf(ledger, one)],
  );
  return near.length === 0
    ? `${reason}; the job has no occurrence yet`
    : `${reason}; the nearest are ${near.join(' and ')}`;
}

function nominalInstant(ledger: Ledger, ping: Ping): Instant {
  if (!ping.key) return ping.at;
  const candidates = keyCandidates(ping.key, currentVersion(ledger).zone);
  return ('instants' in candidates ? candidates.instants[0] : candidates.after) ?? ping.at;
}

function keyOf(ledger: Ledger, at: Instant): string {
  const row = ledger.rows.get(at);
  const version = row ? versionOf(ledger, row.version) : (dueAt(ledger, at)?.version ?? currentVersion(ledger));
  return formatKey(at, version.zone);
}
