import { DatabaseUnavailable } from '../store/database.ts';
import type { IncomingPing, PingAnswer } from './ingest.ts';

/** A ping whose sender waits for an answer. */
export type Waiting = {
  readonly incoming: IncomingPing;
  readonly resolve: (answer: PingAnswer) => void;
  readonly reject: (error: unknown) => void;
};

const MAX_BATCH = 500;
/** Pings for a locked job take no more places of a batch than this, lest they leave none. */
const MAX_OF_TARGET = 50;
/** How long a ping waits for a job that another transaction holds before its sender is asked to try again. */
const MAX_HELD_MS = 12_000;
/** When a batch fails, what has waited longer is refused: curl gives up after 10 s in every snippet, and should hear a 503 before. */
const PATIENCE_MS = 4500;

/**
 * The pings that wait, in the order in which they came, but for those whose job was locked: these are tried again with every
 * batch, take no place of others, and are overtaken by none for the same job.
 */
export type WaitingPings = {
  readonly isEmpty: boolean;
  add(ping: Waiting): void;
  /** Takes out the next batch. */
  take(): Waiting[];
  /** Of a batch: their jobs are locked, so they wait for the next one. Who has waited too long for that is refused. */
  hold(pings: readonly Waiting[]): void;
  /** All that is not in the batch that was taken last. */
  arrivals(): number[];
  /** A batch of so many was committed: the next one may be a bit larger than that. */
  succeeded(count: number): void;
  /**
   * A batch, or what goes before one, was not done in time: the next one is half as large, so that none can fail for ever,
   * and who could not be answered in time after it either is refused now. `taken`: a batch that shall come again; those of it
   * who may still wait are returned.
   */
  failed(reason: unknown, taken?: readonly Waiting[]): readonly Waiting[];
};

export function createWaitingPings(monotonic: () => number): WaitingPings {
  let held: Waiting[] = [];
  let fresh: Waiting[] = [];
  let size = MAX_BATCH;
  const age = ({ incoming }: Waiting): number => monotonic() - incoming.arrivedMs;

  return {
    get isEmpty() {
      return held.length === 0 && fresh.length === 0;
    },
    add: (ping) => void fresh.push(ping),
    take() {
      const again = pick(held, { size, ofTarget: MAX_OF_TARGET, wait: new Set() });
      held = again.left;
      const first = pick(fresh, { size, ofTarget: MAX_BATCH, wait: new Set(held.map(targetOf)) });
      fresh = first.left;
      return [...again.picked, ...first.picked];
    },
    hold(pings) {
      const [tooLong, others] = split(pings, (ping) => age(ping) > MAX_HELD_MS);
      for (const { reject } of tooLong) reject(new DatabaseUnavailable('the job is locked by another transaction'));
      held = [...others, ...held];
    },
    arrivals: () => [...held, ...fresh].map(({ incoming }) => incoming.arrivedMs),
    succeeded(count) {
      // In small steps, or one that is too large would come back at once.
      size = Math.max(size, Math.min(MAX_BATCH, count + Math.ceil(count / 4)));
    },
    failed(reason, taken = []) {
      size = Math.max(1, Math.floor(size / 2));
      const refuse = (pings: readonly Waiting[]): Waiting[] => {
        const [tooLong, others] = split(pings, (ping) => age(ping) > PATIENCE_MS);
        for (const { reject } of tooLong) reject(reason);
        return others;
      };
      fresh = refuse(fresh);
      return refuse(taken);
    },
  };
}

function targetOf({ incoming: { target } }: Waiting): string {
  return 'uuid' in target ? target.uuid : `${target.pingKeyHash} ${target.slug}`;
}

type Room = { readonly size: number; readonly ofTarget: number; readonly wait: ReadonlySet<string> };

/** The first so many, in order; of one target not too many, and nothing of those that `wait`: no ping overtakes one of its job. */
function pick(pings: readonly Waiting[], { size, ofTarget, wait }: Room) {
  const picked: Waiting[] = [];
  const left: Waiting[] = [];
  const counts = new Map<string, number>();
  for (const ping of pings) {
    const target = targetOf(ping);
    const count = counts.get(target) ?? 0;
    const isIn = picked.length < size && count < ofTarget && !wait.has(target);
    // Once one is left, so are all after it of the same target.
    counts.set(target, isIn ? count + 1 : ofTarget);
    (isIn ? picked : left).push(ping);
  }
  return { picked, left };
}

function split<T>(list: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [list.filter(isFirst), list.filter((one) => !isFirst(one))];
}
