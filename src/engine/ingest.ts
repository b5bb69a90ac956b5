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
