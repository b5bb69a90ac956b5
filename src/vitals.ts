/**
 * What the loops of this process last reported, in memory: /healthz and /metrics read it without asking anybody. Instants
 * here are readings of the monotonic clock, in milliseconds; null means never.
 */
export type VitalSigns = {
  /** A batch or beat of ingest was committed. */
  readonly lastBeatAt: number | null;
  /** Why the last attempt of ingest to commit failed; null after a success. */
  readonly ingestFailure: string | null;
  /** A tick of the evaluator ended. */
  readonly lastTickAt: number | null;
  /** Database time less horizon, at the last tick; infinite when no ingest was heard. */
  readonly horizonLagMs: number | null;
  /** The node's own clock less the database's; shown, never used. */
  readonly clockOffsetMs: number | null;
};

/** The loops tell, /healthz and /metrics read. Every call is cheap and none ever throws. */
export type Vitals = {
  /** Ingest: `pings` (0: a beat alone) were committed, in `ms` from the start of the transaction. */
  beat(batch: { readonly pings: number; readonly ms: number }): void;
  /** Ingest: a batch or beat could not be committed; /healthz is red until the next beat. */
  beatFailed(reason: string): void;
  /** Evaluator: a tick ended well, `ms` long; `horizonLagMs` is the database's now less the horizon. */
  tick(tick: { readonly horizonLagMs: number; readonly ms: number }): void;
  /** Whoever has just read the database's clock. */
  clockOffset(ms: number): void;
  read(): VitalSigns;
};

/** Who also wants to hear of each batch and tick: the metrics. */
export type VitalsObserver = {
  batch(pings: number, ms: number): void;
  tick(ms: number): void;
};

export function createVitals(monotonic: () => number, observer?: VitalsObserver): Vitals {
  let signs: VitalSigns = {
    lastBeatAt: null,
    ingestFailure: null,
    lastTickAt: null,
    horizonLagMs: null,
    clockOffsetMs: null,
  };
  const note = (change: Partial<VitalSigns>): void => {
    signs = { ...signs, ...change };
  };
  return {
    beat({ pings, ms }) {
      note({ lastBeatAt: monotonic(), ingestFailure: null });
      observer?.batch(pings, ms);
    },
    beatFailed: (reason) => note({ ingestFailure: reason }),
    tick({ horizonLagMs, ms }) {
      note({ lastTickAt: monotonic(), horizonLagMs });
      observer?.tick(ms);
    },
    clockOffset: (ms) => note({ clockOffsetMs: ms }),
    read: () => signs,
  };
}
