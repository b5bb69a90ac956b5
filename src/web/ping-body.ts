import type { IncomingMessage } from 'node:http';

/** How much of a body is kept, and told to clients as Ping-Body-Limit. */
export const BODY_KEPT_BYTES = 100_000;
/** How much is read, kept or not, before the reply goes out regardless. */
const BODY_READ_BYTES = 10_000_000;

export type PingBody = {
  readonly bytes: Uint8Array;
  /** How many bytes arrived. */
  readonly total: number;
  /** More was sent, or meant to be sent, than `bytes` holds. */
  readonly truncated: boolean;
  /** The sender was not waited for to the end: the connection cannot carry another request. */
  readonly isCut: boolean;
};

/** How long a sender may be silent, and take altogether. What arrived by then is what it sent. */
export type BodyPatience = { readonly idleMs: number; readonly totalMs: number };

export const EMPTY_BODY: PingBody = { bytes: new Uint8Array(0), total: 0, truncated: false, isCut: false };

/** Whether a request announces a body: most pings do not, and need no reading. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * Reads a body from a socket: bytes are counted, never a header believed. It never fails: a sender that stalls, breaks
 * off or sends without end has sent what arrived, for the ping matters more than its log.
 */
export function readSocketBody(incoming: IncomingMessage, { idleMs, totalMs }: BodyPatience): Promise<PingBody> {
  const collector = createCollector();
  return new Promise((resolve) => {
    const stop = (isWhole: boolean): void => {
      clearTimeout(idle);
      clearTimeout(total);
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
      if (!isWhole) incoming.pause();
      resolve(collector.body(isWhole));
    };
    const onEnd = (): void => stop(true);
    const onCut = (): void => stop(incoming.complete && incoming.readableLength === 0);
    const idle = setTimeout(stop, idleMs, false);
    const total = setTimeout(stop, totalMs, false);
    const onData = (chunk: Buffer): void => {
      idle.refresh();
      collector.add(chunk);
      if (collector.isFull()) stop(false);
    };
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
    if (incoming.readableEnded) onEnd();
    else if (incoming.destroyed) onCut();
  });
}

/** The same for a request that came without a socket (`app.request`). */
export async function readStreamBody(stream: ReadableStream<Uint8Array>): Promise<PingBody> {
  const collector = createCollector();
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      collector.add(next.value);
      if (collector.isFull()) return collector.body(false);
    }
    return collector.body(true);
  } catch {
    return collector.body(false);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function createCollector() {
  const chunks: Uint8Array[] = [];
  let kept = 0;
  let total = 0;
  return {
    add(chunk: Uint8Array): void {
      total += chunk.byteLength;
      if (kept === BODY_KEPT_BYTES) return;
      const part = chunk.subarray(0, BODY_KEPT_BYTES - kept);
      kept += part.byteLength;
      chunks.push(part);
    },
    isFull: (): boolean => total > BODY_READ_BYTES,
    body: (isWhole: boolean): PingBody => ({
      bytes: Buffer.concat(chunks),
      total,
      truncated: !isWhole || total > kept,
      isCut: !isWhole,
    }),
  };
}
