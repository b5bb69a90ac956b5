import type { Instant } from '../core/time.ts';
import { type HttpAnswer, isRollcalls } from './http.ts';

/** What a run has to tell. Always named by its run id, so that telling it twice counts once. */
export type Ping = {
  readonly job: string;
  /** `start`, or the exit code of an end. */
  readonly action: 'start' | number;
  readonly rid: string;
  /** The key of the claimed occurrence; null: Rollcall finds it by the instant. */
  readonly occ: string | null;
  /** This machine's clock when it happened. */
  readonly at: Instant;
  readonly durMs: number | null;
  readonly body: Uint8Array<ArrayBuffer> | null;
};

/** Older ones Rollcall would take for one of now. */
export const OLDEST_AT_MS = 30 * 86_400_000;

/**
 * The path and query behind the job's ping address. `late`: with `at=`. One that is sent as it happens goes without, so
 * that a wrong clock on this machine does no harm.
 */
export function pingPath({ action, rid, occ, at, durMs }: Ping, late: boolean): string {
  const query = new URLSearchParams({ rid });
  if (occ !== null) query.set('occ', occ);
  if (durMs !== null) query.set('dur', String(Math.round(durMs)));
  if (late) query.set('at', new Date(at).toISOString());
  return `/${action}?${query}`;
}

/** What an answer means for the ping that was sent. */
export type Receipt =
  /** It is kept there for good; `note`: but it counts for nothing, and why. */
  | { readonly kind: 'stored'; readonly note: string | null }
  /** Perhaps not: it has to be sent again. */
  | {
      readonly kind: 'again';
      readonly reason: string;
      /** Rollcall takes no ping at all now; else it may be this one only. */
      readonly isAway: boolean;
    }
  /** Sending it again would not help. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** Statuses after which the same request may succeed; so may all of 500 and above. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);
/** Statuses that are about this one request, and not about all of them. */
const ALONE: ReadonlySet<number> = new Set([408, 500]);

/**
 * Reads the answer to a ping. Only Rollcall's own headers prove that it was Rollcall who said yes, or no: what a proxy
 * refuses while Rollcall is away is sent again. `onRefusal` says what is wrong where Rollcall takes it for nobody's.
 */
export function readReceipt(answer: HttpAnswer, onRefusal: string): Receipt {
  if (answer.kind === 'away') return { kind: 'again', reason: answer.reason, isAway: true };
  const { status, headers } = answer;
  const match = headers.get('rollcall-match');
  if (match !== null && status >= 200 && status < 300) return { kind: 'stored', note: null };
  if (match !== null && (status === 400 || status === 422)) {
    return { kind: 'stored', note: `it was kept, but fits no occurrence (${status})` };
  }
  if (status < 400 || status >= 500 || TRANSIENT.has(status)) {
    const reason = status < 400 ? `the answer ${status} is not Rollcall's` : `answer ${status}`;
    return { kind: 'again', reason, isAway: !ALONE.has(status) };
  }
  if (!isRollcalls(headers)) return { kind: 'again', reason: `the answer ${status} is not Rollcall's`, isAway: true };
  return { kind: 'rejected', reason: `answer ${status}${status === 404 ? `: ${onRefusal}` : ''}` };
}
