/** The last bytes of an output, in the order in which they came. */
export type Tail = {
  push(chunk: Uint8Array): void;
  /** At most the limit; begins at a whole UTF-8 character where the output is UTF-8. */
  bytes(): Uint8Array;
};

/** Keeps the last `limit` bytes of what is pushed, and never much more than that in memory. */
export function createTail(limit: number): Tail {
  let kept: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  const squeeze = (): Uint8Array => {
    const whole = Buffer.concat(kept);
    isCut ||= whole.length > limit;
    const last = whole.subarray(Math.max(0, whole.length - limit));
    kept = [last];
    size = last.length;
    return last;
  };
  return {
    push(chunk) {
      kept.push(chunk);
      size += chunk.length;
      if (size > 4 * limit) squeeze();
    },
    bytes() {
      const last = squeeze();
      return isCut ? last.subarray(firstWhole(last)) : last;
    },
  };
}

/** How many bytes at the beginning are the rest of a cut character: at most three in UTF-8. */
function firstWhole(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return ((bytes[start] ?? 0) & 0xc0) === 0x80 ? 0 : start;
}
